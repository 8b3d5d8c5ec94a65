//! Plain data classes of which some fields are excluded from comparison, hash and `repr`.

use pyo3::{
    PyTypeInfo,
    basic::CompareOp,
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

/// A frozen class with optional fields, of which some may not be hashable.
pub(super) trait Entity: PyTypeInfo {
    /// The fields, those for positional matching first; all are keyword arguments.
    const FIELDS: &'static [&'static str];
    /// Number of leading fields that `repr` always shows; others only if they are truthy.
    const SHOWN: usize;
    /// Fields that are not compared.
    const SILENT: &'static [&'static str];
    /// The field that is neither pickled nor copied by `copy`.
    const UNPICKLED: Option<&'static str>;
    /// The fields that are hashed: hashable, and equal if the objects are.
    const HASHED: &'static [&'static str];
}

pub(super) fn match_args<E: Entity>(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    PyTuple::new(py, E::FIELDS)
}

/// Return `Name(field=value, ...)`, without fields at their defaults.
pub(super) fn repr<E: Entity>(this: &Bound<'_, E>) -> PyResult<String> {
    let this = this.as_any();
    let mut fields = Vec::new();
    for (position, field) in E::FIELDS.iter().enumerate() {
        let value = this.getattr(*field)?;
        if position < E::SHOWN || value.is_truthy()? {
            fields.push(format!("{field}={}", value.repr()?.to_str()?));
        }
    }
    Ok(format!("{}({})", this.get_type().name()?.to_str()?, fields.join(", ")))
}

/// Compare by class and fields with `==` or `!=`.
pub(super) fn compare<E: Entity>(
    this: &Bound<'_, E>,
    other: &Bound<'_, PyAny>,
    op: CompareOp,
) -> PyResult<Py<PyAny>> {
    let py = this.py();
    let wanted = match op {
        CompareOp::Eq => true,
        CompareOp::Ne => false,
        _ => return Ok(py.NotImplemented()),
    };
    if !other.is_instance_of::<E>() {
        return Ok(py.NotImplemented());
    }
    let mut equal = true;
    for field in E::FIELDS.iter().filter(|field| !E::SILENT.contains(field)) {
        if !this.as_any().getattr(*field)?.eq(other.getattr(*field)?)? {
            equal = false;
            break;
        }
    }
    Ok((equal == wanted).into_pyobject(py)?.to_owned().into_any().unbind())
}

pub(super) fn hash<E: Entity>(this: &Bound<'_, E>) -> PyResult<isize> {
    let values: Vec<_> =
        E::HASHED.iter().map(|field| this.as_any().getattr(*field)).collect::<PyResult<_>>()?;
    PyTuple::new(this.py(), values)?.hash()
}

/// Return the value for `pickle` and `copy`.
pub(super) fn reduce<'py, E: Entity>(this: &Bound<'py, E>) -> PyResult<Bound<'py, PyTuple>> {
    let py = this.py();
    let rebuild = py.import("toolweave._core")?.getattr("_rebuild")?;
    let fields = fields(this)?;
    if let Some(field) = E::UNPICKLED {
        fields.del_item(field)?;
    }
    (rebuild, (this.as_any().get_type(), fields)).into_pyobject(py)
}

/// Return a copy with some fields changed, for `copy.replace` (Python 3.13).
pub(super) fn replace<'py, E: Entity>(
    this: &Bound<'py, E>,
    changes: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = fields(this)?;
    if let Some(changes) = changes {
        fields.update(changes.as_mapping())?;
    }
    this.as_any().get_type().call((), Some(&fields))
}

fn fields<'py, E: Entity>(this: &Bound<'py, E>) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(this.py());
    for field in E::FIELDS {
        fields.set_item(PyString::new(this.py(), field), this.as_any().getattr(*field)?)?;
    }
    Ok(fields)
}

/// Return the one name of a list, or None.
pub(super) const fn optional(names: &[&'static str]) -> Option<&'static str> {
    if let [name] = names { Some(*name) } else { None }
}

/// Implement [`Entity`] for a class, with its methods and those given.
macro_rules! entity {
    (
        $class:ty {
            fields: [$($field:literal),*],
            shown: $shown:literal,
            $(silent: [$($silent:literal),*],)?
            $(unpickled: $unpickled:literal,)?
            hashed: [$($hashed:literal),*] $(,)?
        }
        $($methods:tt)*
    ) => {
        impl $crate::python::message::entity::Entity for $class {
            const FIELDS: &'static [&'static str] = &[$($field),*];
            const SHOWN: usize = $shown;
            const SILENT: &'static [&'static str] = &[$($($silent),*)?];
            const UNPICKLED: Option<&'static str> =
                $crate::python::message::entity::optional(&[$($unpickled)?]);
            const HASHED: &'static [&'static str] = &[$($hashed),*];
        }

        #[pyo3::pymethods]
        impl $class {
            #[classattr]
            fn __match_args__(
                py: pyo3::Python<'_>,
            ) -> pyo3::PyResult<pyo3::Bound<'_, pyo3::types::PyTuple>> {
                $crate::python::message::entity::match_args::<Self>(py)
            }

            fn __repr__(slf: &pyo3::Bound<'_, Self>) -> pyo3::PyResult<String> {
                $crate::python::message::entity::repr(slf)
            }

            fn __richcmp__(
                slf: &pyo3::Bound<'_, Self>,
                other: &pyo3::Bound<'_, pyo3::PyAny>,
                op: pyo3::basic::CompareOp,
            ) -> pyo3::PyResult<pyo3::Py<pyo3::PyAny>> {
                $crate::python::message::entity::compare(slf, other, op)
            }

            fn __hash__(slf: &pyo3::Bound<'_, Self>) -> pyo3::PyResult<isize> {
                $crate::python::message::entity::hash(slf)
            }

            fn __reduce__<'py>(
                slf: &pyo3::Bound<'py, Self>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::types::PyTuple>> {
                $crate::python::message::entity::reduce(slf)
            }

            #[pyo3(signature = (**changes))]
            fn __replace__<'py>(
                slf: &pyo3::Bound<'py, Self>,
                changes: Option<&pyo3::Bound<'py, pyo3::types::PyDict>>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::PyAny>> {
                $crate::python::message::entity::replace(slf, changes)
            }

            $($methods)*
        }
    };
}
pub(super) use entity;
