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
        return (asked <= retries.max_delay).then_some(asked);
    }
    let doublings = 2_u32.saturating_pow(failures.saturating_sub(1));
    let longest = retries.initial_delay.saturating_mul(doublings).min(retries.max_delay);
    // So that those who failed together do not come back together.
    Some(longest.mul_f64(0.5 + fastrand::f64() / 2.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RETRIES: Retries = Retries {
        most: 3,
        initial_delay: Duration::from_secs(1),
        max_delay: Duration::from_secs(3),
    };

    fn refused(retry_after: Option<u64>) -> Failure {
        let retry_after = retry_after.map(Duration::from_secs);
        Failure { retry_after, ..Failure::transient(FailureKind::Status, String::new()) }
    }

    #[test]
    fn waits_double_up_to_the_longest_and_are_never_the_same() {
        for (failures, longest) in [(1, 1), (2, 2), (3, 3)] {
            let longest = Duration::from_secs(longest);
            let waits: Vec<_> =
                (0..50).filter_map(|_| delay(&RETRIES, failures, &refused(None))).collect();
            assert!(waits.iter().all(|wait| *wait >= longest / 2 && *wait <= longest));
            assert!(waits.iter().any(|wait| *wait != waits[0]));
        }
        assert_eq!(delay(&RETRIES, 4, &refused(None)), None);
    }

    #[test]
    fn the_word_of_the_server_counts() {
        assert_eq!(delay(&RETRIES, 1, &refused(Some(3))), Some(Duration::from_secs(3)));
        assert_eq!(delay(&RETRIES, 1, &refused(Some(0))), Some(Duration::ZERO));
        assert_eq!(delay(&RETRIES, 1, &refused(Some(4))), None);
    }

    #[test]
    fn a_connection_that_was_closed_is_replaced_at_once() {
        let cut = Failure::transient(FailureKind::Cut, String::new());
        assert_eq!(delay(&RETRIES, 1, &cut), Some(Duration::ZERO));
        assert!(delay(&RETRIES, 2, &cut).unwrap() > Duration::ZERO);
        assert_eq!(delay(&Retries { most: 0, ..RETRIES }, 1, &cut), None);
    }

    #[test]
    fn what_will_not_pass_and_what_has_begun_is_not_tried_again() {
        let lasting = Failure::new(FailureKind::Tls, String::new());
        assert_eq!(delay(&RETRIES, 1, &lasting), None);
        let begun = Failure::transient(FailureKind::Cut, String::new()).after(1);
        assert_eq!(delay(&RETRIES, 1, &begun), None);
    }

    proptest! {
        #[test]
        fn no_numbers_panic(failures in any::<u32>(), first in any::<u64>(), longest in any::<u64>()) {
            let retries = Retries {
                most: u32::MAX,
                initial_delay: Duration::from_secs(first),
                max_delay: Duration::from_secs(longest),
            };
            let wait = delay(&retries, failures, &refused(None));
            prop_assert!(wait.is_none_or(|wait| wait <= retries.max_delay));
        }
    }
}
