//! What belongs to one process, and is nothing to a fork of it.

/// A value of the process that made it.
///
/// A fork has a copy of the value but none of the threads that work with it, and what they held
/// locked stays locked. So a fork can neither use the value nor drop it: it is left where it is.
#[derive(Debug)]
pub(super) struct Owned<T> {
    process: u32,
    /// There until it is taken out.
    value: Option<T>,
}

impl<T> Owned<T> {
    pub(super) fn new(value: T) -> Self {
        Self { process: std::process::id(), value: Some(value) }
    }

    /// Whether this is the process that made it.
    pub(super) fn is_owner(&self) -> bool {
        self.process == std::process::id()
    }

    /// The value, where this is the process that made it.
    pub(super) fn get(&self) -> Option<&T> {
        if self.is_owner() { self.value.as_ref() } else { None }
    }

    /// The value, to be changed, where this is the process that made it.
    pub(super) fn get_mut(&mut self) -> Option<&mut T> {
        if self.is_owner() { self.value.as_mut() } else { None }
    }

    /// The value itself, where this is the process that made it.
    pub(super) fn into_inner(mut self) -> Option<T> {
        if self.is_owner() { self.value.take() } else { None }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.is_owner() {
            std::mem::forget(self.value.take());
        }
    }
}
