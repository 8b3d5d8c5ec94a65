//! When to ask again.

use std::time::Duration;

use super::{
    failure::{Failure, FailureKind},
    request::Retries,
};

/// How long to wait before asking again, if that makes sense.
///
/// The server's own word counts, unless it is longer than whoever asks would wait.
pub(super) fn delay(retries: &Retries, failures: u32, last: &Failure) -> Option<Duration> {
    if !last.transient || last.received > 0 || failures > retries.most {
        return None;
    }
    // Most often a connection that was kept, and that the server had closed by then.
    if last.kind == FailureKind::Cut && failures == 1 {
        return Some(Duration::ZERO);
    }
    if let Some(asked) = last.retry_after {
        return (asked <= retries.longest_delay).then_some(asked);
    }
    let doublings = 2_u32.saturating_pow(failures.saturating_sub(1));
    let longest = retries.first_delay.saturating_mul(doublings).min(retries.longest_delay);
    // So that those who failed together do not come back together.
    Some(longest.mul_f64(0.5 + fastrand::f64() / 2.0))
}
