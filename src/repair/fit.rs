//! stub
use crate::message::Repair;
use serde_json::Value;
/// stub
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// v
    pub value: Value,
    /// r
    pub repairs: Vec<Repair>,
}
/// stub
pub fn fit(_value: &Value, _schema: &Value, _accepts: &dyn Fn(&Value) -> bool) -> Option<Fitted> {
    None
}
