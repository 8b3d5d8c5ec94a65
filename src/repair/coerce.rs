//! Coercion of a value to the types that its schema declares.

use serde_json::{Map, Value};

use super::{
    convert,
    schemas::{self, Schemas},
    types::is_type,
};
use crate::{
    message::{Repair, RepairKind},
    validator::equal,
};

/// A coerced value, and the changes to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Coerced {
    /// The value.
    pub value: Value,
    /// Every change, with the values before and after.
    pub repairs: Vec<Repair>,
}

/// Maximum number of combinations of alternatives that are tried against the whole schema.
const MAX_ATTEMPTS: usize = 64;
/// Bytes of a repair's path that count as one unit of work.
const PATH_BYTES: usize = 64;

/// Coerce `value` to the types that `schema` declares, where its meaning is unambiguous.
///
/// `accepts` validates a whole value: the result is always accepted. A value that is accepted
/// unchanged is returned unchanged. Missing values are never invented, and nothing is dropped
/// except a `null` for an optional member. Return `None` if more than that would be needed, if
/// there is more than one interpretation, or if the search takes too long.
///
/// The unambiguous cases: `"4"` is 4 where a number is declared, with every digit; `"true"` is
/// true; 4 is `"4"` where only a string is declared; a scalar becomes the one item of a declared
/// array; `"celsius"` becomes the only option that differs in case alone; `"[1, 2]"` becomes the
/// declared array; `"null"` becomes null where null is declared and a string is not; null for an
/// optional member that may not be null is dropped. Of the alternatives of `anyOf` and `oneOf`, one
/// is chosen if it is the only possible one.
///
/// ```
/// use serde_json::json;
/// use toolweave::repair::coerce;
///
/// let schema = json!({"properties": {"days": {"type": "integer"}}});
/// let accepts = |value: &serde_json::Value| value["days"].is_number();
/// let coerced = coerce(&json!({"days": "4"}), &schema, &accepts).expect("unambiguous");
/// assert_eq!(coerced.value, json!({"days": 4}));
/// assert_eq!(coerced.repairs[0].path, "/days");
/// ```
pub fn coerce(value: &Value, schema: &Value, accepts: &dyn Fn(&Value) -> bool) -> Option<Coerced> {
    if accepts(value) {
        return Some(Coerced { value: value.clone(), repairs: Vec::new() });
    }
    // Only the oldest drafts distinguish 4.0 from 4, so that is changed only where it helps.
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

/// Coerce `value` to `schema` as far as possible, although it remains invalid.
///
/// For values that [`coerce()`] cannot make valid: an invalid part does not prevent the coercion of
/// the others, so that only the remaining violations need to be reported. `faults` counts the
/// violations of a whole value. Of several possible alternatives, the one with the fewest faults is
/// chosen, or none if there is a tie. If all alternatives have violations, the parts of the only
/// one with the shape of the value are coerced.
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
pub fn coerce_partially(
    value: &Value,
    schema: &Value,
    faults: &dyn Fn(&Value) -> usize,
) -> Coerced {
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

/// Coerce a part of a value to its schemas, which are parts of `root`, independently of the rest.
///
/// Return `None` if the result depends on the rest, or if it does not fit.
pub(super) fn coerce_part(value: &Value, schemas: &[&Value], root: &Value) -> Option<Value> {
    let [plain, whole] = [false, true].map(|whole_numbers| {
        let mut coercer = Coercer::new(root, whole_numbers);
        let result =
            schemas.iter().fold(value.clone(), |value, schema| coercer.coerce(value, schema));
        let fits = schemas.iter().all(|schema| coercer.schemas.may_fit(&result, schema));
        let certain = fits && coercer.choices.is_empty() && !coercer.schemas.is_exhausted();
        certain.then_some(result)
    });
    // The draft decides whether 4.0 remains.
    plain.filter(|plain| whole.as_ref() == Some(plain))
}

/// Choose, place by place, the only interpretation with the fewest faults.
fn best_of_each(
    mut best: Coerced,
    choices: &[Choice],
    faults: &dyn Fn(&Value) -> usize,
) -> Coerced {
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

/// A place with more than one possible alternative.
#[derive(Debug)]
struct Choice {
    path: String,
    /// The interpretations, each with its changes.
    readings: Vec<(Value, Vec<Repair>)>,
}

/// Try every combination of interpretations, and return the only one that is accepted.
fn choose(
    value: &Value,
    repairs: &[Repair],
    choices: &[Choice],
    accepts: &dyn Fn(&Value) -> bool,
) -> Option<Coerced> {
    // Each place may also remain unchanged.
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
    /// True within an alternative, where no further choices are recorded.
    in_alternative: bool,
    /// True if an alternative may be chosen although it has violations, if it is the only possible
    /// one.
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

    /// Coerce `value` to `schema`, as far as possible.
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

    /// Convert `value` to the declared type.
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

    /// Replace `value` by the only option of `enum` or `const` that it can mean.
    fn match_options(&mut self, value: Value, keywords: &Map<String, Value>) -> Value {
        let options = schemas::options(keywords);
        if options.is_empty() || options.iter().any(|option| equal(option, &value)) {
            return value;
        }
        match convert::to_option(&value, &options) {
            Some((kind, option)) => self.change(kind, value, option),
            None => value,
        }
    }

    /// Coerce the members or items of `value` to their schemas.
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

    /// Drop each `null` of an optional member that may not be null.
    fn drop_nulls(&mut self, members: &mut Map<String, Value>, keywords: &'s Map<String, Value>) {
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

    /// Add a step to the path; return its previous length.
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

    /// Coerce `value` to the only possible alternative, or record that there are several.
    fn branch(&mut self, value: Value, branches: &'s [Value]) -> Value {
        if branches.iter().any(|branch| self.schemas.may_fit(&value, branch)) {
            return value;
        }
        let mut readings: Vec<(Value, Vec<Repair>)> = Vec::new();
        // Alternatives that have violations but are possible by their shape.
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
