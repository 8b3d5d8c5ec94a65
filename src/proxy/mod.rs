//! A proxy that gives any model tool calls, for clients in any language.
//!
//! A [`Server`] accepts requests with tools in three APIs and sends them to an upstream, whose
//! models may write calls as text. Clients get calls that are complete, validated and repaired.
//! Each API is a pair of pure functions in a module of its own, [`chat`], [`messages`] and
//! [`responses`]: a request becomes a [`ChatRequest`], and a [`ReplyWriter`] writes the [`Part`]s
//! of a reply.
//!
//! ```no_run
//! use std::time::Duration;
//! use toolweave::proxy::{Server, Settings};
//!
//! let mut settings = Settings::new("http://127.0.0.1:8080/v1".parse()?);
//! settings.address = "127.0.0.1:8700".parse()?;
//! let server = Server::start(settings)?;
//! println!("listening on http://{}/v1", server.address());
//! server.stop(Duration::from_secs(30));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod alias;
pub mod chat;
mod context;
mod entry;
mod error;
mod exchange;
mod forwarded;
mod log;
pub mod messages;
mod metrics;
mod modes;
mod output;
mod part;
mod recorder;
mod request;
pub mod responses;
mod running;
mod server;
mod settings;
mod tool_cache;

pub use self::{
    alias::Aliases,
    error::ApiError,
    exchange::upstream_body,
    part::{Call, Notice, Part, ReplyWriter},
    request::{ChatRequest, Choice},
    server::{Server, Signals, StartError},
    settings::{Limits, Mode, Settings},
};
