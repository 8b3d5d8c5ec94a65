//! Values that belong to one process and must not be used in its forks.

/// A value of the process that created it.
///
/// A fork has a copy of the value but none of the threads that work with it, and locks that those
/// threads held stay locked. So a fork can neither use the value nor drop it; it is leaked.
#[derive(Debug)]
pub(super) struct Owned<T> {
    process: u32,
    /// The value, until it is taken out.
    value: Option<T>,
}

impl<T> Owned<T> {
    pub(super) fn new(value: T) -> Self {
        Self { process: std::process::id(), value: Some(value) }
    }

    /// Return true in the process that created the value.
    pub(super) fn is_owner(&self) -> bool {
        self.process == std::process::id()
    }

    /// Return the value, if this process created it.
    pub(super) fn get(&self) -> Option<&T> {
        if self.is_owner() { self.value.as_ref() } else { None }
    }

    /// Return a mutable reference to the value, if this process created it.
    pub(super) fn get_mut(&mut self) -> Option<&mut T> {
        if self.is_owner() { self.value.as_mut() } else { None }
    }

    /// Take the value out, if this process created it.
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
