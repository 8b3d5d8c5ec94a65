//! Changes to a value that only grows.

use serde_json::{Map, Value};

/// The kind of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// An object.
    Object,
    /// An array.
    Array,
}

/// The place of a new value in the innermost open container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The whole value; no container is open.
    Root,
    /// A new member of the object.
    Key(&'a str),
    /// The next item of the array.
    Item,
}

/// A change to the value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Edit<'a> {
    /// A new empty container, which becomes the innermost open one.
    Open(Step<'a>, Container),
    /// The innermost open container is complete, except for values that were not certain.
    Close,
    /// A new value that is final.
    Value(Step<'a>, &'a Value),
    /// A new empty string, which becomes the open one.
    OpenText(Step<'a>),
    /// More of the open string.
    Append(&'a str),
    /// The open string is complete.
    CloseText,
}

/// A value built from edits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartialValue {
    root: Option<Value>,
    /// The path of the innermost open value, as keys and indexes.
    open: Vec<Value>,
    /// True if a value is open.
    growing: bool,
}

impl PartialValue {
    /// Return the value, if there is one yet.
    pub fn value(&self) -> Option<&Value> {
        self.root.as_ref()
    }

    /// Return the path of the innermost value that is incomplete: the open string, or the innermost
    /// open container. `None` if no value is open.
    pub fn open_path(&self) -> Option<&[Value]> {
        self.growing.then_some(self.open.as_slice())
    }

    /// Apply the next edit of a reader.
    pub fn apply(&mut self, edit: Edit<'_>) {
        match edit {
            Edit::Open(step, Container::Object) => self.open(step, Value::Object(Map::new())),
            Edit::Open(step, Container::Array) => self.open(step, Value::Array(Vec::new())),
            Edit::OpenText(step) => self.open(step, Value::String(String::new())),
            Edit::Value(step, value) => {
                self.insert(step, value.clone());
            }
            Edit::Append(text) => {
                if let Some(Value::String(open)) = self.innermost() {
                    open.push_str(text);
                }
            }
            Edit::Close | Edit::CloseText => self.growing = self.open.pop().is_some(),
        }
    }

    fn open(&mut self, step: Step<'_>, value: Value) {
        let step = self.insert(step, value);
        self.open.extend(step);
        self.growing = true;
    }

    /// Insert a value; return its step from the innermost open container.
    fn insert(&mut self, step: Step<'_>, value: Value) -> Option<Value> {
        match (step, self.innermost()) {
            (Step::Key(key), Some(Value::Object(members))) => {
                members.insert(key.to_owned(), value);
                Some(key.into())
            }
            (Step::Item, Some(Value::Array(items))) => {
                items.push(value);
                Some((items.len() - 1).into())
            }
            _ => {
                self.root = Some(value);
                None
            }
        }
    }

    fn innermost(&mut self) -> Option<&mut Value> {
        self.open.iter().try_fold(self.root.as_mut()?, |value, step| match (value, step) {
            (Value::Object(members), Value::String(key)) => members.get_mut(key),
            (Value::Array(items), index) => items.get_mut(usize::try_from(index.as_u64()?).ok()?),
            _ => None,
        })
    }
}
