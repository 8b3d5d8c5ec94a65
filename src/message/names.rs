//! Closed sets of names that are the same in Rust, Python and JSON.

/// Declare an enum whose values have names on the wire.
macro_rules! wire_names {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $wire:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// All values, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Return the name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $wire,)+ }
            }

            /// Return the value with this name on the wire.
            pub fn from_wire(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == name)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.serialize_str(self.as_str())
            }
        }

        #[cfg(test)]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let names: Vec<_> = Self::ALL.iter().map(|value| value.as_str()).collect();
                schemars::json_schema!({"type": "string", "enum": names})
            }
        }
    };
}
pub(crate) use wire_names;

wire_names! {
    /// The role of a message.
    Role {
        /// Instructions before the conversation.
        System = "system",
        /// The user, or whatever is reported to the model on the user's behalf.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// A tool, in histories with messages of that role.
        Tool = "tool",
    }
}

wire_names! {
    /// The kind of a message.
    MessageKind {
        /// Text.
        Text = "text",
        /// The reasoning of the model before its reply.
        Reasoning = "reasoning",
        /// Tool calls of the model.
        ToolsCall = "tools_call",
        /// Results of tool calls.
        ToolResult = "tool_result",
        /// Calls with their results.
        ToolsAggregate = "tools_aggregate",
        /// The token usage of a model request.
        Usage = "usage",
    }
}

wire_names! {
    /// The reason why a reply ended.
    FinishReason {
        /// The reply is complete, or a stop sequence was generated.
        Stop = "stop",
        /// The token limit was reached.
        Length = "length",
        /// The model waits for the results of its calls.
        ToolCalls = "tool_calls",
        /// The provider withheld the rest.
        ContentFilter = "content_filter",
        /// The stream ended without a reason.
        Missing = "missing",
    }
}

impl FinishReason {
    /// Return true if the reply may have been cut off.
    pub const fn cuts_off(self) -> bool {
        matches!(self, Self::Length | Self::ContentFilter | Self::Missing)
    }
}
