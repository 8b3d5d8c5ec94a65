//! One request of a client: the requests to the upstream that answer it, and their replies.

mod correction;
mod ids;
mod open;
mod prepare;
mod raw;
mod run;
mod sink;

pub use self::prepare::upstream_body;
pub(super) use self::run::Exchange;
