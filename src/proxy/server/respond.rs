//! Routes: a request to its response.

use std::{net::SocketAddr, sync::Arc, time::Instant};

use bytes::Bytes;
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{
        ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
    },
};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    api::Api,
    body::{ResponseBody, receive},
    guard,
    page::Page,
};
use crate::proxy::{
    chat::ChatBody,
    context::Context,
    entry::Entry,
    error::ApiError,
    exchange::{Exchange, upstream_body},
    forwarded,
    output::{Head, Output},
    request::ChatRequest,
    running::{Begun, Running},
    settings::Mode,
};

/// The header that names the mode in which the upstream was asked.
const MODE: HeaderName = HeaderName::from_static("x-toolweave-mode");

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Seconds after which a client may try again, if the server is busy.
const BUSY_SECONDS: u64 = 1;

/// A path that the proxy serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    Health,
    Metrics,
    Models,
    ChatCompletions,
    Messages,
    Responses,
    /// A path that is passed on to the upstream.
    Passed,
}

impl Route {
    fn of(context: &Context, path: &str) -> Option<Self> {
        match path {
            "/healthz" => Some(Self::Health),
            "/metrics" => Some(Self::Metrics),
            "/v1/models" => Some(Self::Models),
            "/v1/chat/completions" => Some(Self::ChatCompletions),
            "/v1/messages" => Some(Self::Messages),
            "/v1/responses" => Some(Self::Responses),
            path => {
                context.settings.pass.iter().any(|passed| passed == path).then_some(Self::Passed)
            }
        }
    }

    /// The methods that it accepts, as the header `Allow` has them.
    fn methods(self) -> &'static str {
        match self {
            Self::Health | Self::Metrics | Self::Models => "GET",
            Self::ChatCompletions | Self::Messages | Self::Responses => "POST",
            Self::Passed => "GET, POST",
        }
    }

    fn accepts(self, method: &Method) -> bool {
        self.methods().split(", ").any(|accepted| method == accepted)
    }

    /// The name in the log.
    fn name(self) -> &'static str {
        match self {
            Self::Health => "/healthz",
            Self::Metrics => "/metrics",
            Self::Models => "/v1/models",
            Self::ChatCompletions => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
            Self::Responses => "/v1/responses",
            Self::Passed => "passed",
        }
    }
}

/// Answer a request.
pub(super) async fn respond(
    context: Arc<Context>,
    address: SocketAddr,
    request: Request<Incoming>,
) -> Response<ResponseBody> {
    let begun = Instant::now();
    let api = Api::of(request.uri().path());
    let page = Page::of(&context.settings, request.headers());
    let route = Route::of(&context, request.uri().path());
    let answer = match admit(&context, address, route, &request) {
        Ok(Admitted::Answered(response)) => Ok(response),
        Ok(Admitted::Asks(route, permit)) => ask(&context, api, route, permit, request).await,
        Err(error) => Ok(refuse(&context, api, route, request.method(), &error)),
    };
    context.metrics.first_byte(begun.elapsed());
    let mut response = answer.unwrap_or_else(|error| error_response(api, &error, &Head::default()));
    if let Some(page) = page {
        page.allow(response.headers_mut());
    }
    response
}

/// A request that is not refused at once.
enum Admitted {
    /// One that is answered without the upstream.
    Answered(Response<ResponseBody>),
    /// One for the upstream, with its place among those at once.
    Asks(Route, OwnedSemaphorePermit),
}

/// Check a request before its body is read.
fn admit(
    context: &Context,
    address: SocketAddr,
    route: Option<Route>,
    request: &Request<Incoming>,
) -> Result<Admitted, ApiError> {
    guard::check_source(&context.settings, address, request.headers())?;
    if request.method() == Method::OPTIONS
        && Page::of(&context.settings, request.headers()).is_some()
    {
        return Ok(Admitted::Answered(whole(204, JSON, Bytes::new())));
    }
    let Some(route) = route else {
        let path = request.uri().path();
        let message = format!(
            "there is no {path:?} here; the paths are /v1/chat/completions, /v1/messages, \
             /v1/responses, /v1/models, /healthz, /metrics and those given with --pass"
        );
        return Err(ApiError::new(404, "invalid_request_error", message).with_code("unknown_path"));
    };
    if !route.accepts(request.method()) {
        let message = format!("{} does not accept {}", route.name(), request.method());
        return Err(ApiError::new(405, "invalid_request_error", message));
    }
    if route == Route::Health {
        let body = Bytes::from_static(b"{\"status\":\"ok\"}");
        return Ok(Admitted::Answered(whole(200, JSON, body)));
    }
    guard::check_key(&context.settings, request.headers())?;
    if route == Route::Metrics {
        return Ok(Admitted::Answered(whole(200, METRICS, context.metrics.render().into())));
    }
    Ok(Admitted::Asks(route, permit(context)?))
}

