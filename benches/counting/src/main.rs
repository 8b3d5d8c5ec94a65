//! Replies, each read once, for `benches/counts.py`, which runs this under callgrind.
//!
//! The argument is a file of JSON: the names of the tools and the cases. Each call of [`measured`]
//! is one case; callgrind counts only what happens in it.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot start should stop")]

use std::{env, fs, hint::black_box};

use serde::Deserialize;
use serde_json::{Map, Value};
use toolweave::{
    calls::{Options as ReaderOptions, Reader},
    contract::FunctionContract,
    parser::{Dialect, Dialects, Ending, Frame, Options, Parser},
};

/// Replies to read, and the tools that they may call.
#[derive(Deserialize)]
struct Plan {
    tools: Map<String, Value>,
    cases: Vec<Case>,
}

/// One reply.
#[derive(Deserialize)]
struct Case {
    /// The name of a dialect, or `auto`.
    dialect: String,
    /// True if arguments are validated too; otherwise there are only frames.
    validated: bool,
    chunks: Vec<String>,
}

/// Parser of one case.
enum Reading {
    Frames(Parser),
    Events(Box<Reader>),
}

fn main() {
    let plan = env::args().nth(1).unwrap();
    let plan: Plan = serde_json::from_str(&fs::read_to_string(plan).unwrap()).unwrap();
    let contracts: Vec<_> = plan
        .tools
        .iter()
        .map(|(name, schema)| {
            FunctionContract::new(name).unwrap().with_parameters(schema.clone()).unwrap()
        })
        .collect();
    for case in &plan.cases {
        let options = options(&case.dialect);
        let mut reading = if case.validated {
            let options = ReaderOptions { parser: options, ..ReaderOptions::default() };
            Reading::Events(Box::new(Reader::new(&contracts, options).unwrap()))
        } else {
            Reading::Frames(Parser::new(plan.tools.keys(), options).unwrap())
        };
        measured(&mut reading, &case.chunks);
    }
}

fn options(dialect: &str) -> Options {
    let dialects = match dialect {
        "auto" => Dialects::Auto,
        name => Dialects::Named(vec![Dialect::named(name).unwrap()]),
    };
    Options { dialects, ..Options::default() }
}

/// Read a reply.
#[inline(never)]
fn measured(reading: &mut Reading, chunks: &[String]) {
    match reading {
        Reading::Frames(parser) => {
            let mut sink = |frame: Frame<'_>| {
                black_box(frame);
            };
            for chunk in chunks {
                parser.push(chunk, &mut sink);
            }
            parser.finish(Ending::Complete, &mut sink);
        }
        Reading::Events(reader) => {
            for chunk in chunks {
                black_box(reader.push(chunk));
            }
            black_box(reader.finish(Ending::Complete));
        }
    }
}
