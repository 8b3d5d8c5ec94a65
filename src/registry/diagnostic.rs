//! What there is to say about a `tools.xml`, and where.

use std::ops::Range;

use memchr::{memchr_iter, memrchr};

use super::limits::MAX_DIAGNOSTICS;

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The registry cannot be used.
    Error,
    /// The registry works, though perhaps not as meant.
    Warning,
}

impl Severity {
    /// As Python and the documentation spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// Declares [`Code`] and all that goes with each, in one table.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $severity:ident;)*) => {
        /// What kinds of things there are to say; `docs/registry.md` explains each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// All there are, by number.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its name, such as `TW001`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// Whether it stops loading.
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
    /// The bytes are not in the encoding they claim, or in one that is not read.
    Encoding = "TW002", Error;
    /// It declares entities, which are never expanded.
    Entities = "TW003", Error;
    /// Something is larger, deeper or more than is read.
    Limit = "TW004", Error;
    /// The elements are not nested as sites, types and tools are.
    Shape = "TW005", Error;
    /// A tool has no name.
    NoName = "TW006", Error;
    /// A `returnStruc` is not JSON.
    NotJson = "TW007", Error;
    /// A type is its own ancestor.
    TypeCycle = "TW008", Error;
    /// Text that XML cannot hold was to be written.
    Unwritable = "TW009", Error;
    /// A tool of this name, type and site was there before.
    DuplicateTool = "TW101", Warning;
    /// An element that means nothing here.
    UnknownElement = "TW102", Warning;
    /// An attribute that means nothing here.
    UnknownAttribute = "TW103", Warning;
    /// An element that counts once comes again.
    RepeatedElement = "TW104", Warning;
    /// Text where only elements count.
    StrayText = "TW105", Warning;
    /// An `enabled` that is off for NLWeb though it looks like on, or is no word for either.
    EnabledValue = "TW106", Warning;
    /// An `inherit` that is neither `true` nor `false`.
    InheritValue = "TW107", Warning;
    /// A type that nobody knows.
    UnknownType = "TW108", Warning;
    /// An `extends` that does not count.
    ExtendsIgnored = "TW109", Warning;
    /// No tool at all.
    NoTools = "TW110", Warning;
    /// A tool without a prompt.
    NoPrompt = "TW111", Warning;
    /// Elements inside a text.
    NestedMarkup = "TW112", Warning;
    /// A placeholder that nobody knows.
    UnknownPlaceholder = "TW113", Warning;
    /// A placeholder that is never filled here.
    UnfilledPlaceholder = "TW114", Warning;
    /// A tool that nothing can run.
    NoHandler = "TW115", Warning;
    /// A structure without a score.
    NoScore = "TW116", Warning;
    /// A handler that is not given what it reads.
    MissingParameter = "TW117", Warning;
    /// The same example under two tools of a type.
    SharedExample = "TW118", Warning;
    /// A method that nobody knows.
    UnknownMethod = "TW119", Warning;
    /// A site that comes in several blocks.
    RepeatedSite = "TW120", Warning;
    /// A DTD that is elsewhere, which is never fetched.
    ExternalDtd = "TW121", Warning;
    /// Types without a root around them, which NLWeb does not read.
    Fragment = "TW122", Warning;
    /// A prompt that does not say what is asked.
    NoQuery = "TW130", Warning;
    /// A structure whose score is always the same.
    ConstantScore = "TW131", Warning;
    /// A site that adds to the default here, and replaces it in `NLWeb`.
    SiteAdds = "TW132", Warning;
    /// More to say than is said.
    More = "TW199", Warning;
}

/// Something to say about a `tools.xml`, with the place it is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// What kind it is.
    pub code: Code,
    /// What is wrong, in a sentence.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// How many characters of that line it is about, at least 1.
    pub length: usize,
    /// What to do about it, in a sentence.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Whether it stops loading.
    pub fn is_error(&self) -> bool {
        self.code.severity() == Severity::Error
    }
}

/// A diagnostic before its line and column are known.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) code: Code,
    /// The bytes of the text it is about.
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

/// All findings about one text.
#[derive(Debug, Default)]
pub(super) struct Report {
    findings: Vec<Finding>,
    errors: usize,
    /// Warnings that were not kept.
    left_out: usize,
}

impl Report {
    /// Keeps a finding; past the limit, only errors.
    pub(super) fn add(&mut self, finding: Finding) {
        self.errors += usize::from(finding.code.severity() == Severity::Error);
        if self.findings.len() < MAX_DIAGNOSTICS {
            self.findings.push(finding);
        } else if finding.code.severity() == Severity::Error {
            // What stops loading has to be told: it takes the place of what does not.
            let last = self.findings.iter().rposition(|f| f.code.severity() == Severity::Warning);
            if let Some(last) = last {
                self.findings[last] = finding;
            }
            self.left_out += 1;
        } else {
            self.left_out += 1;
        }
    }

    /// How many findings stop loading.
    pub(super) fn errors(&self) -> usize {
        self.errors
    }

    /// The diagnostics in the order of the text, which is walked through once.
    pub(super) fn resolve(mut self, text: &str) -> Vec<Diagnostic> {
        self.findings.sort_by_key(|finding| finding.span.start);
        let mut place = Place::default();
        let mut diagnostics: Vec<_> = self
            .findings
            .into_iter()
            .map(|Finding { code, span, message, hint }| {
                let (line, column) = place.advance(text, span.start);
                let told = text.get(span).unwrap_or("");
                let length = told.lines().next().unwrap_or("").chars().count().max(1);
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

/// A place in a text that only moves on, so that all lines together cost one walk.
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
    /// Moves on to an offset; the line there. The column is lost.
    pub(super) fn line(&mut self, text: &str, offset: usize) -> usize {
        let passed = text.as_bytes().get(self.offset..offset).unwrap_or(b"");
        self.line += memchr_iter(b'\n', passed).count();
        self.offset = offset;
        self.line
    }

    /// Moves on to an offset; the line and the column there.
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

/// The letters of a name, as bits; digits and such count as well.
fn letters(name: &str) -> u32 {
    name.bytes().fold(0, |bits, byte| bits | 1 << (byte & 0x1F))
}

/// The known name that is most like a misspelled one.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer names are nobody's typing error, and the distance costs the square of the length.
    if name.len() > 64 {
        return None;
    }
    let most = 1 + name.len() / 6;
    let first = name.bytes().next()?;
    let folded = name.to_lowercase();
    let distance = |other: &str| strsim::osa_distance(&folded, &other.to_lowercase());
    let wanted = letters(name);
    // Most of hundreds of names are told apart by their length, first letter and letters.
    known
        .into_iter()
        .filter(|other| other.bytes().next().is_some_and(|byte| byte.eq_ignore_ascii_case(&first)))
        .filter(|other| other.len().abs_diff(name.len()) <= most)
        .filter(|other| (letters(other) ^ wanted).count_ones() as usize <= 2 * most)
        .map(|other| (distance(other), other))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= most)
        .map(|(_, other)| other)
}

/// "Did you mean ...?" where there is something to mean.
pub(super) fn did_you_mean<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(name, known).map(|other| format!("Did you mean {other:?}?"))
}
