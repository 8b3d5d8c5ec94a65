//! Python bindings.
//!
//! Each file wraps the core module of the same name and has no logic of its own. Only this module
//! uses `pyo3`. The doc comments of classes and functions are docstrings, the same as in the stubs
//! in `python/toolweave/_bindings`.

#![allow(
    clippy::doc_link_with_quotes,
    clippy::doc_markdown,
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    reason = "doc comments have the markup of docstrings"
)]

mod class;
mod consolidate;
mod contract;
mod convert;
mod diagnostic;
mod endpoint;
mod error;
mod in_place;
mod lifecycle;
mod log;
mod message;
mod meter;
mod parser;
mod partial;
mod prompt;
mod proxy;
mod registry;
mod repair;
mod reply;
mod search;
mod selection;
mod template;
mod validator;

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

/// Lock the state of a class. The core does not panic half-way through a change.
fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymodule(name = "_core")]
mod core {
    #[pymodule_export]
    use super::{
        class::rebuild,
        consolidate::{PyConsolidator, consolidated, parse_history},
        contract::PyFunctionContract,
        convert::copy_json,
        diagnostic::PyDiagnostic,
        endpoint::{
            PyChunkReader, PyHttpBatch, PyHttpClient, PyHttpLargeEvents, PyHttpReply, PyHttpWakeup,
            without_keys,
        },
        lifecycle::{PyStreamReducer, check_stream_event},
        message::{
            PyFinishUpdate, PyJoinProblem, PyJoinedReply, PyJoiner, PyMessageBase,
            PyReasoningDelta, PyReasoningMessage, PyRepair, PyTextDelta, PyTextMessage,
            PyToolAggregateMessage, PyToolCall, PyToolCallMessage, PyToolCallUpdate, PyToolResult,
            PyToolResultMessage, PyUnknownMessage, PyUsageMessage, PyUsageUpdate, from_anthropic,
            from_openai, message_from_dict, message_from_json, to_anthropic, to_openai,
        },
        meter::PyJsonMeter,
        parser::{
            PyDialect, PyDiscarded, PyEventStream, PyFabricatedResult, PyInvalidToolCall, PyLimits,
            PyParser, PyToolCallDelta, PyToolCallStart, is_html_element, parse,
        },
        partial::PyJsonStream,
        prompt::{PySimplification, find_simplifications, render_contracts, system_prompt},
        proxy::PyProxyServer,
        registry::{PyOrigin, PyRegistrySnapshot, PyToolEntry, supertypes, type_name},
        repair::repair_json,
        reply::PyUpdateReader,
        search::PySearchIndex,
        selection::{PyRanking, PyRankingResult, PyReplyReader, PyScoredReply},
        template::{PyPromptTemplate, structure_schema},
        validator::{PyValidator, PyViolation},
    };

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// True for a debug build, which is about ten times slower than a release build.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const _is_debug_build: bool = cfg!(debug_assertions);

    /// JSON Schema of stream events, as JSON text.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const _stream_event_schema: &str = include_str!("../../schemas/stream-events.json");
}
