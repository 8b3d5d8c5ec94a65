//! Sampling of arrays, with a suitable length and required items.

use serde_json::{Map, Value};

use super::{DrawContext, MAX_MEMBERS, Sampler, conjunction::Conjunction};

impl<'s> Sampler<'s, '_> {
    pub(super) fn array(
        &mut self,
        conjunction: &Conjunction<'s>,
        context: DrawContext,
    ) -> Option<Value> {
        let contains: Vec<&Value> = conjunction.all("contains").collect();
        let contained = contains.len().min(1).max(conjunction.at_least("minContains"));
        let length = self.length(conjunction, contained, context)?;
        let is_unique = conjunction.all("uniqueItems").any(|flag| flag == &Value::Bool(true));
        let mut items = Vec::with_capacity(length);
        for at in 0..length {
            let mut schemas: Vec<&Value> =
                conjunction.parts.iter().filter_map(|part| item_schema(part, at)).collect();
            // Required items go to the end, where fewer schemas apply.
            if length - at <= contained {
                schemas.extend(&contains);
            }
            let mut context = context.inside();
            if is_unique {
                context.variant += at;
            }
            items.push(self.at(&at.to_string(), |sampler| sampler.value(&schemas, context))?);
        }
        Some(Value::Array(items))
    }

    /// Choose the number of items, of which `contained` must match `contains`.
    fn length(
        &mut self,
        conjunction: &Conjunction<'s>,
        contained: usize,
        context: DrawContext,
    ) -> Option<usize> {
        let fixed = conjunction.parts.iter().map(|part| leading(part).len()).max().unwrap_or(0);
        let least = conjunction.at_least("minItems").max(contained);
        let most = conjunction.at_most("maxItems").unwrap_or(MAX_MEMBERS);
        if least > most.min(MAX_MEMBERS) {
            return None;
        }
        let shown = if self.is_full(context) { (fixed + contained).max(1) } else { 0 };
        let mut lengths = vec![shown.clamp(least, most)];
        lengths.extend([least, least + fixed, least + 1].into_iter().filter(|len| *len <= most));
        Some(lengths[self.choose(lengths.len())])
    }
}

/// Return the schemas of the first items, one each.
fn leading(part: &Map<String, Value>) -> &[Value] {
    let listed = part.get("prefixItems").or_else(|| part.get("items"));
    listed.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Return the schema in `part` of the item at this position.
fn item_schema(part: &Map<String, Value>, at: usize) -> Option<&Value> {
    leading(part).get(at).or_else(|| part.get("items").filter(|schema| !schema.is_array()))
}
