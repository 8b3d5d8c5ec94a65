//! Sampling of objects, with their required and optional properties.

use serde_json::{Map, Value};

use super::{DrawContext, Extent, FULL_DEPTH, Sampler, conjunction::Conjunction, pattern::Pattern};
use crate::prompt::validation::Patterns;

/// Maximum number of rounds in which properties may add schemas.
const MAX_ROUNDS: usize = 4;

/// Maximum number of properties; larger objects are unsuitable as examples.
const MAX_PROPERTIES: usize = 100;

impl<'s> Sampler<'s, '_> {
    pub(super) fn object(
        &mut self,
        conjunction: &Conjunction<'s>,
        context: DrawContext<'s, '_>,
    ) -> Option<Value> {
        // Dependent schemas are added to the known ones.
        let mut known = conjunction.clone();
        let forbidden: Vec<&str> = conjunction.forbidden_names().collect();
        let mut names = self.names(&known, &forbidden, context)?;
        for _ in 0..MAX_ROUNDS {
            let dependent = dependent_schemas(&known, &names);
            let before = known.parts.len();
            if !self.expand_into(&mut known, &dependent, &context) {
                return self.give_up();
            }
            if known.parts.len() == before {
                break;
            }
            names = self.names(&known, &forbidden, context)?;
        }
        let mut members = Map::new();
        for name in names {
            let schemas = schemas_of(self.patterns, &known, &name);
            let value = self.at(&name, |sampler| {
                sampler.value(&schemas, DrawContext { depth: context.depth + 1, ..context })
            })?;
            members.insert(name, value);
        }
        Some(Value::Object(members))
    }

    /// Choose the names of the properties, in the order of their declaration.
    fn names(
        &mut self,
        conjunction: &Conjunction<'s>,
        forbidden: &[&str],
        context: DrawContext<'s, '_>,
    ) -> Option<Vec<String>> {
        let required = required(conjunction);
        let declared: Vec<&str> = conjunction
            .all("properties")
            .filter_map(Value::as_object)
            .flat_map(Map::keys)
            .map(String::as_str)
            .collect();
        if required.len() > MAX_PROPERTIES {
            return self.give_up();
        }
        let most = conjunction.at_most("maxProperties").unwrap_or(usize::MAX);
        let mut optional = most.saturating_sub(required.len());
        let is_full =
            self.extent != Extent::Minimal && !context.is_recursive && context.depth < FULL_DEPTH;
        // The first choice is to omit optional properties, or to include them, depending on the
        // extent.
        let shown_at = usize::from(self.extent == Extent::Required);
        let mut names: Vec<String> = Vec::new();
        for name in declared.iter().chain(&required) {
            if names.iter().any(|known| known == name) {
                continue;
            }
            if required.contains(name) {
                names.push((*name).to_owned());
            } else if is_full
                && optional > 0
                && !forbidden.contains(name)
                && !schemas_of(self.patterns, conjunction, name).contains(&&Value::Bool(false))
                && self.at(name, |sampler| sampler.choose(2)) == shown_at
            {
                optional -= 1;
                names.push((*name).to_owned());
            }
        }
        add_dependent_names(conjunction, &mut names);
        let least = conjunction.at_least("minProperties");
        if least > MAX_PROPERTIES {
            return self.give_up();
        }
        // A map without declared names gets one entry.
        let is_map = declared.is_empty()
            && ["additionalProperties", "patternProperties"]
                .iter()
                .any(|keyword| conjunction.all(keyword).any(Value::is_object));
        let shown = usize::from(is_map && is_full && most > names.len() && self.choose(2) == 0);
        let least = least.max(names.len() + shown);
        self.fill_up(conjunction, &mut names, &declared, least);
        Some(names)
    }

    /// Add properties until there are `least`.
    fn fill_up(
        &mut self,
        conjunction: &Conjunction<'s>,
        names: &mut Vec<String>,
        declared: &[&str],
        least: usize,
    ) {
        let mut candidates: Vec<String> = declared.iter().map(|name| (*name).to_owned()).collect();
        for pattern in conjunction.all("patternProperties").filter_map(Value::as_object) {
            for pattern in pattern.keys().filter_map(|pattern| Pattern::parse(pattern)) {
                candidates.extend(
                    (0..least.min(20)).filter_map(|variant| pattern.sample(1, 0, variant, 100)),
                );
            }
        }
        let rules: Vec<&Value> = conjunction.all("propertyNames").collect();
        for variant in 0..least {
            if names.len() + candidates.len() > 2 * MAX_PROPERTIES {
                break;
            }
            if rules.is_empty() {
                candidates.push(match variant {
                    0 => "key".to_owned(),
                    index => format!("key{}", index + 1),
                });
            } else if let Some(Value::String(name)) =
                self.value(&rules, DrawContext { variant, ..DrawContext::default() })
            {
                candidates.push(name);
            }
        }
        for name in candidates {
            if names.len() >= least {
                break;
            }
            let is_possible =
                !schemas_of(self.patterns, conjunction, &name).contains(&&Value::Bool(false));
            if is_possible && !names.contains(&name) {
                names.push(name);
            }
        }
    }
}

fn required<'s>(conjunction: &Conjunction<'s>) -> Vec<&'s str> {
    let mut required: Vec<&str> = Vec::new();
    for name in conjunction.all("required").filter_map(Value::as_array).flatten() {
        if let Some(name) = name.as_str().filter(|name| !required.contains(name)) {
            required.push(name);
        }
    }
    required
}

/// Return the dependencies of the properties that are present.
fn dependencies<'s>(
    conjunction: &Conjunction<'s>,
    keyword: &'static str,
    names: &[String],
) -> Vec<&'s Value> {
    let maps = conjunction.all(keyword).filter_map(Value::as_object);
    maps.flat_map(|map| names.iter().filter_map(|name| map.get(name))).collect()
}

/// Add the names required by those that are present.
fn add_dependent_names(conjunction: &Conjunction<'_>, names: &mut Vec<String>) {
    for _ in 0..MAX_PROPERTIES {
        let mut dependent = dependencies(conjunction, "dependentRequired", names);
        dependent.extend(dependencies(conjunction, "dependencies", names));
        let before = names.len();
        for name in dependent.into_iter().filter_map(Value::as_array).flatten() {
            let Some(name) = name.as_str() else { continue };
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        if names.len() == before {
            break;
        }
    }
}

fn dependent_schemas<'s>(conjunction: &Conjunction<'s>, names: &[String]) -> Vec<&'s Value> {
    let mut schemas = dependencies(conjunction, "dependentSchemas", names);
    schemas.extend(dependencies(conjunction, "dependencies", names));
    schemas.retain(|schema| !schema.is_array());
    schemas
}

/// Return all schemas that apply to the property `name`.
fn schemas_of<'s>(
    patterns: &Patterns,
    conjunction: &Conjunction<'s>,
    name: &str,
) -> Vec<&'s Value> {
    let mut schemas = Vec::new();
    for part in &conjunction.parts {
        let before = schemas.len();
        schemas.extend(part.get("properties").and_then(|properties| properties.get(name)));
        if let Some(Value::Object(by_pattern)) = part.get("patternProperties") {
            let matching = by_pattern.iter().filter(|(pattern, _)| patterns.matches(pattern, name));
            schemas.extend(matching.map(|(_, schema)| schema));
        }
        if schemas.len() == before {
            schemas.extend(part.get("additionalProperties"));
        }
    }
    schemas
}
