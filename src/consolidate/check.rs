//! Validation of histories.

use std::collections::HashSet;

use super::{ConsolidateError, json::is_shallow};
use crate::message::{Content, Message, ToolCall, ToolResult};

/// Check the message at `index`.
pub(super) fn check(index: usize, message: &Message) -> Result<(), ConsolidateError> {
    match &message.content {
        Content::ToolCalls(calls) => check_calls(index, calls),
        Content::ToolResults(results) => check_results(index, results),
        Content::Aggregate { calls, results } => {
            check_calls(index, calls)?;
            check_results(index, results)?;
            let known: HashSet<_> = calls.iter().map(|call| call.id.as_str()).collect();
            match results.iter().find(|result| !known.contains(result.tool_call_id.as_str())) {
                Some(ToolResult { tool_call_id, .. }) => {
                    Err(ConsolidateError::UnknownCall { index, id: tool_call_id.clone() })
                }
                None => Ok(()),
            }
        }
        Content::Text(_) | Content::Reasoning(_) | Content::Usage(_) | Content::Unknown { .. } => {
            Ok(())
        }
    }
}

/// Check the calls of the message at `index`.
pub(super) fn check_calls(index: usize, calls: &[ToolCall]) -> Result<(), ConsolidateError> {
    let mut ids = HashSet::new();
    for ToolCall { id, name, arguments, .. } in calls {
        let fields = || (id.clone(), name.clone());
        if !arguments.is_object() {
            let (id, name) = fields();
            return Err(ConsolidateError::Arguments { index, id, name });
        }
        if !is_shallow(arguments) {
            let (id, name) = fields();
            return Err(ConsolidateError::TooDeep { index, id, name });
        }
        if !ids.insert(id) {
            return Err(ConsolidateError::DuplicateCall { index, id: id.clone() });
        }
    }
    Ok(())
}

fn check_results(index: usize, results: &[ToolResult]) -> Result<(), ConsolidateError> {
    let mut ids = HashSet::new();
    match results.iter().find(|result| !ids.insert(result.tool_call_id.as_str())) {
        Some(ToolResult { tool_call_id, .. }) => {
            Err(ConsolidateError::DuplicateResult { index, id: tool_call_id.clone() })
        }
        None => Ok(()),
    }
}
