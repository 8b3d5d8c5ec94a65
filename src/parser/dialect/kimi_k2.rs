//! Kimi K2 and K2.5.
//!
//! ```text
//! <|tool_calls_section_begin|><|tool_call_begin|>functions.GetWeather:0<|tool_call_argument_begin|>
//! {"city": "Oslo"}<|tool_call_end|><|tool_calls_section_end|>
//! ```

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, Evidence, IdForm, JsonList, ResultMarkup, Several,
    Teaching, ToolList, Writing,
};
use crate::parser::block::{Body, Boundary, Headed, Header, Mark};

const MARKS: &[(&str, Mark)] = &[
    ("<|tool_call_begin|>", Mark::Begin),
    ("<|tool_call_argument_begin|>", Mark::Arguments),
    ("<|tool_call_end|>", Mark::End),
];

const CLOSE: &[&str] = &["<|tool_calls_section_end|>", "<|tool_call_section_end|>"];

const fn block(evidence: Evidence, open: &'static [&'static str], opened: bool) -> Block {
    let body = Body::Headed(Headed { marks: MARKS, header: Header::Id, opened });
    Block { evidence, open, close: CLOSE, body }
}

pub(super) const DIALECT: Dialect = Dialect {
    name: "kimi_k2",
    forms: &[],
    blocks: &[
        block(
            Evidence::Marked,
            &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
            false,
        ),
        block(Evidence::Marked, &["<|tool_call_begin|>"], true),
        block(Evidence::Stripped, &["functions."], false),
        Block {
            evidence: Evidence::Marked,
            open: &["<|tool_call_end|>", "<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
            close: &[],
            body: Body::Boundary(Boundary { next: &[] }),
        },
    ],
    response: None,
    writing: Some(&WRITING),
    teaching: Some(&TEACHING),
};

const WRITING: Writing = Writing {
    calls: CallMarkup {
        lead: "",
        open: "<|tool_calls_section_begin|>",
        before: "<|tool_call_begin|>{id}<|tool_call_argument_begin|>",
        arguments: ArgumentMarkup::Json,
        after: "<|tool_call_end|>",
        separator: "",
        close: "<|tool_calls_section_end|>",
    },
    results: ResultMarkup::lines("## Return of {id}\n", ""),
    ids: IdForm::Counted,
    markers: &[
        "<|tool_calls_section_",
        "<|tool_call_",
        "# Return of ",
        "<|im_system|>",
        "<|im_user|>",
        "<|im_assistant|>",
        "<|im_middle|>",
        "<|im_end|>",
        "[BOS]",
        "[EOS]",
        "[EOT]",
    ],
};

const TEACHING: Teaching = Teaching {
    tools: ToolList::Json(JsonList::array("[", "]")),
    several: Several::OneBlock,
    ..Teaching::DEFAULT
};
