//! Bash, JavaScript, Lua, PHP, Python, Ruby, TypeScript.

#![allow(unused_imports, reason = "which of them are needed depends on the features")]

use super::positions;
use crate::grammar::{Grammar, NameRule, SymbolName, SymbolRule, code, field, named, text_of};
use tree_sitter::Node;

#[cfg(feature = "bash")]
pub(super) static BASH: Grammar = Grammar {
    extensions: &["sh", "bash", "zsh", "ksh"],
    files: &[".bashrc", ".bash_profile", ".profile", ".zshrc"],
    programs: &["sh", "bash", "zsh", "dash", "ksh"],
    symbols: &[code("function_definition", "function"), field("variable_assignment", "variable")],
    mask: Some(crate::mask::bash),
    ..Grammar::plain("bash", || tree_sitter_bash::LANGUAGE.into())
};

#[cfg(feature = "python")]
pub(super) static PYTHON: Grammar = Grammar {
    extensions: &["py", "pyi", "pyw"],
    programs: &["python", "pypy"],
    exceeds_scanner: Some(crate::scanner_limits::python),
    containers: &["block"],
    symbols: &[
        code("function_definition", "function"),
        field("class_definition", "class"),
        named("assignment", "variable", NameRule::By(assigned)),
    ],
    locals: Some(
        "[(function_definition) (lambda)] @function (class_definition) @class
         [(list_comprehension) (set_comprehension) (dictionary_comprehension) (generator_expression)] @scope
         (parameters (identifier) @binding) (lambda_parameters (identifier) @binding) (assignment left: (identifier) @binding)
         (parameters (default_parameter name: (identifier) @binding)) (parameters (typed_parameter . (identifier) @binding))
         (for_statement left: (identifier) @binding) (for_in_clause left: (identifier) @binding)
         (parameters (_) @pattern) (lambda_parameters (_) @pattern)
         (assignment left: (_) @pattern) (augmented_assignment left: (identifier) @binding)
         (named_expression name: (identifier) @blocked)
         (for_statement left: (_) @pattern) (for_in_clause left: (_) @pattern) (as_pattern_target (_) @pattern)
         (function_definition name: (identifier) @binding) (class_definition name: (identifier) @binding)
         (global_statement (identifier) @blocked) (nonlocal_statement (identifier) @blocked)
         (case_pattern (_) @blocked) (delete_statement (identifier) @binding)
         (delete_statement (expression_list (identifier) @binding))
         (type (identifier) @reference) (type_alias_statement left: (type (identifier) @binding))
         (function_definition type_parameters: (_) @blocked) (class_definition type_parameters: (_) @blocked)
         (attribute object: (_) @receiver attribute: (identifier) @member)
         (keyword_argument name: (identifier) @other)
         (import_statement (_) @outside) (import_from_statement (_) @outside)",
    ),
    positions: &[positions::PYTHON],
    ..Grammar::plain("python", || tree_sitter_python::LANGUAGE.into())
};

/// Names `NAME = …`, but not `a.b = …`.
#[cfg(feature = "python")]
fn assigned<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let name = node.child_by_field_name("left").filter(|it| it.kind() == "identifier")?;
    Some(SymbolName::new(name, text))
}

#[cfg(feature = "javascript")]
pub(super) static JAVASCRIPT: Grammar = Grammar {
    extensions: &["js", "mjs", "cjs", "jsx"],
    programs: &["node", "deno", "bun"],
    symbols: JS_SYMBOLS,
    locals: Some(concat!(
        "[(function_declaration) (generator_function_declaration) (function_expression) (generator_function) (arrow_function)",
        " (method_definition) (class_static_block)] @function",
        "[(statement_block) (for_statement) (for_in_statement) (catch_clause) (switch_body) (class)] @scope",
        "(formal_parameters (identifier) @binding) (lexical_declaration (variable_declarator name: (identifier) @binding))",
        "(variable_declaration (variable_declarator name: (identifier) @hoisted))",
        "(formal_parameters (_) @pattern) (variable_declarator name: (_) @pattern) (arrow_function parameter: (identifier) @binding)",
        "(for_in_statement left: (_) @pattern) (catch_clause parameter: (_) @pattern)",
        "(class_declaration name: (identifier) @binding) (class name: (identifier) @binding) (shorthand_property_identifier) @blocked",
        "(function_declaration name: (identifier) @binding) (generator_function_declaration name: (identifier) @binding)",
        "(function_expression name: (identifier) @binding)",
        "(member_expression object: (_) @receiver property: (property_identifier) @member)",
        "(pair key: (property_identifier) @other) (field_definition property: (property_identifier) @other)",
        "(pair_pattern key: (property_identifier) @other)",
        "(import_statement (_) @outside) (export_specifier) @outside (jsx_attribute (property_identifier) @other)",
    )),
    positions: &[positions::SCRIPT, positions::JAVASCRIPT],
    ..Grammar::plain("javascript", || tree_sitter_javascript::LANGUAGE.into())
};