/// Return the response for a request that is not admitted.
fn refuse(
    context: &Arc<Context>,
    api: Api,
    route: Option<Route>,
    method: &Method,
    error: &ApiError,
) -> Response<ResponseBody> {
    let path = route.map_or("unknown", Route::name);
    Entry::new(context, name_of(method), path, None).refuse(error);
    let mut response = error_response(api, error, &Head::default());
    match (response.status(), route) {
        (StatusCode::UNAUTHORIZED, _) => {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        (StatusCode::METHOD_NOT_ALLOWED, Some(route)) => {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(route.methods()));
        }
        _ => {}
    }
    response
}

/// Return the name of a method in the log, which has nothing that clients make up.
fn name_of(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    known.into_iter().find(|known| method == known).unwrap_or("other")
}

/// Ask the upstream.
async fn ask(
    context: &Arc<Context>,
    api: Api,
    route: Route,
    permit: OwnedSemaphorePermit,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody>, ApiError> {
    let method = request.method().clone();
    let mut entry = Entry::new(context, name_of(&method), route.name(), Some(permit));
    let url = context.url(request.uri().path(), request.uri().query());
    let limits = &context.settings.limits;
    let received = receive(request, limits.max_body_bytes, limits.client_timeout).await;
    let output = Arc::new(Output::default());
    let read = received.and_then(|body| match route {
        Route::ChatCompletions | Route::Messages | Route::Responses => {
            api.read(body).map(Asked::Chat)
        }
        _ => Ok(Asked::Passed(body)),
    });
    let asked = read.inspect_err(|error| entry.refuse(error))?;
    let forward = |body, entry| {
        let task =
            forwarded::run(Arc::clone(context), method, url, body, Arc::clone(&output), entry);
        Running::new(Box::pin(task), Arc::clone(&output))
    };
    let (running, content_type) = match asked {
        Asked::Passed(body) => (forward(body, entry), JSON),
        Asked::Chat(ChatBody::Plain { request, is_native }) => {
            if is_native {
                let mode = context.modes.mode(&request.model);
                output.set_head(|head| head.mode = Some(mode));
            }
            let body =
                plain(context, &request, is_native).inspect_err(|error| entry.refuse(error))?;
            (forward(body, entry), JSON)
        }
        Asked::Chat(ChatBody::Tools(request)) => {
            let content_type = if request.stream { EVENTS } else { JSON };
            let writer = api.writer(&request);
            let (context, output) = (Arc::clone(context), Arc::clone(&output));
            let exchange = Exchange::new(context, *request, writer, Arc::clone(&output), entry);
            (Running::new(Box::pin(exchange.run()), output), content_type)
        }
    };
    let begun = running.begin().await;
    let head = output.head();
    Ok(match begun {
        Ok(begun) => response(begun, &head, content_type),
        Err(error) => error_response(api, &error, &head),
    })
}

/// A request that has been read.
enum Asked {
    Chat(ChatBody),
    Passed(Bytes),
}

fn permit(context: &Context) -> Result<OwnedSemaphorePermit, ApiError> {
    Arc::clone(&context.permits).try_acquire_owned().map_err(|_| {
        let limit = context.settings.limits.max_concurrency;
        let message = format!("the server answers {limit} requests already, which is its limit");
        let error = ApiError::new(429, "rate_limit_error", message).with_code("too_many_requests");
        ApiError { retry_after: Some(std::time::Duration::from_secs(BUSY_SECONDS)), ..error }
    })
}

/// Return the body of a request without tools that may be called: the client's, unless the upstream
/// accepts no tools and the model needs the calls of the conversation as text.
fn plain(context: &Context, request: &ChatRequest, is_native: bool) -> Result<Bytes, ApiError> {
    if !is_native || context.modes.mode(&request.model) == Mode::Recover {
        return Ok(request.native.clone());
    }
    upstream_body(request, Mode::Natural, context.taught(&request.model, &[]))
}

fn whole(status: u16, content_type: &'static str, body: Bytes) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::Whole(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Return a response that has begun.
fn response(begun: Begun, head: &Head, content_type: &'static str) -> Response<ResponseBody> {
    let mut response = whole(head.status.unwrap_or(200), content_type, Bytes::new());
    if let Some(headers) = &head.headers {
        *response.headers_mut() = headers.clone();
    } else if content_type == EVENTS {
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
    set_mode(&mut response, head);
    *response.body_mut() = match begun {
        Begun::Whole(bytes) => ResponseBody::Whole(bytes),
        Begun::Part(bytes, running) => ResponseBody::Running(bytes, Box::new(running)),
    };
    response
}

fn set_mode(response: &mut Response<ResponseBody>, head: &Head) {
    if let Some(mode) = head.mode {
        response.headers_mut().insert(MODE, HeaderValue::from_static(mode.as_str()));
    }
}

/// Return the response for an error.
fn error_response(api: Api, error: &ApiError, head: &Head) -> Response<ResponseBody> {
    let body = api.error_body(error);
    let is_json = matches!(body.trim_ascii_start().first(), Some(b'{' | b'['));
    let content_type = if is_json { JSON } else { "text/plain; charset=utf-8" };
    let mut response = whole(error.status, content_type, body);
    if let Some(delay) = error.retry_after {
        let seconds = delay.as_secs() + u64::from(delay.subsec_nanos() > 0);
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    set_mode(&mut response, head);
    response
}
