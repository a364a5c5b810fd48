//! Compiled keywords of a schema.

use crate::number::Number;
use std::collections::HashMap;

/// Index of a rule.
pub(super) type RuleId = u32;
/// Index of a pattern.
pub(super) type PatternId = u32;

/// All keywords of one schema object.
#[derive(Debug, Default)]
pub(super) struct Rule {
    pub(super) keywords: Vec<Keyword>,
}

/// A set of types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

/// Names of the types, one bit each.
const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];

impl Types {
    pub(super) const NULL: Types = Types(1);
    pub(super) const BOOLEAN: Types = Types(2);
    pub(super) const OBJECT: Types = Types(4);
    pub(super) const ARRAY: Types = Types(8);
    pub(super) const NUMBER: Types = Types(16);
    pub(super) const STRING: Types = Types(32);
    pub(super) const INTEGER: Types = Types(64);

    pub(super) fn named(name: &str) -> Option<Types> {
        TYPES.iter().position(|known| *known == name).map(|nth| Types(1 << nth))
    }

    pub(super) fn with(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    pub(super) fn has_any(self, other: Types) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn names(self) -> Vec<&'static str> {
        (0..TYPES.len()).filter(|nth| self.0 & (1 << nth) != 0).map(|nth| TYPES[nth]).collect()
    }
}

/// A constant of a schema.
#[derive(Debug)]
pub(super) struct Constant {
    pub(super) print: u128,
    /// As JSON, shortened.
    pub(super) shown: String,
}

/// A keyword.
#[derive(Debug)]
pub(super) enum Keyword {
    /// No value fits.
    Never,
    Type(Types),
    Enum(Vec<Constant>),
    Const(Constant),
    MultipleOf(Number),
    /// A bound, and whether it is exclusive.
    Most(Number, bool),
    Least(Number, bool),
    MaxLength(usize),
    MinLength(usize),
    Pattern(PatternId),
    Items {
        first: Vec<RuleId>,
        rest: Option<RuleId>,
    },
    Contains {
        rule: RuleId,
        least: usize,
        most: Option<usize>,
    },
    MaxItems(usize),
    MinItems(usize),
    Unique,
    Properties {
        named: HashMap<String, RuleId>,
        patterns: Vec<(PatternId, RuleId)>,
        rest: Option<RuleId>,
    },
    Names(RuleId),
    Required(Vec<String>),
    MaxProperties(usize),
    MinProperties(usize),
    /// If the first member exists, the others must.
    DependentRequired(Vec<(String, Vec<String>)>),
    DependentSchemas(Vec<(String, RuleId)>),
    All(Vec<RuleId>),
    Any(Vec<RuleId>),
    One(Vec<RuleId>),
    Not(RuleId),
    If {
        when: RuleId,
        then: Option<RuleId>,
        otherwise: Option<RuleId>,
    },
    Ref(RuleId),
    UnevaluatedItems(RuleId),
    UnevaluatedProperties(RuleId),
}
