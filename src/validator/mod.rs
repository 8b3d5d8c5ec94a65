//! JSON Schema: compile once, validate many; violations are data.

mod violation;

pub use self::violation::Violation;
