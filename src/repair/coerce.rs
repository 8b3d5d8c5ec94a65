//! Bringing a value to the types that its schema declares.

use serde_json::{Map, Value};

use super::{
    convert,
    schemas::{self, Schemas},
    types::is_type,
};
use crate::message::{Repair, RepairKind};

/// A value that fits, and what was done to make it so.
#[derive(Clone, Debug, PartialEq)]
pub struct Coerced {
    /// The value.
    pub value: Value,
    /// Every change, with the values before and after.
    pub repairs: Vec<Repair>,
}

/// How many combinations of alternatives are tried against the whole schema.
const MAX_ATTEMPTS: usize = 64;
/// What one repair's path costs of the work that is allowed, in bytes for each unit.
const PATH_BYTES: usize = 64;

/// Bring `value` to the types that `schema` declares, where its meaning is certain.
///
/// `accepts` judges a whole value by the whole schema: what is returned was accepted. A value
/// that is accepted as it is comes back so. Nothing missing is invented, and nothing is dropped but
/// a `null` that says no more than that there is nothing; `None` where more would be needed, where
/// more than one reading is possible, or where finding out takes too long.
///
/// What is certain: `"4"` is 4 where a number is declared, with every digit; `"true"` is true; 4
/// is `"4"` where only a string is declared; a scalar is the one item of a declared array;
/// `"Celsius"` is the only option spelled so but for case; `"[1, 2]"` is the declared array;
/// `"null"` is null where null is declared and a string is not; null for a declared member that is
/// not required, and may not be null, is the member left out. Of the alternatives of `anyOf`
/// and `oneOf`, one is taken if the others cannot be meant.
///
/// ```
/// use serde_json::json;
/// use toolweave::repair::fit;
///
/// let schema = json!({"properties": {"days": {"type": "integer"}}});
/// let accepts = |value: &serde_json::Value| value["days"].is_number();
/// let fitted = fit(&json!({"days": "4"}), &schema, &accepts).expect("certain");
/// assert_eq!(fitted.value, json!({"days": 4}));
/// assert_eq!(fitted.repairs[0].path, "/days");
/// ```
pub fn coerce(value: &Value, schema: &Value, accepts: &dyn Fn(&Value) -> bool) -> Option<Coerced> {
    if accepts(value) {
        return Some(Coerced { value: value.clone(), repairs: Vec::new() });
    }
    // Only the oldest drafts tell 4.0 from 4, so that is changed only where it helps.
    [false, true].into_iter().find_map(|whole_numbers| {
        let mut coercer = Coercer::new(schema, whole_numbers);
        let result = coercer.coerce(value.clone(), schema);
        if coercer.schemas.is_exhausted() {
            return None;
        }
        let repairs = coercer.repairs;
        if accepts(&result) {
            return Some(Coerced { value: result, repairs });
        }
        choose(&result, &repairs, &coercer.choices, accepts)
    })
}

/// Bring `value` as near to `schema` as is certain, although it cannot be brought to fit.
///
/// For values that [`coerce()`] gives up on: what one part lacks does not keep the others from their
/// types, so that only what is left needs to be told. `faults` counts in how many ways a whole
/// value does not fit: of alternatives that may both be meant, the one with fewer is taken, and
/// none if that does not tell them apart. Where alternatives all lack something, the parts of the
/// only one that is shaped like the value are brought to their types.
///
/// ```
/// use serde_json::{Value, json};
/// use toolweave::repair::coerce_partially;
///
/// let schema = json!({"properties": {"days": {"type": "integer"}, "at": {"type": "integer"}}});
/// let faults = |value: &Value| value.as_object().unwrap().values().filter(|v| !v.is_u64()).count();
/// let value = json!({"days": "4", "at": "noon"});
/// assert_eq!(coerce_partially(&value, &schema, &faults).value, json!({"days": 4, "at": "noon"}));
/// ```
pub fn coerce_partially(value: &Value, schema: &Value, faults: &dyn Fn(&Value) -> usize) -> Coerced {
    let mut readings = [false, true].into_iter().filter_map(|whole_numbers| {
        let mut coercer = Coercer::new(schema, whole_numbers);
        coercer.partial = true;
        let result = coercer.coerce(value.clone(), schema);
        let Coercer { schemas, repairs, choices, .. } = coercer;
        (!schemas.is_exhausted())
            .then(|| best_of_each(Coerced { value: result, repairs }, &choices, faults))
    });
    let untouched = || Coerced { value: value.clone(), repairs: Vec::new() };
    let first = readings.next().unwrap_or_else(untouched);
    match readings.next() {
        Some(other) if other != first && faults(&other.value) < faults(&first.value) => other,
        _ => first,
    }
}

