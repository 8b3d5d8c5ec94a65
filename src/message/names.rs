//! Closed sets of names that are the same in Rust, in Python and on the wire.

/// Declares an enum whose values have a name on the wire.
macro_rules! wire_names {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $wire:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $wire,)+ }
            }

            /// The value with this name on the wire.
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
    /// Who speaks.
    Role {
        /// Instructions that precede the conversation.
        System = "system",
        /// The person, and whatever is reported to the model on their behalf.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// A tool, in histories that give tools a voice of their own.
        Tool = "tool",
    }
}

wire_names! {
    /// What a message holds.
    MessageKind {
        /// Text.
        Text = "text",
        /// What the model thought before it answered.
        Reasoning = "reasoning",
        /// Calls that the model made.
        ToolsCall = "tools_call",
        /// Results of calls.
        ToolResult = "tool_result",
        /// Calls with their results.
        ToolsAggregate = "tools_aggregate",
        /// What a model request used.
        Usage = "usage",
    }
}

wire_names! {
    /// Why a reply ended.
    FinishReason {
        /// The model had said everything, or met a stop word.
        Stop = "stop",
        /// The limit of tokens cut the reply off.
        Length = "length",
        /// The model waits for the results of its calls.
        ToolCalls = "tool_calls",
        /// The provider withheld the rest.
        ContentFilter = "content_filter",
        /// The stream ended without saying why.
        Missing = "missing",
    }
}

impl FinishReason {
    /// Whether the reply may have ended in the middle of something.
    pub const fn cuts_off(self) -> bool {
        matches!(self, Self::Length | Self::ContentFilter | Self::Missing)
    }
}
