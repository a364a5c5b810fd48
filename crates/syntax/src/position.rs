//! Positions of names in the tree: a node kind and a field determine whether an identifier there is a reference.
//!
//! A position that a table lacks, as after an update of a grammar, is uncertain, and so a rename is refused there.

use crate::grammar::Grammar;
use std::collections::HashMap;

/// The role of all identifiers in one position, unless the language's query says more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamePosition {
    /// A reference.
    Reference,
    /// A reference to a type or a module; other things of that name are not meant.
    TypeReference,
    /// A reference to a macro, likewise.
    MacroReference,
    /// The tag of a `struct`, `union` or `enum` of C, likewise.
    TagReference,
    /// A token of a macro, whose meaning follows from the tokens beside it.
    MacroToken,
    /// The name of a JSX element: an HTML element if it begins with a small letter, otherwise a reference.
    Element,
    /// A name of something that no symbol can be, e.g. a label, or that is found as a symbol itself.
    Foreign,
    /// Uncertain where the query does not classify it.
    Uncertain,
}

/// Positions with the same role.
pub(crate) struct PositionRow {
    pub(crate) role: NamePosition,
    /// Words `kind.field`; `*` for children without a field.
    pub(crate) positions: &'static str,
}

/// The positions of a language.
pub(crate) struct PositionTable {
    roles: HashMap<(&'static str, &'static str), NamePosition>,
}

impl PositionRow {
    /// Returns pairs of kind and field.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.positions.split_whitespace().filter_map(|it| it.split_once('.'))
    }
}

impl PositionTable {
    pub(crate) fn of(grammar: &Grammar) -> PositionTable {
        let rows = grammar.positions.iter().copied().flatten();
        let roles = rows.flat_map(|row| row.pairs().map(|pair| (pair, row.role))).collect();
        PositionTable { roles }
    }

    /// Returns the role of an identifier in a field of a node of this kind.
    pub(crate) fn role(&self, kind: &str, field: Option<&str>) -> NamePosition {
        self.roles.get(&(kind, field.unwrap_or("*"))).copied().unwrap_or(NamePosition::Uncertain)
    }
}

/// Kinds that have a `self`.
pub(crate) const TYPE_KINDS: &[&str] =
    &["class", "struct", "union", "enum", "trait", "impl", "interface", "record", "annotation"];

/// Namespaces: names of one do not hide those of another. Not every language has all three.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameSpace {
    Types,
    Calls,
    Values,
}

impl NameSpace {
    pub(crate) fn of(kind: &str) -> NameSpace {
        match kind {
            "type" | "module" | "namespace" => NameSpace::Types,
            kind if TYPE_KINDS.contains(&kind) => NameSpace::Types,
            "function" | "method" | "macro" => NameSpace::Calls,
            _ => NameSpace::Values,
        }
    }
}

/// True for the name of an HTML element in JSX.
pub(crate) fn is_element_name(name: &str) -> bool {
    name.starts_with(|it: char| it.is_ascii_lowercase())
}

