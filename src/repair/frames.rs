//! The position of the repairer in the document.

use std::ops::Range;

/// The kind of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Object,
    Array,
    /// A Python tuple, which becomes an array.
    Tuple,
}

impl Shape {
    /// Return the bracket that closes it in JSON.
    pub(super) fn closer(self) -> char {
        match self {
            Self::Object => '}',
            Self::Array | Self::Tuple => ']',
        }
    }

    /// Return true if `bracket` is the matching closing bracket in the input.
    pub(super) fn closes_with(self, bracket: u8) -> bool {
        bracket
            == match self {
                Self::Object => b'}',
                Self::Array => b']',
                Self::Tuple => b')',
            }
    }
}

/// The token expected next in a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expect {
    /// The first key or item, or the end.
    First,
    /// A key or an item, after a comma.
    Next,
    Colon,
    /// The value of a key.
    Value,
    /// A comma, or the end.
    Comma,
}

/// An open container.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) shape: Shape,
    pub(super) expect: Expect,
    /// Range of the current member's key in the output, quotes included.
    pub(super) key: Range<usize>,
    /// The index of the current item.
    pub(super) index: usize,
    /// Position of the last comma in the output.
    pub(super) comma: usize,
}

impl Frame {
    pub(super) fn new(shape: Shape) -> Self {
        Self { shape, expect: Expect::First, key: 0..0, index: 0, comma: 0 }
    }
}

/// Return the JSON Pointer to the current position in `frames`.
pub(super) fn pointer(frames: &[Frame], out: &str) -> String {
    let mut path = String::new();
    for frame in frames {
        path.push('/');
        if frame.shape == Shape::Object {
            let key = out.get(frame.key.clone()).unwrap_or_default();
            let key: String = serde_json::from_str(key).unwrap_or_default();
            path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        } else {
            path.push_str(&frame.index.to_string());
        }
    }
    path
}
