//! How many bytes have been looked at or moved: what the tests hold to a line.
//!
//! Clocks differ from machine to machine; this does not. Outside tests it is nothing at all.

#[cfg(test)]
thread_local! {
    static DONE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// So many bytes have been looked at or moved.
#[inline]
pub(crate) fn done(bytes: usize) {
    #[cfg(test)]
    DONE.with(|done| done.set(done.get() + bytes));
    #[cfg(not(test))]
    let _ = bytes;
}

/// What has been done since this was last asked.
#[cfg(test)]
pub(crate) fn take() -> usize {
    DONE.with(|done| done.replace(0))
}
