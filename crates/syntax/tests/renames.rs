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
    // Macros, attributes, labels, variants and associated types are not functions or types of that name.
    ("rust", 1, "fn @f() {}\nfn g() { f!(s, @f()); f::k(); 'f: loop { break 'f; } }\n"),
    ("rust", 1, "fn @f() {}\n#[f]\n#[cfg(f)]\nfn g() { @f::<u8>(); }\n"),
    ("rust", 1, "fn f() {}\n#[serde(default = f)]\nfn g() {}\n"),
    ("rust", 1, "struct @f(i32);\n#[derive(f)]\nstruct G(@f);\nfn g(v: G) -> impl Iterator<f = @f> { v }\n"),
    ("rust", 1, "struct @f;\nenum E { f(@f) }\nfn g() -> E { E::f(@f) }\n"),
    ("rust", 1, "struct @f;\ntrait T { type f; fn g() -> (Self::f, @f); }\n"),
    ("rust", 2, "macro_rules! m { (f) => { 1 } }\nfn f() {}\n"),
    ("rust", 1, "macro_rules! @f { () => { @f!(1) }; (1) => { 2 } }\nfn g() { @f!(); f(); m!(@f!(), f); }\n"),
    // Tokens of macros.
    ("rust", 1, "fn @f() {}\nfn g() { m!(@f() != a, f!(1), 0..@f(), a.f, b::f(), f::k, @f::<u8>(), @f); }\n"),
    ("rust", 1, "fn f() {}\nfn g() { println!(\"{f}\", f = 1); }\n"),
    ("rust", 1, "fn f() {}\nfn g() { m!(S { f: 1 }); }\n"),
    // The key of a pattern is a property, which a short form has as well.
    ("rust", 1, "fn @f() {}\nfn g(S { f: x }: S) { @f(); }\n"),
    ("javascript", 1, "function @f() {}\n({ f: x } = o);\nconst { f: y } = o;\n@f();\n"),
    ("javascript", 1, "let @f, g;\n[@f, g] = [g, @f];\n({ g: @f } = o);\n"),
    ("javascript", 1, "let f = 1;\n({ f } = o);\n"),
    ("javascript", 1, "let f = 1;\n({ f = 2 } = o);\n"),
    ("typescript", 1, "let f = 1;\n({ f } = o);\n"),
    ("javascript", 1, "function @f() {}\nf: for (;;) { @f(); break f; }\n"),
    ("javascript", 2, "class A extends B {\n  @f() { return super.f() + this.@f(); }\n}\n"),
    ("typescript", 2, "class A extends B {\n  @f() { return super.f() + this.@f(); }\n}\n"),
    ("java", 2, "class A extends B {\n    int @f() { return super.f() + this.@f() + @f(); }\n}\n"),
    // Elements of HTML, their attributes, and components.
    ("tsx", 1, "function @f() {}\nconst a = <f b={@f()} f=\"c\"><@f.g /><f:g x:f=\"\"/></f>;\n"),
    // Members of enums, and names of other namespaces.
    ("typescript", 1, "function @f() {}\nenum E { f, g = 3 }\nk(@f(), E.f);\n"),
    ("typescript", 1, "function @f() {}\nenum E { f = 1, g = f() }\n@f(); \n"),
    ("typescript", 1, "class @f {}\nenum E { f = 1 }\nlet a: @f = new @f();\nlet b: m.f<@f>;\n"),
    ("typescript", 1, "namespace N { export class @f {} }\nlet a: N.@f;\nlet b: M.f;\n"),
    ("typescript", 1, "interface @f {}\nlet a: @f = new f();\nexport default @f;\n"),
    ("typescript", 1, "function @f() {}\ntype T = [f: string, g: typeof @f];\ninterface I { [f: string]: f; }\n"),
    ("typescript", 1, "function @f() {}\nimport a = @f.g;\n"),
    ("go", 3, "package f\n\nfunc @f() {}\n"),
    (
        "go",
        3,
        "package m\n\nvar @f int\n\nfunc g() {\n\tfor @f = range a {\n\t\tk(@f)\n\t}\n\tfor f := range a {\n\t\tk(f)\n\t}\n}\n",
    ),
    ("go", 3, "package m\n\nfunc @f() {}\n\nfunc g() {\n\tselect {\n\tcase f := <-c:\n\t\tk(f)\n\t}\n\t@f()\n}\n"),
    ("java", 3, "package f;\n\nclass @f {\n    java.util.f a;\n    @f b;\n    a.f<@f> c;\n}\n"),
    ("java", 2, "class A {\n    class @f {}\n    A.@f a;\n    B.f b;\n}\n"),
    ("java", 2, "class A {\n    int f = 1;\n    int g(E e) { return switch (e) { case f -> 1; default -> 2; }; }\n}\n"),
    ("java", 2, "class A {\n    int @f = 1;\n    enum E { f; E g() { return f; } }\n    int k() { return @f; }\n}\n"),
    // A method and a variable of one name do not hide each other.
    ("java", 2, "class A extends B {\n    int @f() { return f; }\n    int g(int f) { return f + @f() + this.f; }\n}\n"),
    ("java", 2, "class A extends B {\n    int @f = 1;\n    int g() { return this.@f + @f + f() + this.f(); }\n}\n"),
    (
        "c",
        1,
        "static int @f(void) { return 1; }\nstruct s x = { f: 0 };\nint z = offsetof(struct s, f);\nint k(void) { f: return @f(); }\n",
    ),
    ("c", 1, "static void @f(void) {}\nstatic int g(void) __attribute__((f, f(1), cleanup(@f)));\n"),
    ("c", 1, "static void f(void) {}\nstatic int g(void) __attribute__((format(f, 1, 2)));\n"),
    ("c", 1, "static void @f(void) {}\n#ifdef f\n#endif\n#if f > 1\n#endif\nint a = sizeof(struct f);\n"),
    ("c", 1, "#define @f 1\n#if @f > 1 && defined(@f)\n#endif\nint a = @f;\n@f b;\n"),
    ("c", 1, "struct @f { struct @f *next; };\nstruct @f a;\n"),
    ("c", 1, "struct f { int a; };\nf *make(void);\n"),
    ("python", 1, "def @f(): pass\ng(f=@f)\n"),
    ("python", 1, "def f(): pass\ndel f\n"),
    ("python", 1, "class @f: pass\ndef g(a: @f, *b: list[@f]) -> @f: pass\ntype T = dict[str, @f]\n"),
    ("python", 1, "class f: pass\ndef g[f](a: f): pass\n"),
    ("python", 1, "class f: pass\ndef g():\n    type f = int\n    x: f\n"),
    // Locals of a function that is the value of a variable, and of a static block.
    ("javascript", 1, "let @f = 7;\nconst m = wrap(async (e) => {\n  const f = e.g;\n  return f;\n});\nk(@f);\n"),
    ("javascript", 1, "let @f = 7;\nconst m = (() => {\n  let f = 1;\n  return f;\n})();\nk(@f);\n"),
    ("javascript", 1, "let f = 7;\nconst m = a((b) => {\n  function f() {}\n  return f() + b;\n});\nk(f);\n"),
    ("javascript", 1, "let @f = 7;\nclass S { static { let f = 1; k(f); } static g = @f; }\n"),
    ("javascript", 1, "function @f() {}\nconst m = a(class {\n  f() { return @f(); }\n});\n"),
    ("typescript", 2, "const m = wrap(async (e) => {\n  const @f = e.f;\n  return @f + this.f;\n});\nk(f);\n"),
    ("javascript", 2, "const m = wrap(() => {\n  function @f() {}\n  return @f() + this.f();\n});\nk(f);\n"),
    ("go", 3, "package a\n\nvar @f = 7\n\nvar m = func() int {\n\tvar f = 1\n\treturn f\n}()\n"),
    ("go", 3, "package a\n\nvar f = 7\n\nvar m = func() int {\n\tk(f)\n\tvar f = 1\n\treturn f\n}()\n"),
    ("rust", 1, "fn @f() {}\nstatic A: fn() = { fn f() {} f };\nfn g() { @f() }\n"),
    (
        "java",
        2,
        "class A {\n    int @f = 1;\n    Runnable r = () -> { int f = 2; k(f); };\n    int g() { return @f; }\n}\n",
    ),
    // In the body of a class, a name refers to the outer one until it is bound.
    ("python", 1, "f = 7\nclass A:\n    f = f\n"),
    ("python", 1, "@f = 7\nclass A:\n    f = 1\n    g = f\n    def k(self): return @f\n"),
    ("python", 1, "f = 7\nclass A:\n    def f(self, g=f): pass\n"),
    ("python", 1, "f = 7\nclass A:\n    f = 1\n    def k(self, g=f): return f\n"),
    ("python", 2, "class A:\n    @f = 1\n    g = @f\n    def k(self): return self.@f + f\n"),
    ("python", 3, "f = 1\nclass A:\n    f = f\n"),
    ("python", 2, "class A:\n    f = [1]\n    g = [x for x in f]\n"),
    ("python", 2, "class A:\n    def @f(self): return f()\n    g = @f\n"),
];

