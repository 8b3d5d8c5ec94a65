//! Validation of histories.

use std::collections::HashSet;

use super::{ConsolidateError, json::is_shallow};
use crate::message::{Content, Message, ToolCall, ToolResult};

/// Check the message at `index`.
pub(super) fn check(index: usize, message: &Message) -> Result<(), ConsolidateError> {
    let content = &message.content;
    check_calls(index, content.calls())?;
    let mut answered = HashSet::new();
    for ToolResult { tool_call_id: id, .. } in content.results() {
        if !answered.insert(id) {
            return Err(ConsolidateError::DuplicateResult { index, id: id.clone() });
        }
    }
    if let Content::Aggregate { calls, results } = content {
        let known: HashSet<_> = calls.iter().map(|call| &call.id).collect();
        if let Some(result) = results.iter().find(|result| !known.contains(&result.tool_call_id)) {
            let id = result.tool_call_id.clone();
            return Err(ConsolidateError::UnknownCall { index, id });
        }
    }
    Ok(())
}

/// Check the calls of the message at `index`.
pub(super) fn check_calls(index: usize, calls: &[ToolCall]) -> Result<(), ConsolidateError> {
    let mut ids = HashSet::new();
    for ToolCall { id, name, arguments, .. } in calls {
        if !arguments.is_object() {
            let (id, name) = (id.clone(), name.clone());
            return Err(ConsolidateError::Arguments { index, id, name });
        }
        if !is_shallow(arguments) {
            let (id, name) = (id.clone(), name.clone());
            return Err(ConsolidateError::TooDeep { index, id, name });
        }
        if !ids.insert(id) {
            return Err(ConsolidateError::DuplicateCall { index, id: id.clone() });
        }
    }
    Ok(())
}
