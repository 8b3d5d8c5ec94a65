//! One tag for each argument, which says its type, in tags of special tokens: Kimi K3.
//!
//! ```text
//! <|open|>tools<|sep|><|open|>call tool="GetWeather" index="1"<|sep|>
//! <|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|>
//! <|close|>call<|sep|><|close|>tools<|sep|>
//! ```
//!
//! There are no line breaks between the tags. The calls follow a `think` and a `response` block, of
//! which the prompt may have opened one. All blocks are inside a `message` block, which the prompt
//! opens.

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, Entry, Evidence, IdForm, JsonLayout, JsonList,
    MemberMarkup, ResultMarkup, Several, Teaching, ToolList, Values, Writing,
};
use crate::parser::block::{Body, Boundary, CallName, CallTags, Parameters};

const CALLS: &[CallTags] = &[CallTags {
    open: "<|open|>call ",
    name: CallName::Attribute("tool"),
    end: "<|sep|>",
    close: "<|close|>call<|sep|>",
    parameter: &["<|open|>argument "],
    parameter_close: "<|close|>argument<|sep|>",
}];

pub(super) const DIALECT: Dialect = Dialect {
    name: "kimi_k3",
    forms: &[],
    blocks: &[
        Block {
            evidence: Evidence::Marked,
            open: &["<|open|>tools<|sep|>"],
            close: &["<|close|>tools<|sep|>"],
            body: Body::Parameters(Parameters { calls: CALLS, ..Parameters::DEFAULT }),
        },
        Block {
            evidence: Evidence::Marked,
            open: &["<|open|>call "],
            close: &["<|close|>tools<|sep|>"],
            body: Body::Parameters(Parameters { calls: CALLS, begun: true, ..Parameters::DEFAULT }),
        },
        Block {
            evidence: Evidence::Marked,
            open: &[
                "<|open|>response<|sep|>",
                "<|close|>response<|sep|>",
                "<|open|>message role=\"assistant\"<|sep|>",
                "<|close|>message<|sep|>",
                "<|close|>think<|sep|>",
                "<|close|>tools<|sep|>",
                "<|end_of_msg|>",
            ],
            close: &[],
            body: Body::Boundary(Boundary { next: &["<|open|>", "<|close|>", "<|end_of_msg|>"] }),
        },
    ],
    response: None,
    writing: Some(&WRITING),
    teaching: Some(&TEACHING),
};

const WRITING: Writing = Writing {
    calls: CallMarkup {
        lead: "",
        open: "<|open|>tools<|sep|>",
        before: "<|open|>call tool=\"{name}\" index=\"{id}\"<|sep|>",
        arguments: ArgumentMarkup::Members(MemberMarkup {
            before: "<|open|>argument key=\"{key}\" type=\"{type}\"<|sep|>",
            after: "<|close|>argument<|sep|>",
            python: false,
        }),
        after: "<|close|>call<|sep|>",
        separator: "",
        close: "<|close|>tools<|sep|>",
    },
    results: ResultMarkup::joined(
        "<|open|>message role=\"tool\" tool=\"{name}\" index=\"{id}\"<|sep|>",
        "<|close|>message<|sep|>",
    ),
    ids: IdForm::Position,
    markers: &["<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>", "[BOS]", "[EOS]"],
};

const TEACHING: Teaching = Teaching {
    tools: ToolList::Json(JsonList {
        open: "```json\n[",
        between: ",",
        close: "]\n```",
        entry: Entry::Definition,
        layout: JsonLayout::Sorted,
    }),
    several: Several::OneBlock,
    values: Values::TypeName,
    text_before: true,
};
