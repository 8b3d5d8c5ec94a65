//! The record of one request: written to the log and the counters when its response has ended.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use serde_json::{Map, Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::{context::Context, error::ApiError, metrics::add, settings::Mode};

/// The record of one request. Dropping it writes it.
pub(super) struct Entry {
    context: Arc<Context>,
    begun: Instant,
    method: &'static str,
    path: &'static str,
    /// The status of the response.
    pub(super) status: u16,
    /// True once the response has been written to its end.
    pub(super) is_complete: bool,
    pub(super) failure: Option<String>,
    pub(super) mode: Option<Mode>,
    pub(super) calls: usize,
    pub(super) recovered: usize,
    pub(super) invalid: usize,
    pub(super) corrections: usize,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    /// The place of the request among those at once.
    _permit: Option<OwnedSemaphorePermit>,
}

impl Entry {
    /// Begin the record of a request to a route.
    pub(super) fn new(
        context: &Arc<Context>,
        method: &'static str,
        path: &'static str,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Self {
        context.metrics.in_flight.fetch_add(1, Ordering::Relaxed);
        Self {
            context: Arc::clone(context),
            begun: Instant::now(),
            method,
            path,
            status: 200,
            is_complete: false,
            failure: None,
            mode: None,
            calls: 0,
            recovered: 0,
            invalid: 0,
            corrections: 0,
            input_tokens: 0,
            output_tokens: 0,
            _permit: permit,
        }
    }

    /// Record that the request is answered with an error, and with nothing else.
    pub(super) fn refuse(&mut self, error: &ApiError) {
        self.status = error.status;
        self.is_complete = true;
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let metrics = &self.context.metrics;
        metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
        metrics.respond(self.status, self.begun.elapsed());
        add(&metrics.clients_left, usize::from(!self.is_complete));
        add(&metrics.upstream_failures, usize::from(self.failure.is_some()));
        add(&metrics.calls, self.calls);
        add(&metrics.recovered_calls, self.recovered);
        add(&metrics.invalid_calls, self.invalid);
        add(&metrics.corrections, self.corrections);
        metrics.input_tokens.fetch_add(self.input_tokens, Ordering::Relaxed);
        metrics.output_tokens.fetch_add(self.output_tokens, Ordering::Relaxed);
        let mut fields = Map::new();
        let mut add = |name: &str, value: Value| {
            fields.insert(name.to_owned(), value);
        };
        add("method", self.method.into());
        add("path", self.path.into());
        add("status", self.status.into());
        add("seconds", self.begun.elapsed().as_secs_f64().into());
        if !self.is_complete {
            add("client_left", true.into());
        }
        if let Some(mode) = self.mode {
            add("mode", mode.as_str().into());
            add(
                "calls",
                json!({
                    "valid": self.calls,
                    "recovered": self.recovered,
                    "invalid": self.invalid,
                    "corrections": self.corrections,
                }),
            );
            add("tokens", json!({"input": self.input_tokens, "output": self.output_tokens}));
        }
        if let Some(failure) = &self.failure {
            add("failure", failure.as_str().into());
        }
        self.context.log.write("request", fields);
    }
}
