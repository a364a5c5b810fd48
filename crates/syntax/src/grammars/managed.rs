//! C#, Dart, Elixir, Haskell, Java, Kotlin, Scala.

#![allow(unused_imports, reason = "which of them are needed depends on the features")]

use super::positions;
use crate::grammar::{Grammar, NameRule, SymbolName, SymbolRule, code, field, named, text_of};
use tree_sitter::Node;

#[cfg(feature = "java")]
pub(super) static JAVA: Grammar = Grammar {
    extensions: &["java"],
    symbols: &[
        field("class_declaration", "class"),
        field("interface_declaration", "interface"),
        field("enum_declaration", "enum"),
        field("record_declaration", "record"),
        field("annotation_type_declaration", "annotation"),
        code("method_declaration", "method"),
        code("constructor_declaration", "constructor"),
        named("field_declaration", "field", NameRule::By(declarator_name)),
    ],
    locals: Some(
        "[(method_declaration) (constructor_declaration) (compact_constructor_declaration) (lambda_expression)] @function
         [(block) (for_statement) (enhanced_for_statement) (catch_clause) (try_with_resources_statement)
          (switch_block_statement_group) (switch_rule) (static_initializer) (class_declaration) (interface_declaration)
          (enum_declaration) (record_declaration) (annotation_type_declaration) (object_creation_expression)] @scope
         (formal_parameter name: (identifier) @binding) (spread_parameter (variable_declarator name: (identifier) @binding))
         (local_variable_declaration (variable_declarator name: (identifier) @binding))
         (enhanced_for_statement name: (identifier) @binding) (catch_formal_parameter name: (identifier) @binding)
         (resource name: (identifier) @binding) (inferred_parameters (identifier) @binding)
         (lambda_expression parameters: (identifier) @binding) (type_parameter (type_identifier) @binding)
         (method_invocation object: (_) @receiver name: (identifier) @member)
         (method_invocation !object name: (identifier) @member)
         (method_reference (_) @receiver (identifier) @member)
         (field_access object: (_) @receiver field: (identifier) @member)
         (scoped_type_identifier (_) @receiver (type_identifier) @member) (package_declaration (_) @other)
         (enum_constant name: (identifier) @binding) (constant_declaration (variable_declarator name: (identifier) @binding))
         (instanceof_expression name: (identifier) @blocked) (type_pattern (identifier) @blocked)
         (record_pattern_component (identifier) @blocked) (import_declaration (_) @outside)",
    ),
    bare_members: true,
    positions: &[positions::JAVA],
    ..Grammar::plain("java", || tree_sitter_java::LANGUAGE.into())
};

#[cfg(feature = "java")]
fn declarator_name<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let name = node.child_by_field_name("declarator")?.child_by_field_name("name")?;
    Some(SymbolName::new(name, text))
}

#[cfg(feature = "c-sharp")]
pub(super) static C_SHARP: Grammar = Grammar {
    extensions: &["cs", "csx"],
    symbols: &[
        field("namespace_declaration", "namespace"),
        field("class_declaration", "class"),
        field("struct_declaration", "struct"),
        field("record_declaration", "record"),
        field("interface_declaration", "interface"),
        field("enum_declaration", "enum"),
        code("method_declaration", "method"),
        code("constructor_declaration", "constructor"),
        code("local_function_statement", "function"),
        field("property_declaration", "property"),
        field("delegate_declaration", "delegate"),
    ],
    ..Grammar::plain("c-sharp", || tree_sitter_c_sharp::LANGUAGE.into())
};

#[cfg(feature = "kotlin")]
pub(super) static KOTLIN: Grammar = Grammar {
    extensions: &["kt", "kts"],
    symbols: &[
        field("class_declaration", "class"),
        field("object_declaration", "object"),
        code("function_declaration", "function"),
        named("property_declaration", "property", NameRule::Child("variable_declaration")),
        named("type_alias", "type", NameRule::Field("type")),
    ],
    ..Grammar::plain("kotlin", || tree_sitter_kotlin_ng::LANGUAGE.into())
};

