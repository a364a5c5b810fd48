//! Outlines and symbol paths.

use emendate_syntax::{Definition, Language, Limits, Parsed, parse};

#[allow(clippy::unwrap_used, reason = "a helper of tests")]
fn parsed<'t>(name: &str, text: &'t str) -> Option<Parsed<'t>> {
    let parsed = parse(text, Language::named(name)?, Limits::ASKED).unwrap();
    assert!(parsed.is_clean(), "{name}: {:?}", parsed.first_error());
    Some(parsed)
}

/// Language, text, and every symbol as `depth kind path first-last`.
const TABLE: &[(&str, &str, &str)] = &[
    (
        "rust",
        "/// d\nstruct P<T>(T);\n\nimpl<T> fmt::Display for P<T> {\n    /// d\n    fn fmt(&self) {\n        const A: u8 = 1;\n        fn inner() {}\n    }\n}\nmod m {\n    pub const B: u8 = 1;\n}\n",
        "0 struct P 2-2\n0 impl impl fmt.Display for P<T> 4-10\n1 function P.fmt 6-9\n2 function P.fmt.inner 8-8\n0 module m 11-13\n1 constant m.B 12-12",
    ),
    (
        "python",
        "X = 1\n\n@dec\ndef f(a):\n    y = 2\n    def g(): pass\n\nclass A:\n    z: int = 3\n    # c\n    @dec\n    async def m(self):\n        pass\n",
        "0 variable X 1-1\n0 function f 3-6\n1 function f.g 6-6\n0 class A 8-13\n1 variable A.z 9-9\n1 function A.m 11-13",
    ),
    (
        "javascript",
        "export default class A {\n  x = 1;\n  m() { const y = 1; }\n}\nexport const f = (a) => {\n  let z = 1;\n};\nconst k = 1;\nmodule.exports.h = function () {};\n",
        "0 class A 1-4\n1 field A.x 2-2\n1 method A.m 3-3\n0 function f 5-7\n0 variable k 8-8\n0 function module.exports.h 9-9",
    ),
    (
        "typescript",
        "export interface I { a: string; b(): void }\nnamespace N {\n  export function f() {}\n}\nabstract class C {\n  private x = 1;\n  abstract m(): void;\n}\n@Dec()\nexport class D {}\ntype T = 1;\nenum E { A }\n",
        "0 interface I 1-1\n1 method I.b 1-1\n0 namespace N 2-4\n1 function N.f 3-3\n0 class C 5-8\n1 field C.x 6-6\n1 method C.m 7-7\n0 class D 9-10\n0 type T 11-11\n0 enum E 12-12",
    ),
    (
        "go",
        "package m\n\ntype T struct{ a int }\n\nvar (\n\tx = 1\n)\n\nfunc (t *T) M() {\n\tvar y = 1\n}\n\nfunc F() {}\n",
        "0 type T 3-3\n0 variable x 6-6\n0 method T.M 9-11\n0 function F 13-13",
    ),
    (
        "java",
        "class A {\n    int x = 1;\n    @Override\n    void f() {\n        int y = 1;\n    }\n    A() {}\n    enum E { P }\n}\n",
        "0 class A 1-9\n1 field A.x 2-2\n1 method A.f 3-6\n1 constructor A.A 7-7\n1 enum A.E 8-8",
    ),
    (
        "c",
        "#define X 1\nstatic int *f(int a) {\n    int x = 1;\n    return x;\n}\nstruct S { int a; };\ntypedef struct { int b; } T;\nint g(void);\nint v = 1;\n",
        "0 macro X 1-1\n0 function f 2-5\n0 struct S 6-6\n0 type T 7-7\n0 function g 8-8\n0 variable v 9-9",
    ),
    ("bash", "X=1\nf() {\n  y=2\n}\n", "0 variable X 1-1\n0 function f 2-4"),
    ("json", "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n", "0 key a 2-4\n1 key a.b 3-3"),
    ("yaml", "a:\n  b: 1\nc: 2\n", "0 key a 1-2\n1 key a.b 2-2\n0 key c 3-3"),
    (
        "toml",
        "t = 1\n\n[a.b]\nx = 1\n\n# c\n[d]\ny = 1\n",
        "0 key t 1-1\n0 table a.b 3-4\n1 key a.b.x 4-4\n0 table d 7-8\n1 key d.y 8-8",
    ),
    ("html", "<div id=\"x\">\n  <p id='y'>a</p>\n</div>\n", "0 element #x 1-3\n1 element #x.#y 2-2"),
    ("css", ".a,\n.b {\n  c: d;\n}\n", "0 rule .a, .b 1-4"),
    (
        "cpp",
        "namespace n {\ntemplate <typename T>\nclass A {\n  int f() { return 1; }\n};\n}\nint n::A::g() {\n  return 1;\n}\n",
        "0 namespace n 1-6\n1 class n.A 2-5\n2 function n.A.f 4-4\n0 function n.A.g 7-9",
    ),
    (
        "c-sharp",
        "namespace N {\n  class A {\n    void F() {}\n    int P { get; set; }\n  }\n}\n",
        "0 namespace N 1-6\n1 class N.A 2-5\n2 method N.A.F 3-3\n2 property N.A.P 4-4",
    ),
    (
        "ruby",
        "module M\n  class A\n    def f\n      x = 1\n    end\n    def self.g\n    end\n    X = 1\n  end\nend\n",
        "0 module M 1-10\n1 class M.A 2-9\n2 method M.A.f 3-5\n2 method M.A.g 6-7\n2 constant M.A.X 8-8",
    ),
    (
        "php",
        "<?php\nclass A {\n    public $x = 1;\n    function f() {}\n}\nfunction g() {}\n",
        "0 class A 2-5\n1 property A.$x 3-3\n1 method A.f 4-4\n0 function g 6-6",
    ),
    (
        "kotlin",
        "class A {\n    fun f() {\n    }\n    val y = 1\n}\nobject O { }\n",
        "0 class A 1-5\n1 function A.f 2-3\n1 property A.y 4-4\n0 object O 6-6",
    ),
    (
        "swift",
        "struct A {\n    var x = 1\n    func f() {\n    }\n    init() {}\n}\nextension A {\n    func k() {}\n}\n",
        "0 struct A 1-6\n1 property A.x 2-2\n1 function A.f 3-4\n1 initializer A.init 5-5\n0 extension extension A 7-9\n1 function A.k 8-8",
    ),
    (
        "scala",
        "object O {\n  def f = 1\n  val x = 1\n}\ntrait T\n",
        "0 object O 1-4\n1 function O.f 2-2\n1 value O.x 3-3\n0 trait T 5-5",
    ),
    (
        "lua",
        "local function f() end\nfunction M.g() end\nlocal x = 1\nM.k = function() end\n",
        "0 function f 1-1\n0 function M.g 2-2\n0 variable x 3-3\n0 function M.k 4-4",
    ),
    (
        "zig",
        "const S = struct {\n    fn m() void {}\n};\npub fn f() void {\n    const y = 1;\n}\n",
        "0 constant S 1-3\n1 function S.m 2-2\n0 function f 4-6",
    ),
    (
        "elixir",
        "defmodule A.B do\n  def f(0), do: 1\n  def f(n) when n > 0 do\n    n\n  end\n  defp g, do: 1\nend\n",
        "0 module A.B 1-7\n1 function A.B.f 2-5\n1 function A.B.g 6-6",
    ),
    ("markdown", "# A\n\n## B\n\nx\n\n# C\n", "0 section A 1-5\n1 section A.B 3-5\n0 section C 7-7"),
    (
        "dart",
        "class A {\n  int f() {\n    return 1;\n  }\n}\nvoid g() {}\n",
        "0 class A 1-5\n1 method A.f 2-4\n0 function g 6-6",
    ),
    ("nix", "{\n  a = {\n    b = 1;\n  };\n}\n", "0 binding a 2-4\n1 binding a.b 3-3"),
    ("hcl", "resource \"a\" \"b\" {\n  x = 1\n}\n", "0 block resource.a.b 1-3\n1 attribute resource.a.b.x 2-2"),
    (
        "haskell",
        "module M where\n\nf :: Int -> Int\nf 0 = 1\nf n = n\n\ndata T = A\n\ninstance C T where\n  m = A\n",
        "0 function f 3-5\n0 type T 7-7\n0 instance instance C T 9-10\n1 function T.m 10-10",
    ),
    ("make", "X = 1\n\nall: a\n\techo 1\n", "0 variable X 1-1\n0 rule all 3-4"),
];

#[test]
fn outlines_show_what_has_a_name() {
    let mut wrong = Vec::new();
    for (name, text, expected) in TABLE {
        let Some(parsed) = parsed(name, text) else { continue };
        let outline = parsed.outline();
        assert!(!outline.cut);
        let rows: Vec<String> = outline
            .symbols
            .iter()
            .map(|it| format!("{} {} {} {}-{}", it.depth, it.kind, it.path, it.first, it.last))
            .collect();
        if rows.join("\n") != *expected {
            wrong.push(format!("{name}:\n{}\n-- not --\n{expected}", rows.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_path_leads_to_one_symbol_or_says_which_there_are() {
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
fn files_are_known_by_name_and_by_first_line() {
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
