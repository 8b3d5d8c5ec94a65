//! Conversion of errors of the HTTP client to failures.

use std::{error::Error, io, time::Duration};

use super::{
    failure::{Failure, FailureKind, Seconds, TimeoutKind},
    peer::Peer,
};

/// Convert the error of a request that was not answered.
pub(super) fn request_failure(
    peer: &Peer<'_>,
    error: reqwest::Error,
    connect_timeout: Duration,
) -> Failure {
    let error = error.without_url();
    let cause = cause(&error);
    let (prefix, host) = (peer.prefix(), peer.host());
    if error.is_connect() && error.is_timeout() {
        let kind = FailureKind::Timeout(TimeoutKind::Connect);
        return Failure::transient(
            kind,
            format!("{prefix}connecting to {host} took longer than {}", Seconds(connect_timeout)),
        );
    }
    if let Some(tls) = find_source::<rustls::Error>(&error) {
        let message = format!("{prefix}cannot establish a secure connection to {host}: {tls}");
        return Failure::new(FailureKind::Tls, message);
    }
    if error.is_connect() {
        if error_chain(&error).any(|link| link.to_string() == "dns error") {
            let message = format!("{prefix}cannot resolve the host {host}: {cause}");
            return Failure::transient(FailureKind::Dns, message);
        }
        return Failure::transient(
            FailureKind::Connect,
            format!("{prefix}cannot reach {host}: {cause}"),
        );
    }
    protocol_failure(peer, &error, cause).unwrap_or_else(|cause| {
        let message = format!("{peer} closed the connection before it answered: {cause}");
        Failure::transient(FailureKind::Cut, message)
    })
}

/// Convert the error of a reply that broke off.
pub(super) fn reply_failure(peer: &Peer<'_>, error: reqwest::Error) -> Failure {
    let error = error.without_url();
    let cause = cause(&error);
    protocol_failure(peer, &error, cause).unwrap_or_else(|cause| {
        Failure::transient(FailureKind::Cut, format!("{peer} broke off: {cause}"))
    })
}

/// Return the failure if the response is not valid HTTP, else return the cause.
fn protocol_failure(
    peer: &Peer<'_>,
    error: &reqwest::Error,
    cause: String,
) -> Result<Failure, String> {
    match find_source::<hyper::Error>(error) {
        Some(error) if error.is_parse() && error.to_string().contains("too large") => {
            let message = format!("the response headers of {peer} are larger than allowed");
            Ok(Failure::new(FailureKind::TooLarge, message))
        }
        Some(error) if error.is_parse() => {
            let message = format!("{peer} sent an invalid HTTP response: {cause}");
            Ok(Failure::new(FailureKind::Protocol, message))
        }
        _ => Err(cause),
    }
}

/// Return the innermost cause, which is the most specific.
fn cause(error: &(dyn Error + 'static)) -> String {
    error_chain(error).last().unwrap_or(error).to_string()
}

fn find_source<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    error_chain(error).find_map(|link| link.downcast_ref::<E>())
}

/// Iterate over an error and its causes.
fn error_chain<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    const MAX_CHAIN: usize = 20;
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        // The source of an I/O error skips the error that it wraps.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(held) => Some(held),
            None => error.source(),
        };
        Some(error)
    })
    .take(MAX_CHAIN)
}