#[cfg(feature = "scala")]
pub(super) static SCALA: Grammar = Grammar {
    extensions: &["scala", "sc", "sbt"],
    programs: &["scala"],
    containers: &["indented_block", "block", "indented_cases", "enumerators"],
    symbols: &[
        field("class_definition", "class"),
        field("object_definition", "object"),
        field("trait_definition", "trait"),
        field("enum_definition", "enum"),
        code("function_definition", "function"),
        field("function_declaration", "function"),
        field("type_definition", "type"),
        named("val_definition", "value", NameRule::Field("pattern")),
        named("var_definition", "variable", NameRule::Field("pattern")),
    ],
    ..Grammar::plain("scala", || tree_sitter_scala::LANGUAGE.into())
};

#[cfg(feature = "dart")]
pub(super) static DART: Grammar = Grammar {
    extensions: &["dart"],
    symbols: &[
        field("class_declaration", "class"),
        field("enum_declaration", "enum"),
        field("mixin_declaration", "mixin"),
        field("extension_declaration", "extension"),
        SymbolRule { node: "function_declaration", kind: "function", name: NameRule::By(signature), body: true },
        SymbolRule { node: "method_declaration", kind: "method", name: NameRule::By(signature), body: true },
        named("type_alias", "type", NameRule::Child("type_identifier")),
    ],
    ..Grammar::plain("dart", || tree_sitter_dart::LANGUAGE.into())
};

/// Returns the name inside the signature, at most a few levels down.
#[cfg(feature = "dart")]
fn signature<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let mut at = node.child_by_field_name("signature")?;
    for _ in 0..4 {
        if let Some(name) = at.child_by_field_name("name") {
            return Some(SymbolName::new(name, text));
        }
        at = at.named_child(0)?;
    }
    None
}

#[cfg(feature = "elixir")]
pub(super) static ELIXIR: Grammar = Grammar {
    extensions: &["ex", "exs"],
    programs: &["elixir"],
    containers: &["body", "keywords"],
    symbols: &[named("call", "function", NameRule::By(elixir_definition))],
    clauses: true,
    ..Grammar::plain("elixir", || tree_sitter_elixir::LANGUAGE.into())
};

/// Definitions are calls of `def` and similar macros.
#[cfg(feature = "elixir")]
fn elixir_definition<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let kind = match text_of(node.child_by_field_name("target")?, text) {
        "defmodule" => "module",
        "defprotocol" => "protocol",
        "def" | "defp" => "function",
        "defmacro" | "defmacrop" => "macro",
        _ => return None,
    };
    let mut name = node.named_child(1)?.named_child(0)?;
    for _ in 0..4 {
        // The head is inside the guard, the name before the arguments.
        match name.child_by_field_name("left").or_else(|| name.child_by_field_name("target")) {
            Some(inner) => name = inner,
            None => break,
        }
    }
    Some(SymbolName { kind: Some(kind), ..SymbolName::new(name, text) })
}

#[cfg(feature = "haskell")]
pub(super) static HASKELL: Grammar = Grammar {
    extensions: &["hs"],
    programs: &["runghc", "runhaskell"],
    containers: &[
        "declarations", "imports", "class_declarations", "instance_declarations", "local_binds", "alternatives",
        "guards",
    ],
    symbols: &[
        field("signature", "function"),
        field("function", "function"),
        field("bind", "function"),
        field("data_type", "type"),
        field("newtype", "type"),
        field("type_synomym", "type"),
        field("class", "class"),
        named("instance", "instance", NameRule::By(instance)),
    ],
    clauses: true,
    ..Grammar::plain("haskell", || tree_sitter_haskell::LANGUAGE.into())
};

#[cfg(feature = "haskell")]
fn instance<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let name = node.child_by_field_name("name")?;
    let of = node.child_by_field_name("patterns").map_or("", |it| text_of(it, text));
    Some(SymbolName {
        shown: format!("instance {} {of}", text_of(name, text)),
        prefix: Some(of.to_owned()),
        ..SymbolName::new(name, text)
    })
}
