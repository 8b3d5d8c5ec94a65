//! Diagnostics for a `tools.xml`, with their positions.

use std::ops::Range;

use memchr::{memchr_iter, memrchr};

use super::limits::MAX_DIAGNOSTICS;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The registry cannot be loaded.
    Error,
    /// The registry can be loaded, but may not work as intended.
    Warning,
}

impl Severity {
    /// Return the name used in Python and in the documentation.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// Declare [`Code`] with the name and severity of each code, in one table.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $severity:ident;)*) => {
        /// The code of a diagnostic; `docs/explanation/registry.md` explains each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// All codes, by number.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Return the name, such as `TW001`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// Return the severity of diagnostics with this code.
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$name => Severity::$severity,)*
                }
            }
        }
    };
}

codes! {
    /// The text is not well-formed XML.
    NotXml = "TW001", Error;
    /// The file is not in the declared encoding, or in an unsupported one.
    Encoding = "TW002", Error;
    /// The file declares entities, which are never expanded.
    Entities = "TW003", Error;
    /// A limit on size, depth or count is exceeded.
    Limit = "TW004", Error;
    /// The elements are not nested as sites, types and tools.
    Shape = "TW005", Error;
    /// A tool has no name.
    NoName = "TW006", Error;
    /// A `returnStruc` is not JSON.
    NotJson = "TW007", Error;
    /// A type is its own ancestor.
    TypeCycle = "TW008", Error;
    /// A tool contains text that XML cannot represent.
    Unwritable = "TW009", Error;
    /// A tool of this name, type and site already exists.
    DuplicateTool = "TW101", Warning;
    /// An unknown element.
    UnknownElement = "TW102", Warning;
    /// An unknown attribute.
    UnknownAttribute = "TW103", Warning;
    /// A repeated element that may occur only once.
    RepeatedElement = "TW104", Warning;
    /// Text where only elements are allowed.
    StrayText = "TW105", Warning;
    /// An `enabled` value that NLWeb treats as off although it looks like on, or an unknown value.
    EnabledValue = "TW106", Warning;
    /// An `inherit` that is neither `true` nor `false`.
    InheritValue = "TW107", Warning;
    /// An unknown type.
    UnknownType = "TW108", Warning;
    /// An `extends` attribute that has no effect.
    ExtendsIgnored = "TW109", Warning;
    /// A file without tools.
    NoTools = "TW110", Warning;
    /// A tool without a prompt.
    NoPrompt = "TW111", Warning;
    /// Elements inside a text.
    NestedMarkup = "TW112", Warning;
    /// An unknown placeholder.
    UnknownPlaceholder = "TW113", Warning;
    /// A placeholder that is never filled here.
    UnfilledPlaceholder = "TW114", Warning;
    /// A tool without anything to run it.
    NoHandler = "TW115", Warning;
    /// A structure without a score.
    NoScore = "TW116", Warning;
    /// A handler that lacks a parameter it reads.
    MissingParameter = "TW117", Warning;
    /// The same example under two tools of a type.
    SharedExample = "TW118", Warning;
    /// An unknown method.
    UnknownMethod = "TW119", Warning;
    /// A site with several blocks.
    RepeatedSite = "TW120", Warning;
    /// An external DTD, which is never fetched.
    ExternalDtd = "TW121", Warning;
    /// Types without a root element, which NLWeb does not read.
    Fragment = "TW122", Warning;
    /// A prompt without the query.
    NoQuery = "TW130", Warning;
    /// A structure whose score is constant.
    ConstantScore = "TW131", Warning;
    /// A site that adds to the default here, but replaces it in `NLWeb`.
    SiteAdds = "TW132", Warning;
    /// Further diagnostics that were omitted.
    More = "TW199", Warning;
}

/// A finding about a `tools.xml`, with its position.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// The code of the finding.
    pub code: Code,
    /// The description, a sentence.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The length in characters on that line, at least 1.
    pub length: usize,
    /// The remedy, a sentence.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Return true if the diagnostic prevents loading.
    pub fn is_error(&self) -> bool {
        self.code.severity() == Severity::Error
    }
}

