//! Languages for data, documents and builds.

#![allow(unused_imports, reason = "which of them are needed depends on the features")]

use crate::grammar::{Grammar, NameRule, SymbolName, SymbolRule, code, field, named, text_of};
use tree_sitter::Node;

#[cfg(feature = "json")]
pub(super) static JSON: Grammar = Grammar {
    extensions: &["json", "webmanifest", "geojson", "har"],
    symbols: &[named("pair", "key", NameRule::By(unquoted))],
    commas: true,
    ..Grammar::plain("json", || tree_sitter_json::LANGUAGE.into())
};

/// Returns the key of a pair, without quotes.
#[cfg(any(feature = "json", feature = "yaml"))]
fn unquoted<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let key = node.child_by_field_name("key")?;
    let shown = text_of(key, text).trim_matches(['"', '\'']).to_owned();
    Some(SymbolName { shown, ..SymbolName::new(key, text) })
}

#[cfg(feature = "yaml")]
pub(super) static YAML: Grammar = Grammar {
    extensions: &["yaml", "yml"],
    files: &[".clang-format"],
    containers: &["block_mapping", "block_sequence", "document"],
    symbols: &[named("block_mapping_pair", "key", NameRule::By(unquoted))],
    exceeds_scanner: Some(crate::scanner_limits::yaml),
    ..Grammar::plain("yaml", || tree_sitter_yaml::LANGUAGE.into())
};

#[cfg(feature = "toml")]
pub(super) static TOML: Grammar = Grammar {
    extensions: &["toml"],
    files: &["Cargo.lock", "poetry.lock", "uv.lock"],
    symbols: &[
        named("table", "table", NameRule::By(first_child)),
        named("table_array_element", "table", NameRule::By(first_child)),
        named("pair", "key", NameRule::By(first_child)),
    ],
    ..Grammar::plain("toml", || tree_sitter_toml_ng::LANGUAGE.into())
};

#[cfg(any(feature = "toml", feature = "nix", feature = "css"))]
fn first_child<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let name = node.named_child(0)?;
    let shown = text_of(name, text).split_whitespace().collect::<Vec<&str>>().join(" ");
    Some(SymbolName { shown, ..SymbolName::new(name, text) })
}

#[cfg(feature = "html")]
pub(super) static HTML: Grammar = Grammar {
    extensions: &["html", "htm", "xhtml"],
    symbols: &[named("element", "element", NameRule::By(with_id))],
    ..Grammar::plain("html", || tree_sitter_html::LANGUAGE.into())
};

/// Returns the id of an element that has one.
#[cfg(feature = "html")]
fn with_id<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let tag = node.named_child(0).filter(|it| it.kind() == "start_tag")?;
    let mut cursor = tag.walk();
    let attributes = tag.named_children(&mut cursor).filter(|it| it.kind() == "attribute");
    for attribute in attributes {
        if attribute.named_child(0).is_some_and(|it| text_of(it, text).eq_ignore_ascii_case("id")) {
            let value = attribute.named_child(1)?;
            let shown = format!("#{}", text_of(value, text).trim_matches(['"', '\'']));
            return Some(SymbolName { shown, ..SymbolName::new(value, text) });
        }
    }
    None
}

#[cfg(feature = "css")]
pub(super) static CSS: Grammar = Grammar {
    extensions: &["css"],
    symbols: &[
        named("rule_set", "rule", NameRule::By(first_child)),
        named("keyframes_statement", "keyframes", NameRule::Child("keyframes_name")),
    ],
    ..Grammar::plain("css", || tree_sitter_css::LANGUAGE.into())
};

#[cfg(feature = "markdown")]
pub(super) static MARKDOWN: Grammar = Grammar {
    extensions: &["md", "markdown", "mdx"],
    containers: &["list"],
    symbols: &[named("section", "section", NameRule::By(heading))],
    ..Grammar::plain("markdown", || tree_sitter_md::LANGUAGE.into())
};

#[cfg(feature = "markdown")]
fn heading<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let heading = node.named_child(0).filter(|it| it.kind().ends_with("heading"))?;
    let name = heading.child_by_field_name("heading_content")?;
    let shown = text_of(name, text).trim().to_owned();
    Some(SymbolName { shown, ..SymbolName::new(name, text) })
}

#[cfg(feature = "nix")]
pub(super) static NIX: Grammar = Grammar {
    extensions: &["nix"],
    containers: &["binding_set"],
    symbols: &[named("binding", "binding", NameRule::By(first_child))],
    ..Grammar::plain("nix", || tree_sitter_nix::LANGUAGE.into())
};

#[cfg(feature = "hcl")]
pub(super) static HCL: Grammar = Grammar {
    extensions: &["tf", "tfvars", "hcl"],
    containers: &["body"],
    symbols: &[
        named("block", "block", NameRule::By(labels)),
        named("attribute", "attribute", NameRule::Child("identifier")),
    ],
    ..Grammar::plain("hcl", || tree_sitter_hcl::LANGUAGE.into())
};

/// Names `resource "a" "b"` resource.a.b.
#[cfg(feature = "hcl")]
fn labels<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let mut cursor = node.walk();
    let words = node.named_children(&mut cursor).take_while(|it| matches!(it.kind(), "identifier" | "string_lit"));
    let words: Vec<&str> = words.map(|it| text_of(it, text).trim_matches('"')).collect();
    Some(SymbolName { shown: words.join("."), ..SymbolName::new(node.named_child(0)?, text) })
}

#[cfg(feature = "make")]
pub(super) static MAKE: Grammar = Grammar {
    extensions: &["mk", "mak"],
    files: &["Makefile", "makefile", "GNUmakefile"],
    containers: &["recipe"],
    symbols: &[
        named("rule", "rule", NameRule::Child("targets")),
        field("variable_assignment", "variable"),
        field("define_directive", "define"),
    ],
    ..Grammar::plain("make", || tree_sitter_make::LANGUAGE.into())
};

#[cfg(feature = "sql")]
pub(super) static SQL: Grammar = Grammar {
    extensions: &["sql", "ddl", "pgsql"],
    containers: &["select_expression"],
    symbols: &[
        named("create_table", "table", NameRule::Child("object_reference")),
        named("create_view", "view", NameRule::Child("object_reference")),
        named("create_materialized_view", "view", NameRule::Child("object_reference")),
        SymbolRule { node: "create_function", kind: "function", name: NameRule::Child("object_reference"), body: true },
        named("create_type", "type", NameRule::Child("object_reference")),
        named("create_trigger", "trigger", NameRule::Child("object_reference")),
        named("create_sequence", "sequence", NameRule::Child("object_reference")),
        named("create_index", "index", NameRule::Child("identifier")),
        named("create_schema", "schema", NameRule::Child("identifier")),
        field("column_definition", "column"),
    ],
    ..Grammar::plain("sql", || tree_sitter_sequel::LANGUAGE.into())
};
