//! The bytes of a response that the client has not read yet.

use std::{
    future::poll_fn,
    sync::{Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use bytes::Bytes;
use reqwest::header::HeaderMap;

use super::settings::Mode;

/// The size above which the upstream is not read, in bytes.
const CAPACITY: usize = 16 << 10;

/// The bytes of one response, between the task that writes them and the body that sends them.
///
/// Both are polled as one: [`Running`](super::running::Running) polls the task, and then takes the
/// bytes. So no side needs to wake the other.
#[derive(Debug, Default)]
pub(super) struct Output {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    has_begun: bool,
    head: Head,
}

/// The status and the headers of a response.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    /// The status, if it is not 200.
    pub(super) status: Option<u16>,
    /// Headers in place of those of the API.
    pub(super) headers: Option<HeaderMap>,
    /// The mode in which the upstream was asked.
    pub(super) mode: Option<Mode>,
}

impl Output {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Append bytes.
    pub(super) fn write(&self, append: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state();
        append(&mut state.bytes);
        state.has_begun |= !state.bytes.is_empty();
    }

    /// Change the head. It is sent with the first bytes.
    pub(super) fn set_head(&self, change: impl FnOnce(&mut Head)) {
        change(&mut self.state().head);
    }

    pub(super) fn head(&self) -> Head {
        self.state().head.clone()
    }

    /// Return true if bytes have been written.
    pub(super) fn has_begun(&self) -> bool {
        self.state().has_begun
    }

    /// Take the bytes, if there are any.
    pub(super) fn take(&self) -> Option<Bytes> {
        let mut state = self.state();
        (!state.bytes.is_empty()).then(|| std::mem::take(&mut state.bytes).into())
    }

    /// Wait until there is room for more.
    ///
    /// The task is polled again once the body has taken the bytes, see [`Output`].
    pub(super) async fn room(&self) {
        poll_fn(
            |_| if self.state().bytes.len() < CAPACITY { Poll::Ready(()) } else { Poll::Pending },
        )
        .await;
    }
}
