//! Framing and scanning alone: a reply, token by token, into a sink that keeps nothing.
//!
//! The replies and the attacks are those of the Python benchmarks, put together from the same
//! two files. Throughput counts tokens of four characters, also where all comes in one chunk.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot start should stop")]

mod replies;

use std::{hint::black_box, time::Duration};

use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
    measurement::WallTime,
};
use replies::{Attack, Replies, cut};
use toolweave::parser::{Ending, Frame, Options, Parser};

/// Parses a reply that comes in these chunks; counts the frames, so that none is optimized away.
fn parse(parser: &mut Parser, chunks: &[&str]) -> usize {
    let mut frames = 0;
    let mut sink = |frame: Frame<'_>| {
        black_box(frame);
        frames += 1;
    };
    for chunk in chunks {
        parser.push(chunk, &mut sink);
    }
    parser.finish(Ending::Complete, &mut sink);
    frames
}

fn settle(group: &mut BenchmarkGroup<'_, WallTime>) {
    group
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
}

fn framing(criterion: &mut Criterion) {
    let replies = Replies::load();
    let mut parser = Parser::new(replies.names(), Options::default()).unwrap();
    let mut group = criterion.benchmark_group("frame");
    settle(&mut group);
    for (case, size, text) in replies.all() {
        let tokens = cut(&text);
        group.throughput(Throughput::Elements(tokens.len() as u64));
        group.bench_function(BenchmarkId::new(case, size), |bencher| {
            bencher.iter(|| parse(&mut parser, &tokens));
        });
    }
}

fn attacks(criterion: &mut Criterion) {
    let replies = Replies::load();
    let mut parser = Parser::new(replies.names(), Options::default()).unwrap();
    let mut group = criterion.benchmark_group("attack");
    settle(&mut group);
    for attack in Attack::all() {
        for (size, chars) in [("40 KB", 40_000), ("400 KB", 400_000)] {
            let text = attack.text(chars);
            let tokens = cut(&text);
            let chunks = if attack.whole { vec![text.as_str()] } else { tokens.clone() };
            group.throughput(Throughput::Elements(tokens.len() as u64));
            group.bench_function(BenchmarkId::new(&attack.name, size), |bencher| {
                bencher.iter(|| parse(&mut parser, &chunks));
            });
        }
    }
}

criterion_group!(benches, framing, attacks);
criterion_main!(benches);
