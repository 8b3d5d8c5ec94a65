//! An escape inside a JSON string, read byte by byte.

/// An incomplete escape: where it starts, and how far it has been read.
///
/// A high surrogate and the low one after it count as one escape, so that a fragment is never cut
/// between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Escape {
    /// The offset of its backslash.
    pub(crate) start: usize,
    progress: Progress,
    /// Offset of the backslash of a second escape, after a high surrogate.
    second: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The backslash.
    Backslash,
    /// `\u` and some digits.
    Hex { digits: u8, value: u16 },
    /// A complete high surrogate; a second escape may follow.
    High,
}

/// The effect of one byte on an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EscapeStep {
    /// The escape continues.
    More,
    /// The escape ended with this byte.
    Done,
    /// The escape had ended before this byte, which belongs to the string.
    DoneBefore,
}

/// Defects of an escape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// A surrogate without its partner.
    pub(super) lone_surrogate: bool,
    /// An escape that JSON does not define.
    pub(super) unknown: bool,
}

impl Escape {
    pub(crate) fn new(start: usize) -> Self {
        Self { start, progress: Progress::Backslash, second: None }
    }

    /// Return true if only the backslash has been read, so that the next byte belongs to the
    /// escape.
    pub(super) fn is_bare(self) -> bool {
        self.progress == Progress::Backslash
    }

    /// Read the next byte, at offset `at`.
    pub(crate) fn take(&mut self, byte: u8, at: usize, faults: &mut Faults) -> EscapeStep {
        match self.progress {
            Progress::Backslash => {
                if byte == b'u' {
                    self.progress = Progress::Hex { digits: 0, value: 0 };
                    return EscapeStep::More;
                }
                faults.lone_surrogate |= self.second.is_some();
                if matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') {
                    EscapeStep::Done
                } else {
                    faults.unknown = true;
                    // A control character or a multi-byte character belongs to the string.
                    if byte.is_ascii_graphic() { EscapeStep::Done } else { EscapeStep::DoneBefore }
                }
            }
            Progress::Hex { digits, value } => {
                let Some(digit) = (byte as char).to_digit(16) else {
                    faults.lone_surrogate |= self.second.is_some();
                    faults.unknown = true;
                    return EscapeStep::DoneBefore;
                };
                #[expect(clippy::cast_possible_truncation, reason = "a hexadecimal digit")]
                let value = value << 4 | digit as u16;
                if digits < 3 {
                    self.progress = Progress::Hex { digits: digits + 1, value };
                    return EscapeStep::More;
                }
                self.complete(value, faults)
            }
            Progress::High => {
                if byte == b'\\' {
                    self.progress = Progress::Backslash;
                    self.second = Some(at);
                    return EscapeStep::More;
                }
                faults.lone_surrogate = true;
                EscapeStep::DoneBefore
            }
        }
    }

    fn complete(&mut self, value: u16, faults: &mut Faults) -> EscapeStep {
        match value {
            0xD800..=0xDBFF => {
                faults.lone_surrogate |= self.second.is_some();
                if let Some(second) = self.second.take() {
                    self.start = second;
                }
                self.progress = Progress::High;
                EscapeStep::More
            }
            0xDC00..=0xDFFF => {
                faults.lone_surrogate |= self.second.is_none();
                EscapeStep::Done
            }
            _ => {
                faults.lone_surrogate |= self.second.is_some();
                EscapeStep::Done
            }
        }
    }
}
