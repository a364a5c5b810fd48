//! Edits of symbols.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use emendate_core::Code;
use emendate_syntax::{Definition, FirstError, Language, ParseBaseline, ParseLimits, SymbolAction, parse};

fn fails_after(before: &str, after: &str, language: Language, limits: ParseLimits) -> Option<FirstError> {
    ParseBaseline::of(before, language, limits)?.after(after)?.first_error()
}

/// Returns the text after the edit and the notes, or the code of the refusal.
fn edit(
    name: &str,
    text: &str,
    (path, action): (&str, SymbolAction),
    new: &str,
) -> Result<(String, Vec<String>), Code> {
    let parsed = parse(text, Language::from_name(name).unwrap(), ParseLimits::ASKED).unwrap();
    let Definition::One(symbol) = parsed.definition(path, None) else { panic!("{path}: {:?}", parsed.outline()) };
    let splices = parsed.edit(&symbol, action, new).map_err(|error| error.code())?;
    Ok((splices.apply(text), splices.notes))
}

fn text(name: &str, before: &str, what: (&str, SymbolAction), new: &str) -> String {
    edit(name, before, what, new).unwrap().0
}

const RUST: &str = "\
use a;

/// about f
#[inline]
fn f() {
    g();
}

struct P;

impl P {
    // why
    fn m(&self) {
        self.n();
    }

    fn n(&self) {}
}
";

#[test]
fn replacing_keeps_comments_above_unless_the_text_has_its_own() {
    let (after, notes) = edit("rust", RUST, ("f", SymbolAction::Replace), "fn f() {}").unwrap();
    assert_eq!(after, RUST.replace("fn f() {\n    g();\n}", "fn f() {}"));
    assert_eq!(notes, ["The lines above it were kept: lines 3-4."]);
    let after = text("rust", RUST, ("f", SymbolAction::Replace), "/// new\nfn f() {}\n");
    assert_eq!(after, RUST.replace("/// about f\n#[inline]\nfn f() {\n    g();\n}", "/// new\nfn f() {}"));
    let after = text("rust", RUST, ("f", SymbolAction::Replace), "#[cold]\nfn f() {}");
    assert_eq!(after, RUST.replace("#[inline]\nfn f() {\n    g();\n}", "#[cold]\nfn f() {}"));
    let python = "class A:\n    @dec\n    def f(self):\n        return 1\n\n    x = 1\n";
    let after = text("python", python, ("A.f", SymbolAction::Replace), "def f(self):\n    return 2");
    assert_eq!(after, python.replace("return 1", "return 2"));
    let after = text("python", python, ("f", SymbolAction::Replace), "@other\ndef f(self):\n    return 2\n");
    assert_eq!(after, python.replace("@dec", "@other").replace("return 1", "return 2"));
    let java = "class A {\n    /** d */\n    @Override\n    void f() {\n        a();\n    }\n}\n";
    let after = text("java", java, ("f", SymbolAction::Replace), "void f() {\n    }");
    assert_eq!(after, "class A {\n    /** d */\n    @Override\n    void f() {\n    }\n}\n");
    let after = text("java", java, ("f", SymbolAction::Replace), "@Test\nvoid f() {\n}");
    assert_eq!(after, "class A {\n    /** d */\n    @Test\n    void f() {\n    }\n}\n");
}

#[test]
fn comments_above_annotations_are_kept() {
    for head in ["@A @B(1)\n  ", "@A ", "@A\n  ", "@A\n  @B "] {
        let java = format!("class C {{\n  /** doc */\n  {head}int f() {{ return 1; }}\n}}\n");
        let new = format!("{}int f() {{ return 2; }}", head.replace("\n  ", "\n"));
        let (after, notes) = edit("java", &java, ("C.f", SymbolAction::Replace), &new).unwrap();
        assert_eq!(after, java.replace("return 1", "return 2"), "{head}");
        assert_eq!(notes[0], "The lines above it were kept: line 2.");
    }
    let python = "# why\n@a\n# between\n@b\ndef f(): return 1\n";
    let new = "@a\n# between\n@b\ndef f(): return 2";
    assert_eq!(text("python", python, ("f", SymbolAction::Replace), new), python.replace('1', "2"));
}