#[cfg(any(feature = "javascript", feature = "typescript"))]
const JS_SYMBOLS: &[SymbolRule] = &[
    code("function_declaration", "function"),
    code("generator_function_declaration", "function"),
    field("function_signature", "function"),
    field("class_declaration", "class"),
    field("abstract_class_declaration", "class"),
    code("method_definition", "method"),
    field("method_signature", "method"),
    field("abstract_method_signature", "method"),
    named("field_definition", "field", NameRule::Field("property")),
    field("public_field_definition", "field"),
    named("variable_declarator", "variable", NameRule::By(declared)),
    named("assignment_expression", "function", NameRule::By(assigned_function)),
    field("interface_declaration", "interface"),
    field("type_alias_declaration", "type"),
    field("enum_declaration", "enum"),
    field("internal_module", "namespace"),
    field("module", "namespace"),
];

#[cfg(any(feature = "javascript", feature = "typescript"))]
fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "arrow_function" | "function_expression" | "generator_function")
}

/// Names `const f = () => …` as a function; another value is a variable.
#[cfg(any(feature = "javascript", feature = "typescript"))]
fn declared<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let name = node.child_by_field_name("name").filter(|it| it.kind() == "identifier")?;
    let kind = match node.child_by_field_name("value") {
        Some(value) if is_function(value) => Some("function"),
        Some(value) if value.kind() == "class" => Some("class"),
        _ => None,
    };
    Some(SymbolName { kind, ..SymbolName::new(name, text) })
}

/// Names `a.b = function …`.
#[cfg(any(feature = "javascript", feature = "typescript"))]
fn assigned_function<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    node.child_by_field_name("right").filter(|it| is_function(*it))?;
    let left = node.child_by_field_name("left").filter(|it| it.kind() == "member_expression")?;
    let name = left.child_by_field_name("property")?;
    Some(SymbolName { shown: text_of(left, text).to_owned(), ..SymbolName::new(name, text) })
}

#[cfg(feature = "typescript")]
const TS_LOCALS: &str = concat!(
    "[(function_declaration) (generator_function_declaration) (function_expression) (generator_function) (arrow_function)",
    " (method_definition) (class_static_block) (internal_module)] @function",
    "[(statement_block) (for_statement) (for_in_statement) (catch_clause) (switch_body) (class) (class_declaration)",
    " (abstract_class_declaration) (interface_declaration) (type_alias_declaration) (function_signature)",
    " (function_type) (call_signature) (method_signature) (enum_declaration)] @scope",
    "(required_parameter pattern: (identifier) @binding) (optional_parameter pattern: (identifier) @binding)",
    "(lexical_declaration (variable_declarator name: (identifier) @binding))",
    "(variable_declaration (variable_declarator name: (identifier) @hoisted))",
    "(required_parameter pattern: (_) @pattern) (optional_parameter pattern: (_) @pattern) (variable_declarator name: (_) @pattern)",
    "(arrow_function parameter: (identifier) @binding) (for_in_statement left: (_) @pattern) (catch_clause parameter: (_) @pattern)",
    "(class name: (type_identifier) @binding) (pair_pattern key: (property_identifier) @other)",
    "(enum_body name: (property_identifier) @binding) (enum_assignment name: (property_identifier) @binding)",
    "(nested_identifier object: (_) @receiver property: (property_identifier) @member)",
    "(nested_type_identifier module: (_) @receiver name: (type_identifier) @member)",
    "(internal_module name: (nested_identifier) @other) (module name: (nested_identifier) @other)",
    "(export_statement \"namespace\" (identifier) @blocked)",
    "(class_declaration name: (type_identifier) @binding) (type_parameter name: (type_identifier) @binding)",
    "(shorthand_property_identifier) @blocked",
    "(function_declaration name: (identifier) @binding) (generator_function_declaration name: (identifier) @binding)",
    "(function_expression name: (identifier) @binding)",
    "(member_expression object: (_) @receiver property: (property_identifier) @member)",
    "(pair key: (property_identifier) @other) (public_field_definition name: (property_identifier) @other)",
    "(property_signature name: (property_identifier) @other) (method_signature name: (property_identifier) @other)",
    "(import_statement (_) @outside) (export_specifier) @outside",
);

