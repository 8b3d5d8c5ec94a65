//! The CPU time of a test, which a busy machine does not lengthen.

use std::{
    fs,
    sync::OnceLock,
    time::{Duration, Instant},
};

/// Return the CPU time of this thread in steps of some milliseconds, or the wall time if the system
/// does not provide it.
fn now() -> Duration {
    let reported = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = reported.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanos.map_or_else(
        || {
            static START: OnceLock<Instant> = OnceLock::new();
            START.get_or_init(Instant::now).elapsed()
        },
        Duration::from_nanos,
    )
}

/// Return the CPU time that `run` takes on this thread, and what it returns.
pub(crate) fn cpu_time<T>(run: impl FnOnce() -> T) -> (Duration, T) {
    let start = now();
    let result = run();
    (now().saturating_sub(start), result)
}
