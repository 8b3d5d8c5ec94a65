//! Checks for tools that are readable but flawed.

use std::ops::Range;

use serde_json::{Map, Value};

use super::{
    diagnostic::{Code, Finding, Report, did_you_mean, nearest},
    nlweb::{self, HANDLERS, METHODS},
    structure, template,
    tool::Tool,
};

/// A map from bytes of a value to bytes of the text it was read from.
#[derive(Clone, Debug, Default)]
pub(super) struct SourceMap {
    /// The offset of the first piece in the text.
    pub(super) first: usize,
    /// Offsets of further pieces: in the value, and in the text.
    pub(super) further: Vec<(usize, usize)>,
    /// The amount of white space removed from the start of the value.
    pub(super) trimmed: usize,
}

impl SourceMap {
    /// Add the next piece of the value.
    pub(super) fn add(&mut self, offset: usize, place: usize) {
        if offset == 0 {
            self.first = place;
        } else {
            self.further.push((offset, place));
        }
    }

    /// Return the offset in the text of a byte of the value.
    pub(super) fn locate(&self, offset: usize) -> usize {
        let offset = offset + self.trimmed;
        let after = self.further.partition_point(|(start, _)| *start <= offset);
        let piece = after.checked_sub(1).map_or((0, self.first), |index| self.further[index]);
        piece.1 + (offset - piece.0)
    }

    fn span(&self, range: Range<usize>) -> Range<usize> {
        let start = self.locate(range.start);
        start..start + range.len()
    }
}

/// The spans of the parts of a tool.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolSpans {
    /// The span of the name, or of the tag if there is none.
    pub(super) name: Range<usize>,
    pub(super) method: Range<usize>,
    pub(super) prompt: SourceMap,
    /// The span of the tag of `returnStruc`.
    pub(super) structure: Range<usize>,
}

/// Report the flaws of a tool. A disabled tool needs nothing to run.
pub(super) fn check(tool: &Tool, spans: &ToolSpans, report: &mut Report) {
    if tool.name.trim().is_empty() {
        report.warn(
            Code::NoName,
            spans.name.clone(),
            "a tool without a name",
            "Write <Tool name=\"...\">.",
        );
        return;
    }
    method(tool, spans, report);
    placeholders(tool, spans, report);
    if tool.enabled {
        check_handler(tool, spans, report);
        check_reply(tool, spans, report);
    }
}

fn method(tool: &Tool, spans: &ToolSpans, report: &mut Report) {
    let method = &*tool.method;
    if method.is_empty() || METHODS.contains(&method) {
        return;
    }
    let message = format!("the method {method:?} of tool {:?} is not known", tool.name);
    let hint = did_you_mean(method, METHODS.iter().copied())
        .unwrap_or_else(|| format!("Known are {}.", METHODS.join(", ")));
    report.warn(Code::UnknownMethod, spans.method.clone(), message, hint);
}

/// Check that the tool has a handler, and that the handler gets the parameters that it reads.
fn check_handler(tool: &Tool, spans: &ToolSpans, report: &mut Report) {
    let Some(handler) = &tool.handler else {
        let runs = match &*tool.method {
            "builtin" => true,
            "url" => !tool.path.is_empty(),
            _ => &*tool.name == nlweb::SEARCH,
        };
        if !runs {
            let message = format!("the tool {:?} has no handler, so nothing runs it", tool.name);
            let finding = Finding::new(Code::NoHandler, spans.name.clone(), message);
            report.add(finding.hint(
                "Add <handler>package.module.Class</handler>, or <method>builtin</method> and \
                 register a handler of its name, or <method>url</method> with a <path>.",
            ));
        }
        return;
    };
    let Some(fields) = tool.return_struc.as_ref().and_then(fields) else { return };
    let class = handler.rsplit('.').next().unwrap_or(handler);
    let Some(known) = HANDLERS.iter().find(|known| known.class == class) else { return };
    let missing: Vec<_> =
        known.required.iter().filter(|field| !fields.contains_key(**field)).copied().collect();
    if missing.is_empty() {
        return;
    }
    let quoted: Vec<_> = missing.iter().map(|field| format!("{field:?}")).collect();
    let which = quoted.join(" and ");
    let message = format!("{class} reads {which}, which returnStruc never yields");
    // `item1` for `item1_name`: a field that is part of a missing name was most likely meant.
    let renamed: Vec<_> = fields
        .keys()
        .filter(|field| !known.reads(field) && Some(field.as_str()) != score_of(fields))
        .filter_map(|field| {
            Some((field, missing.iter().find(|m| field.len() > 2 && m.contains(&**field))?))
        })
        .map(|(field, wanted)| format!("{field:?} to {wanted:?}"))
        .collect();
    let hint = if renamed.is_empty() {
        format!("Add {which} to returnStruc.")
    } else {
        format!("Rename {}.", renamed.join(" and "))
    };
    report.warn(Code::MissingParameter, spans.structure.clone(), message, hint);
}

