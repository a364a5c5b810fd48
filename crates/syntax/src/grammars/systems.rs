//! C, C++, Go, Rust, Swift, Zig.

#![allow(unused_imports, reason = "which of them are needed depends on the features")]

use super::positions;
use crate::grammar::{Grammar, NameRule, SymbolName, SymbolRule, code, declared, field, named, text_of};
use tree_sitter::Node;

#[cfg(feature = "rust")]
pub(super) static RUST: Grammar = Grammar {
    extensions: &["rs"],
    symbols: &[
        code("function_item", "function"),
        field("function_signature_item", "function"),
        field("struct_item", "struct"),
        field("union_item", "union"),
        field("enum_item", "enum"),
        field("trait_item", "trait"),
        named("impl_item", "impl", NameRule::By(implementation)),
        field("mod_item", "module"),
        field("const_item", "constant"),
        field("static_item", "static"),
        field("type_item", "type"),
        field("macro_definition", "macro"),
    ],
    locals: Some(
        "[(function_item) (closure_expression)] @function (mod_item) @module
         [(block) (match_arm) (for_expression) (impl_item) (trait_item) (struct_item) (enum_item) (union_item) (type_item)
          (function_signature_item) (macro_definition)] @scope
         (parameter pattern: (identifier) @binding) (closure_parameters (identifier) @binding)
         (let_declaration pattern: (identifier) @binding) (for_expression pattern: (identifier) @binding)
         (parameter pattern: (_) @pattern) (closure_parameters (_) @pattern) (let_declaration pattern: (_) @pattern)
         (match_pattern (_) @pattern) (for_expression pattern: (_) @pattern) (let_condition pattern: (_) @pattern)
         (type_parameter name: (type_identifier) @binding) (const_parameter name: (identifier) @binding)
         (field_expression value: (_) @receiver field: (field_identifier) @member)
         (scoped_identifier path: (_) @receiver name: (identifier) @member)
         (scoped_type_identifier path: (_) @receiver name: (type_identifier) @member)
         (field_initializer field: (field_identifier) @member) (field_declaration name: (field_identifier) @member)
         (shorthand_field_initializer (identifier) @blocked) (shorthand_field_identifier) @blocked
         (field_pattern name: (field_identifier) @other)
         ((attribute (identifier) @_name arguments: (token_tree) @other)
          (#any-of? @_name \"allow\" \"cfg\" \"deny\" \"deprecated\" \"derive\" \"expect\" \"feature\" \"forbid\" \"inline\"
           \"repr\" \"should_panic\" \"target_feature\" \"warn\"))
         ((attribute (identifier) @_name arguments: (token_tree) @blocked)
          (#not-any-of? @_name \"allow\" \"cfg\" \"deny\" \"deprecated\" \"derive\" \"expect\" \"feature\" \"forbid\" \"inline\"
           \"repr\" \"should_panic\" \"target_feature\" \"warn\"))
         (attribute (scoped_identifier) arguments: (token_tree) @blocked)
         (use_declaration (_) @outside)",
    ),
    positions: &[positions::RUST],
    ..Grammar::plain("rust", || tree_sitter_rust::LANGUAGE.into())
};

/// Names `impl Trait for Type`; the paths of members begin with the type.
#[cfg(feature = "rust")]
fn implementation<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let kind = node.child_by_field_name("type")?;
    let bare = kind.child_by_field_name("type").unwrap_or(kind);
    let shown = match node.child_by_field_name("trait") {
        Some(of) => format!("impl {} for {}", text_of(of, text), text_of(kind, text)),
        None => format!("impl {}", text_of(kind, text)),
    };
    Some(SymbolName { shown, prefix: Some(text_of(bare, text).to_owned()), ..SymbolName::new(bare, text) })
}

#[cfg(any(feature = "c", feature = "cpp"))]
const C_SYMBOLS: &[SymbolRule] = &[
    SymbolRule { node: "function_definition", kind: "function", name: NameRule::Declarator, body: true },
    named("declaration", "declaration", NameRule::By(prototype)),
    named("struct_specifier", "struct", NameRule::By(with_body)),
    named("union_specifier", "union", NameRule::By(with_body)),
    named("enum_specifier", "enum", NameRule::By(with_body)),
    named("class_specifier", "class", NameRule::By(with_body)),
    named("type_definition", "type", NameRule::Declarator),
    field("alias_declaration", "type"),
    field("namespace_definition", "namespace"),
    field("preproc_def", "macro"),
    field("preproc_function_def", "macro"),
];

/// Names a declaration of a function, or of a variable outside of functions.
#[cfg(any(feature = "c", feature = "cpp"))]
fn prototype<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let (name, is_function) = declared(node)?;
    let kind = Some(if is_function { "function" } else { "variable" });
    Some(SymbolName { kind, ..SymbolName::new(name, text) })
}

/// Names a type where it is defined, not where it is used.
#[cfg(any(feature = "c", feature = "cpp"))]
fn with_body<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    node.child_by_field_name("body")?;
    node.child_by_field_name("name").map(|it| SymbolName::new(it, text))
}

#[cfg(feature = "c")]
pub(super) static C: Grammar = Grammar {
    extensions: &["c", "h"],
    symbols: C_SYMBOLS,
    locals: Some(
        "(function_definition) @function [(compound_statement) (for_statement) (preproc_function_def)] @scope
         (declaration declarator: (function_declarator) @scope)
         (parameter_declaration declarator: (identifier) @binding)
         (parameter_declaration declarator: (pointer_declarator declarator: (identifier) @binding))
         (declaration declarator: (identifier) @binding)
         (init_declarator declarator: (identifier) @binding)
         (init_declarator declarator: (pointer_declarator declarator: (identifier) @binding))
         (parameter_declaration declarator: (_) @pattern) (init_declarator declarator: (_) @pattern)
         (declaration declarator: [(pointer_declarator) (array_declarator) (function_declarator)] @pattern)
         (preproc_params (identifier) @binding)
         (field_expression argument: (_) @receiver field: (field_identifier) @member)
         (field_declaration declarator: (_) @other) (field_designator) @other
         (preproc_if condition: (_) @macro) (preproc_elif condition: (_) @macro)
         (attribute_specifier (argument_list [(identifier) @macro (call_expression function: (identifier) @macro)]))
         (attribute_specifier (argument_list (call_expression arguments: (argument_list (identifier) @reference))))
         ((attribute_specifier (argument_list (call_expression function: (identifier) @_name arguments: (_) @blocked)))
          (#not-any-of? @_name \"aligned\" \"alloc_align\" \"cleanup\" \"malloc\"))
         (labeled_statement label: (_) @other) (goto_statement label: (_) @other)",
    ),
    positions: &[positions::C],
    ..Grammar::plain("c", || tree_sitter_c::LANGUAGE.into())
};

#[cfg(feature = "cpp")]
pub(super) static CPP: Grammar = Grammar {
    extensions: &["cc", "cpp", "cxx", "hh", "hpp", "hxx", "c++", "h++", "ino", "cu", "cuh"],
    symbols: C_SYMBOLS,
    ..Grammar::plain("cpp", || tree_sitter_cpp::LANGUAGE.into())
};

#[cfg(feature = "go")]
pub(super) static GO: Grammar = Grammar {
    extensions: &["go"],
    containers: &["statement_list"],
    symbols: &[
        code("function_declaration", "function"),
        SymbolRule { node: "method_declaration", kind: "method", name: NameRule::By(method), body: true },
        field("type_spec", "type"),
        field("type_alias", "type"),
        field("const_spec", "constant"),
        field("var_spec", "variable"),
        field("method_elem", "method"),
    ],
    locals: Some(
        "[(function_declaration) (method_declaration) (func_literal)] @function
         [(block) (for_statement) (if_statement) (expression_switch_statement) (type_switch_statement) (expression_case)
          (type_case) (default_case) (communication_case) (type_declaration)] @scope
         (parameter_declaration name: (identifier) @binding) (variadic_parameter_declaration name: (identifier) @binding)
         (type_parameter_declaration name: (identifier) @binding)
         (short_var_declaration left: (expression_list (identifier) @binding)) (range_clause left: (expression_list (identifier) @binding) \":=\")
         (receive_statement left: (expression_list (identifier) @binding) \":=\")
         (var_spec name: (identifier) @binding) (const_spec name: (identifier) @binding)
         (type_spec name: (type_identifier) @binding) (type_switch_statement alias: (expression_list (identifier) @binding))
         (selector_expression operand: (_) @receiver field: (field_identifier) @member)
         (field_declaration name: (field_identifier) @other) (method_elem name: (field_identifier) @other)
         (field_declaration !name type: [(type_identifier) @blocked (generic_type type: (type_identifier) @blocked)])
         (keyed_element key: (_) @blocked) (labeled_statement label: (_) @other) (qualified_type) @other",
    ),
    positions: &[positions::GO],
    ..Grammar::plain("go", || tree_sitter_go::LANGUAGE.into())
};

/// Names a method as a member of its receiver's type.
#[cfg(feature = "go")]
fn method<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let receiver = text_of(node.child_by_field_name("receiver")?, text);
    let bare = receiver.split('[').next().unwrap_or(receiver);
    let owner = bare.trim_end_matches([')', ' ']).rsplit(['(', ' ', '*']).next().unwrap_or_default().to_owned();
    let name = node.child_by_field_name("name")?;
    Some(SymbolName { owner: Some(owner), ..SymbolName::new(name, text) })
}

#[cfg(feature = "swift")]
pub(super) static SWIFT: Grammar = Grammar {
    extensions: &["swift"],
    containers: &["statements"],
    symbols: &[
        named("class_declaration", "type", NameRule::By(swift_type)),
        field("protocol_declaration", "protocol"),
        code("function_declaration", "function"),
        field("protocol_function_declaration", "function"),
        SymbolRule { node: "init_declaration", kind: "initializer", name: NameRule::Child("init"), body: true },
        field("typealias_declaration", "type"),
        field("property_declaration", "property"),
    ],
    ..Grammar::plain("swift", || tree_sitter_swift::LANGUAGE.into())
};

/// Names classes, structs, enums and extensions, which share one node kind; the keyword determines the symbol's kind.
#[cfg(feature = "swift")]
fn swift_type<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let name = node.child_by_field_name("name")?;
    let word = node.child_by_field_name("declaration_kind").map_or("", |it| it.kind());
    let kind = ["class", "struct", "enum", "actor", "extension"].into_iter().find(|it| *it == word).unwrap_or("type");
    let found = SymbolName { kind: Some(kind), ..SymbolName::new(name, text) };
    if kind != "extension" {
        return Some(found);
    }
    Some(SymbolName { shown: format!("extension {}", found.shown), prefix: Some(found.shown), ..found })
}

#[cfg(feature = "zig")]
pub(super) static ZIG: Grammar = Grammar {
    extensions: &["zig", "zon"],
    symbols: &[
        code("function_declaration", "function"),
        named("variable_declaration", "constant", NameRule::Child("identifier")),
        SymbolRule { node: "test_declaration", kind: "test", name: NameRule::Child("string"), body: true },
    ],
    ..Grammar::plain("zig", || tree_sitter_zig::LANGUAGE.into())
};
