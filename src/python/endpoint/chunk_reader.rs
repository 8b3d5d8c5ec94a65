//! Reading of chunks that a provider's own client has received and parsed.

use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple},
};
use serde::{
    de::{
        Deserializer, Error, IntoDeserializer, Visitor,
        value::{self, MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::Number;

use super::objects::ObjectBuilder;
use crate::{
    endpoint::{ChunkReader, Event},
    python::message::PyFinishUpdate,
};

/// Converter from the chunks of an OpenAI-compatible reply to updates.
///
/// For chunks that a provider's client has received and parsed: dicts, or the client's objects.
/// The reader tolerates common deviations of servers: missing or repeated ids and indexes, names in
/// every fragment, and reasoning under different field names. Only the first of several choices is
/// read.
#[pyclass(name = "ChunkReader", module = "toolweave._core", subclass)]
pub(crate) struct PyChunkReader {
    reader: ChunkReader,
    objects: ObjectBuilder,
}

#[pymethods]
impl PyChunkReader {
    #[new]
    fn new() -> Self {
        Self { reader: ChunkReader::new(None), objects: ObjectBuilder::default() }
    }

    /// Finish reason as the server sent it; None before that.
    #[getter]
    fn reason(&self) -> Option<&str> {
        self.reader.reason.as_deref()
    }

    #[setter]
    fn set_reason(&mut self, reason: Option<String>) {
        self.reader.reason = reason;
    }

    /// Return the updates of one chunk; none if it only keeps the connection alive.
    fn push<'py>(&mut self, chunk: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = chunk.py();
        let mut events: Vec<Event> = Vec::new();
        self.reader
            .push_parsed(Parsed(chunk), &mut events)
            .map_err(|err| PyValueError::new_err(err.to_string()))?;
        self.objects.convert(py, events)
    }

    /// Return the end of the reply: ``missing`` if its reason is absent or unknown.
    fn finish(&self) -> PyFinishUpdate {
        PyFinishUpdate { reason: self.reader.finish_reason() }
    }
}

/// A part of a chunk: JSON as Python has it, or an object with the members as attributes.
struct Parsed<'py>(Bound<'py, PyAny>);

impl<'py> Parsed<'py> {
    fn members(pairs: &Bound<'py, PyDict>) -> impl Iterator<Item = (Self, Self)> {
        pairs.iter().map(|(key, value)| (Self(key), Self(value)))
    }
}

impl<'de> Deserializer<'de> for Parsed<'_> {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, value::Error> {
        let Self(object) = self;
        if object.is_none() {
            visitor.visit_unit()
        } else if let Ok(text) = object.cast::<PyString>() {
            visitor.visit_str(&text.to_string_lossy())
        } else if let Ok(dict) = object.cast::<PyDict>() {
            visitor.visit_map(MapDeserializer::new(Self::members(dict)))
        } else if let Ok(list) = object.cast::<PyList>() {
            visitor.visit_seq(SeqDeserializer::new(list.iter().map(Parsed)))
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            visitor.visit_seq(SeqDeserializer::new(tuple.iter().map(Parsed)))
        } else if let Ok(truth) = object.cast::<PyBool>() {
            visitor.visit_bool(truth.is_true())
        } else if object.is_instance_of::<PyInt>() {
            if let Ok(number) = object.extract::<i64>() {
                return visitor.visit_i64(number);
            }
            // All of its digits, as in JSON text.
            let digits = object.str().map_err(Error::custom)?;
            let number = Number::from_string_unchecked(digits.to_string_lossy().into_owned());
            number.deserialize_any(visitor).map_err(Error::custom)
        } else if let Ok(float) = object.cast::<PyFloat>() {
            visitor.visit_f64(float.value())
        } else if let Ok(mapping) = object.cast::<PyMapping>() {
            let dict = PyDict::new(object.py());
            dict.update(mapping).map_err(Error::custom)?;
            visitor.visit_map(MapDeserializer::new(Self::members(&dict)))
        } else {
            // Clients keep fields that they do not know apart, as pydantic does.
            let fields = ["__dict__", "__pydantic_extra__"]
                .map(|name| object.getattr(name).ok()?.cast_into::<PyDict>().ok());
            let members = fields.iter().flatten().flat_map(Self::members);
            visitor.visit_map(MapDeserializer::new(members))
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, value::Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
    }
}

impl IntoDeserializer<'_> for Parsed<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
