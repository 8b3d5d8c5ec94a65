//! Arguments with a tag for each, and for each part of an object or an array.
//!
//! ```text
//! ]<]minimax[>[<spots>]<]minimax[>[<item>Oslo]<]minimax[>[</item>]<]minimax[>[</spots>
//! ```

use serde_json::Value;

use super::{
    Converted,
    typed::{Described, depth},
};
use crate::message::Repair;

/// The special token before each tag.
pub(super) const PREFIX: &str = "]<]minimax[>[";

/// The tag of an item of an array.
const ITEM: &str = "item";

/// An argument, or a part of one, that is open.
#[derive(Debug)]
struct Open<'t, 's> {
    name: &'t str,
    described: Described<'s>,
    /// The text after the tag.
    text: &'t str,
    members: Vec<(&'t str, String)>,
}

pub(super) fn convert(
    text: &str,
    described: &Described<'_>,
    max_depth: usize,
) -> Option<Converted> {
    let outer = Open { name: "", described: described.clone(), text: "", members: Vec::new() };
    let mut open = vec![outer];
    let mut repairs = Vec::new();
    for piece in text.split(PREFIX).skip(1) {
        let (tag, after) = piece.strip_prefix('<')?.split_once('>')?;
        if let Some(name) = tag.strip_prefix('/') {
            let closed = open.pop()?;
            let parent = open.last_mut()?;
            if closed.name != name.trim() || !after.trim().is_empty() {
                return None;
            }
            let json = closed.value(&mut repairs);
            parent.members.push((closed.name, json));
        } else {
            if open.len() > max_depth {
                return None;
            }
            let name = tag.trim();
            let parent = open.last()?;
            let described = if parent.described.types().has_array() && open.len() > 1 {
                parent.described.items()
            } else {
                parent.described.member(name)
            };
            open.push(Open { name, described, text: after, members: Vec::new() });
        }
    }
    let outer = open.pop().filter(|_| open.is_empty())?;
    let json = object(&outer.members);
    (depth(&json) <= max_depth).then_some(Converted { arguments: json, repairs })
}

impl Open<'_, '_> {
    /// Return the value as JSON text.
    fn value(&self, repairs: &mut Vec<Repair>) -> String {
        let types = self.described.types();
        if self.members.is_empty() {
            let (json, found) = types.read(self.text);
            repairs.extend(found);
            return json;
        }
        let only_items = self.members.iter().all(|(name, _)| *name == ITEM);
        if types.has_array() && !types.has_object() || only_items && !types.has_object() {
            let items: Vec<&str> = self.members.iter().map(|(_, json)| json.as_str()).collect();
            return format!("[{}]", items.join(", "));
        }
        object(&self.members)
    }
}

fn object(members: &[(&str, String)]) -> String {
    let member = |(name, json): &(&str, String)| format!("{}: {json}", Value::from(*name));
    let members: Vec<String> = members.iter().map(member).collect();
    format!("{{{}}}", members.join(", "))
}
