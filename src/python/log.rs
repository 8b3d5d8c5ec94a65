//! Logging of decisions: one `logging` record each, with its details as fields.
//!
//! Arguments and results are never logged.

use pyo3::{prelude::*, sync::PyOnceLock, types::PyDict};

/// The levels of records, as `logging` defines them.
pub(crate) const INFO: u8 = 20;
pub(crate) const WARNING: u8 = 30;

/// The logger of one area: `toolweave.<area>`.
pub(crate) struct Log {
    area: &'static str,
    logger: PyOnceLock<Py<PyAny>>,
}

impl Log {
    pub(crate) const fn new(area: &'static str) -> Self {
        Self { area, logger: PyOnceLock::new() }
    }

    /// Log a decision, if its level is enabled; `fields` adds the details.
    ///
    /// An exception of a handler is reported as unraisable and does not change the decision.
    pub(crate) fn record<'py>(
        &self,
        py: Python<'py>,
        level: u8,
        message: &str,
        fields: impl FnOnce(&Bound<'py, PyDict>) -> PyResult<()>,
    ) {
        let log = || {
            let logger = self.logger.get_or_try_init(py, || {
                let name = format!("toolweave.{}", self.area);
                py.import("logging")?.call_method1("getLogger", (name,)).map(Bound::unbind)
            })?;
            let logger = logger.bind(py);
            if !logger.call_method1("isEnabledFor", (level,))?.is_truthy()? {
                return Ok(());
            }
            let extra = PyDict::new(py);
            fields(&extra)?;
            let options = PyDict::new(py);
            options.set_item("extra", extra)?;
            logger.call_method("log", (level, message), Some(&options)).map(drop)
        };
        log().unwrap_or_else(|err: PyErr| err.write_unraisable(py, None));
    }
}
