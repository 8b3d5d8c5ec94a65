//! Web pages that may send requests: the headers that their browsers ask for.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    HeaderMap, HeaderValue, ORIGIN, VARY,
};

use crate::proxy::settings::Settings;

/// A web page of an origin that is allowed.
pub(super) struct Page {
    origin: HeaderValue,
    /// The headers that it wants to send; given in a request that asks for permission.
    headers: Option<HeaderValue>,
}

impl Page {
    /// Return the page that sends a request, if its origin is allowed.
    pub(super) fn of(settings: &Settings, headers: &HeaderMap) -> Option<Self> {
        let origin = headers.get(ORIGIN)?;
        let is_allowed = |allowed: &String| origin.as_bytes() == allowed.as_bytes();
        settings.origins.iter().any(is_allowed).then(|| Self {
            origin: origin.clone(),
            headers: headers.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned(),
        })
    }

    /// Let the page read a response.
    pub(super) fn allow(self, headers: &mut HeaderMap) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, self.origin);
        headers.insert(VARY, HeaderValue::from_static("origin"));
        let exposed = HeaderValue::from_static("x-toolweave-mode, retry-after");
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        if let Some(requested) = self.headers {
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, requested);
            let methods = HeaderValue::from_static("GET, POST");
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        }
    }
}
