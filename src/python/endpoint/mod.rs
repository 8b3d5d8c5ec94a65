//! Python classes for [`crate::endpoint`].
//!
//! A request runs on a Rust thread, which never waits for the interpreter: it puts events into a
//! [queue](crate::endpoint::Mailbox) and wakes the event loop with a [`wakeup`] socket. Python
//! objects are created by the reader, many at once.

mod batch;
mod wakeup;
mod client;
mod queue;
mod objects;
mod process;
mod reply;
mod runtime;
mod secrets;

pub(crate) use self::{
    batch::PyHttpBatch, wakeup::PyHttpWakeup, client::PyHttpClient, objects::PyHttpLargeEvents,
    reply::PyHttpReply, secrets::without_keys,
};
