//! The base class of messages: their envelope, and their construction.

use pyo3::{
    PyClass,
    exceptions::PyTypeError,
    prelude::*,
    types::{PyDict, PyString, PyType},
};
use serde_json::{Map, Value};

use super::{
    convert::{message_from_dict, message_from_json, to_core},
    extract::Detail,
    names::parse,
};
use crate::{
    message::{Content, Envelope, Message, MessageError, MessageKind, Place, Role},
    python::{
        convert::{
            object_to_python, optional_string, optional_text, to_json, to_json_object, to_python,
        },
        error::wrong_type,
    },
};

/// The envelope that every message has. Only its subclasses can be instantiated.
#[pyclass(name = "MessageBase", module = "toolweave", frozen, subclass, get_all)]
#[derive(Debug)]
pub(crate) struct PyMessageBase {
    /// The kind of the content; a plain string if this version does not know the kind.
    kind: Option<MessageKind>,
    /// The role of the author.
    role: Role,
    /// The id of the message.
    id: Option<Py<PyString>>,
    /// The agent that produced the message.
    from_agent: Option<Py<PyString>>,
    /// The model reply that the message belongs to.
    generation_id: Option<Py<PyString>>,
    /// The run that the message belongs to.
    run_id: Option<Py<PyString>>,
    /// The conversation that the message belongs to.
    chat_id: Option<Py<PyString>>,
    /// Other data, a JSON object.
    metadata: Py<PyDict>,
    /// Fields on the wire that this version does not know; written back unchanged.
    extra: Py<PyDict>,
}

#[pymethods]
impl PyMessageBase {
    /// Return the message as JSON text: camelCase, `kind` first, without empty fields.
    fn to_json(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(to_core(slf.as_any())?.to_json())
    }

    /// Return the message as the dict that `to_json` writes.
    fn to_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        to_python(slf.py(), &to_core(slf.as_any())?.to_json_value())
    }

    /// Read a message of this class from JSON text, nested at most 128 levels deep.
    ///
    /// Raises:
    ///     MessageError: The text is not JSON, not a message, or a message of another kind.
    #[classmethod]
    fn from_json<'py>(
        cls: &Bound<'py, PyType>,
        text: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_class(cls, message_from_json(text)?)
    }

    /// Read a message of this class from a dict.
    ///
    /// Raises:
    ///     MessageError: The dict is not a message, or a message of another kind.
    #[classmethod]
    fn from_dict<'py>(
        cls: &Bound<'py, PyType>,
        fields: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_class(cls, message_from_dict(fields)?)
    }
}

fn of_class<'py>(
    class: &Bound<'py, PyType>,
    message: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    if message.is_instance(class)? {
        return Ok(message);
    }
    Err(MessageError::Unexpected {
        place: Place { path: "/kind".into(), ..Place::default() },
        expected: format!("the kind of a {}", class.name()?),
        actual: format!("the kind of a {}", message.get_type().name()?),
    }
    .into())
}

impl PyMessageBase {
    pub(super) fn from_core(
        py: Python<'_>,
        kind: Option<MessageKind>,
        envelope: &Envelope,
    ) -> PyResult<Self> {
        let text = |text: &Option<String>| optional_string(py, text.as_ref());
        Ok(Self {
            kind,
            role: envelope.role,
            id: text(&envelope.id),
            from_agent: text(&envelope.from_agent),
            generation_id: text(&envelope.generation_id),
            run_id: text(&envelope.run_id),
            chat_id: text(&envelope.chat_id),
            metadata: object_to_python(py, &envelope.metadata)?.unbind(),
            extra: object_to_python(py, &envelope.extra)?.unbind(),
        })
    }

