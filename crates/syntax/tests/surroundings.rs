//! Edits of symbols that would change what is around them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use emendate_core::{Code, Error};
use emendate_syntax::SymbolAction::{Delete, InsertAfter, InsertBefore, Rename, Replace};
use emendate_syntax::{Definition, Language, ParseLimits, Symbol, SymbolAction, parse};

/// An edit of the symbol with this path, or of that one on a line: `p:1`.
struct SymbolEdit<'t> {
    language: &'t str,
    symbol: &'t str,
    action: SymbolAction,
    new: &'t str,
}

impl<'t> SymbolEdit<'t> {
    fn new(language: &'t str, symbol: &'t str, action: SymbolAction, new: &'t str) -> SymbolEdit<'t> {
        SymbolEdit { language, symbol, action, new }
    }

    fn of(&self, text: &str) -> Result<String, Error> {
        let parsed = parse(text, Language::from_name(self.language).unwrap(), ParseLimits::ASKED).unwrap();
        let (path, line) = self.symbol.rsplit_once('@').unwrap_or((self.symbol, ""));
        let Definition::One(symbol) = parsed.definition(path, line.parse().ok()) else {
            panic!("{path}: {:?}", parsed.outline())
        };
        parsed.edit(&symbol, self.action, self.new).map(|splices| splices.apply(text))
    }
}

#[track_caller]
fn is_entangled(language: &str, text: &str, symbol: &str, action: SymbolAction, new: &str, evidence: &str) {
    let refused = SymbolEdit::new(language, symbol, action, new).of(text);
    let error = refused.unwrap_err();
    assert_eq!((error.code(), error.evidence_text()), (Code::SymbolEntangled, evidence), "{}", error.message());
}

#[track_caller]
fn becomes(language: &str, text: &str, symbol: &str, action: SymbolAction, new: &str, wanted: &str) {
    assert_eq!(SymbolEdit::new(language, symbol, action, new).of(text).unwrap(), wanted);
}

#[test]
fn statement_of_a_control_structure_without_braces_is_not_changed_alone() {
    let js = "if (a)\n  var b = 1;\nc();\n";
    is_entangled("javascript", js, "b", Delete, "", "Line 3: c();");
    is_entangled("javascript", js, "b", InsertBefore, "var z = 2;", "Line 2: var b = 1;");
    is_entangled("javascript", js, "b", InsertAfter, "var z = 2;", "Line 1: if (a)");
    is_entangled("javascript", js, "b", Replace, "var b = 2;\nvar z = 2;", "Line 1: if (a)");
    becomes("javascript", js, "b", Replace, "var b = 2;", &js.replace('1', "2"));
    let otherwise = "if (a) {\n} else\n  var b = 1;\nc();\n";
    is_entangled("javascript", otherwise, "b", Delete, "", "Line 4: c();");
    let block = "if (a) {\n  var b = 1;\n}\nc();\n";
    becomes("javascript", block, "b", Delete, "", "if (a) {\n}\nc();\n");
    let bash = "[ -d \"$D\" ] ||\n  D=/tmp\nrm -rf \"$D\"\n";
    assert!(SymbolEdit::new("bash", "D", Delete, "").of(bash).is_err());
    assert!(SymbolEdit::new("bash", "D", InsertBefore, "E=1").of(bash).is_err());
    // A member does not leave its block.
    let rust = "impl A {\n    fn f() {}\n\n    fn g() {}\n}\n";
    is_entangled("rust", rust, "f", Replace, "fn f() {}\n}\n\nimpl B {\n    fn h() {}", "Line 4: fn g() {}");
}

#[test]
fn lists_of_commands_are_not_emptied() {
    let only = "";
    for text in ["if x; then\n  A=1\nfi\n", "for i in 1 2; do\n  # c\n  A=$i\ndone\n", "cat x |\n  A() { :; }\n"] {
        is_entangled("bash", text, "A", Delete, "", only);
    }
    is_entangled("bash", "if x; then\n  b\nelse\n  A=1\nfi\n", "A", Delete, "", only);
    is_entangled("bash", "if x; then\n  A=1\nelse\n  b\nfi\n", "A", Delete, "", only);
    becomes("bash", "if x; then\n  A=1\n  b\nfi\n", "A", Delete, "", "if x; then\n  b\nfi\n");
    becomes("bash", "A=1\n", "A", Delete, "", "");
}

#[test]
fn variable_on_a_continued_line_is_not_changed_alone() {
    let bash = "set -e\nexport A=1 \\\n       B=2\necho hi\n";
    is_entangled("bash", bash, "B", Delete, "", "Line 4: echo hi");
    assert!(SymbolEdit::new("bash", "B", InsertBefore, "C=3").of(bash).is_err());
    is_entangled("bash", bash, "B", InsertAfter, "C=3", "Line 2: export A=1 \\");
    becomes("bash", bash, "B", Replace, "B=3", &bash.replace("B=2", "B=3"));
}

#[test]
fn tables_keep_their_keys_and_elements() {
    let two = "[[p]]\nn = 1\n\n[p.sub]\ny = 1\n\n[[p]]\nn = 2\n";
    is_entangled("toml", two, "p@1", InsertAfter, "[[p]]\nn = 9", "Line 4: [p.sub]");
    is_entangled("toml", two, "p@1", Delete, "", "Line 4: [p.sub]");
    is_entangled("toml", two, "p@1", Replace, "[[p]]\nn = 1\n\n[[p]]\nn = 9", "Line 4: [p.sub]");
    becomes("toml", two, "p@1", Replace, "# c\n[[p]]\nn = 9", &two.replacen("[[p]]\nn = 1", "# c\n[[p]]\nn = 9", 1));
    becomes("toml", two, "p@1", InsertBefore, "[[p]]\nn = 0", &format!("[[p]]\nn = 0\n\n{two}"));
    becomes("toml", two, "p.sub", InsertAfter, "[[p]]\nn = 9", &two.replace("y = 1\n", "y = 1\n\n[[p]]\nn = 9\n"));
    becomes("toml", two, "p@7", Delete, "", "[[p]]\nn = 1\n\n[p.sub]\ny = 1\n");
    let last = "[[p]]\nn = 1\n\n[[p]]\nn = 2\n\n[p.sub]\ny = 1\n";
    is_entangled("toml", last, "p@4", Delete, "", "Line 7: [p.sub]");
    is_entangled("toml", "t = 1\nu = 2\n", "t", InsertAfter, "[q]\nr = 1", "Line 2: u = 2");
    is_entangled("toml", "[a]\nt = 1\nu = 2\n", "t", InsertAfter, "[q]\nr = 1", "Line 3: u = 2");
}

#[test]
fn symbol_that_does_not_parse_is_not_changed() {
    let c = "#ifdef X\nint f(int a) {\n#else\nint f(long a) {\n#endif\n    return 1;\n}\n\nint g(void) {\n    return 2;\n}\n";
    for action in [Delete, Replace, InsertAfter] {
        let error = SymbolEdit::new("c", "f", action, "int f(int a) { return 2; }").of(c).unwrap_err();
        assert_eq!(error.code(), Code::SymbolEntangled);
    }
    is_entangled("c", c, "g", Delete, "", "Line 1: #ifdef X");
    let mac = "FORCE_INLINE static void f(int a)\n{\n    g();\n}\n";
    becomes("c", mac, "f", InsertAfter, "int b;", &format!("{mac}\nint b;\n"));
    let rust = "fn a() {\n    for (;;) {\n        q();\n    }\n}\n\nfn b() {}\n";
    is_entangled("rust", rust, "a", Replace, "fn a() {}", "Line 2: for (;;) {");
}

#[test]
fn names_in_macros_and_of_tags_are_not_renamed_in_part() {
    let mac = "#define CALL() foo(1)\nstatic int foo(int x) { return x; }\nint m(void) { return CALL(); }\n";
    is_entangled("c", mac, "foo", Rename, "bar", "The macro on line 1 has the old or the new name.");
    is_entangled(
        "c",
        &mac.replace("foo(1)", "bar(1)"),
        "foo",
        Rename,
        "bar",
        "The macro on line 1 has the old or the new name.",
    );
    let node = "typedef struct node {\n    struct node *next;\n} node;\n";
    for symbol in ["node.node", "node"] {
        let error = SymbolEdit::new("c", symbol, Rename, "zz").of(node).unwrap_err();
        assert_eq!(error.code(), Code::SymbolEntangled, "{symbol}");
    }
    let apart = "typedef struct node_s {\n    struct node_s *next;\n} node;\nstruct node_s *first;\n";
    becomes("c", apart, "node.node_s", Rename, "zz", &apart.replace("node_s", "zz"));
    let go = "package a\n\ntype B struct{}\n\ntype T struct {\n\tB\n}\n\nfunc f(t T) B { return t.B }\n";
    for embedded in ["B", "*B", "B[int]"] {
        let go = go.replace("\tB", &format!("\t{embedded}"));
        let error = SymbolEdit::new("go", "B", Rename, "C").of(&go).unwrap_err();
        assert_eq!(error.evidence_text(), "`B` on line 6 may refer to something else of that name.");
    }
    becomes(
        "go",
        &go.replace("\tB", "\tb B").replace("t.B", "t.b"),
        "B",
        Rename,
        "C",
        &go.replace("\tB", "\tb C").replace("t.B", "t.b").replace("type B", "type C").replace(") B", ") C"),
    );
}

#[test]
fn preformatted_text_keeps_its_blanks() {
    let html = "<div>\n  <div id=\"a\">\n    q\n  </div>\n</div>\n";
    let new = "<div id=\"b\">\n  <p>\n  <pre>\nx\n    z\n</pre>\n<TextArea>\ny\n</TextArea>\n<script>\nt = `\n`\n</script>\n<script>\nu\n</script>\n</div>";
    let kept = "  <div id=\"b\">\n    <p>\n    <pre>\nx\n    z\n</pre>\n  <TextArea>\ny\n</TextArea>\n  <script>\nt = `\n`\n  </script>\n  <script>\n  u\n  </script>\n  </div>\n";
    let wanted = html.replace("    q\n  </div>\n", &format!("    q\n  </div>\n\n{kept}"));
    let result = SymbolEdit::new("html", "#a", InsertAfter, new).of(html).unwrap();
    assert_eq!(result.replace("</div>\n\n", "</div>\n"), wanted.replace("</div>\n\n", "</div>\n"));
}

#[test]
fn element_without_an_end_tag_ends_before_the_next_line() {
    let html = "<ul id=\"u\">\n  <li id=\"a\">one\n  <li id=\"b\">two\n</ul>\n";
    becomes("html", html, "#a", Replace, "<li id=\"a\">uno", &html.replace("one", "uno"));
    becomes("html", html, "#a", Delete, "", &html.replace("  <li id=\"a\">one\n", ""));
    let between = "<p>one\n  <b id=\"x\">q</b>\n  two</p>\n";
    becomes("html", between, "#x", Delete, "", "<p>one\n  two</p>\n");
    is_entangled("html", between, "#x", InsertAfter, "<i>x", "Line 3: two</p>");
    becomes("html", html, "#a", InsertAfter, "<li>x", &html.replace("one\n", "one\n  <li>x\n"));
}

#[test]
fn function_pointers_have_names() {
    let c =
        "typedef int (*cb_t)(int);\nint (*get_fn(int x))(int) { return 0; }\nint (*table[3])(int);\nint (h)(int);\n";
    let parsed = parse(c, Language::from_name("c").unwrap(), ParseLimits::ASKED).unwrap();
    let titles: Vec<String> = parsed.outline().symbols.iter().map(Symbol::title).collect();
    assert_eq!(titles, ["type cb_t", "function get_fn", "variable table", "function h"]);
    becomes("c", c, "cb_t", Rename, "cb", &c.replace("cb_t", "cb"));
    becomes(
        "c",
        c,
        "get_fn",
        Replace,
        "int get_fn(void);",
        &c.replace("int (*get_fn(int x))(int) { return 0; }", "int get_fn(void);"),
    );
}

#[test]
fn dot_in_a_key_does_not_separate_names() {
    let found = |language: &str, text: &str, path: &str| {
        let parsed = parse(text, Language::from_name(language).unwrap(), ParseLimits::ASKED).unwrap();
        match parsed.definition(path, None) {
            Definition::One(symbol) => Some(symbol.name),
            _ => None,
        }
    };
    let json = "{\"v\": {\"x.old\": 1, \"std::string\": 2}}";
    assert_eq!(found("json", json, "old"), None);
    assert_eq!(found("json", json, "x.old").as_deref(), Some("x.old"));
    assert_eq!(found("json", json, "v.x.old").as_deref(), Some("x.old"));
    assert_eq!(found("json", json, "std::string").as_deref(), Some("std::string"));
    let css = ".d::before { a: b }\n.d.before { a: b }\n.a.after { a: b }\n";
    assert_eq!(found("css", css, ".d::before").as_deref(), Some(".d::before"));
    assert_eq!(found("css", css, ".d.before").as_deref(), Some(".d.before"));
    assert_eq!(found("css", css, "after"), None);
}

#[test]
fn comma_may_be_before_a_comment() {
    let json = "{\n  \"a\": 1, // c\n  // about b\n  \"b\": 2\n}\n";
    becomes("json", json, "b", Delete, "", "{\n  \"a\": 1 // c\n}\n");
    let before = "{\n  \"a\": 1 /* c */,\n  \"b\": 2\n}\n";
    becomes("json", before, "a", InsertAfter, "\"d\": 3", &before.replace("*/,\n", "*/,\n  \"d\": 3,\n"));
}

#[test]
fn blank_lines_of_a_block_scalar_are_kept() {
    let yaml = "s: |+\n  text\n\nnext: 1\n";
    becomes("yaml", yaml, "next", Delete, "", "s: |+\n  text\n\n");
    becomes("yaml", yaml, "s", InsertAfter, "t: 1", "s: |+\n  text\n\nt: 1\nnext: 1\n");
    becomes("yaml", yaml, "s", Delete, "", "next: 1\n");
    becomes("yaml", yaml, "next", InsertBefore, "t: 1", "s: |+\n  text\n\nt: 1\n\nnext: 1\n");
    let between = "s: |+\n  text\nt: 1\n\nnext: 1\n";
    becomes("yaml", between, "t", Delete, "", "s: |+\n  text\nnext: 1\n");
    let clipped = yaml.replace("|+", "|");
    becomes("yaml", &clipped, "next", Delete, "", "s: |\n  text\n");
    becomes("yaml", &clipped, "s", InsertAfter, "t: 1", "s: |\n  text\n\nt: 1\n\nnext: 1\n");
}