#[test]
fn all_annotations_of_a_line_belong_to_the_declaration() {
    for head in ["#[a] #[b]", "#[a] // why", "#[a]\n/* 1 */ #[b]"] {
        let rust = format!("use x;\n\n/// doc\n{head}\nfn f() {{}} // tail\n");
        assert_eq!(text("rust", &rust, ("f", SymbolAction::Delete), ""), "use x;\n", "{head}");
        assert_eq!(
            text("rust", &rust, ("f", SymbolAction::Replace), "fn f() { 1 } // tail"),
            rust.replace("{}", "{ 1 }")
        );
    }
    // A comment at the end of a block is not about what follows the block.
    let python = "class A:\n    x = 1\n    # end\ndef f(): pass\n";
    assert_eq!(text("python", python, ("f", SymbolAction::Delete), ""), python.replace("def f(): pass\n", ""));
}

#[test]
fn code_beside_a_symbol_is_kept_once() {
    let bash = "a() { :; }; b() { :; } # end\n";
    for (name, new) in [("a", "a() { x; }"), ("a", "a() { x; }; b() { :; } # end"), ("a", "a() { x; };")] {
        let after = text("bash", bash, (name, SymbolAction::Replace), new);
        assert_eq!(after, bash.replace("a() { :; }", "a() { x; }"), "{new}");
    }
    let after = text("bash", bash, ("b", SymbolAction::Replace), "a() { :; }; b() { x; } # end");
    assert_eq!(after, bash.replace("b() { :; }", "b() { x; }"));
    let ts = "class A {\n  q = 1; r = 2;\n}\n";
    assert_eq!(text("typescript", ts, ("A.q", SymbolAction::Replace), "q = 3; r = 2;"), ts.replace('1', "3"));
    let yaml = "a:\n  - b: 1\n    c: 2\n";
    for new in ["b: 3", "- b: 3"] {
        assert_eq!(text("yaml", yaml, ("a.b", SymbolAction::Replace), new), yaml.replace('1', "3"));
    }
    let java = "class C { int f() { return 1; } }\n";
    for new in ["int f() { return 2; }", "class C { int f() { return 2; } }"] {
        assert_eq!(text("java", java, ("C.f", SymbolAction::Replace), new), java.replace('1', "2"));
    }
}

#[test]
fn the_last_name_of_a_group_is_not_the_group() {
    let go = "package p\n\ntype (\n\tB int\n\tC = string\n)\n";
    assert_eq!(text("go", go, ("C", SymbolAction::Delete), ""), go.replace("\tC = string\n", ""));
}

#[test]
fn names_of_one_declaration_are_not_changed_alone() {
    let go = "package p\n\nvar host, port = \"h\", 1\n\nvar one = 1\n";
    let java = "class C {\n  int x, y;\n  int z;\n}\n";
    let c = "int a, *b;\ntypedef int t1, t2;\nint k;\n";
    for (language, before, symbol) in
        [("go", go, "host"), ("java", java, "C.x"), ("c", c, "a"), ("c", c, "t1"), ("python", "a = b = 1\n", "a")]
    {
        for action in [SymbolAction::Delete, SymbolAction::Replace] {
            let refused = edit(language, before, (symbol, action), "x").unwrap_err();
            assert_eq!(refused, Code::SymbolEntangled, "{symbol}");
        }
    }
    assert_eq!(text("go", go, ("one", SymbolAction::Delete), ""), "package p\n\nvar host, port = \"h\", 1\n");
    assert_eq!(text("c", c, ("k", SymbolAction::Delete), ""), "int a, *b;\ntypedef int t1, t2;\n");
    let after = text("python", "a = b = 1\n", ("a", SymbolAction::Rename), "z");
    assert_eq!(after, "z = b = 1\n");
}

