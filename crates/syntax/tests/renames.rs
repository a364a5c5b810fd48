//! Renaming with scopes: in each text, `@` marks the occurrences that mean the symbol; the others keep their name. A
//! text without a mark cannot be renamed, because an occurrence is ambiguous.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use emendate_core::Code;
use emendate_syntax::{Definition, Language, ParseLimits, SymbolAction, parse};

/// Language, line of the symbol (1-based), text. The name is always `f`.
const CASES: &[(&str, usize, &str)] = &[
    // Bound again by a parameter, a declaration, a loop, in an inner function.
    ("rust", 1, "fn @f() {}\nfn g(f: u8) { f; }\nfn k() { @f(); }\n"),
    ("rust", 1, "fn @f() {}\nfn g() { let f = 1; f; }\nfn k() { @f(); }\n"),
    ("rust", 1, "fn @f() {}\nfn g() { { let f = 1; f; } @f(); }\n"),
    ("rust", 1, "fn @f() {}\nfn g() { a(|f| f + 1); @f(); }\n"),
    ("rust", 1, "fn @f() {}\nfn g() { for f in a { f; } @f(); }\n"),
    ("rust", 1, "fn @f() {}\nfn g() { fn f() {} f(); }\nfn k() { @f(); }\n"),
    ("rust", 2, "fn g() {\n    fn @f() {}\n    @f();\n}\nfn f() {}\nfn k() { f(); }\n"),
    // Before the inner binding, or in its initializer, the outer one is meant; that is left to the caller.
    ("rust", 1, "fn f() {}\nfn g() { f(); let f = 1; }\n"),
    ("rust", 1, "fn f() {}\nfn g() { let f = f(); f; }\n"),
    // A pattern may bind a name or refer to a constant.
    ("rust", 1, "const f: u8 = 1;\nfn g() { let f = 2; }\n"),
    ("rust", 1, "fn f() {}\nfn g() { match a { Some(f) => f, _ => 1 }; }\n"),
    // Modules.
    ("rust", 1, "fn @f() {}\nmod m {\n    pub fn f() {}\n    fn g() { f() }\n}\nfn k() { m::f(); @f() }\n"),
    (
        "rust",
        3,
        "fn f() {}\nmod m {\n    pub fn @f() {}\n    fn g() { @f(); self::@f(); super::f() }\n}\nfn k() { m::@f(); f() }\n",
    ),
    ("rust", 1, "fn @f() {}\nmod tests {\n    use super::*;\n    fn t() { @f(); super::@f(); }\n}\n"),
    ("rust", 1, "fn f() {}\nmod m {\n    use other::*;\n    fn t() { f(); }\n}\n"),
    // Members are not visible under their bare names.
    ("rust", 1, "fn @f() {}\nimpl A {\n    fn f(&self) { @f(); self.f(); Self::f(self) }\n}\n"),
    ("rust", 3, "fn f() {}\nimpl A {\n    fn @f(&self) { f(); self.@f(); Self::@f(self); A::@f(self); b.f() }\n}\n"),
    ("python", 1, "def @f(): pass\ndef g(f): return f\n@f()\n"),
    ("python", 1, "def @f(): pass\ndef g():\n    f = 1\n    return f\n@f()\n"),
    ("python", 1, "def f(): pass\ndef g():\n    x = f()\n    f = 1\n"),
    ("python", 1, "def @f(): pass\ndef g():\n    def f(): pass\n    return f()\n@f()\n"),
    ("python", 1, "def f(): pass\nx = [f for f in a]\n"),
    ("python", 1, "def @f(): pass\nx = lambda f: f\ny = lambda a: @f(a)\n"),
    ("python", 1, "def @f(): pass\nclass A:\n    def f(self):\n        return @f()\n    x = f\nA().f()\n"),
    ("python", 3, "def f(): pass\nclass A:\n    def @f(self):\n        return f() + self.@f()\nA.@f(1)\n"),
    ("python", 1, "def f(): pass\ndef g(a=f, f=1): pass\n"),
    ("python", 1, "def f(): pass\nfor f in a: pass\n"),
    ("python", 1, "def f(): pass\ndef g():\n    global f\n    f = 1\n"),
    ("python", 1, "def f(): pass\ndef g():\n    if (f := 1): pass\n"),
    ("python", 1, "def f(): pass\nmatch a:\n    case f(): pass\n"),
    ("javascript", 1, "function @f() {}\nfunction g(f) { return f; }\n@f();\n"),
    ("javascript", 1, "function @f() {}\nfunction g() { if (a) { const f = 1; f; } return @f(); }\n"),
    ("javascript", 1, "function @f() {}\nfunction g() { if (a) { var f = 1; } return f; }\n@f();\n"),
    ("javascript", 1, "function f() {}\nfunction g() { f(); const f = 1; }\n"),
    ("javascript", 1, "function @f() {}\nfunction g() { function f() {} f(); }\nclass C { f() { @f(); } }\n@f();\n"),
    ("javascript", 1, "function f() {}\nfunction g() { if (a) { function f() {} } f(); }\n"),
    (
        "javascript",
        1,
        "function @f() {}\nconst g = f => f(1);\nconst k = (f) => f;\nconst o = { f() { @f(); }, k: @f };\n",
    ),
    ("javascript", 1, "function @f() {}\nfunction g() { const o = { f() {} }; o.f(); @f(); }\n"),
    ("javascript", 1, "function f() {}\nfunction g({ a = f }) {}\n"),
    ("javascript", 1, "function f() {}\nexport { f };\n"),
    ("javascript", 1, "function f() {}\nvar f = 1;\n"),
    (
        "typescript",
        1,
        "function @f(a: number) {}\nfunction g(f: string) { return f; }\nconst k = (f?: number) => f;\n@f(1);\n",
    ),
    ("typescript", 1, "type @f = 1;\nfunction g<f>(a: f): f { return a; }\nlet x: @f;\n"),
    ("typescript", 2, "namespace N {\n  export function @f() {}\n  @f();\n}\nfunction f() {}\nN.@f();\nf();\n"),
    ("go", 3, "package m\n\nfunc @f() {}\n\nfunc g(f int) int { return f }\n\nfunc k() { @f() }\n"),
    ("go", 3, "package m\n\nfunc @f() {}\n\nfunc g() {\n\tif f := 1; f > 0 {\n\t\tf++\n\t}\n\t@f()\n}\n"),
    ("go", 3, "package m\n\nfunc f() int { return 1 }\n\nfunc g() {\n\tf := f()\n\t_ = f\n}\n"),
    ("go", 3, "package m\n\nfunc @f() {}\n\nfunc (t T) f() { @f(); t.f() }\n"),
    (
        "java",
        2,
        "class A {\n    void @f() { @f(); this.@f(); b.f(); }\n    class B {\n        void f() {}\n        void k() { f(); }\n    }\n}\n",
    ),
    (
        "java",
        2,
        "class A {\n    int @f = 1;\n    void g(int f) { a = f; this.@f = f; }\n    int k() { return @f; }\n}\n",
    ),
    ("java", 2, "class A {\n    int @f = 1;\n    void g() { int f = 2; a = f; }\n    int k() { return @f; }\n}\n"),
    ("java", 2, "class A {\n    int f = 1;\n    void g(Object o) { if (o instanceof String f) { a(f); } }\n}\n"),
    (
        "c",
        1,
        "static int @f(int a) { return a; }\nint g(int f) { return f; }\nint k(void) { int b = @f(1); return @f(b); }\n",
    ),
    (
        "c",
        1,
        "static int @f(int a) { return a; }\nint g(void) { int *f = 0; return *f; }\nint k(int (*p)(int f));\nint z = 1;\n",
    ),
    ("c", 1, "static int f(int a) { return a; }\nint g(void) { int f = f(1); return f; }\n"),
    // Types, functions and values do not hide each other in every language.
    ("java", 1, "class @f {\n    @f(int a) {}\n    static @f make() { return new @f(1); }\n}\n"),
    ("java", 1, "class f {\n    void f() {}\n    f make() { return new f(); }\n}\n"),
    (
        "java",
        2,
        "class A {\n    int f = 1;\n    class B {\n        void f() {}\n        int k() { return f; }\n    }\n}\n",
    ),
    ("java", 2, "class A {\n    void @f() { @f(); new f(); }\n}\n"),
    ("typescript", 1, "class f {}\nfunction g(f: f) { let x: f; }\n"),
    ("rust", 1, "struct @f;\nimpl @f { fn f(&self) -> @f { @f } }\nfn g<f>(a: f) -> f { a }\n"),
    ("rust", 1, "mod f {}\nfn g() { fn f() {} f(); }\n"),
    // Member access that looks like a path.
    ("rust", 2, "mod m {\n    pub fn @f() {}\n}\nfn k(m: T) { m.f(); m::@f(); o::m::f() }\n"),
    ("javascript", 2, "function g() {\n  function @f() {}\n  @f();\n}\ng.f();\n"),
];

#[test]
fn name_is_changed_where_it_refers_to_the_symbol() {
    let mut wrong = Vec::new();
    for (name, line, marked) in CASES {
        let text = marked.replace('@', "");
        let parsed = parse(&text, Language::from_name(name).unwrap(), ParseLimits::ASKED).unwrap();
        assert!(parsed.is_clean(), "{name}: {text}");
        let symbol = match parsed.definition("f", Some(*line)) {
            Definition::One(symbol) => *symbol,
            Definition::Several(found) => found.into_iter().find(|it| it.first == *line).unwrap(),
            Definition::None(_) => panic!("{name}: {text}"),
        };
        let want = if marked.contains('@') { Ok(marked.replace("@f", "h")) } else { Err(Code::SymbolEntangled) };
        let got = parsed.edit(&symbol, SymbolAction::Rename, "h").map(|it| it.apply(&text)).map_err(|it| it.code());
        if got != want {
            wrong.push(format!("{name} line {line}: {got:?}\n{marked}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
