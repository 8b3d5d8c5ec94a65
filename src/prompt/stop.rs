//! Texts at which a server should end a reply.

use crate::parser::Dialect;

/// Return the beginning of the markup of results in a dialect, which a model must not write.
///
/// Without this stop sequence, models make up the results of their own calls. Some dialects have
/// none: their results begin with text that an answer may begin with as well, such as `<response>`
/// or a heading, and a stop sequence would leave such an answer empty.
#[must_use]
pub fn stop_sequence(dialect: &Dialect) -> Option<&'static str> {
    let sequence = match dialect.name {
        "natural" | "qwen3_coder" | "hermes" | "glm45" | "glm47" => "<tool_response",
        "gemma4" => "<|tool_response>",
        "harmony" => "<|start|>functions.",
        "deepseek_v32" => "<function_results>",
        "deepseek_v3" => "<\u{ff5c}tool\u{2581}outputs\u{2581}begin\u{ff5c}>",
        "deepseek_v31" => "<\u{ff5c}tool\u{2581}output\u{2581}begin\u{ff5c}>",
        "mistral_v11" | "mistral" => "[TOOL_RESULTS]",
        "kimi_k3" => "<|open|>message role=\"tool\"",
        "lfm2" => "<|tool_response_start|>",
        _ => return None,
    };
    Some(sequence)
}
