//! Common methods of plain data classes: matching, comparison, repr and pickling.

use pyo3::{
    PyTypeInfo,
    basic::CompareOp,
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

/// A frozen class that is fully described by its fields.
pub(crate) trait Record: PyTypeInfo {
    /// The fields, in the order of the constructor.
    const FIELDS: &'static [&'static str];
    /// Fields that are not hashed, since they may not be hashable.
    const UNHASHED: &'static [&'static str];
}

fn values<'py, R: Record>(this: &Bound<'py, R>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    R::FIELDS.iter().map(|field| this.as_any().getattr(*field)).collect()
}

/// Return `Name(field=value, ...)`.
pub(crate) fn repr<R: Record>(this: &Bound<'_, R>) -> PyResult<String> {
    let mut text = this.as_any().get_type().name()?.to_str()?.to_owned();
    let mut separator = '(';
    for (field, value) in R::FIELDS.iter().zip(values(this)?) {
        text.push(separator);
        if separator == ',' {
            text.push(' ');
        }
        separator = ',';
        text.push_str(field);
        text.push('=');
        text.push_str(value.repr()?.to_str()?);
    }
    text.push_str(if separator == '(' { "()" } else { ")" });
    Ok(text)
}

/// Compare by class and fields with `==` or `!=`; return `NotImplemented` for other operators.
pub(crate) fn compare<R: Record>(
    this: &Bound<'_, R>,
    other: &Bound<'_, PyAny>,
    op: CompareOp,
) -> PyResult<Py<PyAny>> {
    let py = this.py();
    let wanted = match op {
        CompareOp::Eq => true,
        CompareOp::Ne => false,
        _ => return Ok(py.NotImplemented()),
    };
    let Ok(other) = other.cast::<R>() else {
        return Ok(py.NotImplemented());
    };
    let mut equal = true;
    for (mine, theirs) in values(this)?.into_iter().zip(values(other)?) {
        if !mine.eq(theirs)? {
            equal = false;
            break;
        }
    }
    Ok((equal == wanted).into_pyobject(py)?.to_owned().into_any().unbind())
}

/// Return the hash of the fields; raise `TypeError` if one of them is not hashable.
pub(crate) fn hash<R: Record>(this: &Bound<'_, R>) -> PyResult<isize> {
    let fields = R::FIELDS.iter().zip(values(this)?);
    let hashed = fields.filter(|(field, _)| !R::UNHASHED.contains(field)).map(|(_, value)| value);
    PyTuple::new(this.py(), hashed.collect::<Vec<_>>())?.hash()
}

/// Return the value for `pickle`: the class, and the fields as keyword arguments for [`rebuild`].
pub(crate) fn reduce<'py, R: Record>(this: &Bound<'py, R>) -> PyResult<Bound<'py, PyTuple>> {
    let py = this.py();
    let fields = PyDict::new(py);
    for (field, value) in R::FIELDS.iter().zip(values(this)?) {
        fields.set_item(PyString::new(py, field), value)?;
    }
    let rebuild = py.import("toolweave._core")?.getattr("_rebuild")?;
    (rebuild, (this.as_any().get_type(), fields)).into_pyobject(py)
}

/// Call a class with keyword arguments; the counterpart of [`reduce`].
#[pyfunction(name = "_rebuild")]
pub(crate) fn rebuild<'py>(
    class: &Bound<'py, PyAny>,
    fields: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    class.call((), Some(fields))
}

/// Implement [`Record`] for a class, with its methods and those given.
///
/// The class itself is declared in its own file: `#[pyclass(frozen, get_all, ...)]`.
macro_rules! record {
    ($class:ty { $($field:ident),* $(,)? } unhashed: [$($unhashed:ident),*], $($methods:tt)*) => {
        impl $crate::python::class::Record for $class {
            const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];
            const UNHASHED: &'static [&'static str] = &[$(stringify!($unhashed)),*];
        }

        #[pyo3::pymethods]
        impl $class {
            #[classattr]
            fn __match_args__(
                py: pyo3::Python<'_>,
            ) -> pyo3::PyResult<pyo3::Bound<'_, pyo3::types::PyTuple>> {
                pyo3::types::PyTuple::new(
                    py,
                    <Self as $crate::python::class::Record>::FIELDS,
                )
            }

            fn __repr__(slf: &pyo3::Bound<'_, Self>) -> pyo3::PyResult<String> {
                $crate::python::class::repr(slf)
            }

            fn __richcmp__(
                slf: &pyo3::Bound<'_, Self>,
                other: &pyo3::Bound<'_, pyo3::PyAny>,
                op: pyo3::basic::CompareOp,
            ) -> pyo3::PyResult<pyo3::Py<pyo3::PyAny>> {
                $crate::python::class::compare(slf, other, op)
            }

            fn __hash__(slf: &pyo3::Bound<'_, Self>) -> pyo3::PyResult<isize> {
                $crate::python::class::hash(slf)
            }

            fn __reduce__<'py>(
                slf: &pyo3::Bound<'py, Self>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::types::PyTuple>> {
                $crate::python::class::reduce(slf)
            }

            $($methods)*
        }
    };
    ($class:ty { $($field:ident),* $(,)? } $($methods:tt)*) => {
        $crate::python::class::record!($class { $($field),* } unhashed: [], $($methods)*);
    };
}
pub(crate) use record;
