//! Common methods of plain data classes: matching, comparison, repr, copies and pickling.

use pyo3::{
    PyTypeInfo,
    basic::CompareOp,
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

/// A frozen class that is fully described by its fields.
pub(crate) trait Record: PyTypeInfo {
    /// The fields, in the order of positional matching; all are keyword arguments.
    const FIELDS: &'static [&'static str];
    /// Number of leading fields that `repr` always shows; others only if they are truthy.
    const SHOWN: usize = Self::FIELDS.len();
    /// Texts that `repr` does not show.
    const IMPLIED: &'static [(&'static str, &'static str)] = &[];
    /// The fields that are hashed: hashable, and equal if the objects are.
    const HASHED: &'static [&'static str] = Self::FIELDS;
    /// The fields that are not compared.
    const UNCOMPARED: &'static [&'static str] = &[];
    /// The fields that are neither pickled nor copied by `copy`.
    const UNPICKLED: &'static [&'static str] = &[];
}

/// Return `Name(field=value, ...)`, without optional fields at their defaults.
pub(crate) fn repr<R: Record>(this: &Bound<'_, R>) -> PyResult<String> {
    let this = this.as_any();
    let mut fields = Vec::new();
    for (position, field) in R::FIELDS.iter().enumerate() {
        let value = this.getattr(*field)?;
        let implied = R::IMPLIED.iter().find(|(name, _)| name == field);
        if implied.is_some_and(|(_, text)| value.eq(*text).unwrap_or(false)) {
            continue;
        }
        if position < R::SHOWN || value.is_truthy()? {
            fields.push(format!("{field}={}", value.repr()?.to_str()?));
        }
    }
    Ok(format!("{}({})", this.get_type().name()?.to_str()?, fields.join(", ")))
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
    if !other.is_instance_of::<R>() {
        return Ok(py.NotImplemented());
    }
    let mut equal = true;
    for field in R::FIELDS.iter().filter(|field| !R::UNCOMPARED.contains(field)) {
        if !this.as_any().getattr(*field)?.eq(other.getattr(*field)?)? {
            equal = false;
            break;
        }
    }
    Ok((equal == wanted).into_pyobject(py)?.to_owned().into_any().unbind())
}

/// Return the hash of the fields; raise `TypeError` if one of them is not hashable.
pub(crate) fn hash<R: Record>(this: &Bound<'_, R>) -> PyResult<isize> {
    let values: Vec<_> =
        R::HASHED.iter().map(|field| this.as_any().getattr(*field)).collect::<PyResult<_>>()?;
    PyTuple::new(this.py(), values)?.hash()
}

/// Return the value for `pickle` and `copy`: the class, and the keyword arguments for [`rebuild`].
pub(crate) fn reduce<'py, R: Record>(this: &Bound<'py, R>) -> PyResult<Bound<'py, PyTuple>> {
    let py = this.py();
    let fields = fields(this)?;
    for field in R::UNPICKLED {
        fields.del_item(field)?;
    }
    let rebuild = py.import("toolweave._core")?.getattr("_rebuild")?;
    (rebuild, (this.as_any().get_type(), fields)).into_pyobject(py)
}

/// Return a copy with some fields changed, for `copy.replace` (Python 3.13).
pub(crate) fn replace<'py, R: Record>(
    this: &Bound<'py, R>,
    changes: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = fields(this)?;
    if let Some(changes) = changes {
        fields.update(changes.as_mapping())?;
    }
    this.as_any().get_type().call((), Some(&fields))
}

fn fields<'py, R: Record>(this: &Bound<'py, R>) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(this.py());
    for field in R::FIELDS {
        fields.set_item(PyString::new(this.py(), field), this.as_any().getattr(*field)?)?;
    }
    Ok(fields)
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
    (
        $class:ty {
            fields: [$($field:ident),* $(,)?]
            $(, shown: $shown:literal)?
            $(, implied: [$($implied:ident: $text:literal),*])?
            $(, hashed: [$($hashed:ident),*])?
            $(, uncompared: [$($uncompared:ident),*])?
            $(, unpickled: [$($unpickled:ident),*])?
            $(,)?
        }
        $($methods:tt)*
    ) => {
        impl $crate::python::class::Record for $class {
            const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];
            $(const SHOWN: usize = $shown;)?
            $(const IMPLIED: &'static [(&'static str, &'static str)] =
                &[$((stringify!($implied), $text)),*];)?
            $(const HASHED: &'static [&'static str] = &[$(stringify!($hashed)),*];)?
            $(const UNCOMPARED: &'static [&'static str] = &[$(stringify!($uncompared)),*];)?
            $(const UNPICKLED: &'static [&'static str] = &[$(stringify!($unpickled)),*];)?
        }

        #[pyo3::pymethods]
        impl $class {
            #[classattr]
            fn __match_args__(
                py: pyo3::Python<'_>,
            ) -> pyo3::PyResult<pyo3::Bound<'_, pyo3::types::PyTuple>> {
                pyo3::types::PyTuple::new(py, <Self as $crate::python::class::Record>::FIELDS)
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

            #[pyo3(signature = (**changes))]
            fn __replace__<'py>(
                slf: &pyo3::Bound<'py, Self>,
                changes: Option<&pyo3::Bound<'py, pyo3::types::PyDict>>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::PyAny>> {
                $crate::python::class::replace(slf, changes)
            }

            $($methods)*
        }
    };
}
pub(crate) use record;

/// Declare a [`Record`] whose constructor takes the fields as they are, with this signature.
///
/// `check` is a function of the new object that returns an error if a field is invalid.
macro_rules! data_class {
    (
        $(#[$($doc:tt)*])*
        $name:literal, $class:ident($($signature:tt)*) {
            $($(#[$($field_doc:tt)*])* $field:ident: $type:ty),* $(,)?
        }
        $(shown: $shown:literal)?
        $(hashed: [$($hashed:ident),*])?
        $(check: $check:path)?
    ) => {
        $(#[$($doc)*])*
        #[pyo3::pyclass(name = $name, module = "toolweave", frozen, get_all)]
        #[derive(Debug)]
        #[allow(clippy::struct_field_names, reason = "the names that users write")]
        pub(crate) struct $class {
            $($(#[$($field_doc)*])* pub(crate) $field: $type,)*
        }

        $crate::python::class::record!($class {
                fields: [$($field),*] $(, shown: $shown)? $(, hashed: [$($hashed),*])?
            }
            #[new]
            #[pyo3(signature = ($($signature)*))]
            #[allow(clippy::unnecessary_wraps, reason = "some have a check")]
            fn new($($field: $type),*) -> pyo3::PyResult<Self> {
                let made = Self { $($field),* };
                $($check(&made)?;)?
                Ok(made)
            }
        );
    };
}
pub(crate) use data_class;