/// Return the members of a structure, or its properties if it is a JSON Schema, as judged by its
/// form; validating the schema of each tool would take too long.
fn fields(structure: &Value) -> Option<&Map<String, Value>> {
    structure::properties(structure).or_else(|| structure.as_object())
}

fn score_of(fields: &Map<String, Value>) -> Option<&str> {
    structure::score_key(fields.keys().map(String::as_str))
}

/// Check that a model can be asked for a score, and that the reply has one.
fn check_reply(tool: &Tool, spans: &ToolSpans, report: &mut Report) {
    if tool.prompt.is_none() {
        let message =
            format!("the tool {:?} has no prompt, so no model is asked about it", tool.name);
        report.warn(
            Code::NoPrompt,
            spans.name.clone(),
            message,
            "Add <prompt>...{request.query}...</prompt>.",
        );
    }
    if let Some(prompt) = tool.prompt.as_deref()
        && !template::spans(prompt)
            // A misspelled placeholder has been reported already.
            .any(|(name, _)| nearest(name, nlweb::QUERIES.iter().copied()).is_some())
    {
        let message = format!(
            "the prompt of the tool {:?} has no {{request.query}}, so NLWeb's model scores it \
             without the query",
            tool.name
        );
        report.warn(
            Code::NoQuery,
            spans.name.clone(),
            message,
            "Write {request.query} where the query belongs.",
        );
    }
    let structure = tool.return_struc.as_ref();
    let hint = match structure.and_then(structure::properties) {
        Some(_) => "Add \"score\": {\"type\": \"integer\"} to its properties.",
        None => "Add \"score\": \"integer between 0 and 100\" to it.",
    };
    let (span, message) = match structure.map(fields) {
        Some(Some(fields)) if score_of(fields).is_some() => {
            constant_score(fields, spans, report);
            return;
        }
        Some(Some(_)) => (&spans.structure, "this returnStruc has no \"score\""),
        Some(None) => (&spans.structure, "this returnStruc is no object, so it has no \"score\""),
        // An invalid structure has been reported already.
        None if tool.prompt.is_none() || !spans.structure.is_empty() => return,
        None => (&spans.name, "the tool has no returnStruc, so no reply has a \"score\""),
    };
    report.warn(Code::NoScore, span.clone(), message, hint);
}

/// Report a score that is fixed text. A number is an example of a score.
fn constant_score(fields: &Map<String, Value>, spans: &ToolSpans, report: &mut Report) {
    let score = score_of(fields).and_then(|key| fields[key].as_str());
    let Some(text) = score.filter(|text| text.trim().parse::<f64>().is_ok()) else { return };
    let message = format!("the score of this returnStruc is always {text:?}");
    report.warn(
        Code::ConstantScore,
        spans.structure.clone(),
        message,
        "Write \"integer between 0 and 100\", so that the model decides.",
    );
}

fn placeholders(tool: &Tool, spans: &ToolSpans, report: &mut Report) {
    for (name, at) in template::spans(tool.prompt.as_deref().unwrap_or("")) {
        let span = spans.prompt.span(at);
        if nlweb::PLACEHOLDERS.contains(&name) {
            continue;
        }
        if nlweb::UNFILLED.contains(&name) {
            let message = format!("nothing fills {{{name}}} in the prompt of a tool");
            report.warn(
                Code::UnfilledPlaceholder,
                span,
                message,
                "It would be left empty; write what is meant.",
            );
            continue;
        }
        let message = format!("the placeholder {{{name}}} is not known");
        let hint = did_you_mean(name, nlweb::PLACEHOLDERS.iter().copied())
            .unwrap_or_else(|| format!("It is left empty unless the context has {name:?}."));
        report.warn(Code::UnknownPlaceholder, span, message, hint);
    }
}

/// Report placeholders in the text of a `returnStruc`, which is sent unchanged.
pub(super) fn structure_placeholders(structure: &str, source: &SourceMap, report: &mut Report) {
    for (name, at) in template::spans(structure) {
        let message = format!("nothing fills {{{name}}} in a returnStruc");
        let span = source.span(at);
        report.warn(
            Code::UnfilledPlaceholder,
            span,
            message,
            "Say in words what the model is to write there.",
        );
    }
}