    pub(super) fn to_core(&self, py: Python<'_>, detail: Detail<'_>) -> PyResult<Envelope> {
        let text = |text: &Option<Py<PyString>>| optional_text(py, text.as_ref());
        Ok(Envelope {
            role: self.role,
            id: text(&self.id)?,
            from_agent: text(&self.from_agent)?,
            generation_id: text(&self.generation_id)?,
            run_id: text(&self.run_id)?,
            chat_id: text(&self.chat_id)?,
            natural: false,
            metadata: match detail {
                // Only this member.
                Detail::Provider(key) => match self.metadata.bind(py).get_item(key)? {
                    Some(value) => Map::from_iter([(key.to_owned(), to_json(&value)?)]),
                    None => Map::new(),
                },
                Detail::Full | Detail::Request => to_json_object(self.metadata.bind(py))?,
            },
            extra: to_json_object(self.extra.bind(py))?,
        })
    }
}

/// A class for one kind of message.
pub(super) trait Kind: PyClass<BaseType = PyMessageBase> {
    /// The default role.
    const ROLE: Role;
    const KIND: Option<MessageKind>;

    fn content(&self, py: Python<'_>, detail: Detail<'_>) -> PyResult<Content>;
}

/// Build a message from its content and the keywords of the envelope.
pub(super) fn build<K: Kind>(
    py: Python<'_>,
    content: K,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyClassInitializer<K>> {
    let class = py.get_type::<K>();
    let envelope = envelope(class.name()?.to_str()?, K::ROLE, keywords)?;
    let base = PyMessageBase::from_core(py, K::KIND, &envelope)?;
    if K::KIND.is_none() || !envelope.extra.is_empty() {
        check_extra(&Message { envelope, content: content.content(py, Detail::Full)? })?;
    }
    Ok(PyClassInitializer::from(base).add_subclass(content))
}

/// Reject extra fields whose names have a meaning on the wire.
fn check_extra(message: &Message) -> PyResult<()> {
    let name = if matches!(message.content, Content::Unknown { .. }) { "fields" } else { "extra" };
    match Message::from_json_value(message.to_json_value()) {
        Ok(back) if back == *message => Ok(()),
        _ => Err(MessageError::Unsupported {
            place: Place { path: format!("/{name}"), ..Place::default() },
            target: "the wire",
            reason: format!(
                "it holds names or a kind that messages have themselves; {name} is for others"
            ),
        }
        .into()),
    }
}

/// Read the keyword-only parameters that all kinds share.
fn envelope(
    class: &str,
    default: Role,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<Envelope> {
    let mut envelope = Envelope::new(default);
    let Some(keywords) = keywords else {
        return Ok(envelope);
    };
    for (name, value) in keywords {
        let name = name.cast_into::<PyString>()?;
        let name = name.to_str()?;
        let slot = match name {
            "role" => {
                if !value.is_none() {
                    envelope.role = parse(&value, "role")?;
                }
                continue;
            }
            "metadata" => {
                envelope.metadata = object(&value, name)?;
                continue;
            }
            "extra" => {
                envelope.extra = object(&value, name)?;
                continue;
            }
            "id" => &mut envelope.id,
            "from_agent" => &mut envelope.from_agent,
            "generation_id" => &mut envelope.generation_id,
            "run_id" => &mut envelope.run_id,
            "chat_id" => &mut envelope.chat_id,
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "{class}() got an unexpected keyword argument '{name}'; beside its content it \
                     takes role, id, from_agent, generation_id, run_id, chat_id, metadata, extra"
                )));
            }
        };
        *slot = if value.is_none() {
            None
        } else if let Ok(text) = value.cast::<PyString>() {
            Some(text.to_str()?.to_owned())
        } else {
            return Err(wrong_type(format!("{name} must be a str or None"), &value));
        };
    }
    Ok(envelope)
}

pub(super) fn object(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Map<String, Value>> {
    if value.is_none() {
        return Ok(Map::new());
    }
    to_json_object(value).map_err(|err| {
        let py = value.py();
        PyErr::from_type(err.get_type(py), format!("{name}: {}", err.value(py)))
    })
}
