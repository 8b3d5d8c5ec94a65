//! Values that become opaque when validation or an explanation takes too long.
//!
//! A small schema can visit the same value thousands of times, and the errors of nested `anyOf`s
//! form a tree that can double with every level of the value. The validator crate has no budget of
//! its own, so the value has one: once its [`Meter`] is exhausted, every array and object below the
//! root is presented as null, and the remaining work ends there. A result found after that is not
//! valid. Errors found after that report [`EXHAUSTED`] as their value, which distinguishes them
//! from genuine ones.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    rc::Rc,
};

use jsonschema::{
    JsonType, ValidationError,
    error::ValidationErrorKind,
    json::{Array, Json, JsonNumber, Node, NodeIdentity, Object, SerdeJson},
};
use serde_json::{Map, Number, Value};

use super::{
    cost_model::{BYTES, CostModel},
    decimal, equality,
};

/// The value that an error reports once the meter is exhausted. A model does not write it by
/// accident: U+FFFF is not a character.
const EXHAUSTED: &str = "\u{FFFF}spent";

/// A counter of visits to a value.
#[derive(Debug)]
pub(crate) struct Meter {
    left: Cell<usize>,
    cost_model: CostModel,
}

thread_local! {
    /// The meter of names that a schema validates as values: the crate creates nodes of them from
    /// nothing but their text.
    static NAME_METER: RefCell<Option<Rc<Meter>>> = const { RefCell::new(None) };
}

impl Meter {
    /// Create a meter with a budget of `visits`.
    pub(crate) fn new(visits: usize, cost_model: CostModel) -> Self {
        Self { left: Cell::new(visits), cost_model }
    }

    /// Return true if no visits are left.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }

    /// Return the number of visits charged, of a budget of `usize::MAX`.
    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        usize::MAX - self.left.get()
    }

    /// Use up the budget.
    #[cfg(feature = "python")]
    pub(crate) fn exhaust(&self) {
        self.left.set(0);
    }

    /// Charge one visit.
    pub(crate) fn visit(&self) {
        self.charge(1);
    }

    /// Charge the visits for reading `text`.
    pub(crate) fn read(&self, text: &str) {
        self.charge(self.cost_model.text(text.len()));
    }

    /// Charge the visits for the name of a member.
    pub(crate) fn name(&self, name: &str) {
        self.charge(self.cost_model.name(name.len()));
    }

    /// Charge the visits for computing with a number of this many digits.
    #[cfg(feature = "python")]
    pub(crate) fn compute(&self, digits: usize) {
        self.charge(self.cost_model.arithmetic(digits));
    }

    /// Charge `visits`, as far as the budget allows.
    pub(crate) fn charge(&self, visits: usize) {
        self.left.set(self.left.get().saturating_sub(visits));
    }

    /// Charge the visits for walking through `value`. The depth has been checked.
    fn walk(&self, value: &Value) {
        self.visit();
        match value {
            _ if self.is_exhausted() => {}
            Value::String(text) => self.charge(text.len() / BYTES),
            Value::Number(number) => self.charge(number.as_str().len() / BYTES),
            Value::Array(items) => {
                for item in items {
                    self.walk(item);
                    if self.is_exhausted() {
                        return;
                    }
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    self.charge(1 + key.len() / BYTES);
                    self.walk(member);
                    if self.is_exhausted() {
                        return;
                    }
                }
            }
            _ => {}
        }
    }

    /// Run `validate` with this meter for names as well.
    pub(super) fn with_names<T>(self: &Rc<Self>, validate: impl FnOnce() -> T) -> T {
        let before = NAME_METER.replace(Some(Rc::clone(self)));
        let result = validate();
        NAME_METER.set(before);
        result
    }
}

/// Return true if an error with this value was found after its meter was exhausted.
pub(super) fn is_exhausted(instance: &Value) -> bool {
    instance.as_str() == Some(EXHAUSTED)
}

/// Return true if `error`, found under `meter`, is genuine.
pub(super) fn is_reliable(error: &ValidationError<'_>, meter: &Meter) -> bool {
    // These errors count values below the root, which may be masked by now.
    let miscounted = meter.is_exhausted()
        && error.instance_path().is_empty()
        && matches!(
            error.kind(),
            ValidationErrorKind::Contains
                | ValidationErrorKind::UnevaluatedItems { .. }
                | ValidationErrorKind::UnevaluatedProperties { .. }
        );
    !miscounted && !is_exhausted(error.instance())
}

/// [`Value`]s with a meter of visits.
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
        let meter = NAME_METER.with_borrow(Clone::clone);
        SerdeJson::with_string_node(buffer, string, |value| {
            f(Metered { value, meter: meter.as_deref(), is_root: true })
        })
    }
}

/// A value, or one of its parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metered<'a> {
    value: &'a Value,
    meter: Option<&'a Meter>,
    /// True for the root, which is never masked: the crate looks up errors from there.
    is_root: bool,
}

impl<'a> Metered<'a> {
    /// Create a value with a meter.
    pub(super) fn new(value: &'a Value, meter: &'a Meter) -> Self {
        Self { value, meter: Some(meter), is_root: true }
    }

