//! Values that stop being looked at when an explanation takes too long.
//!
//! The errors of nested `anyOf`s form a tree that can double with every level
//! of the value. The validator has no budget of its own, so the value has one:
//! once its [`Meter`] has run out, every array and object below the top looks
//! like a null, and what is left of the tree ends there. Errors found from
//! then on report [`SPENT`] as their value, which tells them from true ones.

use std::{borrow::Cow, cell::Cell};

use jsonschema::{
    JsonType, ValidationError,
    error::ValidationErrorKind,
    json::{Array, Json, Node, NodeIdentity, Object, SerdeJson, cmp, unique},
};
use serde_json::{Map, Number, Value};

/// How many looks one explanation may take.
const LOOKS: usize = 200_000;

/// What an error reports as its value once the meter has run out. A model does not write it by
/// accident: U+FFFF is not a character.
const SPENT: &str = "\u{FFFF}spent";

/// Counts looks at a value.
#[derive(Debug)]
pub(super) struct Meter(Cell<usize>);

impl Default for Meter {
    fn default() -> Self {
        Self(Cell::new(LOOKS))
    }
}

impl Meter {
    /// Whether there are no looks left.
    pub(super) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }

    fn look(&self) {
        self.0.set(self.0.get().saturating_sub(1));
    }

    /// Takes as many looks as there are values in `value`.
    fn copy(&self, value: &Value) {
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            self.look();
            match value {
                _ if self.is_spent() => return,
                Value::Array(items) => pending.extend(items),
                Value::Object(members) => pending.extend(members.values()),
                _ => {}
            }
        }
    }
}

/// Whether an error with this value was found after its meter had run out.
pub(super) fn is_spent(instance: &Value) -> bool {
    instance.as_str() == Some(SPENT)
}

/// Whether `error`, found under `meter`, says something true about its value.
pub(super) fn is_true(error: &ValidationError<'_>, meter: &Meter) -> bool {
    // These count what they find below, and below the top everything may pretend by now.
    let miscounted = meter.is_spent()
        && error.instance_path().is_empty()
        && matches!(
            error.kind(),
            ValidationErrorKind::Contains
                | ValidationErrorKind::UnevaluatedItems { .. }
                | ValidationErrorKind::UnevaluatedProperties { .. }
        );
    !miscounted && !is_spent(error.instance())
}

/// [`Value`]s, each with the meter that counts looks at it.
#[derive(Debug)]
pub(crate) struct MeteredJson;

impl Json for MeteredJson {
    type Node<'a> = Metered<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    const KEYS_PER_LOOKUP: usize = SerdeJson::KEYS_PER_LOOKUP;

    fn prepare_key(key: &str) -> String {
        SerdeJson::prepare_key(key)
    }

    fn with_string_node<T>(
        buffer: &mut Value,
        string: &str,
        f: impl FnOnce(Metered<'_>) -> T,
    ) -> T {
        SerdeJson::with_string_node(buffer, string, |value| f(Metered::free(value)))
    }
}

/// A value, or one of its parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metered<'a> {
    value: &'a Value,
    meter: Option<&'a Meter>,
    /// The top always tells the truth: the crate looks errors up from there.
    top: bool,
}

impl<'a> Metered<'a> {
    /// A value that may be looked at without limit.
    pub(super) fn free(value: &'a Value) -> Self {
        Self { value, meter: None, top: true }
    }

    /// A value under a meter.
    pub(super) fn new(value: &'a Value, meter: &'a Meter) -> Self {
        Self { value, meter: Some(meter), top: true }
    }

    fn pretends(&self) -> bool {
        !self.top && self.meter.is_some_and(Meter::is_spent)
    }

    fn look(&self) {
        if let Some(meter) = self.meter {
            meter.look();
        }
    }
}

impl<'a> Node<'a, MeteredJson> for Metered<'a> {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Members<'a>> {
        self.look();
        match self.value {
            Value::Object(members) if !self.pretends() => {
                Some(Members { members, meter: self.meter })
            }
            _ => None,
        }
    }

    fn as_array(&self) -> Option<Items<'a>> {
        self.look();
        match self.value {
            Value::Array(items) if !self.pretends() => Some(Items { items, meter: self.meter }),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.value.as_str().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        self.value.as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        self.value.as_bool()
    }

    fn is_null(&self) -> bool {
        self.json_type() == JsonType::Null
    }

    fn json_type(&self) -> JsonType {
        match self.value {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            _ if self.pretends() => JsonType::Null,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        cmp::equal(self.value, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        if self.pretends() {
            Cow::Owned(Value::String(SPENT.to_owned()))
        } else {
            // Within alternatives the crate keeps copies.
            if let Some(meter) = self.meter {
                meter.copy(self.value);
            }
            Cow::Borrowed(self.value)
        }
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref(self.value) as usize))
    }
}

/// The members of an object.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    members: &'a Map<String, Value>,
    meter: Option<&'a Meter>,
}

impl<'a> Object<'a, MeteredJson> for Members<'a> {
    type Node = Metered<'a>;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        self.members.len()
    }

    fn get(&self, key: &String) -> Option<Metered<'a>> {
        let value = self.members.get(key)?;
        Some(Metered { value, meter: self.meter, top: false })
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter { members: self.members.iter(), meter: self.meter }
    }
}

/// Walks the members of an object until the meter has run out.
#[derive(Debug)]
pub(crate) struct MembersIter<'a> {
    members: serde_json::map::Iter<'a>,
    meter: Option<&'a Meter>,
}

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, Metered<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(meter) = self.meter {
            meter.look();
            if meter.is_spent() {
                return None;
            }
        }
        let (key, value) = self.members.next()?;
        Some((key, Metered { value, meter: self.meter, top: false }))
    }
}

/// The items of an array.
#[derive(Debug)]
pub(crate) struct Items<'a> {
    items: &'a [Value],
    meter: Option<&'a Meter>,
}

impl<'a> Array<'a, MeteredJson> for Items<'a> {
    type Node = Metered<'a>;
    type ElementsIter = ItemsIter<'a>;

    fn len(&self) -> usize {
        self.items.len()
    }

    fn elements(&self) -> ItemsIter<'a> {
        ItemsIter { items: self.items.iter(), meter: self.meter }
    }

    fn is_unique(&self) -> bool {
        unique::is_unique(self.items)
    }
}

/// Walks the items of an array until the meter has run out.
#[derive(Debug)]
pub(crate) struct ItemsIter<'a> {
    items: std::slice::Iter<'a, Value>,
    meter: Option<&'a Meter>,
}

impl<'a> Iterator for ItemsIter<'a> {
    type Item = Metered<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(meter) = self.meter {
            meter.look();
            if meter.is_spent() {
                return None;
            }
        }
        let value = self.items.next()?;
        Some(Metered { value, meter: self.meter, top: false })
    }
}
