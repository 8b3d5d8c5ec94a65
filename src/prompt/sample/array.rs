//! Sampling of arrays, with a suitable length and required items.

use serde_json::Value;

use super::{DrawContext, Extent, FULL_DEPTH, Sampler, conjunction::Conjunction};

/// Maximum length; longer arrays are unsuitable as examples.
const MAX_ITEMS: usize = 50;

/// Maximum number of attempts to draw an item that differs from the others.
const UNIQUE_ATTEMPTS: usize = 8;

impl<'s> Sampler<'s, '_> {
    pub(super) fn array(
        &mut self,
        conjunction: &Conjunction<'s>,
        context: DrawContext<'s, '_>,
    ) -> Option<Value> {
        let (length, contained) = self.lengths(conjunction, context)?;
        let is_unique = conjunction.has("uniqueItems");
        let mut items: Vec<Value> = Vec::with_capacity(length);
        for at in 0..length {
            let mut schemas = Vec::new();
            for part in &conjunction.parts {
                schemas.extend(item_schema(part, at));
                // Required items go to the end, where fewer schemas apply.
                if length - at <= contained {
                    schemas.extend(part.get("contains"));
                }
            }
            let item = self.at(&at.to_string(), |sampler| {
                let tries = if is_unique { UNIQUE_ATTEMPTS } else { 1 };
                let first = if is_unique { context.variant + at } else { context.variant };
                (first..first + tries).find_map(|variant| {
                    let context = DrawContext { depth: context.depth + 1, variant, ..context };
                    let item = sampler.value(&schemas, context)?;
                    (!is_unique || !items.contains(&item)).then_some(item)
                })
            });
            match item {
                Some(item) => items.push(item),
                None => return self.give_up(),
            }
        }
        Some(Value::Array(items))
    }

    /// Choose the number of items, and how many of them, at the end, must match `contains`.
    fn lengths(
        &mut self,
        conjunction: &Conjunction<'s>,
        context: DrawContext<'s, '_>,
    ) -> Option<(usize, usize)> {
        let contains = conjunction.all("contains").next().is_some();
        let contained = conjunction.at_least("minContains").max(usize::from(contains));
        let contained = match conjunction.at_most("minContains") {
            Some(0) => 0,
            _ if contains => contained,
            _ => 0,
        };
        let fixed = conjunction.parts.iter().map(|part| leading(part).len()).max().unwrap_or(0);
        let least = conjunction.at_least("minItems").max(contained);
        let most = conjunction.at_most("maxItems").unwrap_or(MAX_ITEMS);
        if least > MAX_ITEMS || least > most {
            return self.give_up();
        }
        let is_full =
            self.extent != Extent::Minimal && !context.is_recursive && context.depth <= FULL_DEPTH;
        let shown = if is_full { (fixed + contained).max(1) } else { 0 };
        let mut lengths = vec![shown.clamp(least, most)];
        for length in [least, least + fixed, least + 1, least + 2] {
            if length <= most && !lengths.contains(&length) {
                lengths.push(length);
            }
        }
        Some((lengths[self.choose(lengths.len())], contained))
    }
}

type Members = serde_json::Map<String, Value>;

/// Return the schemas of the first items, one each.
fn leading(part: &Members) -> &[Value] {
    let listed = part.get("prefixItems").or_else(|| part.get("items"));
    listed.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Return the schema in `part` of the item at this position.
fn item_schema(part: &Members, at: usize) -> Option<&Value> {
    leading(part).get(at).or_else(|| match part.get("items") {
        Some(Value::Array(_)) => part.get("additionalItems"),
        Some(schema) => Some(schema),
        None => part.get("unevaluatedItems"),
    })
}
