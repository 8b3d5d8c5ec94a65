//! The size of JSON text, counted before it is parsed.
//!
//! A megabyte of text may become one string or half a million arrays. Feed a [`JsonMeter`] the text
//! as it arrives and compare its counts with your limits. It stores only the counts.
//!
//! ```
//! use toolweave::meter::JsonMeter;
//!
//! let mut meter = JsonMeter::default();
//! meter.push(br#"{"rows": [[1, 20], "#);
//! meter.push(br#"["a,b", null]]}"#);
//! assert_eq!((meter.values(), meter.depth(), meter.longest_number()), (9, 3, 4));
//! ```

/// The position of the next byte in the text.
#[derive(Clone, Copy, Debug, Default)]
enum Place {
    #[default]
    Between,
    String,
    /// After a backslash in a string.
    Escape,
    /// In a number or a word such as `null`, after this many bytes.
    Scalar(usize),
}

/// Counts of JSON text that arrives in chunks, in linear time.
///
/// Invalid text has counts as well. They are at least those of the part before the first error, so
/// they bound what a parser builds before it fails.
#[derive(Clone, Debug, Default)]
pub struct JsonMeter {
    place: Place,
    values: usize,
    open: usize,
    depth: usize,
    longest_number: usize,
}

impl JsonMeter {
    /// Count the next chunk of the text; characters may be split between chunks.
    pub fn push(&mut self, piece: &[u8]) {
        for &byte in piece {
            self.place = self.next(byte);
        }
    }

    fn next(&mut self, byte: u8) -> Place {
        match (self.place, byte) {
            (Place::String, b'\\') => Place::Escape,
            (Place::String, b'"') => Place::Between,
            (Place::String | Place::Escape, _) => Place::String,
            (_, b'"') => {
                self.values += 1;
                Place::String
            }
            (_, b'[' | b'{') => {
                self.values += 1;
                self.open += 1;
                self.depth = self.depth.max(self.open);
                Place::Between
            }
            (_, b']' | b'}') => {
                self.open = self.open.saturating_sub(1);
                Place::Between
            }
            (_, b',' | b':' | b' ' | b'\t' | b'\n' | b'\r') => Place::Between,
            (Place::Between, _) => {
                self.values += 1;
                self.longest_number = self.longest_number.max(1);
                Place::Scalar(1)
            }
            (Place::Scalar(length), _) => {
                self.longest_number = self.longest_number.max(length + 1);
                Place::Scalar(length + 1)
            }
        }
    }

    /// Return the number of values: containers, strings, names of members, numbers, booleans and
    /// nulls.
    #[must_use]
    pub const fn values(&self) -> usize {
        self.values
    }

    /// Return the depth of the deepest container.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// Return the length of the longest number, or other word outside strings, in bytes.
    #[must_use]
    pub const fn longest_number(&self) -> usize {
        self.longest_number
    }
}
