//! Integration tests: the crate as a Rust user sees it, with one module for each area.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

mod attempts;
mod calls;
mod consolidate;
mod consolidate_streams;
mod contract;
#[path = "../../src/cpu_time.rs"]
mod cpu_time;
mod dialects;
#[path = "../../src/effort.rs"]
mod effort;
#[cfg(feature = "endpoint")]
mod endpoint;
mod golden;
mod history;
mod layering;
mod lifecycle;
mod message;
mod meter;
mod native;
mod partial;
mod prompt;
#[cfg(feature = "proxy")]
mod proxy;
mod registry;
mod registry_prompts;
mod repair;
mod reply;
mod search;
mod selection;
mod validator;
mod validator_cost;
mod validator_numbers;

/// Return the step through the positions of a text: 1 with all cases, 8 with an eighth of them.
fn step() -> usize {
    let cases = effort::cases(256).cases;
    usize::try_from((256 / cases).clamp(1, 8)).unwrap()
}
