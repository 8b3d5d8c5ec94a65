//! What an error of the HTTP client means.

use std::{error::Error, io, time::Duration};

use super::{
    failure::{Failure, FailureKind, Seconds, TimeoutKind},
    peer::Peer,
};

/// The failure of a request that was not answered.
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
    if let Some(tls) = find::<rustls::Error>(&error) {
        let said = format!("{prefix}there is no secure connection to {host}: {tls}");
        return Failure::new(FailureKind::Tls, said);
    }
    if error.is_connect() {
        if error_chain(&error).any(|link| link.to_string() == "dns error") {
            let said = format!("{prefix}the host {host} is not known: {cause}");
            return Failure::transient(FailureKind::Dns, said);
        }
        return Failure::transient(
            FailureKind::Connect,
            format!("{prefix}cannot reach {host}: {cause}"),
        );
    }
    broken(peer, &error, cause).unwrap_or_else(|cause| {
        let said = format!("{peer} closed the connection before it answered: {cause}");
        Failure::transient(FailureKind::Cut, said)
    })
}

/// The failure of a reply that broke off.
pub(super) fn cut(peer: &Peer<'_>, error: reqwest::Error) -> Failure {
    let error = error.without_url();
    let cause = cause(&error);
    broken(peer, &error, cause).unwrap_or_else(|cause| {
        Failure::transient(FailureKind::Cut, format!("{peer} broke off: {cause}"))
    })
}

/// The failure, if what came is no HTTP; else the cause back.
fn broken(peer: &Peer<'_>, error: &reqwest::Error, cause: String) -> Result<Failure, String> {
    match find::<hyper::Error>(error) {
        Some(error) if error.is_parse() && error.to_string().contains("too large") => {
            let said = format!("the head of the answer of {peer} is larger than it may be");
            Ok(Failure::new(FailureKind::TooLarge, said))
        }
        Some(error) if error.is_parse() => {
            let said = format!("{peer} answered with something that is no HTTP: {cause}");
            Ok(Failure::new(FailureKind::Protocol, said))
        }
        _ => Err(cause),
    }
}

/// The first cause, which says most.
fn cause(error: &(dyn Error + 'static)) -> String {
    error_chain(error).last().unwrap_or(error).to_string()
}

fn find<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    error_chain(error).find_map(|link| link.downcast_ref::<E>())
}

/// An error and all that caused it.
fn error_chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    const MAX_CHAIN: usize = 20;
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        // The source of an I/O error leaves out the error that it stands for.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(held) => Some(held),
            None => error.source(),
        };
        Some(error)
    })
    .take(MAX_CHAIN)
}
