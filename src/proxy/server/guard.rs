//! Checks of a request before it is read: who sends it, and how it got here.

use std::net::{IpAddr, SocketAddr};

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};

use crate::proxy::{error::ApiError, settings::Settings};

/// Check that a request comes from a client, and not from a web page.
///
/// A page can send requests to the loopback. Its browser names the page's host (`Origin`), or, if
/// the page has made a name of its own point here, that name (`Host`).
pub(super) fn check_source(
    settings: &Settings,
    address: SocketAddr,
    headers: &HeaderMap,
) -> Result<(), ApiError> {
    let refused = |message: String, code: &str| {
        Err(ApiError::new(403, "permission_error", message).with_code(code))
    };
    let text = |name| headers.get(name).map(|value: &hyper::header::HeaderValue| value.to_str());
    let is_known = match text(HOST) {
        Some(Ok(host)) => is_known_host(settings, address, host),
        // HTTP/1.0; browsers always send it.
        None => true,
        Some(Err(_)) => false,
    };
    if !is_known {
        let message = "the header Host must be an address of this server or a host that it allows";
        return refused(message.to_owned(), "host_not_allowed");
    }
    match text(ORIGIN) {
        None => Ok(()),
        Some(Ok(origin)) if settings.origins.iter().any(|allowed| allowed == origin) => Ok(()),
        Some(_) => {
            let message = "requests of web pages must come from an origin that is allowed";
            refused(message.to_owned(), "origin_not_allowed")
        }
    }
}

/// Return true if a host is an address, a name of the loopback, or one of those in the settings.
fn is_known_host(settings: &Settings, address: SocketAddr, host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let plain = name.trim_start_matches('[').trim_end_matches(']');
    if let Ok(ip) = plain.parse::<IpAddr>() {
        return ip.is_loopback() || !address.ip().is_loopback();
    }
    let same = |known: &str| name.eq_ignore_ascii_case(known);
    same("localhost") || settings.hosts.iter().any(|known| same(known))
}

/// Check the key of a client.
pub(super) fn check_key(settings: &Settings, headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(key) = &settings.api_key else { return Ok(()) };
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| value.split_once(' '));
    let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let header = headers.get("x-api-key").and_then(|value| value.to_str().ok());
    let given = bearer.map(|(_, key)| key.trim()).or(header);
    if given.is_some_and(|given| is_same(given.as_bytes(), key.as_bytes())) {
        return Ok(());
    }
    let message = "the request must have the key of this server, as Authorization: Bearer KEY";
    Err(ApiError::new(401, "authentication_error", message).with_code("invalid_api_key"))
}

/// Compare in a time that depends on the lengths alone, so that a key cannot be guessed in parts.
fn is_same(given: &[u8], key: &[u8]) -> bool {
    let differences = given.iter().zip(key).fold(0, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(differences) == 0 && given.len() == key.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        let mut settings = Settings::new("http://127.0.0.1:1/v1".parse().unwrap());
        settings.hosts = vec!["box.local".to_owned()];
        settings.origins = vec!["http://localhost:3000".to_owned()];
        settings
    }

    fn source(address: &str, headers: &[(&'static str, &str)]) -> bool {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).parse().unwrap(), (*value).parse().unwrap()));
        check_source(&settings(), address.parse().unwrap(), &headers.collect()).is_ok()
    }

    #[test]
    fn only_names_of_this_machine_are_hosts() {
        for host in ["localhost", "LOCALHOST:8700", "127.0.0.1:1", "[::1]:1", "box.local:80"] {
            assert!(source("127.0.0.1:1", &[("host", host)]), "{host}");
        }
        for host in ["evil.example", "evil.example:8700", "localhost.evil.example", "10.0.0.1", ""]
        {
            assert!(!source("127.0.0.1:1", &[("host", host)]), "{host}");
        }
        assert!(source("0.0.0.0:1", &[("host", "10.0.0.1:8700")]));
        assert!(!source("0.0.0.0:1", &[("host", "evil.example")]));
    }

    #[test]
    fn web_pages_need_an_allowed_origin() {
        assert!(source("127.0.0.1:1", &[("origin", "http://localhost:3000")]));
        for origin in ["http://localhost:3001", "https://evil.example", "null", ""] {
            assert!(!source("127.0.0.1:1", &[("origin", origin)]), "{origin}");
        }
    }

    #[test]
    fn a_key_must_be_the_same() {
        let mut settings = settings();
        let check = |settings: &Settings, name: &'static str, value: &str| {
            let header = (name.parse().unwrap(), value.parse().unwrap());
            check_key(settings, &[header].into_iter().collect()).is_ok()
        };
        assert!(check(&settings, "x-other", ""));
        settings.api_key = Some("tw-secret".to_owned());
        assert!(check(&settings, "authorization", "Bearer tw-secret"));
        assert!(check(&settings, "authorization", "bearer tw-secret"));
        assert!(check(&settings, "x-api-key", "tw-secret"));
        for value in
            ["", "tw-secret", "Bearer ", "Bearer tw-secre", "Bearer tw-secrett", "Basic tw-secret"]
        {
            assert!(!check(&settings, "authorization", value), "{value}");
        }
    }
}
