//! Redaction of API keys, for models that use a provider's own client.

use pyo3::{prelude::*, types::PyString};

use crate::endpoint::Secrets;

/// Return `text` with every part of a key in it removed.
#[pyfunction(name = "_without_keys")]
pub(crate) fn without_keys(text: &Bound<'_, PyString>, keys: Vec<Bound<'_, PyString>>) -> String {
    let mut secrets = Secrets::default();
    for key in keys {
        secrets.add(&key.to_string_lossy());
    }
    secrets.hide(&text.to_string_lossy()).into_owned()
}
