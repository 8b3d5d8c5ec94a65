//! Validation of Python objects in place, without a copy.
//!
//! Only plain objects, such as the parser creates, are validated here. What is expensive to
//! validate in place exhausts the meter, and the core validates a copy: integers beyond 64 bits,
//! floats that are long when written out, and values that a schema visits more often than
//! [`MAX_VISITS`].

use std::borrow::Cow;

use jsonschema::{
    JsonType,
    json::{Array, Json, JsonNumber, Node, NodeIdentity, Object, Pyo3},
};
use pyo3::{
    Borrowed,
    prelude::*,
    types::{PyDict, PyString},
};
use serde_json::Value;

use crate::validator::{CostModel, Keys, MAX_VISITS, Meter, equal};

/// A Python object that is plain JSON.
type Plain<'py> = Borrowed<'py, 'py, PyAny>;
/// The members of a dictionary.
type Dict<'py> = Borrowed<'py, 'py, PyDict>;
/// The items of a list.
type List<'py> = <Plain<'py> as Node<'py, Pyo3>>::Array;
/// A number of the crate.
type PlainNumber<'py> = <Plain<'py> as Node<'py, Pyo3>>::Number;

/// Python objects with a meter of visits.
#[derive(Debug)]
pub(crate) struct InPlace;

impl Json for InPlace {
    type Node<'py> = Metered<'py>;
    type PreparedKey = Py<PyString>;
    type StringBuffer = ();

    fn prepare_key(key: &str) -> Py<PyString> {
        Pyo3::prepare_key(key)
    }

    // The core handles schemas that validate names.
    fn with_string_node<T>(
        buffer: &mut (),
        string: &str,
        validate: impl FnOnce(Metered<'_>) -> T,
    ) -> T {
        let meter = Meter::new(MAX_VISITS, CostModel::PLAIN);
        Pyo3::with_string_node(buffer, string, |node| validate(Metered { node, meter: &meter }))
    }
}

/// Maximum number of digits of a number that is validated in place.
const MAX_DIGITS: usize = 20;

/// An object or one of its parts, with the meter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metered<'py, T = Plain<'py>> {
    node: T,
    meter: &'py Meter,
}

impl<'py, T> Metered<'py, T> {
    /// Return a part of this one.
    fn part<P>(&self, node: P) -> Metered<'py, P> {
        Metered { node, meter: self.meter }
    }
}

impl<'py> Metered<'py> {
    pub(crate) fn new(value: &'py Bound<'py, PyAny>, meter: &'py Meter) -> Self {
        Self { node: value.as_borrowed(), meter }
    }

    /// Append bytes that are equal for equal values only.
    fn write_key(self, keys: &mut Keys) {
        self.meter.visit();
        if self.meter.is_exhausted() {
            return;
        }
        if let Some(text) = self.as_string() {
            keys.string(&text);
        } else if let Some(number) = self.as_number() {
            match number.as_i64() {
                Some(small) => keys.integer(small),
                None => keys.number(number.as_str().as_ref()),
            }
        } else if let Some(items) = self.as_array() {
            keys.array(items.len());
            items.elements().for_each(|item| item.write_key(keys));
        } else if let Some(members) = self.as_object() {
            keys.object(members.len());
            let mut members: Vec<_> = members.members().collect();
            members.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
            for (name, member) in members {
                keys.string(&name);
                member.write_key(keys);
            }
        } else if let Some(value) = self.node.as_boolean() {
            keys.bool(value);
        } else {
            keys.null();
        }
    }
}

