//! Outlines and symbol paths.

use emendate_syntax::{Definition, Language, ParseLimits, Symbol, SyntaxTree, parse};

#[allow(clippy::unwrap_used, reason = "a helper of tests")]
fn parsed<'t>(name: &str, text: &'t str) -> Option<SyntaxTree<'t>> {
    let parsed = parse(text, Language::from_name(name)?, ParseLimits::ASKED).unwrap();
    assert!(parsed.is_clean(), "{name}: {:?}", parsed.first_error());
    Some(parsed)
}

/// Language, text, and every symbol as `depth kind path first-last`.
const TABLE: &str = include_str!("outlines.txt");

#[test]
fn outlines_list_named_declarations() {
    let mut wrong = Vec::new();
    for row in TABLE.split("=== ").skip(1) {
        let (name, rest) = row.split_once('\n').unwrap();
        let (text, expected) = rest.split_once("---\n").unwrap();
        let Some(parsed) = parsed(name, text) else { continue };
        let outline = parsed.outline();
        assert!(!outline.cut);
        let row = |it: &Symbol| format!("{} {} {} {}-{}\n", it.depth, it.kind, it.path, it.first, it.last);
        let rows: String = outline.symbols.iter().map(row).collect();
        if rows != expected {
            wrong.push(format!("{name}:\n{rows}-- not --\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn symbol_path_finds_one_symbol_or_lists_several() {
    let text = "fn new() {}\nstruct A;\nimpl A {\n    fn new() {}\n    fn x() {}\n}\nimpl B {\n    fn new() {}\n    fn x() {}\n}\n";
    let parsed = parsed("rust", text).unwrap();
    let one = |path: &str| match parsed.definition(path, None) {
        Definition::One(symbol) => symbol.first,
        other => panic!("{path}: {other:?}"),
    };
    assert_eq!((one("new"), one("A.new"), one("B::new"), one("A"), one("impl A")), (1, 4, 8, 2, 3));
    let Definition::Several(both) = parsed.definition("x", None) else { panic!() };
    assert_eq!(both.iter().map(|it| &*it.path).collect::<Vec<_>>(), ["A.x", "B.x"]);
    assert!(matches!(parsed.definition("x", Some(9)), Definition::One(it) if it.first == 9));
    assert!(matches!(parsed.definition("Ne", None), Definition::None(near) if near.len() == 3));
    assert!(matches!(parsed.definition("", None), Definition::None(near) if near.is_empty()));
}

#[test]
fn line_within_a_class_and_its_constructor_names_neither_for_sure() {
    let parsed = parsed("java", "class A {\n    int f;\n\n    A(int x) { f = x; }\n}\n").unwrap();
    assert!(matches!(parsed.definition("A", Some(2)), Definition::One(it) if it.path == "A"));
    assert!(matches!(parsed.definition("A", None), Definition::One(it) if it.path == "A"));
    let Definition::Several(both) = parsed.definition("A", Some(4)) else { panic!() };
    assert_eq!(both.iter().map(|it| &*it.path).collect::<Vec<_>>(), ["A", "A.A"]);
    assert!(matches!(parsed.definition("A.A", Some(4)), Definition::One(it) if it.path == "A.A"));
}

#[test]
fn language_is_detected_by_name_and_first_line() {
    let of = |path: &str, line: &str| Language::of(path.as_ref(), line).map(Language::name);
    assert_eq!(of("/a/b.RS", ""), Some("rust"));
    assert_eq!(of("/a/b.tsx", ""), Some("tsx"));
    assert_eq!(of("Cargo.lock", ""), Some("toml"));
    assert_eq!(of("run", "#!/usr/bin/env -S python3.12 -u"), Some("python"));
    assert_eq!(of("run", "#!/bin/sh"), Some("bash"));
    assert_eq!(of("run", "# sh"), None);
    assert_eq!(of("a.txt", ""), None);
    assert_eq!(of("/", ""), None);
}
