//! Closed sets of names as members of the `Enum`s in `toolweave.kinds`.

use pyo3::{exceptions::PyValueError, prelude::*, sync::PyOnceLock, types::PyString};

use crate::{
    message::{ErrorCode, FinishReason, MessageKind, Role},
    python::error::wrong_type,
};

/// A name that Python sees as a member of a `str` enum.
pub(super) trait Name: Copy + PartialEq + 'static {
    /// The class in `toolweave.kinds`.
    const CLASS: &'static str;
    /// All names, in order.
    const ALL: &'static [Self];

    /// Return the name on the wire.
    fn wire(self) -> &'static str;

    /// Return the cell for the members, in the order of `ALL`.
    fn members() -> &'static PyOnceLock<Vec<Py<PyAny>>>;
}

macro_rules! names {
    ($($class:ident)*) => {
        $(impl Name for $class {
            const CLASS: &'static str = stringify!($class);
            const ALL: &'static [Self] = $class::ALL;

            fn wire(self) -> &'static str {
                self.as_str()
            }

            fn members() -> &'static PyOnceLock<Vec<Py<PyAny>>> {
                static MEMBERS: PyOnceLock<Vec<Py<PyAny>>> = PyOnceLock::new();
                &MEMBERS
            }
        }

        impl<'py> IntoPyObject<'py> for $class {
            type Target = PyAny;
            type Output = Bound<'py, PyAny>;
            type Error = PyErr;

            fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                member(py, self)
            }
        })*
    };
}

names!(ErrorCode FinishReason MessageKind Role);

/// Return the member for a name.
fn member<N: Name>(py: Python<'_>, name: N) -> PyResult<Bound<'_, PyAny>> {
    let members = N::members().get_or_try_init(py, || {
        let class = py.import("toolweave.kinds")?.getattr(N::CLASS)?;
        N::ALL
            .iter()
            .map(|name| class.call1((name.wire(),)).map(Bound::unbind))
            .collect::<PyResult<Vec<_>>>()
    })?;
    match N::ALL.iter().zip(members).find(|(known, _)| **known == name) {
        Some((_, member)) => Ok(member.bind(py).clone()),
        None => Ok(PyString::intern(py, name.wire()).into_any()),
    }
}

/// Parse a name from a member or a plain string.
pub(super) fn parse<N: Name>(value: &Bound<'_, PyAny>, parameter: &str) -> PyResult<N> {
    let Ok(text) = value.cast::<PyString>() else {
        let class = N::CLASS;
        return Err(wrong_type(format!("{parameter} must be a {class} or its string"), value));
    };
    let text = text.to_str()?;
    N::ALL.iter().copied().find(|name| name.wire() == text).ok_or_else(|| {
        let known: Vec<_> = N::ALL.iter().map(|name| name.wire()).collect();
        PyValueError::new_err(format!(
            "{parameter} is {text:?}; expected one of {}",
            known.join(", ")
        ))
    })
}
