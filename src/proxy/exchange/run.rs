//! The requests to the upstream that answer one request of a client.

use std::sync::Arc;

use reqwest::Method;
use serde_json::Map;

use super::{correction::Correction, prepare, sink::ReplySink};
use crate::{
    endpoint::stream_reply,
    proxy::{
        context::Context, entry::Entry, error::ApiError, modes::rejects_tools, output::Output,
        part::ReplyWriter, request::ChatRequest, settings::Mode,
    },
};

/// One request of a client whose reply is converted.
pub(crate) struct Exchange {
    context: Arc<Context>,
    request: ChatRequest,
    output: Arc<Output>,
    sink: ReplySink,
    entry: Entry,
}

impl Exchange {
    pub(crate) fn new(
        context: Arc<Context>,
        request: ChatRequest,
        writer: Box<dyn ReplyWriter>,
        output: Arc<Output>,
        entry: Entry,
    ) -> Self {
        let stream_arguments = context.settings.stream_arguments;
        let sink = ReplySink::new(&request, writer, Arc::clone(&output), stream_arguments);
        Self { context, request, output, sink, entry }
    }

    /// Answer the request.
    ///
    /// # Errors
    /// Fails if there was no answer. If a part of it has been sent, the error is written instead.
    pub(crate) async fn run(mut self) -> Result<(), ApiError> {
        let outcome = self.answer().await;
        self.record();
        match outcome {
            Err(error) if self.sink.has_begun() => {
                self.entry.failure = Some(error.message.clone());
                self.sink.fail(&error);
            }
            Err(error) => {
                self.entry.status = error.status;
                self.entry.failure =
                    Some(error.message.clone()).filter(|_| error.kind == "upstream_error");
                self.entry.is_complete = true;
                return Err(error);
            }
            Ok(()) => self.sink.finish(),
        }
        self.entry.is_complete = true;
        Ok(())
    }

    async fn answer(&mut self) -> Result<(), ApiError> {
        let context = Arc::clone(&self.context);
        let model = self.request.model.clone();
        let mut mode = context.modes.mode(&model);
        let mut corrections: Vec<Correction> = Vec::new();
        loop {
            self.entry.mode = Some(mode);
            self.output.set_head(|head| head.mode = Some(mode));
            match self.ask(mode, &corrections).await {
                Ok(()) => {}
                Err(Unanswered::Upstream(failure)) => {
                    let may_change = mode == Mode::Recover && context.modes.is_open(&model);
                    if may_change && !self.sink.has_begun() && rejects_tools(&failure) {
                        self.learn(Mode::Natural, "the upstream rejects tools");
                        mode = Mode::Natural;
                        continue;
                    }
                    // The first reply stands, without what should have been corrected.
                    return if corrections.is_empty() { Err((*failure).into()) } else { Ok(()) };
                }
                Err(Unanswered::Invalid(error)) => return Err(error),
            }
            if self.sink.calls > 0 && mode == Mode::Recover {
                self.learn(Mode::Recover, "the model makes calls");
            } else if self.sink.lacks_call()
                && mode == Mode::Recover
                && context.modes.is_open(&model)
            {
                self.learn(Mode::Natural, "a required call is missing");
                mode = Mode::Natural;
            }
            if corrections.len() >= context.settings.retries as usize {
                return Ok(());
            }
            let names: Vec<_> =
                self.request.contracts.iter().map(|tool| tool.name.as_str()).collect();
            match self.sink.correction(&names) {
                Some(correction) => corrections.push(correction),
                None => return Ok(()),
            }
            self.entry.corrections += 1;
        }
    }

    /// Send one request to the upstream, and pass its reply on.
    async fn ask(&mut self, mode: Mode, corrections: &[Correction]) -> Result<(), Unanswered> {
        let Self { context, request, sink, .. } = self;
        let (model, contracts) = (&request.model, &request.contracts);
        let dialect = match mode {
            Mode::Natural => context.taught(model, contracts),
            Mode::Recover => context.dialect(model),
        };
        let parsing = match contracts.as_slice() {
            [] => None,
            contracts => Some(context.tools.parsing(contracts, dialect, mode)?),
        };
        let body = prepare::body(request, mode, dialect, corrections)?;
        let url = context.url("/v1/chat/completions", None);
        let upstream = context.upstream(Method::POST, url, body);
        stream_reply(&context.client, &upstream, parsing, sink)
            .await
            .map_err(|failure| Unanswered::Upstream(Box::new(failure)))
    }

    fn learn(&self, mode: Mode, reason: &str) {
        if self.context.modes.learn(&self.request.model, mode) {
            let mut fields = Map::new();
            fields.insert("model".to_owned(), self.request.model.clone().into());
            fields.insert("mode".to_owned(), mode.as_str().into());
            fields.insert("reason".to_owned(), reason.into());
            self.context.log.write("mode", fields);
        }
    }

    fn record(&mut self) {
        let Self { entry, sink, .. } = self;
        entry.calls = sink.calls;
        entry.recovered = sink.recovered;
        entry.invalid = sink.invalid();
        if let Some(usage) = sink.usage() {
            entry.input_tokens = usage.input_tokens;
            entry.output_tokens = usage.output_tokens;
        }
    }
}

/// The reason why there is no reply.
enum Unanswered {
    /// The request is invalid.
    Invalid(ApiError),
    /// The upstream has failed.
    Upstream(Box<crate::endpoint::Failure>),
}

impl From<ApiError> for Unanswered {
    fn from(error: ApiError) -> Self {
        Self::Invalid(error)
    }
}
