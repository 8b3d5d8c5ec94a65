//! Replies from bytes, with options.

use crate::pieces::PIECES;

/// A text and its knobs: the first line of a fuzz input, and the rest.
///
/// The line has one byte for each knob that the target reads, followed by the widths of the chunks.
/// `0` selects the first position of a knob, so seeds are plain text files. Bytes of the text that
/// are not UTF-8 represent complete pieces of markup, so that one changed byte makes or breaks a
/// tag.
#[derive(Debug)]
pub struct Input<'d> {
    knobs: std::slice::Iter<'d, u8>,
    /// The text.
    pub text: String,
    /// The bytes from which the text was made.
    pub raw: &'d [u8],
}

/// Maximum length of a text; pieces make texts longer than their bytes.
const MAX_TEXT: usize = 16 << 10;

impl<'d> Input<'d> {
    /// Parse any bytes.
    pub fn read(data: &'d [u8]) -> Self {
        let line = data.iter().position(|&byte| byte == b'\n').unwrap_or(data.len());
        let knobs = data[..line].iter();
        let raw = data.get(line + 1..).unwrap_or_default();
        Self { knobs, text: expand(raw), raw }
    }

    /// Return the position of the next knob.
    pub fn knob<T: Copy>(&mut self, positions: &[T]) -> T {
        positions[usize::from(*self.knobs.next().unwrap_or(&b'0')) % positions.len()]
    }

    /// Split `text` into chunks, some of them empty. Call this after reading all knobs.
    pub fn cut<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let ends = self.ends(text.len(), |end| text.ceil_char_boundary(end));
        ends.into_iter().map(|(from, end)| &text[from..end]).collect()
    }

    /// Split bytes into chunks, even within characters.
    pub fn cut_bytes<'t>(&self, bytes: &'t [u8]) -> Vec<&'t [u8]> {
        let ends = self.ends(bytes.len(), |end| end);
        ends.into_iter().map(|(from, end)| &bytes[from..end]).collect()
    }

    fn ends(&self, length: usize, at_least: impl Fn(usize) -> usize) -> Vec<(usize, usize)> {
        let widths: Vec<_> =
            self.knobs.as_slice().iter().map(|&byte| usize::from(byte % 32)).collect();
        if widths.iter().all(|&width| width == 0) {
            return vec![(0, length)];
        }
        let (mut chunks, mut at) = (Vec::new(), 0);
        for width in widths.iter().cycle() {
            if at == length {
                break;
            }
            let end = at_least((at + width).min(length));
            chunks.push((at, end));
            at = end;
        }
        chunks
    }
}

fn expand(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for &byte in chunk.invalid() {
            text.push_str(PIECES[usize::from(byte & 0x7f) % PIECES.len()]);
        }
    }
    text.truncate(text.floor_char_boundary(MAX_TEXT));
    text
}
