//! Pairs of tags without newlines: GLM 4.7 and 5, Ling 3, Laguna.
//!
//! ```text
//! <tool_call>GetWeather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>
//! ```
//!
//! The form of [`glm45`], with newlines, is read as well.

use super::{
    ArgumentMarkup, CallMarkup, Dialect, IdForm, MemberMarkup, ResultMarkup, Writing, glm45,
};

pub(super) const DIALECT: Dialect = Dialect {
    name: "glm47",
    forms: &[],
    blocks: &glm45::BLOCKS,
    response: Some("tool_response"),
    writing: Some(&WRITING),
    teaching: Some(&glm45::TEACHING),
};

const WRITING: Writing = Writing {
    calls: CallMarkup {
        lead: "",
        open: "",
        before: "<tool_call>{name}",
        arguments: ArgumentMarkup::Members(MemberMarkup {
            before: "<arg_key>{key}</arg_key><arg_value>",
            after: "</arg_value>",
            python: false,
        }),
        after: "</tool_call>",
        separator: "",
        close: "",
    },
    results: ResultMarkup::joined("<tool_response>", "</tool_response>"),
    ids: IdForm::None,
    markers: glm45::MARKERS,
};