/// Language, path of the symbol, new name, text, text afterwards if it can be renamed.
const NAMED_CASES: &[(&str, &str, &str, &str, Option<&str>)] = &[
    (
        "java",
        "A.name",
        "title",
        "class A {\n    @Column(name = \"n\")\n    private String name;\n    @name String get() { return name; }\n}\n",
        Some(
            "class A {\n    @Column(name = \"n\")\n    private String title;\n    @name String get() { return title; }\n}\n",
        ),
    ),
    (
        "java",
        "Note",
        "Memo",
        "@interface Note {}\n@Note class A {\n    @Note() int a;\n    @Other.Part int b;\n}\n",
        Some("@interface Memo {}\n@Memo class A {\n    @Memo() int a;\n    @Other.Part int b;\n}\n"),
    ),
    (
        "python",
        "name",
        "label",
        "def name(g): return g\n@name\n@a.name(name=name)\ndef k(): pass\n",
        Some("def label(g): return g\n@label\n@a.name(name=label)\ndef k(): pass\n"),
    ),
    (
        "javascript",
        "Card",
        "Panel",
        "function Card() {}\nconst a = <Card Card=\"1\"><Card.Head /></Card>;\n",
        Some("function Panel() {}\nconst a = <Panel Card=\"1\"><Panel.Head /></Panel>;\n"),
    ),
    // In small letters it would be an element of HTML.
    ("javascript", "Card", "panel", "function Card() {}\nconst a = <Card />;\n", None),
];

#[test]
fn names_of_other_things_stay() {
    for (language, path, new, text, want) in NAMED_CASES {
        let parsed = parse(text, Language::from_name(language).unwrap(), ParseLimits::ASKED).unwrap();
        assert!(parsed.is_clean(), "{language}: {text}");
        let Definition::One(symbol) = parsed.definition(path, None) else { panic!("{language}: {text}") };
        let got = parsed.edit(&symbol, SymbolAction::Rename, new).map(|it| it.apply(text)).map_err(|it| it.code());
        assert_eq!(got, want.map(str::to_owned).ok_or(Code::SymbolEntangled), "{language}: {text}");
    }
}

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
