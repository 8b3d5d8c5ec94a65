//! Lenient deserialization: a value of an unexpected type counts as absent.
//!
//! Nothing is allocated for values that are not needed. `serde_json` skips unknown values without
//! recursion, and stops at a depth of 128 where it has to recurse.

use std::{borrow::Cow, fmt, io, marker::PhantomData};

use serde::{
    Deserialize, Serialize,
    de::{
        DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
        value::MapAccessDeserializer,
    },
};
use serde_json::{Value, ser::Formatter};

/// A type that can be deserialized from a JSON value of any type.
pub(super) trait Lenient<'de>: Default {
    fn text(_text: Cow<'de, str>) -> Self {
        Self::default()
    }

    fn integer(_number: i128) -> Self {
        Self::default()
    }

    fn array<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    /// Deserialize an object, or a number that is not an integer, which arrives as an object with
    /// one special member.
    fn object<A: MapAccess<'de>>(mut members: A) -> Result<Self, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    /// Return true if the value holds nothing of interest.
    fn is_empty(&self) -> bool {
        false
    }
}

/// Deserialize a value.
pub(super) fn from<'de, T: Lenient<'de>, D: Deserializer<'de>>(value: D) -> Result<T, D::Error> {
    Read(PhantomData).deserialize(value)
}

/// Deserialize JSON text.
pub(super) fn from_str<'de, T: Lenient<'de>>(json: &'de str) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = from(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Deserialize the next key of an object.
pub(super) fn key<'de, A: MapAccess<'de>>(members: &mut A) -> Result<Option<Text<'de>>, A::Error> {
    members.next_key_seed(Read(PhantomData))
}

/// Deserialize the value of a key.
pub(super) fn value<'de, T: Lenient<'de>, A: MapAccess<'de>>(
    members: &mut A,
) -> Result<T, A::Error> {
    members.next_value_seed(Read(PhantomData))
}

struct Read<T>(PhantomData<T>);

impl<'de, T: Lenient<'de>> DeserializeSeed<'de> for Read<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Lenient<'de>> Visitor<'de> for Read<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<T, E> {
        Ok(T::text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<T, E> {
        Ok(T::text(Cow::Owned(text)))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        Ok(T::integer(number.into()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        Ok(T::integer(number.into()))
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<T, E> {
        Ok(i128::try_from(number).map_or_else(|_| T::default(), T::integer))
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<T, E> {
        Ok(T::integer(number))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<T, E> {
        Ok(T::integer(truth.into()))
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
        T::array(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
        T::object(members)
    }
}

/// A string that is not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text<'de>(pub(super) Option<Cow<'de, str>>);

impl Text<'_> {
    pub(super) fn as_deref(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl<'de> Lenient<'de> for Text<'de> {
    fn text(text: Cow<'de, str>) -> Self {
        Self(Some(text).filter(|text| !text.is_empty()))
    }

    fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

/// An integer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Integer(pub(super) Option<i128>);

impl Integer {
    /// Return the integer as a count; 0 if it is absent or negative.
    pub(super) fn count(self) -> u64 {
        self.0.and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
    }
}

impl Lenient<'_> for Integer {
    fn integer(number: i128) -> Self {
        Self(Some(number))
    }
}

/// A string, which some servers send as a number.
#[derive(Clone, Debug, Default)]
pub(super) enum TextOrNumber<'de> {
    #[default]
    None,
    Text(Cow<'de, str>),
    Number(i128),
}

impl<'de> Lenient<'de> for TextOrNumber<'de> {
    fn text(text: Cow<'de, str>) -> Self {
        if text.is_empty() { Self::None } else { Self::Text(text) }
    }

    fn integer(number: i128) -> Self {
        Self::Number(number)
    }
}

/// True for any value that is neither zero nor empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flag(pub(super) bool);

impl<'de> Lenient<'de> for Flag {
    fn text(text: Cow<'de, str>) -> Self {
        Self(!text.is_empty())
    }

    fn integer(number: i128) -> Self {
        Self(number != 0)
    }

    fn array<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let mut any = false;
        while items.next_element::<IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(Self(any))
    }

    fn object<A: MapAccess<'de>>(mut members: A) -> Result<Self, A::Error> {
        let mut any = false;
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(Self(any))
    }
}

/// The items of an array that are not empty.
#[derive(Clone, Debug)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Lenient<'de>> Lenient<'de> for List<T> {
    fn array<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Read::<T>(PhantomData))? {
            if !item.is_empty() {
                list.push(item);
            }
        }
        Ok(Self(list))
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// JSON text in a string or, as some servers send it, as an object, which is converted to text.
#[derive(Clone, Debug, Default)]
pub(super) struct JsonText<'de>(pub(super) Text<'de>);

impl<'de> Lenient<'de> for JsonText<'de> {
    fn text(text: Cow<'de, str>) -> Self {
        Self(Text::text(text))
    }

    fn object<A: MapAccess<'de>>(members: A) -> Result<Self, A::Error> {
        let value = Value::deserialize(MapAccessDeserializer::new(members))?;
        let spaced = value.is_object().then(|| spaced(&value)).flatten();
        Ok(Self(Text(spaced.map(Cow::Owned))))
    }
}

/// Serialize JSON with a space after each comma and colon, as Python does.
fn spaced(value: &Value) -> Option<String> {
    let mut out = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Spaced)).ok()?;
    String::from_utf8(out).ok()
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

/// Implement `Lenient` for a struct, from the names of its members. Unknown members are skipped; of
/// duplicate keys, the last one counts.
macro_rules! members {
    ($type:ty { $($key:literal => $field:ident),+ $(,)? } $($more:item)*) => {
        impl<'de> Lenient<'de> for $type {
            fn object<A: MapAccess<'de>>(mut members: A) -> Result<Self, A::Error> {
                let mut read = Self::default();
                while let Some(key) = lenient::key(&mut members)? {
                    match key.as_deref().unwrap_or_default() {
                        $($key => read.$field = lenient::value(&mut members)?,)+
                        _ => drop(members.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(read)
            }

            $($more)*
        }
    };
}
pub(super) use members;
