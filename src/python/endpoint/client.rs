//! The HTTP client: a connection pool with timeouts, retries and size limits.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};
use pythonize::depythonize;
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde::Deserialize;

use super::{
    objects::ObjectBuilder,
    process::Owned,
    queue::{QueueWriter, queue},
    reply::{PyHttpReply, RequestTask},
    runtime::handle,
    wakeup::PyHttpWakeup,
};
use crate::{
    endpoint::{
        CallParsing, Client, HttpVersion, Limits, ProxyChoice, Request, Retries, Settings,
        Timeouts, stream_reply,
    },
    python::{
        error::wrong_type,
        lock,
        parser::{IdFactory, PyParser},
    },
};

/// A connection pool, one for each process, with the options of all requests.
///
/// Times are in seconds, sizes in bytes; see `HttpModel`.
///
/// Args:
///     name: The name of the model, with which messages of failures begin.
///
/// Raises:
///     ValueError: An option is invalid.
#[pyclass(name = "HttpClient", module = "toolweave._core", frozen)]
#[derive(Debug)]
pub(crate) struct PyHttpClient {
    /// The name of the model, with which messages of failures begin.
    name: String,
    settings: Settings,
    timeouts: Timeouts,
    retries: Retries,
    limits: Limits,
    max_queued_bytes: usize,
    // Locked like the state of the runtime: only while the interpreter is held.
    pool: Mutex<Option<Owned<Client>>>,
}

impl PyHttpClient {
    /// Return the pool of this process.
    fn client(&self, py: Python<'_>) -> PyResult<Client> {
        let known = lock(&self.pool).as_ref().and_then(Owned::get).cloned();
        if let Some(client) = known {
            return Ok(client);
        }
        // Loading certificates takes milliseconds.
        let client = py
            .detach(|| Client::new(&self.settings))
            .map_err(|err| PyValueError::new_err(err.to_string()))?;
        let mut pool = lock(&self.pool);
        // Another thread may have been faster.
        if let Some(client) = pool.as_ref().and_then(Owned::get) {
            return Ok(client.clone());
        }
        *pool = Some(Owned::new(client.clone()));
        Ok(client)
    }

    /// Return a request, and the pool to send it with.
    pub(super) fn request(
        &self,
        py: Python<'_>,
        url: &str,
        headers: &Bound<'_, PyDict>,
        body: &[u8],
    ) -> PyResult<(Client, Request)> {
        let client = self.client(py)?;
        let request = Request {
            name: self.name.clone(),
            method: reqwest::Method::POST,
            url: parse_url(url)?,
            headers: header_map(headers)?,
            body: Bytes::copy_from_slice(body),
            timeouts: self.timeouts,
            retries: self.retries,
            limits: self.limits,
        };
        Ok((client, request))
    }
}

/// The options of a client; see `HttpModel`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    connect_timeout: f64,
    first_byte_timeout: f64,
    idle_timeout: f64,
    timeout: Option<f64>,
    max_retries: u32,
    proxy: Option<String>,
    http_version: String,
    follow_redirects: bool,
    max_header_bytes: u32,
    max_line_bytes: usize,
    max_body_bytes: u64,
    max_queued_bytes: usize,
}

#[pymethods]
impl PyHttpClient {
    #[new]
    #[pyo3(signature = (name, *, roots, **options))]
    fn new(
        py: Python<'_>,
        name: String,
        roots: Option<Vec<u8>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let options = options.map_or_else(|| PyDict::new(py), Bound::clone);
        let options: Options = depythonize(&options)?;
        let settings = Settings {
            connect_timeout: seconds("connect_timeout", options.connect_timeout)?,
            proxy: match options.proxy {
                None => ProxyChoice::None,
                Some(proxy) if proxy == "environment" => ProxyChoice::Environment,
                Some(proxy) => ProxyChoice::Url(proxy),
            },
            roots,
            http_version: match &*options.http_version {
                "auto" => HttpVersion::Auto,
                "1.1" => HttpVersion::One,
                "2" => HttpVersion::Two,
                other => {
                    let message =
                        format!("http_version must be 'auto', '1.1' or '2', got {other:?}");
                    return Err(PyValueError::new_err(message));
                }
            },
            follow_redirects: options.follow_redirects,
            max_header_bytes: options.max_header_bytes,
        };
        let timeouts = Timeouts {
            first_byte: seconds("first_byte_timeout", options.first_byte_timeout)?,
            idle: seconds("idle_timeout", options.idle_timeout)?,
            total: options.timeout.map(|timeout| seconds("timeout", timeout)).transpose()?,
        };
        let retries = Retries {
            limit: options.max_retries,
            initial_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
        };
        let limits = Limits { line: options.max_line_bytes, body: options.max_body_bytes };
        let max_queued_bytes = options.max_queued_bytes;
        let pool = Mutex::new(None);
        let this = Self { name, settings, timeouts, retries, limits, max_queued_bytes, pool };
        // Reports invalid settings early.
        this.client(py)?;
        Ok(this)
    }