/// A diagnostic whose line and column are not known yet.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) code: Code,
    /// The range of bytes in the text.
    pub(super) span: Range<usize>,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Finding {
    pub(super) fn new(code: Code, span: Range<usize>, message: impl Into<String>) -> Self {
        Self { code, span, message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The findings about one text.
#[derive(Debug, Default)]
pub(super) struct Report {
    findings: Vec<Finding>,
    errors: usize,
    /// The number of omitted warnings.
    left_out: usize,
}

impl Report {
    /// Add a finding; beyond the limit, only errors are kept.
    pub(super) fn add(&mut self, finding: Finding) {
        self.errors += usize::from(finding.code.severity() == Severity::Error);
        if self.findings.len() < MAX_DIAGNOSTICS {
            self.findings.push(finding);
        } else if finding.code.severity() == Severity::Error {
            // Errors must be reported: one takes the place of a warning.
            let last = self.findings.iter().rposition(|f| f.code.severity() == Severity::Warning);
            if let Some(last) = last {
                self.findings[last] = finding;
            }
            self.left_out += 1;
        } else {
            self.left_out += 1;
        }
    }

    /// Add a finding with a remedy.
    pub(super) fn warn(
        &mut self,
        code: Code,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(Finding::new(code, span, message).hint(hint));
    }

    /// Return the number of errors.
    pub(super) fn errors(&self) -> usize {
        self.errors
    }

    /// Convert the findings to diagnostics in text order, in one pass over the text.
    pub(super) fn resolve(mut self, text: &str) -> Vec<Diagnostic> {
        self.findings.sort_by_key(|finding| finding.span.start);
        let mut place = Place::default();
        let mut diagnostics: Vec<_> = self
            .findings
            .into_iter()
            .map(|Finding { code, span, message, hint }| {
                let (line, column) = place.advance(text, span.start);
                let excerpt = text.get(span).unwrap_or("");
                let length = excerpt.lines().next().unwrap_or("").chars().count().max(1);
                Diagnostic { code, message, line, column, length, hint }
            })
            .collect();
        if self.left_out > 0 {
            let (line, column) = place.advance(text, text.len());
            let message = format!("there is more to say than this: {} findings", self.left_out);
            let hint = Some("Fix these first, then check again.".to_owned());
            diagnostics.push(Diagnostic {
                code: Code::More,
                message,
                line,
                column,
                length: 1,
                hint,
            });
        }
        diagnostics
    }
}

/// A position in a text that only moves forward, so that all lines are found in one pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    offset: usize,
    line: usize,
    column: usize,
}

impl Default for Place {
    fn default() -> Self {
        Self { offset: 0, line: 1, column: 1 }
    }
}

impl Place {
    /// Move to an offset and return its line. The column is lost.
    pub(super) fn line(&mut self, text: &str, offset: usize) -> usize {
        let passed = text.as_bytes().get(self.offset..offset).unwrap_or(b"");
        self.line += memchr_iter(b'\n', passed).count();
        self.offset = offset;
        self.line
    }

    /// Move to an offset and return its line and column.
    pub(super) fn advance(&mut self, text: &str, offset: usize) -> (usize, usize) {
        let passed = text.get(self.offset..offset).unwrap_or("");
        match memrchr(b'\n', passed.as_bytes()) {
            Some(last) => {
                self.line += memchr_iter(b'\n', passed.as_bytes()).count();
                self.column = 1 + passed[last + 1..].chars().count();
            }
            None => self.column += passed.chars().count(),
        }
        self.offset = self.offset.max(offset.min(text.len()));
        (self.line, self.column)
    }
}

/// Return the set of letters in a name as bits, including other characters.
fn letters(name: &str) -> u32 {
    name.bytes().fold(0, |bits, byte| bits | 1 << (byte & 0x1F))
}

/// Return the known name that is most similar to an unknown one.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer names are not typos, and the distance takes quadratic time.
    if name.len() > 64 {
        return None;
    }
    let most = 1 + name.len() / 6;
    let first = name.bytes().next()?;
    let folded = name.to_lowercase();
    let distance = |other: &str| strsim::osa_distance(&folded, &other.to_lowercase());
    let name_letters = letters(name);
    // Length, first letter and set of letters exclude most names cheaply.
    known
        .into_iter()
        .filter(|other| other.bytes().next().is_some_and(|byte| byte.eq_ignore_ascii_case(&first)))
        .filter(|other| other.len().abs_diff(name.len()) <= most)
        .filter(|other| (letters(other) ^ name_letters).count_ones() as usize <= 2 * most)
        .map(|other| (distance(other), other))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= most)
        .map(|(_, other)| other)
}

/// Return "Did you mean ...?" if a known name is similar.
pub(super) fn did_you_mean<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(name, known).map(|other| format!("Did you mean {other:?}?"))
}
