//! Sampling of objects, with their required and optional properties.

use serde_json::{Map, Value};

use super::{DrawContext, Extent, MAX_MEMBERS, Sampler, conjunction::Conjunction, pattern};

impl<'s> Sampler<'s, '_> {
    pub(super) fn object(
        &mut self,
        conjunction: &Conjunction<'s>,
        context: DrawContext,
    ) -> Option<Value> {
        let mut members = Map::new();
        for name in self.names(conjunction, context)? {
            let schemas = conjunction.schemas_of(&name);
            let value = self.at(&name, |sampler| sampler.value(&schemas, context.inside()))?;
            members.insert(name, value);
        }
        self.fill_up(conjunction, members, context)
    }

    /// Choose the names of the properties, in the order of their declaration.
    fn names(
        &mut self,
        conjunction: &Conjunction<'s>,
        context: DrawContext,
    ) -> Option<Vec<String>> {
        let required: Vec<&str> = conjunction
            .all("required")
            .filter_map(Value::as_array)
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let declared = conjunction.maps("properties").map(|(name, _)| name.as_str());
        // The first choice is to omit optional properties, or to include them, depending on the
        // extent.
        let shown_at = usize::from(self.extent == Extent::Required);
        let mut names: Vec<String> = Vec::new();
        for name in declared.chain(required.iter().copied()) {
            let is_new = !names.iter().any(|known| known == name);
            let is_shown = is_new
                && (required.contains(&name)
                    || self.is_full(context.inside())
                        && self.at(name, |sampler| Some(sampler.choose(2)))? == shown_at);
            if is_shown {
                names.push(name.to_owned());
            }
        }
        Some(names)
    }

    /// Add properties until there are enough. A map without declared names gets one entry.
    fn fill_up(
        &mut self,
        conjunction: &Conjunction<'s>,
        mut members: Map<String, Value>,
        context: DrawContext,
    ) -> Option<Value> {
        let least = conjunction.at_least("minProperties");
        let is_map = conjunction.maps("properties").next().is_none()
            && (conjunction.all("additionalProperties").any(Value::is_object)
                || conjunction.maps("patternProperties").next().is_some());
        let shown = is_map && self.is_full(context.inside()) && self.choose(2) == 0;
        let least = least.max(members.len() + usize::from(shown));
        if least > MAX_MEMBERS {
            return None;
        }
        let rules: Vec<&Value> = conjunction.all("propertyNames").collect();
        let mut declared = conjunction.maps("properties");
        for variant in 0..2 * MAX_MEMBERS {
            if members.len() >= least {
                break;
            }
            let mut by_pattern = conjunction.maps("patternProperties");
            let (name, schemas) = if let Some((name, _)) = declared.next() {
                (name.clone(), conjunction.schemas_of(name))
            } else if let Some((pattern, schema)) = by_pattern.next() {
                (pattern::sample(pattern, 1, 0, variant)?, vec![schema])
            } else if rules.is_empty() {
                let name =
                    if variant == 0 { "key".to_owned() } else { format!("key{}", variant + 1) };
                let schemas = conjunction.schemas_of(&name);
                (name, schemas)
            } else {
                let Value::String(name) =
                    self.value(&rules, DrawContext { variant, ..context.inside() })?
                else {
                    return None;
                };
                let schemas = conjunction.schemas_of(&name);
                (name, schemas)
            };
            if !members.contains_key(&name) {
                let value = self.at(&name, |sampler| sampler.value(&schemas, context.inside()))?;
                members.insert(name, value);
            }
        }
        Some(Value::Object(members))
    }
}
