//! A response while it is written.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;

use super::{error::ApiError, output::Output};

/// The task that writes a response.
pub(super) type Task = Pin<Box<dyn Future<Output = Result<(), ApiError>> + Send>>;

/// A task that writes a response, and what it has written.
///
/// The task runs only while it is polled, which is while the client can take more. Dropping it ends
/// the request to the upstream.
pub(super) struct Running {
    task: Option<Task>,
    output: Arc<Output>,
    failure: Option<ApiError>,
}

/// The beginning of a response.
pub(super) enum Begun {
    /// A part of the response; the rest follows.
    Part(Bytes, Running),
    /// The whole response.
    Whole(Bytes),
}

impl Running {
    pub(super) fn new(task: Task, output: Arc<Output>) -> Self {
        Self { task: Some(task), output, failure: None }
    }

    /// Wait for the beginning of the response.
    ///
    /// # Errors
    /// Fails if the task failed before it wrote anything.
    pub(super) async fn begin(mut self) -> Result<Begun, ApiError> {
        let first = poll_fn(|cx| self.poll_next(cx)).await.transpose()?;
        let first = first.unwrap_or_default();
        Ok(if self.task.is_some() || self.failure.is_some() {
            Begun::Part(first, self)
        } else {
            Begun::Whole(first)
        })
    }

    /// Return the next bytes; `None` at the end of the response.
    pub(super) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, ApiError>>> {
        let ended = match &mut self.task {
            None => true,
            Some(task) => match task.as_mut().poll(cx) {
                Poll::Pending => false,
                Poll::Ready(outcome) => {
                    self.task = None;
                    self.failure = outcome.err();
                    true
                }
            },
        };
        match self.output.take() {
            Some(bytes) => Poll::Ready(Some(Ok(bytes))),
            None if ended => Poll::Ready(self.failure.take().map(Err)),
            None => Poll::Pending,
        }
    }
}
