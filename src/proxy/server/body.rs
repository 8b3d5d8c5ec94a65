//! Bodies of requests and responses.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use hyper::{
    Request,
    body::{Body, Frame, Incoming, SizeHint},
};

use crate::proxy::{error::ApiError, running::Running};

/// Receive the body of a request.
pub(super) async fn receive(
    request: Request<Incoming>,
    max_bytes: usize,
    timeout: Duration,
) -> Result<Bytes, ApiError> {
    let mut body = request.into_body();
    let too_large = || {
        let message = format!("the body must have at most {max_bytes} bytes");
        ApiError::new(413, "invalid_request_error", message).with_code("body_too_large")
    };
    if body.size_hint().lower() > max_bytes as u64 {
        return Err(too_large());
    }
    let read = async {
        let mut bytes = BytesMut::new();
        while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            let frame = frame.map_err(|_| {
                ApiError::new(400, "invalid_request_error", "the body of the request broke off")
            })?;
            if let Some(data) = frame.data_ref() {
                if bytes.len() + data.len() > max_bytes {
                    return Err(too_large());
                }
                bytes.extend_from_slice(data);
            }
        }
        Ok(bytes.freeze())
    };
    tokio::time::timeout(timeout, read).await.unwrap_or_else(|_| {
        let message = format!("the body must arrive within {} s", timeout.as_secs_f64());
        Err(ApiError::new(408, "invalid_request_error", message))
    })
}

/// The body of a response.
pub(super) enum ResponseBody {
    /// A whole body.
    Whole(Bytes),
    /// The first bytes of a body that is being written, and the rest.
    Running(Bytes, Box<Running>),
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        let (Self::Whole(first) | Self::Running(first, _)) = this;
        if !first.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(first)))));
        }
        let Self::Running(_, running) = this else { return Poll::Ready(None) };
        // An error closes the connection, so that the client sees that the response broke off.
        let next = running.poll_next(cx);
        next.map(|next| {
            next.map(|next| next.map(Frame::data).map_err(|_| io::ErrorKind::BrokenPipe.into()))
        })
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Running(..) => SizeHint::default(),
        }
    }
}
