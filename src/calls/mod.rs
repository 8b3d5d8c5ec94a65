//! From a found payload to a call that can be trusted.