#[test]
fn lines_inside_of_strings_are_not_indented() {
    let python = "class A:\n    def f(self):\n        return 1\n";
    let new = "def f(self):\n    \"\"\"Doc.\n\n    More.\n    \"\"\"\n    return \"\"\"\nHello\n\"\"\"\n";
    let (after, notes) = edit("python", python, ("A.f", SymbolAction::Replace), new).unwrap();
    let body =
        "    def f(self):\n        \"\"\"Doc.\n\n        More.\n        \"\"\"\n        return \"\"\"\nHello\n\"\"\"\n";
    assert_eq!(after, format!("class A:\n{body}"));
    assert_eq!(notes, ["The new text was indented to match its destination, except for lines inside of strings."]);
    let js = "class A {\n    f() { return 1; }\n}\n";
    let after = text("javascript", js, ("A.f", SymbolAction::InsertAfter), "g() {\n    return `a\nb`;\n}");
    assert_eq!(after, js.replace("1; }\n", "1; }\n    g() {\n        return `a\nb`;\n    }\n"));
    // Java removes the common indentation from the value.
    let java = "class C {\n    int x;\n}\n";
    let after = text("java", java, ("C.x", SymbolAction::Replace), "String x = \"\"\"\n    a\n    \"\"\";");
    assert_eq!(after, "class C {\n    String x = \"\"\"\n        a\n        \"\"\";\n}\n");
}

/// Models copy a definition from its first character on, so that its first line is not indented, and all others are.
#[test]
fn text_whose_first_line_was_cut_out_of_its_indentation_is_recognized() {
    let class = "class G:\n    @property\n    def prop(self):\n        return self._p\n\n    def m(self): pass\n";
    let replaced = |symbol: &str, new: &str| text("python", class, (symbol, SymbolAction::Replace), new);
    let wanted = class.replace("self._p", "self._q");
    for new in ["@property\n    def prop(self):\n        return self._q", "def prop(self):\n        return self._q"] {
        assert_eq!(replaced("G.prop", new), wanted, "{new}");
    }
    // Nothing but the level of the file says how deep the new body is.
    let longer = class.replace("def m(self): pass", "def m(self):\n        return 1");
    for new in ["def m(self):\n        return 1", "def m(self):\n    return 1", "    def m(self):\n        return 1"] {
        assert_eq!(replaced("G.m", new), longer, "{new}");
    }
    let class = "class A {\n    @Override\n    public String toString() { return a; }\n}\n";
    let new = "@Override\n    public String toString() { return b; }";
    let wanted = class.replace("return a", "return b");
    assert_eq!(text("java", class, ("A.toString", SymbolAction::Replace), new), wanted);
}

#[test]
fn comment_at_the_end_of_the_new_text_swallows_nothing() {
    let replace = |language: &str, before: &str, path: &str, new: &str| {
        edit(language, before, (path, SymbolAction::Replace), new).map(|it| it.0)
    };
    let two = "function f1() { return 1 } function f2() { return 2 }\n";
    assert_eq!(replace("javascript", two, "f1", "function f1() { return 7 } // seven"), Err(Code::SymbolEntangled));
    let block = replace("javascript", two, "f1", "function f1() { return 7 } /* seven */").unwrap();
    assert_eq!(block, two.replace("return 1 }", "return 7 } /* seven */"));
    let consts = "const K: u8 = 1; static L: u8 = 2;\n";
    assert_eq!(replace("rust", consts, "K", "const K: u8 = 9; // nine"), Err(Code::SymbolEntangled));
    // A separator stays before the comment, and the comment replaces that of the file.
    for (rest, wanted) in [(",", "2, // two"), (", // one", "2, // two"), ("", "2 // two"), (" // one", "2 // two")] {
        let before = format!("{{\n  \"f\": 1{rest}\n}}\n");
        let after = replace("json", &before, "f", "\"f\": 2 // two");
        assert_eq!(after.unwrap(), format!("{{\n  \"f\": {wanted}\n}}\n"), "{rest}");
    }
    assert_eq!(replace("yaml", "a: 1  # one\nb: 2\n", "a", "a: 5  # five").unwrap(), "a: 5  # five\nb: 2\n");
    let java = "class A {\n  int x = 1; // count\n}\n";
    assert_eq!(
        replace("java", java, "A.x", "int x = 2; // total").unwrap(),
        java.replace("1; // count", "2; // total")
    );
    assert_eq!(replace("java", java, "A.x", "int x = 2;").unwrap(), java.replace("1;", "2;"));
}

