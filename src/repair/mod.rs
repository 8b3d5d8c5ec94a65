//! Mending arguments: broken JSON, and JSON of the wrong type.
