//! Properties of languages beyond the grammar.

use crate::position::PositionRow;
use std::borrow::Cow;
use tree_sitter::Node;

/// A language: its grammar, and the structure of its blocks and symbols.
pub(crate) struct Grammar {
    pub(crate) name: &'static str,
    /// File name extensions in lower case, without the dot.
    pub(crate) extensions: &'static [&'static str],
    /// Whole file names.
    pub(crate) files: &'static [&'static str],
    /// Programs in a `#!` line.
    pub(crate) programs: &'static [&'static str],
    pub(crate) load: fn() -> tree_sitter::Language,
    /// Lists without delimiters, which begin where their first item begins: a block never extends to one.
    pub(crate) containers: &'static [&'static str],
    pub(crate) symbols: &'static [SymbolRule],
    /// Adjacent clauses of one function are one symbol.
    pub(crate) clauses: bool,
    /// A query for renaming, whose captures classify occurrences of a name: bound here (`@binding`; `@pattern` with all
    /// names in it), after a receiver (`@receiver`, `@member`), never a reference (`@other`), not renameable on its own
    /// (`@blocked`), imported (`@outside`), a macro if anything of this text (`@macro`), a
    /// reference inside of a pattern (`@reference`).
    pub(crate) locals: Option<&'static str>,
    /// The roles of occurrences that the query does not capture.
    pub(crate) positions: &'static [&'static [PositionRow]],
    /// Detects texts that overflow the external scanner; they are not parsed.
    pub(crate) exceeds_scanner: Option<fn(&str) -> bool>,
    /// Replaces characters that the scanner cannot handle, keeping the byte length.
    pub(crate) mask: Option<for<'t> fn(&'t str) -> Cow<'t, str>>,
    /// Symbols are separated by commas, without one after the last.
    pub(crate) commas: bool,
    /// Members are called without a receiver inside their type.
    pub(crate) bare_members: bool,
}

impl Grammar {
    /// Default values of a language.
    pub(crate) const fn plain(name: &'static str, load: fn() -> tree_sitter::Language) -> Grammar {
        Grammar {
            name,
            extensions: &[],
            files: &[],
            programs: &[],
            load,
            containers: &[],
            symbols: &[],
            clauses: false,
            locals: None,
            positions: &[],
            exceeds_scanner: None,
            mask: None,
            commas: false,
            bare_members: false,
        }
    }
}

/// A node kind that is a symbol.
pub(crate) struct SymbolRule {
    pub(crate) node: &'static str,
    /// One word for people: `function`, `class`, …
    pub(crate) kind: &'static str,
    pub(crate) name: NameRule,
    /// The body of the symbol contains local names, which are not symbols.
    pub(crate) body: bool,
}

/// Location of a symbol's name.
#[derive(Clone, Copy)]
pub(crate) enum NameRule {
    /// The text of this field.
    Field(&'static str),
    /// The end of the chain of `declarator` fields.
    Declarator,
    /// The first child of this kind.
    Child(&'static str),
    /// The result of this function.
    By(for<'t> fn(Node<'t>, &str) -> Option<SymbolName<'t>>),
}

/// A name that was found.
pub(crate) struct SymbolName<'t> {
    pub(crate) node: Node<'t>,
    /// The displayed name.
    pub(crate) shown: String,
    /// Prefix in the paths of members, if it differs from `shown`.
    pub(crate) prefix: Option<String>,
    /// Type of a member that is defined outside of it.
    pub(crate) owner: Option<String>,
    /// Overrides the symbol's kind, e.g. for a variable whose value is a function.
    pub(crate) kind: Option<&'static str>,
}

impl<'t> SymbolName<'t> {
    pub(crate) fn new(node: Node<'t>, text: &str) -> SymbolName<'t> {
        SymbolName { node, shown: text_of(node, text).to_owned(), prefix: None, owner: None, kind: None }
    }
}

impl NameRule {
    /// Finds the name of `node`.
    pub(crate) fn find<'t>(self, node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
        match self {
            NameRule::Field(field) => node.child_by_field_name(field).map(|it| SymbolName::new(it, text)),
            NameRule::Child(kind) => {
                let mut cursor = node.walk();
                let found = node.children(&mut cursor).find(|child| child.kind() == kind);
                found.map(|it| SymbolName::new(it, text))
            }
            NameRule::Declarator => declared(node).map(|it| SymbolName::new(it.0, text)),
            NameRule::By(find) => find(node, text),
        }
    }
}

/// Returns the name at the end of the chain of `declarator` fields, and whether it is directly that of a function:
/// `f` in `int (*f(int))(int)`, but not in `int (*f)(int)`.
pub(crate) fn declared(node: Node<'_>) -> Option<(Node<'_>, bool)> {
    let mut at = node.child_by_field_name("declarator")?;
    let mut is_function = false;
    loop {
        let is_group = at.kind() == "parenthesized_declarator";
        let inner = if is_group {
            at.named_children(&mut at.walk()).filter(|it| !is_comment(*it)).last()
        } else {
            at.child_by_field_name("declarator")
        };
        let Some(inner) = inner else { return Some((at, is_function)) };
        if !is_group {
            is_function = at.kind() == "function_declarator";
        }
        at = inner;
    }
}

/// Returns the text of a node.
pub(crate) fn text_of<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// True for comments of any language.
pub(crate) fn is_comment(node: Node<'_>) -> bool {
    node.kind().contains("comment") || matches!(node.kind(), "haddock" | "marginalia")
}

/// True for an annotation above a declaration, except comments.
pub(crate) fn is_annotation(node: Node<'_>) -> bool {
    // Finding the parent takes a walk from the root.
    let parent = if node.kind() == "attribute" { node.parent() } else { None };
    is_annotation_in(node, parent)
}

/// True for an annotation, with a known parent.
pub(crate) fn is_annotation_in(node: Node<'_>, parent: Option<Node<'_>>) -> bool {
    match node.kind() {
        "decorator"
        | "annotation"
        | "marker_annotation"
        | "attribute_list"
        | "attribute_item"
        | "attribute_group"
        | "attribute_declaration" => true,
        // In other parents an assignment, or a part of a tag.
        "attribute" => parent.is_some_and(|it| it.kind() == "modifiers"),
        "modifiers" => {
            let mut cursor = node.walk();
            node.children(&mut cursor).all(|it| is_annotation_in(it, Some(node)) || is_comment(it))
        }
        _ => false,
    }
}

pub(crate) const fn field(node: &'static str, kind: &'static str) -> SymbolRule {
    SymbolRule { node, kind, name: NameRule::Field("name"), body: false }
}

/// A symbol with local names inside.
pub(crate) const fn code(node: &'static str, kind: &'static str) -> SymbolRule {
    SymbolRule { node, kind, name: NameRule::Field("name"), body: true }
}

pub(crate) const fn named(node: &'static str, kind: &'static str, name: NameRule) -> SymbolRule {
    SymbolRule { node, kind, name, body: false }
}