#[test]
fn annotation_on_the_line_of_the_definition_is_replaced_by_the_new_one() {
    let before = "impl S {\n    fn a() {}\n\n    /// old doc\n    #[inline] pub fn new() -> Self { S }\n}\n";
    let replaced = |new: &str| text("rust", before, ("S.new", SymbolAction::Replace), new);
    let wanted = before.replace("old doc", "new doc").replace("{ S }", "{ S { a: 1 } }");
    assert_eq!(replaced("/// new doc\n#[inline] pub fn new() -> Self { S { a: 1 } }"), wanted);
    assert_eq!(replaced("#[cold] pub fn new() -> Self { S }"), before.replace("inline", "cold"));
    assert_eq!(replaced("pub fn new() -> Self { T }"), before.replace("{ S }", "{ T }"));
    let comment = "/// new doc\npub fn new() -> Self { T }";
    assert_eq!(edit("rust", before, ("S.new", SymbolAction::Replace), comment).unwrap_err(), Code::SymbolEntangled);
}

#[test]
fn insertions_keep_the_spacing() {
    let after = text("rust", RUST, ("f", SymbolAction::InsertBefore), "fn e() {}\n");
    assert_eq!(after, RUST.replace("/// about f", "fn e() {}\n\n/// about f"));
    let after = text("rust", RUST, ("P.m", SymbolAction::InsertAfter), "fn k(&self) {\n    1;\n}");
    assert_eq!(after, RUST.replace("\n    fn n", "\n    fn k(&self) {\n        1;\n    }\n\n    fn n"));
    let after = text("rust", RUST, ("P.n", SymbolAction::InsertAfter), "    fn k(&self) {}");
    assert_eq!(after, RUST.replace("fn n(&self) {}\n", "fn n(&self) {}\n\n    fn k(&self) {}\n"));
    assert_eq!(text("python", "x = 1", ("x", SymbolAction::InsertAfter), "y = 2"), "x = 1\ny = 2");
    assert_eq!(edit("rust", RUST, ("f", SymbolAction::InsertAfter), " \n").unwrap_err(), Code::CallInvalid);
    assert_eq!(
        edit("rust", "mod m { fn f() {} fn g() {} }", ("f", SymbolAction::InsertAfter), "fn h() {}").unwrap_err(),
        Code::SymbolEntangled
    );
}

#[test]
fn deletions_include_comments_and_one_gap() {
    let (after, notes) = edit("rust", RUST, ("f", SymbolAction::Delete), "").unwrap();
    assert_eq!(after, RUST.replace("/// about f\n#[inline]\nfn f() {\n    g();\n}\n\n", ""));
    assert_eq!(notes, ["The lines above it were removed with it: lines 3-4."]);
    assert_eq!(text("rust", RUST, ("P.n", SymbolAction::Delete), ""), RUST.replace("\n    fn n(&self) {}\n", ""));
    let toml = "[a]\nx = 1\n\n# about c\n[c]\ny = 1\n";
    assert_eq!(text("toml", toml, ("a", SymbolAction::Delete), ""), "# about c\n[c]\ny = 1\n");
    assert_eq!(text("toml", toml, ("c", SymbolAction::Delete), ""), "[a]\nx = 1\n");
    // A text that parsed still parses.
    assert_eq!(
        edit("python", "class A:\n    def f(self): pass\n", ("A.f", SymbolAction::Delete), "").unwrap_err(),
        Code::SymbolEntangled
    );
}

