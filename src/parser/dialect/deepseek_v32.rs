//! One tag for each argument, which says whether it is a string: DeepSeek V3.2, V4 and V4.1.
//!
//! ```text
//! <｜DSML｜function_calls>
//! <｜DSML｜invoke name="GetWeather">
//! <｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>
//! </｜DSML｜invoke>
//! </｜DSML｜function_calls>
//! ```
//!
//! V4 has another name for the block, V4.1 a blank in each tag, and the models mix them.

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, Entry, Evidence, IdForm, JsonLayout, JsonList,
    MemberMarkup, ResultMarkup, Several, Teaching, ToolList, Values, Writing, anthropic_xml,
};
use crate::parser::block::{Body, CallTags, Parameters};

const CALLS: &[CallTags] = &[invoke!("｜DSML｜"), invoke!("｜DSML｜ ")];

const OPEN: &[&str] = &[
    "<｜DSML｜function_calls>",
    "<｜DSML｜tool_calls>",
    "<｜DSML｜ calls>",
    "<｜DSML｜toolcalls>",
    "<｜DSML｜ function_calls>",
    "<｜DSML｜ tool_calls>",
    "<｜DSML｜calls>",
];

const CLOSE: &[&str] = &[
    "</｜DSML｜function_calls>",
    "</｜DSML｜tool_calls>",
    "</｜DSML｜ calls>",
    "</｜DSML｜toolcalls>",
    "</｜DSML｜ function_calls>",
    "</｜DSML｜ tool_calls>",
    "</｜DSML｜calls>",
];

/// A call without a block around it.
const fn bare(open: &'static [&'static str]) -> Block {
    let body = Parameters { calls: CALLS, begun: true, ..Parameters::DEFAULT };
    Block { evidence: Evidence::Marked, open, close: CLOSE, body: Body::Parameters(body) }
}

pub(super) const DIALECT: Dialect = Dialect {
    name: "deepseek_v32",
    forms: &[],
    blocks: &[
        Block {
            evidence: Evidence::Marked,
            open: OPEN,
            close: CLOSE,
            body: Body::Parameters(Parameters { calls: CALLS, ..Parameters::DEFAULT }),
        },
        bare(&["<｜DSML｜invoke "]),
        bare(&["<｜DSML｜ invoke "]),
        // The token between the bars removed.
        Block {
            evidence: Evidence::Stripped,
            open: &["<function_calls>", "<tool_calls>", "<invoke name="],
            close: &["</function_calls>", "</tool_calls>"],
            body: Body::Parameters(Parameters {
                calls: &[anthropic_xml::INVOKE],
                registered: true,
                ..Parameters::DEFAULT
            }),
        },
    ],
    response: Some("function_results"),
    writing: Some(&WRITING),
    teaching: Some(&TEACHING),
};

const WRITING: Writing = Writing {
    calls: CallMarkup {
        lead: "\n\n",
        open: "<｜DSML｜function_calls>\n",
        before: "<｜DSML｜invoke name=\"{name}\">\n",
        arguments: ArgumentMarkup::Members(MemberMarkup {
            before: "<｜DSML｜parameter name=\"{key}\" string=\"{string}\">",
            after: "</｜DSML｜parameter>\n",
            python: false,
        }),
        after: "</｜DSML｜invoke>\n",
        separator: "",
        close: "</｜DSML｜function_calls>",
    },
    results: ResultMarkup {
        open: "<function_results>\n",
        close: "\n</function_results>",
        ..ResultMarkup::lines("<result>", "</result>")
    },
    ids: IdForm::None,
    markers: &[
        "<｜DSML｜",
        "</｜DSML｜",
        "<function_results",
        "</function_results",
        "<result>",
        "</result>",
        "<tool_result>",
        "</tool_result>",
        "<functions>",
        "</functions>",
        "<function_calls>",
        "<tool_calls>",
        "<invoke",
        "<｜begin▁of▁sentence｜>",
        "<｜end▁of▁sentence｜>",
        "<｜User｜>",
        "<｜Assistant｜>",
    ],
};

const TEACHING: Teaching = Teaching {
    tools: ToolList::Json(JsonList {
        open: "<functions>\n",
        between: "\n",
        close: "\n</functions>",
        entry: Entry::Function,
        layout: JsonLayout::Spaced,
    }),
    several: Several::OneBlock,
    values: Values::StringFlag,
    text_before: true,
};