/// Takes, at one place after the other, the only reading with the fewest faults.
fn best_of_each(mut best: Coerced, choices: &[Choice], faults: &dyn Fn(&Value) -> usize) -> Coerced {
    let mut left = MAX_ATTEMPTS;
    for choice in choices {
        left = match left.checked_sub(choice.readings.len() + 1) {
            Some(left) => left,
            None => break,
        };
        let tried = choice.readings.iter().filter_map(|(reading, changes)| {
            let mut value = best.value.clone();
            *value.pointer_mut(&choice.path)? = reading.clone();
            Some((faults(&value), value, changes))
        });
        let mut tried: Vec<_> = tried.collect();
        tried.sort_by_key(|(faults, ..)| *faults);
        let tie = tried.get(1).is_some_and(|(other, ..)| *other == tried[0].0);
        if let Some((fewest, value, changes)) = tried.into_iter().next()
            && !tie
            && fewest < faults(&best.value)
        {
            best.value = value;
            best.repairs.extend_from_slice(changes);
        }
    }
    best
}

/// A place where more than one alternative may be meant.
#[derive(Debug)]
struct Choice {
    path: String,
    /// The readings, each with the changes that it takes.
    readings: Vec<(Value, Vec<Repair>)>,
}

/// Try every combination of readings, and takes the only one that is accepted.
fn choose(
    value: &Value,
    repairs: &[Repair],
    choices: &[Choice],
    accepts: &dyn Fn(&Value) -> bool,
) -> Option<Coerced> {
    // Each place may also stay as it is.
    let combinations = choices
        .iter()
        .try_fold(1_usize, |product, choice| product.checked_mul(choice.readings.len() + 1))
        .filter(|combinations| *combinations <= MAX_ATTEMPTS)?;
    let mut found: Option<Coerced> = None;
    for combination in 1..combinations {
        let mut coerced = Coerced { value: value.clone(), repairs: repairs.to_vec() };
        let mut rest = combination;
        for choice in choices {
            let pick = rest % (choice.readings.len() + 1);
            rest /= choice.readings.len() + 1;
            if let Some((reading, changes)) = pick.checked_sub(1).map(|pick| &choice.readings[pick])
            {
                *coerced.value.pointer_mut(&choice.path)? = reading.clone();
                coerced.repairs.extend_from_slice(changes);
            }
        }
        if accepts(&coerced.value) {
            match &found {
                Some(other) if other.value != coerced.value => return None,
                Some(_) => {}
                None => found = Some(coerced),
            }
        }
    }
    found
}

struct Coercer<'s> {
    schemas: Schemas<'s>,
    whole_numbers: bool,
    path: String,
    depth: usize,
    repairs: Vec<Repair>,
    choices: Vec<Choice>,
    /// Within an alternative no further choices are offered.
    in_alternative: bool,
    /// Alternatives need not fit to be taken, if only one of them can be meant.
    partial: bool,
}

impl<'s> Coercer<'s> {
    fn new(root: &'s Value, whole_numbers: bool) -> Self {
        Self {
            schemas: Schemas::new(root),
            whole_numbers,
            path: String::new(),
            depth: 0,
            repairs: Vec::new(),
            choices: Vec::new(),
            in_alternative: false,
            partial: false,
        }
    }