#[test]
fn commas_separate_json_keys() {
    let json = "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": 2\n  }\n}\n";
    assert_eq!(text("json", json, ("b", SymbolAction::Delete), ""), "{\n  \"a\": 1\n}\n");
    assert_eq!(text("json", json, ("a", SymbolAction::Delete), ""), json.replace("  \"a\": 1,\n", ""));
    assert_eq!(
        text("json", json, ("b.c", SymbolAction::InsertAfter), "\"d\": 3,"),
        json.replace("2\n", "2,\n    \"d\": 3\n")
    );
    assert_eq!(
        text("json", json, ("a", SymbolAction::InsertAfter), "\"d\": 3"),
        json.replace("1,\n", "1,\n  \"d\": 3,\n")
    );
    assert_eq!(
        text("json", json, ("a", SymbolAction::InsertBefore), "\"d\": 3"),
        json.replace("{\n  \"a", "{\n  \"d\": 3,\n  \"a")
    );
    // A comma in the new text is that of the symbol, whether it is the last one or not.
    for (key, old, new) in [("a", "1", "3"), ("b.c", "2", "3")] {
        let name = key.rsplit('.').next().unwrap();
        let sent = format!("\"{name}\": {new},");
        assert_eq!(text("json", json, (key, SymbolAction::Replace), &sent), json.replace(old, new));
    }
    assert_eq!(text("json", "{\"a\": 1}\n", ("a", SymbolAction::Replace), "\"a\": 3,"), "{\"a\": 3}\n");
}

#[test]
fn replacement_that_does_not_parse_is_refused() {
    assert_eq!(edit("rust", RUST, ("f", SymbolAction::Replace), "fn f() {").unwrap_err(), Code::SyntaxBroken);
    assert_eq!(edit("rust", RUST, ("P.n", SymbolAction::Replace), "fn n(&self) {}").unwrap_err(), Code::EditNoChange);
    // A text with syntax errors may keep them.
    assert!(edit("rust", "fn f() {}\nfn g( {\n}\n", ("f", SymbolAction::Replace), "fn f() { 1 }").is_ok());
}

#[test]
fn uses_of_the_symbol_are_renamed() {
    let (after, notes) = edit("rust", RUST, ("f", SymbolAction::Rename), "h").unwrap();
    assert_eq!(after, RUST.replace("fn f()", "fn h()"));
    assert_eq!(notes, ["Comments and strings with the word were not changed: lines 3."]);
    let text_ = "struct A;\nimpl A {\n    fn m(&self) {\n        self.n(); b.n(); Self::n(self); A::n(self); dbg!(self.n());\n    }\n    fn n(&self) {}\n}\n";
    let (after, notes) = edit("rust", text_, ("A.n", SymbolAction::Rename), "k").unwrap();
    assert_eq!(
        after,
        text_
            .replace("self.n(); b", "self.k(); b")
            .replace("Self::n", "Self::k")
            .replace("A::n", "A::k")
            .replace("fn n", "fn k")
    );
    assert_eq!(notes, ["Not renamed, because they refer or may refer to another `n`: lines 4."]);
    let after = text("rust", text_, ("A", SymbolAction::Rename), "B");
    assert_eq!(after, text_.replace("A;", "B;").replace("impl A", "impl B").replace("A::", "B::"));
    let python = "def f(a):\n    return a\n\ndef g():\n    x = f(1)\n    o.f(f=2)\n    return \"f\"\n";
    let (after, notes) = edit("python", python, ("f", SymbolAction::Rename), "h").unwrap();
    assert_eq!(after, python.replace("def f", "def h").replace("= f(1)", "= h(1)"));
    assert_eq!(notes.len(), 2);
    let java = "class A {\n    int x = 1;\n    void f() { x = 2; this.x = 3; b.x = 4; f(); }\n}\n";
    assert_eq!(
        text("java", java, ("A.x", SymbolAction::Rename), "y"),
        java.replace("int x", "int y").replace(" x = 2", " y = 2").replace("this.x", "this.y")
    );
    assert_eq!(text("java", java, ("A.f", SymbolAction::Rename), "g"), java.replace("f()", "g()"));
    let go = "package m\n\nfunc (t *T) M() { t.M() }\n\nfunc f() { f() }\n";
    assert_eq!(text("go", go, ("f", SymbolAction::Rename), "g"), go.replace("f()", "g()"));
    for (language, code) in [
        ("javascript", "function f() {}\nconst o = { f: 1, g() { return f; } };\no.f();\n"),
        ("typescript", "function f(a: number) {}\nconst o = { f: 1, g() { return f; } };\no.f();\n"),
    ] {
        let expected = code.replace("function f", "function h").replace("return f", "return h");
        assert_eq!(text(language, code, ("f", SymbolAction::Rename), "h"), expected);
    }
    let c = "static int f(int a) { return a; }\nint g(void) { s->f = 1; return f(2); }\n";
    assert_eq!(
        text("c", c, ("f", SymbolAction::Rename), "h"),
        c.replace("int f(", "int h(").replace("return f(", "return h(")
    );
}

