//! The parts of messages that a conversion reads.

/// The parts of a message that are read from its Python object.
///
/// A long call can have a repair for each of its values, and reading those takes long.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Detail<'a> {
    /// The whole message.
    Full,
    /// The message without the raw text and the repairs of calls, which no model reads.
    Request,
    /// As [`Request`](Self::Request), with only this member of the metadata.
    Provider(&'a str),
}