    /// `value`, as far as it can be brought to `schema`.
    fn coerce(&mut self, value: Value, schema: &'s Value) -> Value {
        let Value::Object(keywords) = schema else { return value };
        if self.depth > schemas::MAX_DEPTH || !self.schemas.spend(1) {
            return value;
        }
        self.depth += 1;
        let mut value = self.convert(value, keywords);
        value = self.match_options(value, keywords);
        value = self.parts(value, keywords);
        if let Some(target) = self.schemas.target(keywords) {
            value = self.coerce(value, target);
        }
        for part in keywords.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            value = self.coerce(value, part);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(branches) = keywords.get(keyword).and_then(Value::as_array) {
                value = self.branch(value, branches);
            }
        }
        self.depth -= 1;
        value
    }

    /// Bring `value` to the declared type.
    fn convert(&mut self, value: Value, keywords: &Map<String, Value>) -> Value {
        let types = schemas::types(keywords);
        if types.is_empty() {
            return value;
        }
        let fits = types.iter().any(|name| is_type(&value, name));
        if fits && self.whole_numbers && !types.contains(&"number") {
            return match convert::whole(&value) {
                Some(whole) => self.change(RepairKind::Type, value, whole),
                None => value,
            };
        }
        if fits {
            return value;
        }
        match convert::to_types(&value, &types) {
            Some((kind, converted)) => self.change(kind, value, converted),
            None => value,
        }
    }

    /// Bring `value` to the only option of `enum` or `const` that it can mean.
    fn match_options(&mut self, value: Value, keywords: &Map<String, Value>) -> Value {
        let options = schemas::options(keywords);
        if options.is_empty() || options.iter().any(|option| schemas::equal(option, &value)) {
            return value;
        }
        match convert::to_option(&value, &options) {
            Some((kind, option)) => self.change(kind, value, option),
            None => value,
        }
    }

    /// Bring the members or items of `value` to their schemas.
    fn parts(&mut self, mut value: Value, keywords: &'s Map<String, Value>) -> Value {
        match &mut value {
            Value::Object(members) => {
                self.drop_nulls(members, keywords);
                for (key, member) in members.iter_mut() {
                    if let Some(schema) = schemas::member_schema(keywords, key) {
                        self.part(member, key, schema);
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    if let Some(schema) = schemas::item_schema(keywords, index) {
                        self.part(item, &index.to_string(), schema);
                    }
                }
            }
            _ => {}
        }
        value
    }

    /// Leave out each `null` that stands for a member which need not be there and cannot be null.
    fn drop_nulls(
        &mut self,
        members: &mut Map<String, Value>,
        keywords: &'s Map<String, Value>,
    ) {
        let Some(Value::Object(declared)) = keywords.get("properties") else { return };
        let required = keywords.get("required").and_then(Value::as_array);
        let is_required = |key: &str| {
            required.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(key)))
        };
        members.retain(|key, member| {
            let Some(schema) = declared.get(key).filter(|_| member.is_null()) else { return true };
            let work = required.map_or(0, Vec::len);
            if !self.schemas.spend(work)
                || is_required(key)
                || self.schemas.may_fit(&Value::Null, schema)
            {
                return true;
            }
            let end = self.enter(key);
            self.change(RepairKind::NullMember, Value::Null, Value::Null);
            self.path.truncate(end);
            false
        });
    }

    /// Add a step to the path; returns how long it was.
    fn enter(&mut self, step: &str) -> usize {
        let end = self.path.len();
        self.path.push('/');
        self.path.push_str(&step.replace('~', "~0").replace('/', "~1"));
        end
    }

    fn part(&mut self, part: &mut Value, step: &str, schema: &'s Value) {
        let end = self.enter(step);
        *part = self.coerce(part.take(), schema);
        self.path.truncate(end);
    }

    /// Bring `value` to the only alternative that it can mean, or notes that there are more.
    fn branch(&mut self, value: Value, branches: &'s [Value]) -> Value {
        if branches.iter().any(|branch| self.schemas.may_fit(&value, branch)) {
            return value;
        }
        let mut readings: Vec<(Value, Vec<Repair>)> = Vec::new();
        // Those that do not fit, of alternatives that may be meant all the same.
        let mut shaped: Vec<(Value, Vec<Repair>)> = Vec::new();
        for branch in branches {
            if !self.schemas.spend(schemas::size(&value)) {
                return value;
            }
            let start = self.repairs.len();
            let outer = std::mem::replace(&mut self.in_alternative, true);
            let reading = self.coerce(value.clone(), branch);
            self.in_alternative = outer;
            let changes = self.repairs.split_off(start);
            let is_new = readings.iter().all(|(known, _)| *known != reading);
            if is_new && !changes.is_empty() && self.schemas.may_fit(&reading, branch) {
                readings.push((reading, changes));
            } else if self.partial && self.schemas.is_shaped(&reading, branch) {
                shaped.push((reading, changes));
            }
        }
        if readings.is_empty() && shaped.len() == 1 {
            readings = shaped;
        }
        if readings.len() > 1 {
            if !self.in_alternative {
                self.choices.push(Choice { path: self.path.clone(), readings });
            }
            return value;
        }
        match readings.pop() {
            Some((reading, changes)) => {
                self.repairs.extend(changes);
                reading
            }
            None => value,
        }
    }

    fn change(&mut self, kind: RepairKind, before: Value, after: Value) -> Value {
        self.schemas.spend(self.path.len() / PATH_BYTES);
        self.repairs.push(Repair { path: self.path.clone(), kind, before, after: after.clone() });
        after
    }
}
