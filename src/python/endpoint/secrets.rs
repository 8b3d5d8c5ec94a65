//! Texts without keys, for the clients of others.

use pyo3::{prelude::*, types::PyString};

use crate::endpoint::Secrets;

/// A text without the parts of keys that it repeats.
#[pyfunction(name = "_without_keys")]
pub(crate) fn without_keys(text: &Bound<'_, PyString>, keys: Vec<Bound<'_, PyString>>) -> String {
    let mut secrets = Secrets::default();
    for key in keys {
        secrets.add(&key.to_string_lossy());
    }
    secrets.hide(&text.to_string_lossy()).into_owned()
}
