//! Python class for [`crate::proxy`].

use std::{sync::Mutex, time::Duration};

use pyo3::{exceptions::PyOSError, exceptions::PyValueError, prelude::*, types::PyDict};
use pythonize::depythonize;
use serde::Deserialize;

use super::lock;
use crate::{
    parser::Dialect,
    proxy::{Limits, Mode, Server, Settings, StartError},
};

/// A running proxy, with threads of its own that never wait for the interpreter.
///
/// Times are in seconds, sizes in bytes; see `toolweave serve`. It runs until `stop` is called or
/// the object is deleted.
///
/// Args:
///     upstream: The base URL of the upstream, such as `http://127.0.0.1:8080/v1`.
///
/// Raises:
///     OSError: The address cannot be bound, or the file of replies cannot be opened.
///     ValueError: An option is invalid.
#[pyclass(name = "ProxyServer", module = "toolweave._core", frozen)]
#[derive(Debug)]
pub(crate) struct PyProxyServer {
    server: Mutex<Option<Server>>,
    address: (String, u16),
}

/// The options of a proxy; see `toolweave serve`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    address: String,
    upstream_key: Option<String>,
    api_key: Option<String>,
    mode: Option<String>,
    dialect: Option<String>,
    retries: u32,
    #[serde(default)]
    stream_arguments: bool,
    #[serde(rename = "pass_paths")]
    pass: Vec<String>,
    hosts: Vec<String>,
    origins: Vec<String>,
    max_body_bytes: usize,
    max_concurrency: usize,
    client_timeout: f64,
    first_byte_timeout: f64,
    idle_timeout: f64,
    timeout: Option<f64>,
    threads: usize,
    log: bool,
    #[serde(default)]
    record: Option<String>,
}

#[pymethods]
impl PyProxyServer {
    #[new]
    #[pyo3(signature = (upstream, **options))]
    fn new(py: Python<'_>, upstream: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = options.map_or_else(|| PyDict::new(py), Bound::clone);
        let settings = settings(upstream, depythonize(&options)?)?;
        let server = py.detach(|| Server::start(settings)).map_err(|error| match error {
            StartError::Settings(message) => PyValueError::new_err(message),
            other => PyOSError::new_err(other.to_string()),
        })?;
        let address = (server.address().ip().to_string(), server.address().port());
        Ok(Self { server: Mutex::new(Some(server)), address })
    }

    /// Host and port that the server listens on.
    #[getter]
    fn address(&self) -> (String, u16) {
        self.address.clone()
    }

    /// Stop the server once the responses that are being written have ended.
    ///
    /// It accepts no more requests meanwhile.
    ///
    /// Args:
    ///     grace: Maximum time to wait, in seconds.
    ///
    /// Returns:
    ///     True if all responses have ended, or if the server had been stopped already.
    fn stop(&self, py: Python<'_>, grace: f64) -> PyResult<bool> {
        let grace = seconds("grace", grace)?;
        let server = lock(&self.server).take();
        Ok(server.is_none_or(|server| py.detach(|| server.stop(grace))))
    }
}

fn settings(upstream: &str, options: Options) -> PyResult<Settings> {
    let invalid = |message: String| Err(PyValueError::new_err(message));
    // It may hold a password, so the error does not repeat it.
    let upstream = upstream.parse().map_err(|_| {
        PyValueError::new_err("the upstream must be a URL such as http://127.0.0.1:8080/v1")
    })?;
    let mut settings = Settings::new(upstream);
    let Ok(address) = options.address.parse() else {
        return invalid(format!(
            "address must be an IP address and a port, got {:?}",
            options.address
        ));
    };
    settings.address = address;
    if let Some(mode) = &options.mode {
        settings.mode = Mode::from_wire(mode);
        if settings.mode.is_none() {
            return invalid(format!("mode must be 'natural' or 'recover', got {mode:?}"));
        }
    }
    if let Some(dialect) = &options.dialect {
        settings.dialect = Dialect::named(dialect);
        if settings.dialect.is_none() {
            let names: Vec<_> = Dialect::ALL.iter().map(|dialect| dialect.name).collect();
            return invalid(format!(
                "dialect must be one of {}, got {dialect:?}",
                names.join(", ")
            ));
        }
    }
    settings.limits = Limits {
        max_body_bytes: options.max_body_bytes,
        max_concurrency: options.max_concurrency,
        client_timeout: seconds("client_timeout", options.client_timeout)?,
        first_byte_timeout: seconds("first_byte_timeout", options.first_byte_timeout)?,
        idle_timeout: seconds("idle_timeout", options.idle_timeout)?,
        timeout: options.timeout.map(|timeout| seconds("timeout", timeout)).transpose()?,
    };
    settings.upstream_key = options.upstream_key;
    settings.api_key = options.api_key;
    settings.retries = options.retries;
    settings.stream_arguments = options.stream_arguments;
    settings.pass = options.pass;
    settings.hosts = options.hosts;
    settings.origins = options.origins;
    settings.threads = options.threads;
    settings.log = options.log;
    settings.record = options.record.map(Into::into);
    Ok(settings)
}

fn seconds(name: &str, value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value).map_err(|_| {
        PyValueError::new_err(format!(
            "{name} must be a number of seconds of at least 0, got {value}"
        ))
    })
}
