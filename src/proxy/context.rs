//! The state that all requests of a proxy share.

use std::sync::Arc;

use bytes::Bytes;
use reqwest::{
    Method, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use tokio::sync::Semaphore;

use super::{
    log::Log, metrics::Metrics, modes::Modes, recorder::Recorder, settings::Settings,
    tool_cache::ToolCache,
};
use crate::{
    contract::FunctionContract,
    endpoint::{self, Client, Request, Retries, Timeouts},
    parser::Dialect,
    prompt::present,
};

/// The size limits of the upstream's replies, in bytes.
const REPLY_LIMITS: endpoint::Limits = endpoint::Limits { line: 8 << 20, body: 256 << 20 };

/// The state that all requests of a proxy share.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) settings: Settings,
    pub(super) client: Client,
    pub(super) modes: Modes,
    pub(super) tools: ToolCache,
    pub(super) metrics: Metrics,
    pub(super) log: Log,
    /// The file of replies, if they are recorded.
    pub(super) recorder: Option<Recorder>,
    /// One permit for each request at once.
    pub(super) permits: Arc<Semaphore>,
    authorization: Option<HeaderValue>,
}

impl Context {
    /// Create the state.
    ///
    /// # Errors
    /// Fails if the key for the upstream cannot be sent in a header.
    pub(super) fn new(
        settings: Settings,
        client: Client,
        recorder: Option<Recorder>,
    ) -> Result<Self, String> {
        let authorization = settings.upstream_key.as_ref().map(|key| {
            let mut value = HeaderValue::from_str(&format!("Bearer {key}"))?;
            value.set_sensitive(true);
            Ok(value)
        });
        let authorization =
            authorization.transpose().map_err(|_: reqwest::header::InvalidHeaderValue| {
                "the key for the upstream must consist of printable ASCII characters".to_owned()
            })?;
        Ok(Self {
            modes: Modes::new(settings.mode),
            tools: ToolCache::new(settings.stream_arguments),
            metrics: Metrics::default(),
            log: Log::new(settings.log),
            recorder,
            permits: Arc::new(Semaphore::new(settings.limits.max_concurrency)),
            authorization,
            settings,
            client,
        })
    }

    /// Return a request to the upstream.
    pub(super) fn upstream(&self, method: Method, url: Url, body: Bytes) -> Request {
        let limits = &self.settings.limits;
        let mut headers = HeaderMap::new();
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        if !body.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        Request {
            name: "the upstream".to_owned(),
            method,
            url,
            headers,
            body,
            timeouts: Timeouts {
                first_byte: limits.first_byte_timeout,
                idle: limits.idle_timeout,
                total: limits.timeout,
            },
            // Clients know best whether to retry; they get the upstream's status.
            retries: Retries {
                limit: 0,
                initial_delay: std::time::Duration::ZERO,
                max_delay: std::time::Duration::ZERO,
            },
            limits: REPLY_LIMITS,
        }
    }

    /// Return the URL of a path of the upstream: below its base URL for a path below `/v1`,
    /// otherwise below its root.
    pub(super) fn url(&self, path: &str, query: Option<&str>) -> Url {
        let mut url = self.settings.upstream.clone();
        let path = match path.strip_prefix("/v1/") {
            Some(rest) => format!("{}/{rest}", url.path().trim_end_matches('/')),
            None => path.to_owned(),
        };
        url.set_path(&path);
        if query.is_some() {
            url.set_query(query);
        }
        url
    }

    /// Return the dialect of a model, if it is set or known by the model's name.
    pub(super) fn known_dialect(&self, model: &str) -> Option<Dialect> {
        self.settings.dialect.or_else(|| Dialect::for_model(model))
    }

    /// Return the dialect in which a server may have left calls of a model in the text.
    pub(super) fn recovered(&self, model: &str) -> Dialect {
        // JSON that a model quotes must not become a call because it once wrote one like that.
        let learned = || self.modes.dialect(model).filter(|dialect| !dialect.is_shaped());
        self.known_dialect(model).or_else(learned).unwrap_or(Dialect::NATURAL)
    }

    /// Return the dialect in which a model is taught these tools: its own, if that can present
    /// them.
    pub(super) fn taught(&self, model: &str, contracts: &[FunctionContract]) -> Dialect {
        let known = self.known_dialect(model).or_else(|| self.modes.dialect(model));
        let own = known.unwrap_or(Dialect::NATURAL);
        let fits = own.is_writable() && present(contracts, &own).is_ok();
        if fits { own } else { Dialect::NATURAL }
    }
}
