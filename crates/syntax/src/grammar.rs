//! What one row of the table of languages says beyond its grammar.

use std::borrow::Cow;
use tree_sitter::Node;

/// A language: its grammar, and how blocks and symbols look in it.
pub(crate) struct Grammar {
    pub(crate) name: &'static str,
    /// In lower case, without the dot.
    pub(crate) extensions: &'static [&'static str],
    /// Whole file names.
    pub(crate) files: &'static [&'static str],
    /// What a `#!` line names.
    pub(crate) programs: &'static [&'static str],
    pub(crate) load: fn() -> tree_sitter::Language,
    /// Lists without a delimiter of their own, which begin where their first item begins: no block climbs into one.
    pub(crate) containers: &'static [&'static str],
    pub(crate) symbols: &'static [Row],
    /// Clauses of one definition stand side by side under one name.
    pub(crate) clauses: bool,
    /// A query that tells what a name is where it stands, for renaming: a name that is bound here (`@binding`, `@pattern` with all
    /// names in it), one behind a receiver (`@receiver`, `@member`), one that is never a reference (`@other`), one that cannot
    /// be renamed alone (`@blocked`), one that comes from elsewhere (`@outside`).
    pub(crate) locals: Option<&'static str>,
    /// Texts that its scanner cannot hold: they are not parsed.
    pub(crate) beyond: Option<fn(&str) -> bool>,
    /// The text as the parser gets it, where its scanner cannot take some characters: as long in bytes.
    pub(crate) mask: Option<for<'t> fn(&'t str) -> Cow<'t, str>>,
    /// Symbols stand with commas between them, and none behind the last.
    pub(crate) commas: bool,
    /// Members are called without a receiver inside their type.
    pub(crate) bare_members: bool,
}

impl Grammar {
    /// Defaults for rows.
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
            beyond: None,
            mask: None,
            commas: false,
            bare_members: false,
        }
    }
}

/// A kind of node that is a symbol.
pub(crate) struct Row {
    pub(crate) node: &'static str,
    /// One word for a reader: `function`, `class`, …
    pub(crate) kind: &'static str,
    pub(crate) name: Name,
    /// Its inside holds local names, which are no symbols.
    pub(crate) body: bool,
}

/// Where a symbol's name stands.
#[derive(Clone, Copy)]
pub(crate) enum Name {
    /// In this field.
    Field(&'static str),
    /// At the end of the chain of `declarator` fields.
    Declarator,
    /// The first child of this kind.
    Child(&'static str),
    /// As this says: text for a reader, and where it stands.
    By(for<'t> fn(Node<'t>, &str) -> Option<Named<'t>>),
}

/// A name that was found.
pub(crate) struct Named<'t> {
    pub(crate) node: Node<'t>,
    /// What is shown.
    pub(crate) shown: String,
    /// What members are called by, where it is not `shown`.
    pub(crate) prefix: Option<String>,
    /// What it is a member of although it stands outside.
    pub(crate) owner: Option<String>,
    /// Only values of these kinds make it a symbol of this kind.
    pub(crate) kind: Option<&'static str>,
}

impl<'t> Named<'t> {
    pub(crate) fn new(node: Node<'t>, text: &str) -> Named<'t> {
        Named { node, shown: text_of(node, text).to_owned(), prefix: None, owner: None, kind: None }
    }
}

impl Name {
    /// The name of `node`.
    pub(crate) fn find<'t>(self, node: Node<'t>, text: &str) -> Option<Named<'t>> {
        match self {
            Name::Field(field) => node.child_by_field_name(field).map(|it| Named::new(it, text)),
            Name::Child(kind) => {
                let mut cursor = node.walk();
                let found = node.children(&mut cursor).find(|child| child.kind() == kind);
                found.map(|it| Named::new(it, text))
            }
            Name::Declarator => {
                let mut at = node.child_by_field_name("declarator")?;
                while let Some(inner) = at.child_by_field_name("declarator") {
                    at = inner;
                }
                Some(Named::new(at, text))
            }
            Name::By(find) => find(node, text),
        }
    }
}

/// The text of a node.
pub(crate) fn text_of<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// True for comments of any language.
pub(crate) fn is_comment(node: Node<'_>) -> bool {
    node.kind().contains("comment") || matches!(node.kind(), "haddock" | "marginalia")
}

/// True for an annotation above a declaration, comments aside.
pub(crate) fn is_annotation(node: Node<'_>) -> bool {
    // Finding a parent takes a walk from the root.
    let parent = if node.kind() == "attribute" { node.parent() } else { None };
    is_annotation_in(node, parent)
}

/// The same with a known parent.
pub(crate) fn is_annotation_in(node: Node<'_>, parent: Option<Node<'_>>) -> bool {
    match node.kind() {
        "decorator"
        | "annotation"
        | "marker_annotation"
        | "attribute_list"
        | "attribute_item"
        | "attribute_group"
        | "attribute_declaration" => true,
        // Elsewhere an assignment, or a part of a tag.
        "attribute" => parent.is_some_and(|it| it.kind() == "modifiers"),
        "modifiers" => {
            let mut cursor = node.walk();
            node.children(&mut cursor).all(|it| is_annotation_in(it, Some(node)) || is_comment(it))
        }
        _ => false,
    }
}

pub(crate) const fn field(node: &'static str, kind: &'static str) -> Row {
    Row { node, kind, name: Name::Field("name"), body: false }
}

/// A symbol with local names inside.
pub(crate) const fn code(node: &'static str, kind: &'static str) -> Row {
    Row { node, kind, name: Name::Field("name"), body: true }
}

pub(crate) const fn named(node: &'static str, kind: &'static str, name: Name) -> Row {
    Row { node, kind, name, body: false }
}
