//! Python classes for [`crate::endpoint`].
//!
//! A request runs on a thread of Rust's, which never waits for the interpreter: what it reads goes
//! into a [mailbox](crate::endpoint::Mailbox), and a [`wakeup`] tells the event loop that there is something. Python objects
//! are made where they are wanted, many at once.

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
