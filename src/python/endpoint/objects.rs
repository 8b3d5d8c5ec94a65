//! What has been read, as Python objects.

use pyo3::{
    PyTraverseError, PyVisit,
    prelude::*,
    types::{PyString, PyTuple},
};

use crate::{
    endpoint::Event,
    python::{
        message::{PyFinishUpdate, PyReasoningDelta, PyTextDelta, PyToolCallUpdate, PyUsageUpdate},
        parser::{
            Ended, OpenIds, PyDiscarded, PyToolCallDelta, PyToolCallStart, Tools, fabricated,
            in_python,
        },
    },
};

/// Makes the objects of one reply.
#[derive(Debug, Default)]
pub(super) struct Objects {
    /// Whoever reads calls has them.
    tools: Option<Tools>,
    open: OpenIds,
}

impl Objects {
    pub(super) fn new(tools: Option<Tools>) -> Self {
        Self { tools, open: OpenIds::new() }
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.tools.as_ref().map_or(Ok(()), |tools| tools.traverse(visit))
    }

    pub(super) fn clear(&mut self) {
        self.tools = None;
    }

    /// The id of a call whose provider gave none.
    fn id(&mut self, py: Python<'_>, index: usize) -> PyResult<Py<PyString>> {
        match &self.tools {
            Some(tools) => tools.id(py, index, &mut self.open).map(Bound::unbind),
            None => Ok(PyString::new(py, &format!("call_{index}")).unbind()),
        }
    }

    pub(super) fn tuple<'py>(
        &mut self,
        py: Python<'py>,
        events: Vec<Event>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let objects: Vec<_> =
            events.into_iter().map(|event| self.object(py, event)).collect::<PyResult<_>>()?;
        PyTuple::new(py, objects)
    }

    fn object<'py>(&mut self, py: Python<'py>, event: Event) -> PyResult<Bound<'py, PyAny>> {
        let string = |text: &str| PyString::new(py, text).unbind();
        Ok(match event {
            Event::Text(text) => bound(py, PyTextDelta { text: string(&text) })?,
            Event::Reasoning(text) => bound(py, PyReasoningDelta { text: string(&text) })?,
            Event::Fragment(update) => bound(py, PyToolCallUpdate::from_core(py, &update))?,
            Event::Start { index, id, name } => {
                let id = match id {
                    Some(id) => string(&id),
                    None => self.id(py, index)?,
                };
                self.open.insert(index, id.clone_ref(py));
                bound(py, PyToolCallStart { index, id, name: string(&name) })?
            }
            Event::Delta { index, fragment } => {
                bound(py, PyToolCallDelta { index, fragment: string(&fragment) })?
            }
            Event::End { index, name, raw, verdict } => {
                let id = match self.open.remove(index) {
                    Some(id) => id,
                    None => self.id(py, index)?,
                };
                let ended = Ended { index, id, name: string(&name), raw: string(&raw) };
                ended.event(py, in_python(py, verdict))?
            }
            Event::Discarded { raw, reason } => {
                let reason = PyString::intern(py, reason.as_str()).unbind();
                bound(py, PyDiscarded { raw: string(&raw), reason })?
            }
            Event::Fabricated { name, raw } => fabricated(py, name.as_deref(), string(&raw))?,
            Event::Usage(usage) => bound(py, PyUsageUpdate::from_core(&usage))?,
            Event::Finish(reason) => bound(py, PyFinishUpdate { reason })?,
        })
    }
}

fn bound<T>(py: Python<'_>, event: T) -> PyResult<Bound<'_, PyAny>>
where
    T: pyo3::PyClass + Into<pyo3::PyClassInitializer<T>>,
{
    Bound::new(py, event).map(Bound::into_any)
}
