//! Delays before retries.

use std::time::Duration;

use super::{
    failure::{Failure, FailureKind},
    request::Retries,
};

/// Return the delay before the next attempt, or `None` if there should be none.
///
/// A delay that the server asks for takes precedence, unless it exceeds the maximum.
pub(super) fn delay(retries: &Retries, failures: u32, last: &Failure) -> Option<Duration> {
    if !last.transient || last.received > 0 || failures > retries.limit {
        return None;
    }
    // Most often a pooled connection that the server had closed in the meantime.
    if last.kind == FailureKind::Cut && failures == 1 {
        return Some(Duration::ZERO);
    }
    if let Some(asked) = last.retry_after {
        return (asked <= retries.max_delay).then_some(asked);
    }
    let doublings = 2_u32.saturating_pow(failures.saturating_sub(1));
    let longest = retries.initial_delay.saturating_mul(doublings).min(retries.max_delay);
    // Jitter keeps clients that failed together from retrying together.
    Some(longest.mul_f64(0.5 + fastrand::f64() / 2.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RETRIES: Retries = Retries {
        limit: 3,
        initial_delay: Duration::from_secs(1),
        max_delay: Duration::from_secs(3),
    };

    fn refused(retry_after: Option<u64>) -> Failure {
        let retry_after = retry_after.map(Duration::from_secs);
        Failure { retry_after, ..Failure::transient(FailureKind::Status, String::new()) }
    }

    #[test]
    fn delays_double_up_to_the_maximum_with_jitter() {
        for (failures, longest) in [(1, 1), (2, 2), (3, 3)] {
            let longest = Duration::from_secs(longest);
            let delays: Vec<_> =
                (0..50).filter_map(|_| delay(&RETRIES, failures, &refused(None))).collect();
            assert!(delays.iter().all(|wait| *wait >= longest / 2 && *wait <= longest));
            assert!(delays.iter().any(|wait| *wait != delays[0]));
        }
        assert_eq!(delay(&RETRIES, 4, &refused(None)), None);
    }

    #[test]
    fn a_delay_that_the_server_asks_for_takes_precedence() {
        assert_eq!(delay(&RETRIES, 1, &refused(Some(3))), Some(Duration::from_secs(3)));
        assert_eq!(delay(&RETRIES, 1, &refused(Some(0))), Some(Duration::ZERO));
        assert_eq!(delay(&RETRIES, 1, &refused(Some(4))), None);
    }

    #[test]
    fn a_closed_connection_is_replaced_immediately() {
        let cut = Failure::transient(FailureKind::Cut, String::new());
        assert_eq!(delay(&RETRIES, 1, &cut), Some(Duration::ZERO));
        assert!(delay(&RETRIES, 2, &cut).unwrap() > Duration::ZERO);
        assert_eq!(delay(&Retries { limit: 0, ..RETRIES }, 1, &cut), None);
    }

    #[test]
    fn permanent_failures_and_started_replies_are_not_retried() {
        let permanent = Failure::new(FailureKind::Tls, String::new());
        assert_eq!(delay(&RETRIES, 1, &permanent), None);
        let started = Failure::transient(FailureKind::Cut, String::new()).after(1);
        assert_eq!(delay(&RETRIES, 1, &started), None);
    }

    proptest! {
        #[test]
        fn no_numbers_panic(failures in any::<u32>(), first in any::<u64>(), longest in any::<u64>()) {
            let retries = Retries {
                limit: u32::MAX,
                initial_delay: Duration::from_secs(first),
                max_delay: Duration::from_secs(longest),
            };
            let wait = delay(&retries, failures, &refused(None));
            prop_assert!(wait.is_none_or(|wait| wait <= retries.max_delay));
        }
    }
}
