//! The questions that the driver asks each reader.

use std::fmt::Debug;

use super::{
    Syntax,
    object::Object,
    step::{Input, Step},
};

/// A reader of a body, created for the position after the opener.
pub(super) trait Read: Debug {
    /// Read from `*pos` on, up to the next step, and advance `*pos` past the bytes read.
    fn read(&mut self, input: Input<'_>, pos: &mut usize) -> Step;

    /// Return the JSON object of the last call, if the calls have one each.
    fn object(&self) -> Option<&Object> {
        None
    }

    /// Return that object, to be read on.
    fn object_mut(&mut self) -> Option<&mut Object> {
        None
    }

    /// Advance past `bytes`, which begin at `pos`, if all of them can be reported as payload.
    /// Otherwise return false and change nothing.
    fn try_extend(&mut self, bytes: &[u8], pos: usize) -> bool {
        self.object_mut().is_some_and(|object| object.try_extend(bytes, pos))
    }

    /// Return the byte at which the plain part of the payload ends: all bytes before the next one can
    /// be reported as payload, and reading them would change nothing.
    fn ends_at(&self) -> Option<u8> {
        None
    }

    /// Return the start of what may be the end of the payload, or of an incomplete escape.
    fn held(&self) -> Option<usize> {
        self.object().and_then(Object::held)
    }

    /// Return the syntax of the payload.
    fn syntax(&self) -> Syntax {
        Syntax::Json
    }

    /// Return true if a code fence was opened before the payload.
    fn fenced(&self) -> bool {
        self.object().is_some_and(Object::fenced)
    }

    /// Return true if the payload is JSON except for surrogate escapes without a partner.
    fn lone_surrogates(&self) -> bool {
        self.object().is_some_and(Object::lone_surrogates)
    }
}
