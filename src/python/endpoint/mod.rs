//! Python classes for [`crate::endpoint`].
//!
//! A request runs on a Rust thread, which never waits for the interpreter: it puts events into a
//! [queue](crate::endpoint::EventQueue) and wakes the event loop with a [`wakeup`] socket. Python
//! objects are created by the reader, many at once.

mod batch;
mod chunk_reader;
mod client;
mod objects;
mod process;
mod queue;
mod reply;
mod runtime;
mod secrets;
mod wakeup;

pub(crate) use self::{
    batch::PyHttpBatch, chunk_reader::PyChunkReader, client::PyHttpClient,
    objects::PyHttpLargeEvents, reply::PyHttpReply, secrets::without_keys, wakeup::PyHttpWakeup,
};