#[cfg(feature = "typescript")]
pub(super) static TYPESCRIPT: Grammar = Grammar {
    extensions: &["ts", "mts", "cts"],
    containers: &["union_type", "intersection_type"],
    symbols: JS_SYMBOLS,
    locals: Some(TS_LOCALS),
    positions: &[positions::SCRIPT, positions::TYPESCRIPT],
    ..Grammar::plain("typescript", || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into())
};

#[cfg(feature = "typescript")]
pub(super) static TSX: Grammar = Grammar {
    extensions: &["tsx"],
    containers: &["union_type", "intersection_type"],
    symbols: JS_SYMBOLS,
    locals: Some(TS_LOCALS),
    positions: &[positions::SCRIPT, positions::TYPESCRIPT],
    ..Grammar::plain("tsx", || tree_sitter_typescript::LANGUAGE_TSX.into())
};

#[cfg(feature = "ruby")]
pub(super) static RUBY: Grammar = Grammar {
    extensions: &["rb", "rake", "gemspec", "ru"],
    files: &["Gemfile", "Rakefile", "Vagrantfile", "Podfile"],
    programs: &["ruby"],
    exceeds_scanner: Some(crate::scanner_limits::ruby),
    containers: &["body_statement", "block_body", "then", "statements"],
    symbols: &[
        code("method", "method"),
        code("singleton_method", "method"),
        field("class", "class"),
        field("module", "module"),
        named("assignment", "constant", NameRule::By(ruby_constant)),
    ],
    ..Grammar::plain("ruby", || tree_sitter_ruby::LANGUAGE.into())
};

#[cfg(feature = "ruby")]
fn ruby_constant<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let name = node.child_by_field_name("left").filter(|it| it.kind() == "constant")?;
    Some(SymbolName::new(name, text))
}

#[cfg(feature = "php")]
pub(super) static PHP: Grammar = Grammar {
    extensions: &["php", "phtml"],
    programs: &["php"],
    symbols: &[
        code("function_definition", "function"),
        code("method_declaration", "method"),
        field("class_declaration", "class"),
        field("interface_declaration", "interface"),
        field("trait_declaration", "trait"),
        field("enum_declaration", "enum"),
        named("const_element", "constant", NameRule::Child("name")),
        field("property_element", "property"),
    ],
    ..Grammar::plain("php", || tree_sitter_php::LANGUAGE_PHP.into())
};

#[cfg(feature = "lua")]
pub(super) static LUA: Grammar = Grammar {
    extensions: &["lua"],
    programs: &["lua", "luajit"],
    containers: &["block"],
    symbols: &[
        code("function_declaration", "function"),
        named("assignment_statement", "variable", NameRule::By(lua_assigned)),
    ],
    ..Grammar::plain("lua", || tree_sitter_lua::LANGUAGE.into())
};

#[cfg(feature = "lua")]
fn lua_assigned<'t>(node: Node<'t>, text: &str) -> Option<SymbolName<'t>> {
    let names = node.named_child(0).filter(|it| it.named_child_count() == 1)?;
    let value = node.named_child(1)?.named_child(0);
    let kind = value.filter(|it| it.kind() == "function_definition").map(|_| "function");
    Some(SymbolName { kind, ..SymbolName::new(names.named_child(0)?, text) })
}