impl<'py> Node<'py, InPlace> for Metered<'py> {
    type Object = Metered<'py, Dict<'py>>;
    type Array = Metered<'py, List<'py>>;
    type Number = PlainNumber<'py>;

    fn as_object(&self) -> Option<Self::Object> {
        self.meter.visit();
        if self.meter.is_exhausted() {
            return None;
        }
        self.node.as_object().map(|members| self.part(members))
    }

    fn as_array(&self) -> Option<Self::Array> {
        self.meter.visit();
        if self.meter.is_exhausted() {
            return None;
        }
        self.node.as_array().map(|items| self.part(items))
    }

    fn as_string(&self) -> Option<Cow<'py, str>> {
        let text = self.node.as_string()?;
        self.meter.read(&text);
        Some(text)
    }

    fn as_number(&self) -> Option<PlainNumber<'py>> {
        self.meter.visit();
        let number = self.node.as_number()?;
        let is_short = number.as_i64().is_some()
            || !number.is_written_as_integer() && number.as_f64().is_some_and(is_short);
        if !is_short {
            self.meter.exhaust();
            return None;
        }
        self.meter.compute(MAX_DIGITS);
        Some(number)
    }

    fn as_boolean(&self) -> Option<bool> {
        self.meter.visit();
        self.node.as_boolean()
    }

    fn is_null(&self) -> bool {
        self.meter.visit();
        self.node.is_null()
    }

    fn json_type(&self) -> JsonType {
        self.meter.visit();
        self.node.json_type()
    }

    fn string_length(&self) -> Option<u64> {
        self.meter.visit();
        self.node.string_length()
    }

    fn equals_value(&self, expected: &Value) -> bool {
        self.meter.visit();
        match expected {
            Value::Null => self.node.is_null(),
            Value::Bool(expected) => self.node.as_boolean() == Some(*expected),
            Value::String(expected) => {
                self.as_string().is_some_and(|text| text.as_ref() == expected.as_str())
            }
            Value::Number(expected) => {
                self.as_number().is_some_and(|number| match (number.as_i64(), expected.as_i64()) {
                    (Some(left), Some(right)) => left == right,
                    _ => equal(
                        &Value::Number(number.to_number().into_owned()),
                        &Value::Number(expected.clone()),
                    ),
                })
            }
            Value::Array(expected) => self.as_array().is_some_and(|items| {
                items.len() == expected.len()
                    && items.elements().zip(expected).all(|(item, one)| item.equals_value(one))
            }),
            Value::Object(expected) => self.as_object().is_some_and(|members| {
                members.len() == expected.len()
                    && members.members().all(|(name, member)| {
                        expected.get(name.as_ref()).is_some_and(|one| member.equals_value(one))
                    })
            }),
        }
    }

    fn to_value(&self) -> Cow<'py, Value> {
        self.node.to_value()
    }

    fn identity(&self) -> Option<NodeIdentity> {
        self.node.identity()
    }
}

/// Return true if a float has few digits when written without an exponent.
fn is_short(float: f64) -> bool {
    float == 0.0 || (1e-4..1e15).contains(&float.abs())
}

impl<'py> Object<'py, InPlace> for Metered<'py, Dict<'py>> {
    type Node = Metered<'py>;
    type MemberName = Cow<'py, str>;
    type MembersIter = MembersIter<'py>;

    fn len(&self) -> usize {
        Object::<Pyo3>::len(&self.node)
    }

    fn get(&self, key: &Py<PyString>) -> Option<Metered<'py>> {
        self.meter.visit();
        Object::<Pyo3>::get(&self.node, key).map(|member| self.part(member))
    }

    fn members(&self) -> MembersIter<'py> {
        MembersIter(self.part(Object::<Pyo3>::members(&self.node)))
    }
}

/// The members of a dictionary, until the meter is exhausted.
pub(crate) struct MembersIter<'py>(Metered<'py, <Dict<'py> as Object<'py, Pyo3>>::MembersIter>);

impl<'py> Iterator for MembersIter<'py> {
    type Item = (Cow<'py, str>, Metered<'py>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, member) = self.0.node.next()?;
        self.0.meter.name(&name);
        if self.0.meter.is_exhausted() {
            return None;
        }
        Some((name, self.0.part(member)))
    }
}

impl<'py> Array<'py, InPlace> for Metered<'py, List<'py>> {
    type Node = Metered<'py>;
    type ElementsIter = ItemsIter<'py>;

    fn len(&self) -> usize {
        self.node.len()
    }

    fn elements(&self) -> ItemsIter<'py> {
        ItemsIter(self.part(self.node.elements()))
    }

    fn is_unique(&self) -> bool {
        let mut keys = Keys::default();
        for item in self.elements() {
            item.write_key(&mut keys);
            keys.end();
        }
        keys.are_unique()
    }
}

/// The items of a list, until the meter is exhausted.
pub(crate) struct ItemsIter<'py>(Metered<'py, <List<'py> as Array<'py, Pyo3>>::ElementsIter>);

impl<'py> Iterator for ItemsIter<'py> {
    type Item = Metered<'py>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.meter.visit();
        if self.0.meter.is_exhausted() {
            return None;
        }
        self.0.node.next().map(|item| self.0.part(item))
    }
}