#[test]
fn ambiguous_name_is_not_renamed() {
    let refused =
        |language: &str, text: &str, new: &str| edit(language, text, ("f", SymbolAction::Rename), new).unwrap_err();
    assert_eq!(refused("rust", "fn f() {}\nfn g() {}\n", "g"), Code::SymbolEntangled);
    assert_eq!(refused("rust", "fn f() {}\n", "match"), Code::SymbolEntangled);
    assert_eq!(refused("rust", "fn f() {}\n", "1x"), Code::CallInvalid);
    assert_eq!(refused("python", "def f(): pass\nfor f in a: pass\n", "h"), Code::SymbolEntangled);
    assert_eq!(refused("javascript", "function f() {}\nconst o = { f };\n", "h"), Code::SymbolEntangled);
    let constructor = "class A {\n    A() {}\n}\n";
    assert_eq!(edit("java", constructor, ("A.A", SymbolAction::Rename), "B").unwrap_err(), Code::SymbolEntangled);
    assert_eq!(refused("bash", "f() { :; }\n", "h"), Code::SymbolEntangled);
}

#[test]
fn every_scope_query_is_valid() {
    for (language, text, path) in [
        ("rust", "fn f() {}", "f"),
        ("c", "int f(void) {}", "f"),
        ("go", "package m\nfunc f() {}\n", "f"),
        ("java", "class f {}", "f"),
        ("python", "def f(): pass", "f"),
        ("javascript", "function f() {}", "f"),
        ("typescript", "function f() {}", "f"),
        ("tsx", "function f() {}", "f"),
    ] {
        assert!(edit(language, text, (path, SymbolAction::Rename), "other").is_ok(), "{language}");
    }
}

#[test]
fn new_syntax_error_is_found() {
    let rust = Language::from_name("rust").unwrap();
    let error = fails_after("fn f() {\n    a();\n}\n", "fn f() {\n    a(;\n}\n", rust, ParseLimits::CHECK).unwrap();
    assert_eq!(error.line, 2);
    assert_eq!(fails_after("fn f() {}\n", "fn g() {}\n", rust, ParseLimits::CHECK), None);
    assert_eq!(fails_after("fn f( {}\n", "fn g( {}\n", rust, ParseLimits::CHECK), None);
    assert_eq!(fails_after("fn f() {}\n", "fn f( {}\n", rust, ParseLimits { bytes: 5, ..ParseLimits::CHECK }), None);
    let json = Language::from_name("json").unwrap();
    assert_eq!(fails_after("{\"é\": 1}\n", "{\"è\": 1,}\n", json, ParseLimits::CHECK).map(|it| it.line), Some(1));
}
