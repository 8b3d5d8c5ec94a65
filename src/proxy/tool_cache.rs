//! Parsers and validators for sets of tools, which clients send again with each request.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use super::{error::ApiError, settings::Mode};
use crate::{
    calls::{CallValidator, RepairMode},
    contract::FunctionContract,
    endpoint::CallParsing,
    parser::{self, Dialect, Dialects, Parser},
};

/// Maximum number of sets of tools that are kept.
const MAX_SETS: usize = 32;

/// The sets of tools that were used last, the latest first.
#[derive(Debug, Default)]
pub(super) struct ToolCache {
    /// True if arguments are streamed as they are written.
    deltas: bool,
    sets: Mutex<VecDeque<ToolSet>>,
}

/// A set of tools, prepared for the calls of one dialect.
#[derive(Debug)]
struct ToolSet {
    contracts: Vec<FunctionContract>,
    dialect: &'static str,
    parsing: CallParsing,
}

impl ToolCache {
    pub(super) fn new(deltas: bool) -> Self {
        Self { deltas, sets: Mutex::default() }
    }

    /// Return the settings for reading calls of these tools.
    ///
    /// # Errors
    /// Fails if a name cannot be written in a tag, or if a schema is invalid.
    pub(super) fn parsing(
        &self,
        contracts: &[FunctionContract],
        dialect: Dialect,
        mode: Mode,
    ) -> Result<CallParsing, ApiError> {
        let parsing = if let Some(parsing) = self.known(contracts, dialect) {
            parsing
        } else {
            let parsing = prepare(contracts, dialect, self.deltas)?;
            let set = ToolSet {
                contracts: contracts.to_vec(),
                dialect: dialect.name,
                parsing: parsing.clone(),
            };
            let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
            sets.truncate(MAX_SETS - 1);
            sets.push_front(set);
            parsing
        };
        Ok(CallParsing { recovered: mode == Mode::Recover, ..parsing })
    }

    fn known(&self, contracts: &[FunctionContract], dialect: Dialect) -> Option<CallParsing> {
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |set: &ToolSet| set.dialect == dialect.name && set.contracts == contracts;
        let position = sets.iter().position(is_same)?;
        let set = sets.remove(position)?;
        let parsing = set.parsing.clone();
        sets.push_front(set);
        Some(parsing)
    }
}

fn prepare(
    contracts: &[FunctionContract],
    dialect: Dialect,
    deltas: bool,
) -> Result<CallParsing, ApiError> {
    let dialects = if dialect == Dialect::NATURAL {
        Dialects::Auto
    } else {
        Dialects::AutoWith(vec![dialect])
    };
    let options = parser::Options { dialects, deltas, ..parser::Options::default() };
    let names = contracts.iter().map(|contract| contract.name.as_str());
    let limits = options.limits;
    let invalid = |message: String| ApiError::field("tools", message);
    let parser = Parser::new(names, options).map_err(|error| invalid(error.to_string()))?;
    let validator = CallValidator::from_contracts(contracts, RepairMode::Schema, limits)
        .map_err(|error| invalid(error.to_string()))?;
    Ok(CallParsing {
        parser,
        validator: Arc::new(validator),
        inline: true,
        recovered: false,
        deltas,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: usize) -> [FunctionContract; 1] {
        [FunctionContract::new(format!("tool_{name}")).unwrap()]
    }

    #[test]
    fn a_set_of_tools_is_prepared_once_and_the_oldest_is_dropped() {
        let cache = ToolCache::default();
        let hermes = Dialect::named("hermes").unwrap();
        let validator = |name: usize, dialect: Dialect| {
            cache.parsing(&tool(name), dialect, Mode::Natural).unwrap().validator
        };
        let first = validator(0, Dialect::NATURAL);
        assert!(Arc::ptr_eq(&first, &validator(0, Dialect::NATURAL)));
        assert!(!Arc::ptr_eq(&first, &validator(0, hermes)));
        for name in 1..2 * MAX_SETS {
            validator(name, Dialect::NATURAL);
        }
        assert_eq!(cache.sets.lock().unwrap().len(), MAX_SETS);
        assert!(!Arc::ptr_eq(&first, &validator(0, Dialect::NATURAL)));
    }

    #[test]
    fn the_mode_decides_whether_calls_are_recovered() {
        let cache = ToolCache::default();
        for (mode, recovered) in [(Mode::Natural, false), (Mode::Recover, true)] {
            let parsing = cache.parsing(&tool(0), Dialect::NATURAL, mode).unwrap();
            assert_eq!(parsing.recovered, recovered);
        }
    }
}
