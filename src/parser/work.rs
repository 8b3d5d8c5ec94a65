//! A counter of bytes that were read or moved, for tests of linear cost.
//!
//! It is deterministic, unlike a clock, and compiles to nothing outside tests.

#[cfg(test)]
thread_local! {
    static COUNT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Count bytes that were read or moved.
#[inline]
pub(crate) fn count(bytes: usize) {
    #[cfg(test)]
    COUNT.with(|count| count.set(count.get() + bytes));
    #[cfg(not(test))]
    let _ = bytes;
}

/// Return the count since the last call.
#[cfg(test)]
pub(crate) fn take() -> usize {
    COUNT.with(|count| count.replace(0))
}
