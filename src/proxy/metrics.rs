//! Counters, in the text format of Prometheus.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// The counters of a proxy. None has a label that clients can choose.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) responses: Responses,
    pub(super) in_flight: AtomicU64,
    pub(super) clients_left: AtomicU64,
    pub(super) upstream_failures: AtomicU64,
    pub(super) calls: AtomicU64,
    pub(super) recovered_calls: AtomicU64,
    pub(super) invalid_calls: AtomicU64,
    pub(super) corrections: AtomicU64,
    pub(super) input_tokens: AtomicU64,
    pub(super) output_tokens: AtomicU64,
    duration_millis: AtomicU64,
    first_byte_millis: AtomicU64,
    first_bytes: AtomicU64,
}

/// The number of responses by class of status.
#[derive(Debug, Default)]
pub(super) struct Responses([AtomicU64; 6]);

/// Add to a counter.
pub(super) fn add(counter: &AtomicU64, number: usize) {
    counter.fetch_add(number as u64, Ordering::Relaxed);
}

fn millis(time: Duration) -> usize {
    usize::try_from(time.as_millis()).unwrap_or(usize::MAX)
}

impl Metrics {
    /// Count a response.
    pub(super) fn respond(&self, status: u16, duration: Duration) {
        let class = usize::from(status / 100).min(self.responses.0.len() - 1);
        add(&self.responses.0[class], 1);
        add(&self.duration_millis, millis(duration));
    }

    /// Record the time until the first byte of a response.
    pub(super) fn first_byte(&self, after: Duration) {
        add(&self.first_bytes, 1);
        add(&self.first_byte_millis, millis(after));
    }

    /// Return all counters as text.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let _ = writeln!(text, "# TYPE toolweave_responses_total counter");
        for (class, counter) in self.responses.0.iter().enumerate().skip(2) {
            let _ = writeln!(
                text,
                "toolweave_responses_total{{status=\"{class}xx\"}} {}",
                get(counter)
            );
        }
        let in_flight = get(&self.in_flight);
        let _ = writeln!(
            text,
            "# TYPE toolweave_requests_in_flight gauge\ntoolweave_requests_in_flight {in_flight}"
        );
        for (name, counter) in [
            ("clients_left", &self.clients_left),
            ("upstream_failures", &self.upstream_failures),
            ("calls", &self.calls),
            ("recovered_calls", &self.recovered_calls),
            ("invalid_calls", &self.invalid_calls),
            ("corrections", &self.corrections),
            ("input_tokens", &self.input_tokens),
            ("output_tokens", &self.output_tokens),
            ("response_milliseconds", &self.duration_millis),
            ("first_byte_milliseconds", &self.first_byte_millis),
            ("first_bytes", &self.first_bytes),
        ] {
            let _ = writeln!(
                text,
                "# TYPE toolweave_{name}_total counter\ntoolweave_{name}_total {}",
                get(counter)
            );
        }
        text
    }
}