/// Returns the position that a token of a macro would have in code, from the text after it.
pub(crate) fn token_position(after: &str) -> NamePosition {
    let after = after.trim_start();
    let follows = |sign: &str, not: &[&str]| after.starts_with(sign) && !not.iter().any(|it| after.starts_with(it));
    if follows("!", &["!="]) {
        NamePosition::MacroReference
    } else if follows("::", &["::<"]) {
        NamePosition::TypeReference
    } else if follows(":", &["::"]) || follows("=", &["=="]) {
        // The name of a field or of an argument.
        NamePosition::Uncertain
    } else {
        NamePosition::Reference
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::grammars::GRAMMARS;
    use serde_json::Value;
    use std::collections::{BTreeSet, HashMap};

    /// The node types of the languages whose names are looked up.
    const NODE_TYPES: &[(&str, &str)] = &[
        #[cfg(feature = "c")]
        ("c", tree_sitter_c::NODE_TYPES),
        #[cfg(feature = "go")]
        ("go", tree_sitter_go::NODE_TYPES),
        #[cfg(feature = "java")]
        ("java", tree_sitter_java::NODE_TYPES),
        #[cfg(feature = "javascript")]
        ("javascript", tree_sitter_javascript::NODE_TYPES),
        #[cfg(feature = "python")]
        ("python", tree_sitter_python::NODE_TYPES),
        #[cfg(feature = "rust")]
        ("rust", tree_sitter_rust::NODE_TYPES),
        #[cfg(feature = "typescript")]
        ("typescript", tree_sitter_typescript::TYPESCRIPT_NODE_TYPES),
        #[cfg(feature = "typescript")]
        ("tsx", tree_sitter_typescript::TSX_NODE_TYPES),
    ];

    /// Returns the positions in which a grammar has identifiers without parts.
    fn positions(node_types: &str) -> BTreeSet<String> {
        let nodes: Vec<Value> = serde_json::from_str(node_types).unwrap();
        let kind = |node: &Value| node["type"].as_str().unwrap().to_owned();
        let is_leaf = |node: &Value| ["fields", "children", "subtypes"].iter().all(|it| no_entries(&node[it]));
        let named: Vec<&Value> = nodes.iter().filter(|it| it["named"] == true).collect();
        let supertypes: HashMap<String, &Value> =
            named.iter().filter(|it| it["subtypes"].is_array()).map(|it| (kind(it), &it["subtypes"])).collect();
        let mut identifiers: BTreeSet<String> =
            named.iter().filter(|it| is_leaf(it)).map(|it| kind(it)).filter(|it| it.contains("identifier")).collect();
        loop {
            let has = |types: &Value| types.as_array().unwrap().iter().any(|it| identifiers.contains(&kind(it)));
            let more: Vec<String> = supertypes
                .iter()
                .filter(|(name, types)| !identifiers.contains(*name) && has(types))
                .map(|it| it.0.clone())
                .collect();
            if more.is_empty() {
                break;
            }
            identifiers.extend(more);
        }
        let mut found = BTreeSet::new();
        for node in named.iter().filter(|it| !it["subtypes"].is_array()) {
            let fields = node["fields"].as_object().into_iter().flatten().map(|(name, field)| (name.as_str(), field));
            for (field, child) in fields.chain([("*", &node["children"])]) {
                let mut types = child["types"].as_array().into_iter().flatten();
                if types.any(|it| it["named"] == true && identifiers.contains(&kind(it))) {
                    found.insert(format!("{}.{field}", kind(node)));
                }
            }
        }
        found
    }

    fn no_entries(value: &Value) -> bool {
        value.as_object().is_none_or(serde_json::Map::is_empty) && !value.is_array()
    }

    #[test]
    fn each_position_of_an_identifier_is_in_one_row() {
        let all: BTreeSet<String> = NODE_TYPES.iter().flat_map(|it| positions(it.1)).collect();
        for grammar in GRAMMARS.iter().filter(|it| it.locals.is_some()) {
            let (_, node_types) = NODE_TYPES.iter().find(|it| it.0 == grammar.name).unwrap();
            let mut rows = BTreeSet::new();
            for row in grammar.positions.iter().copied().flatten() {
                for (kind, field) in row.pairs() {
                    assert!(rows.insert(format!("{kind}.{field}")), "{}: {kind}.{field} is in two rows", grammar.name);
                }
                assert_eq!(row.pairs().count(), row.positions.split_whitespace().count(), "{}", row.positions);
            }
            let missing: Vec<String> = positions(node_types).into_iter().filter(|it| !rows.contains(it)).collect();
            assert!(missing.is_empty(), "{}: positions without a row: {missing:?}", grammar.name);
            let unknown: Vec<String> = rows.into_iter().filter(|it| !all.contains(it)).collect();
            assert!(unknown.is_empty(), "{}: rows without a position: {unknown:?}", grammar.name);
        }
    }
}
