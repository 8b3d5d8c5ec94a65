//! Stream events.

mod event;
mod snapshot;
#[cfg(test)]
mod schema;

pub use self::{event::*, snapshot::*};
