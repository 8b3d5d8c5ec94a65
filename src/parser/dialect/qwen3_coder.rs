//! One tag for each argument: Qwen3-Coder and all Qwen since 3.5, Nemotron 3, Step 3.5, MiMo.
//!
//! ```text
//! <tool_call>
//! <function=GetWeather>
//! <parameter=city>
//! Oslo
//! </parameter>
//! </function>
//! </tool_call>
//! ```

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, Evidence, IdForm, MemberMarkup, ResultMarkup,
    Teaching, ToolList, Values, Writing,
};
use crate::parser::block::{Body, CallName, CallTags, Parameters};

/// The beginnings of the tag of an argument; the last is a damaged `<parameter=`.
const PARAMETER: &[&str] = &["<parameter=", "<parameter ", "<parameter>"];

/// A call, with its name in the tag or, as some models write it, in an attribute.
pub(super) const CALLS: &[CallTags] = &[
    CallTags {
        open: "<function=",
        name: CallName::Rest,
        end: ">",
        close: "</function>",
        parameter: PARAMETER,
        parameter_close: "</parameter>",
    },
    CallTags {
        open: "<function ",
        name: CallName::Attribute("name"),
        end: ">",
        close: "</function>",
        parameter: PARAMETER,
        parameter_close: "</parameter>",
    },
];

/// A call without the tag around it, as these models often write it.
pub(super) const BARE: Block = Block {
    evidence: Evidence::Marked,
    open: &["<function="],
    close: &["</tool_call>", "</seed:tool_call>"],
    body: Body::Parameters(Parameters {
        calls: CALLS,
        begun: true,
        registered: true,
        ..Parameters::DEFAULT
    }),
};

pub(super) const DIALECT: Dialect = Dialect {
    name: "qwen3_coder",
    forms: &[],
    blocks: &[
        Block {
            evidence: Evidence::Marked,
            open: &["<tool_call>"],
            close: &["</tool_call>"],
            body: Body::Parameters(Parameters { calls: CALLS, ..Parameters::DEFAULT }),
        },
        BARE,
    ],
    response: Some("tool_response"),
    writing: Some(&WRITING),
    teaching: Some(&TEACHING),
};

const WRITING: Writing = Writing {
    calls: CallMarkup {
        lead: "\n\n",
        open: "",
        before: "<tool_call>\n<function={name}>\n",
        arguments: ArgumentMarkup::Members(MemberMarkup {
            before: "<parameter={key}>\n",
            after: "\n</parameter>\n",
            python: true,
        }),
        after: "</function>\n</tool_call>",
        separator: "\n",
        close: "",
    },
    results: ResultMarkup::lines("<tool_response>\n", "\n</tool_response>"),
    ids: IdForm::None,
    markers: &[
        "<tool_call",
        "</tool_call",
        "<function",
        "</function",
        "<parameter",
        "</parameter",
        "<tool_response",
        "</tool_response",
        "<|im_start|>",
        "<|im_end|>",
        "<|endoftext|>",
    ],
};

const TEACHING: Teaching =
    Teaching { tools: ToolList::Tags, values: Values::Text, ..Teaching::DEFAULT };
