//! One tag for each argument, with names in attributes: MiniMax M2 to M2.7.
//!
//! ```text
//! <minimax:tool_call>
//! <invoke name="GetWeather">
//! <parameter name="city">Oslo</parameter>
//! </invoke>
//! </minimax:tool_call>
//! ```

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, Entry, Evidence, IdForm, JsonLayout, JsonList,
    MemberMarkup, ResultMarkup, Several, Teaching, ToolList, Values, Writing, anthropic_xml,
};
use crate::parser::block::{Body, Parameters};

pub(super) const DIALECT: Dialect = Dialect {
    name: "minimax_m2",
    forms: &[],
    blocks: &[Block {
        evidence: Evidence::Marked,
        // The second with the template of M1.
        open: &["<minimax:tool_call>", "<tool_calls>"],
        close: &["</minimax:tool_call>", "</tool_calls>"],
        body: Body::Parameters(Parameters {
            calls: &[anthropic_xml::INVOKE],
            ..Parameters::DEFAULT
        }),
    }],
    response: None,
    writing: Some(&WRITING),
    teaching: Some(&TEACHING),
};

const WRITING: Writing = Writing {
    calls: CallMarkup {
        lead: "\n",
        open: "<minimax:tool_call>\n",
        before: "<invoke name=\"{name}\">\n",
        arguments: ArgumentMarkup::Members(MemberMarkup {
            before: "<parameter name=\"{key}\">",
            after: "</parameter>\n",
            python: false,
        }),
        after: "</invoke>\n",
        separator: "",
        close: "</minimax:tool_call>",
    },
    results: ResultMarkup::lines("<response>", "</response>"),
    ids: IdForm::None,
    markers: &[
        "<minimax:tool_call",
        "</minimax:tool_call",
        "<tool_calls",
        "</tool_calls",
        "<invoke",
        "</invoke",
        "<parameter",
        "</parameter",
        "<response>",
        "</response>",
        "]~!b[",
        "]~b]",
        "[e~[",
    ],
};

const TEACHING: Teaching = Teaching {
    tools: ToolList::Json(JsonList {
        open: "<tools>\n<tool>",
        between: "</tool>\n<tool>",
        close: "</tool>\n</tools>",
        entry: Entry::Function,
        layout: JsonLayout::Spaced,
    }),
    several: Several::OneBlock,
    values: Values::Text,
    text_before: true,
};