    /// Raise if a request with this URL and these headers could not be sent.
    ///
    /// Raises:
    ///     TypeError: A header is not a string.
    ///     ValueError: The URL or a header is invalid.
    #[staticmethod]
    fn check(url: &str, headers: &Bound<'_, PyDict>) -> PyResult<()> {
        parse_url(url)?;
        header_map(headers)?;
        Ok(())
    }

    /// Send a request. Call this on the thread of the event loop.
    ///
    /// Args:
    ///     url: The URL.
    ///     headers: The headers.
    ///     body: The body.
    ///     wakeup: The socket that wakes the loop; None if the loop cannot watch one.
    ///     parser: A parser for calls in the reply. It is not modified.
    ///     inline: True to parse text for calls.
    ///     recovered: True if calls in text are recovered ones: the request had native tools.
    ///     deltas: True to report arguments while they arrive.
    ///     call_ids: A function that returns the id of a call at an index, where the provider gave
    ///         none.
    ///
    /// Raises:
    ///     RuntimeError: Python is shutting down.
    ///     ValueError: The URL, a header or an option of the client is invalid.
    #[pyo3(signature = (
        url, headers, body, *, wakeup, parser=None, inline=true, recovered=false, deltas=true,
        call_ids=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn send(
        &self,
        py: Python<'_>,
        url: &str,
        headers: &Bound<'_, PyDict>,
        body: &[u8],
        wakeup: Option<&PyHttpWakeup>,
        parser: Option<&Bound<'_, PyParser>>,
        inline: bool,
        recovered: bool,
        deltas: bool,
        call_ids: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyHttpReply> {
        let ids = IdFactory::from_option("call_ids", call_ids)?;
        let runtime = handle(py)?;
        let (client, request) = self.request(py, url, headers, body)?;
        let (parsing, tools) = match parser {
            None => (None, None),
            Some(parser) => {
                let (parser, tools) = parser.try_borrow()?.parts(py);
                let validator = tools.core_validator();
                let parsing = CallParsing { parser, validator, inline, recovered, deltas };
                (Some(parsing), Some(tools.with_ids(ids)))
            }
        };
        let notifier = wakeup.map(PyHttpWakeup::notifier).transpose()?;
        let key = notifier.as_ref().map_or(0, |notifier| notifier.key);
        let queue = Arc::new(queue(self.max_queued_bytes, notifier));
        let writer = QueueWriter(Arc::clone(&queue));
        let task = runtime.spawn(run(client, request, parsing, writer)).abort_handle();
        Ok(PyHttpReply::new(RequestTask { queue, task }, ObjectBuilder::new(tools), key))
    }

    /// Close the idle connections. New ones can be opened afterwards.
    fn close(&self) {
        let pool = lock(&self.pool).take();
        drop(pool);
    }
}

async fn run(
    client: Client,
    request: Request,
    parsing: Option<CallParsing>,
    mut writer: QueueWriter,
) {
    let end = stream_reply(&client, &request, parsing, &mut writer).await;
    writer.end(end);
}

/// Return a duration, which must be positive and finite.
fn seconds(name: &str, given: f64) -> PyResult<Duration> {
    match Duration::try_from_secs_f64(given) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err(PyValueError::new_err(format!(
            "{name} must be a positive number of seconds, got {given}"
        ))),
    }
}

fn parse_url(url: &str) -> PyResult<Url> {
    Url::parse(url).map_err(|err| PyValueError::new_err(format!("the URL is invalid: {err}")))
}

/// Return the header map; an error does not repeat the values, which may be secret.
fn header_map(headers: &Bound<'_, PyDict>) -> PyResult<HeaderMap> {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let name: String = name.extract()?;
        let Ok(value) = value.extract::<String>() else {
            return Err(wrong_type(format!("the header {name:?} must be a str"), &value));
        };
        let Ok(key) = HeaderName::try_from(&name) else {
            return Err(PyValueError::new_err(format!("{name:?} is not a valid header name")));
        };
        let Ok(mut value) = HeaderValue::try_from(value) else {
            let message = format!("the header {name:?} has characters that are not allowed");
            return Err(PyValueError::new_err(message));
        };
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}
