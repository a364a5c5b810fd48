//! Compiled keywords of a schema.

use crate::number::Number;
use std::collections::HashMap;

/// Index of a rule.
pub(super) type RuleId = u32;
/// Index of a pattern.
pub(super) type PatternId = u32;

/// All keywords of one schema object.
#[derive(Debug, Default)]
pub(super) struct SchemaRule {
    pub(super) keywords: Vec<Keyword>,
}

/// A set of types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TypeSet(u8);

/// Names of the types, one bit each.
const TYPE_NAMES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];

impl TypeSet {
    pub(super) const NULL: TypeSet = TypeSet(1);
    pub(super) const BOOLEAN: TypeSet = TypeSet(2);
    pub(super) const OBJECT: TypeSet = TypeSet(4);
    pub(super) const ARRAY: TypeSet = TypeSet(8);
    pub(super) const NUMBER: TypeSet = TypeSet(16);
    pub(super) const STRING: TypeSet = TypeSet(32);
    pub(super) const INTEGER: TypeSet = TypeSet(64);

    pub(super) fn named(name: &str) -> Option<TypeSet> {
        TYPE_NAMES.iter().position(|known| *known == name).map(|nth| TypeSet(1 << nth))
    }

    pub(super) fn with(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    pub(super) fn has_any(self, other: TypeSet) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn names(self) -> Vec<&'static str> {
        (0..TYPE_NAMES.len()).filter(|nth| self.0 & (1 << nth) != 0).map(|nth| TYPE_NAMES[nth]).collect()
    }
}

/// A constant of a schema.
#[derive(Debug)]
pub(super) struct Constant {
    pub(super) print: u128,
    /// The constant as JSON, shortened.
    pub(super) shown: String,
}

/// A keyword.
#[derive(Debug)]
pub(super) enum Keyword {
    /// No value fits.
    Never,
    Type(TypeSet),
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
    /// If the first member of a pair exists, the others must exist.
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