    /// Create a value without a meter.
    pub(super) fn unmetered(value: &'a Value) -> Self {
        Self { value, meter: None, is_root: true }
    }

    fn is_masked(&self) -> bool {
        !self.is_root && self.meter.is_some_and(Meter::is_exhausted)
    }

    fn visit(&self) {
        self.charge(1);
    }

    fn charge(&self, visits: usize) {
        if let Some(meter) = self.meter {
            meter.charge(visits);
        }
    }
}

impl<'a> Node<'a, MeteredJson> for Metered<'a> {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = MeteredNumber<'a>;

    fn as_object(&self) -> Option<Members<'a>> {
        self.visit();
        match self.value {
            Value::Object(members) if !self.is_masked() => {
                Some(Members { members, meter: self.meter })
            }
            _ => None,
        }
    }

    fn as_array(&self) -> Option<Items<'a>> {
        self.visit();
        match self.value {
            Value::Array(items) if !self.is_masked() => Some(Items { items, meter: self.meter }),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.value.as_str()?;
        if let Some(meter) = self.meter {
            meter.read(text);
        }
        Some(Cow::Borrowed(text))
    }

    fn as_number(&self) -> Option<MeteredNumber<'a>> {
        let number = self.value.as_number()?;
        let Some(meter) = self.meter else {
            return Some(MeteredNumber { number, short: Cow::Borrowed(number) });
        };
        let (short, visits) = meter.cost_model.number(number);
        meter.charge(visits);
        // Once the meter is exhausted, any number will do.
        let short = if meter.is_exhausted() { Cow::Owned(Number::from(0)) } else { short };
        Some(MeteredNumber { number, short })
    }

    fn is_number(&self) -> bool {
        self.visit();
        self.value.is_number()
    }

    fn is_string(&self) -> bool {
        self.visit();
        self.value.is_string()
    }

    fn string_length(&self) -> Option<u64> {
        let text = self.value.as_str()?;
        self.charge(1 + text.len() / BYTES);
        Some(text.chars().count() as u64)
    }

    fn as_boolean(&self) -> Option<bool> {
        self.visit();
        self.value.as_bool()
    }

    fn is_null(&self) -> bool {
        self.json_type() == JsonType::Null
    }

    fn json_type(&self) -> JsonType {
        self.visit();
        match self.value {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            _ if self.is_masked() => JsonType::Null,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        if let Some(meter) = self.meter {
            if std::mem::discriminant(self.value) != std::mem::discriminant(expected) {
                meter.visit();
                return false;
            }
            meter.walk(self.value);
            if meter.is_exhausted() {
                return false;
            }
        }
        equality::equal(self.value, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        if self.is_masked() {
            Cow::Owned(Value::String(EXHAUSTED.to_owned()))
        } else {
            // Within alternatives the crate keeps copies of the value, and of the options of the
            // schema.
            if let Some(meter) = self.meter {
                meter.charge(meter.cost_model.error());
                meter.walk(self.value);
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
        if let Some(meter) = self.meter {
            meter.visit();
        }
        let value = self.members.get(key)?;
        Some(Metered { value, meter: self.meter, is_root: false })
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter { members: self.members.iter(), meter: self.meter }
    }
}

/// An iterator over the members of an object, until the meter is exhausted.
#[derive(Debug)]
pub(crate) struct MembersIter<'a> {
    members: serde_json::map::Iter<'a>,
    meter: Option<&'a Meter>,
}

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, Metered<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.members.next()?;
        if let Some(meter) = self.meter {
            meter.name(key);
            if meter.is_exhausted() {
                return None;
            }
        }
        Some((key, Metered { value, meter: self.meter, is_root: false }))
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
        if let Some(meter) = self.meter {
            for item in self.items {
                meter.walk(item);
                if meter.is_exhausted() {
                    return true;
                }
            }
        }
        equality::is_unique(self.items)
    }
}

/// An iterator over the items of an array, until the meter is exhausted.
#[derive(Debug)]
pub(crate) struct ItemsIter<'a> {
    items: std::slice::Iter<'a, Value>,
    meter: Option<&'a Meter>,
}

impl<'a> Iterator for ItemsIter<'a> {
    type Item = Metered<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(meter) = self.meter {
            meter.visit();
            if meter.is_exhausted() {
                return None;
            }
        }
        let value = self.items.next()?;
        Some(Metered { value, meter: self.meter, is_root: false })
    }
}

/// A number, with a short one that replaces it.
#[derive(Debug)]
pub(crate) struct MeteredNumber<'a> {
    number: &'a Number,
    short: Cow<'a, Number>,
}

impl JsonNumber for MeteredNumber<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.short.as_u64()
    }

    fn as_i64(&self) -> Option<i64> {
        self.short.as_i64()
    }

    fn as_f64(&self) -> Option<f64> {
        self.short.as_f64()
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.short.as_str())
    }

    fn to_number(&self) -> Cow<'_, Number> {
        Cow::Borrowed(&self.short)
    }

    fn is_integer(&self) -> bool {
        decimal::is_integer(self.number)
    }

    fn is_written_as_integer(&self) -> bool {
        !self.number.as_str().contains(['.', 'e', 'E'])
    }
}
