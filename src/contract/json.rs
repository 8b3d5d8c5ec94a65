//! Contracts as JSON: the project's own layout, and the tool definitions of provider clients.

use serde_json::{Map, Value, json};

use super::{ContractError, FunctionContract, schema::kind};

const OWN_KEYS: [&str; 4] = ["name", "description", "parameters", "returns"];

impl FunctionContract {
    /// Return `{"name", "description", "parameters", "returns"}`, without absent fields.
    pub fn to_json(&self) -> Value {
        let mut members = self.named();
        members.extend(self.parameters.clone().map(|schema| ("parameters".to_owned(), schema)));
        members.extend(self.returns.clone().map(|schema| ("returns".to_owned(), schema)));
        Value::Object(members)
    }

    /// Create a contract from the output of [`to_json`](Self::to_json). An unknown key is an error.
    pub fn from_json(definition: &Value) -> Result<Self, ContractError> {
        let members = object(definition, None)?;
        let name = name_of(members)?;
        if let Some(key) = members.keys().find(|key| !OWN_KEYS.contains(&key.as_str())) {
            let reason = format!("unknown key {key:?}; known are {}", OWN_KEYS.join(", "));
            return Err(ContractError::Definition { name: Some(name.to_owned()), reason });
        }
        build(name, members, "parameters", "returns")
    }

    /// Return the tool definition for `OpenAI`'s chat API: `{"type": "function", "function":
    /// {...}}`. It has no field for the result of a tool.
    pub fn to_openai(&self) -> Value {
        let mut function = self.named();
        function.extend(self.parameters.clone().map(|schema| ("parameters".to_owned(), schema)));
        json!({"type": "function", "function": function})
    }

    /// Create a contract from a tool definition of a provider client: the form of [`to_openai`],
    /// the same without its wrapper, `Anthropic`'s with `input_schema`, or MCP's with
    /// `inputSchema`. Unknown keys are ignored.
    ///
    /// [`to_openai`]: Self::to_openai
    pub fn from_openai(definition: &Value) -> Result<Self, ContractError> {
        let mut members = object(definition, None)?;
        if let Some(function) = members.get("function") {
            members = object(function, Some("function"))?;
        } else if let Some(kind) = members.get("type").filter(|kind| !is_function(kind)) {
            let reason =
                format!("type {kind} is run by the provider; only functions have a contract");
            let name = members.get("name").and_then(Value::as_str).map(str::to_owned);
            return Err(ContractError::Definition { name, reason });
        }
        let name = name_of(members)?;
        let given = |keys: [&'static str; 3]| {
            keys.into_iter().find(|key| members.contains_key(*key)).unwrap_or(keys[0])
        };
        let parameters = given(["parameters", "input_schema", "inputSchema"]);
        let returns = given(["returns", "output_schema", "outputSchema"]);
        build(name, members, parameters, returns)
    }

    fn named(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("name".to_owned(), self.name.clone().into());
        if let Some(description) = &self.description {
            members.insert("description".to_owned(), description.clone().into());
        }
        members
    }
}

/// Return true for a function; Anthropic marks a tool that the client runs as `custom`.
fn is_function(kind: &Value) -> bool {
    kind == "function" || kind == "custom"
}

fn object<'v>(
    value: &'v Value,
    key: Option<&str>,
) -> Result<&'v Map<String, Value>, ContractError> {
    value.as_object().ok_or_else(|| {
        let what = key.map(|key| format!("{key:?} is ")).unwrap_or_default();
        let reason = format!("{what}an object with a name is wanted, not {}", kind(value));
        ContractError::Definition { name: None, reason }
    })
}

fn name_of(members: &Map<String, Value>) -> Result<&str, ContractError> {
    let reason = match members.get("name") {
        Some(Value::String(name)) => return Ok(name),
        Some(other) => format!("\"name\" is a string, not {}", kind(other)),
        None => "\"name\" is missing".to_owned(),
    };
    Err(ContractError::Definition { name: None, reason })
}

fn build(
    name: &str,
    members: &Map<String, Value>,
    parameters: &str,
    returns: &str,
) -> Result<FunctionContract, ContractError> {
    let mut contract = FunctionContract::new(name)?;
    match members.get("description") {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => contract = contract.with_description(text),
        Some(other) => {
            let reason = format!("\"description\" is a string, not {}", kind(other));
            return Err(ContractError::Definition { name: Some(name.to_owned()), reason });
        }
    }
    let given = |key| members.get(key).filter(|schema| !schema.is_null()).cloned();
    if let Some(schema) = given(parameters) {
        contract = contract.with_parameters(schema)?;
    }
    if let Some(schema) = given(returns) {
        contract = contract.with_returns(schema)?;
    }
    Ok(contract)
}
