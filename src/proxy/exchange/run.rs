//! The requests to the upstream that answer one request of a client.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::{correction::Correction, prepare, raw::RawReply, sink::ReplySink};
use crate::{
    endpoint::{Failure, stream_reply},
    parser::Dialect,
    proxy::{
        context::Context,
        entry::Entry,
        error::ApiError,
        modes::{Lesson, rejects_tools},
        output::Output,
        part::ReplyWriter,
        request::ChatRequest,
        settings::Mode,
    },
};

/// One request of a client whose reply is converted.
pub(crate) struct Exchange {
    context: Arc<Context>,
    request: ChatRequest,
    output: Arc<Output>,
    sink: ReplySink,
    entry: Entry,
    /// The id of the request in the file of replies.
    id: String,
}

/// The number of random characters in the id of a request.
const ID_LENGTH: usize = 24;

impl Exchange {
    pub(crate) fn new(
        context: Arc<Context>,
        mut request: ChatRequest,
        writer: Box<dyn ReplyWriter>,
        output: Arc<Output>,
        entry: Entry,
    ) -> Self {
        let stream_arguments = context.settings.stream_arguments;
        let writer = request.aliases.writer(writer);
        let sink = ReplySink::new(&request, writer, Arc::clone(&output), stream_arguments);
        let id = std::iter::repeat_with(fastrand::alphanumeric).take(ID_LENGTH).collect();
        Self { context, request, output, sink, entry, id }
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
                    if mode == Mode::Recover
                        && !self.sink.has_begun()
                        && rejects_tools(&failure)
                        && self.learn(Lesson::Rejected) == Mode::Natural
                    {
                        mode = Mode::Natural;
                        continue;
                    }
                    // The first reply stands, without what should have been corrected.
                    return if corrections.is_empty() { Err((*failure).into()) } else { Ok(()) };
                }
                Err(Unanswered::Invalid(error)) => return Err(error),
            }
            let may_ask = corrections.len() < context.settings.retries as usize;
            if mode == Mode::Recover {
                self.learn_dialect();
                if let Some(lesson) = self.lesson(may_ask) {
                    mode = self.learn(lesson);
                }
            }
            if !may_ask {
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
            Mode::Recover => context.recovered(model),
        };
        let parsing = match contracts.as_slice() {
            [] => None,
            contracts => Some(context.tools.parsing(contracts, dialect, mode)?),
        };
        let body = prepare::body(request, mode, dialect, corrections)?;
        let url = context.url("/v1/chat/completions", None);
        let upstream = context.upstream(Method::POST, url, body);
        sink.raw = context.recorder.is_some().then(RawReply::new);
        let outcome = stream_reply(&context.client, &upstream, parsing, sink).await;
        self.keep(mode, dialect, corrections.len(), outcome.as_ref().err());
        outcome.map_err(|failure| Unanswered::Upstream(Box::new(failure)))
    }

    /// Append the reply to the file of replies, if there is one.
    fn keep(&mut self, mode: Mode, dialect: Dialect, number: usize, failure: Option<&Failure>) {
        let Self { context, request, sink, id, .. } = self;
        let (Some(recorder), Some(raw)) = (&context.recorder, sink.raw.take()) else { return };
        // The name of the way in which `toolweave eval` asks like this.
        let way = if mode == Mode::Natural { dialect.name } else { "native" };
        let mut fields = Map::new();
        let mut add = |name: &str, value: Value| {
            fields.insert(name.to_owned(), value);
        };
        add("case", if number == 0 { id.clone() } else { format!("{id}.{number}") }.into());
        add("way", way.into());
        add("model", request.model.as_str().into());
        add("mode", mode.as_str().into());
        add("dialect", dialect.name.into());
        add("tools", request.body.get("tools").cloned().unwrap_or_else(|| json!([])));
        if let Some(failure) = failure {
            add("error", failure.message.as_str().into());
        }
        fields.extend(raw.fields());
        if let Err(error) = recorder.append(fields) {
            let mut fields = Map::new();
            fields.insert("failure".to_owned(), error.to_string().into());
            context.log.write("record", fields);
        }
    }

    /// Return what a reply to a native request shows about its model.
    ///
    /// Invalid calls show something only once no further correction is asked for.
    fn lesson(&self, may_ask: bool) -> Option<Lesson> {
        if self.sink.calls > 0 {
            Some(Lesson::CallMade)
        } else if self.sink.lacks_call() {
            Some(Lesson::CallMissing)
        } else if self.sink.has_unread_calls() && !may_ask {
            Some(Lesson::CallsInvalid)
        } else {
            None
        }
    }

    /// Record what a reply has shown, and return the mode of the model from now on.
    fn learn(&self, lesson: Lesson) -> Mode {
        let Self { context, request, .. } = self;
        if context.modes.learn(&request.model, lesson) {
            let mode = lesson.mode().as_str();
            context.log.write("mode", facts(&request.model, "mode", mode, lesson.reason()));
        }
        context.modes.mode(&request.model)
    }

    /// Record the dialect of the calls that were recovered from the text.
    fn learn_dialect(&self) {
        let Self { context, request, sink, .. } = self;
        let Some(dialect) = sink.recovered_dialect().and_then(Dialect::named) else { return };
        if context.known_dialect(&request.model).is_none()
            && context.modes.learn_dialect(&request.model, dialect)
        {
            let reason = "a call was recovered from the text";
            context.log.write("dialect", facts(&request.model, "dialect", dialect.name, reason));
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

/// Return the fields of a line about what has been learned of a model.
fn facts(model: &str, name: &str, value: &str, reason: &str) -> Map<String, Value> {
    let facts = [("model", model), (name, value), ("reason", reason)];
    facts.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// The reason why there is no reply.
enum Unanswered {
    /// The request is invalid.
    Invalid(ApiError),
    /// The upstream has failed.
    Upstream(Box<Failure>),
}

impl From<ApiError> for Unanswered {
    fn from(error: ApiError) -> Self {
        Self::Invalid(error)
    }
}
