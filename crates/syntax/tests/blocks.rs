//! Blocks by line in every language, including lists that begin with their first item.

use emendate_syntax::{Language, NoBlock, ParseLimits, parse};

/// Language, text, and for some lines the last line of their block (0: none begins there).
type Row = (&'static str, &'static str, &'static [(usize, usize)]);

const TABLE: &[Row] = &[
    ("python", "def f():\n    for x in a:\n        go(x)\n    done()\n", &[(1, 4), (2, 3), (3, 3), (4, 4)]),
    (
        "python",
        "class A:\n    def f(self):\n        pass\n\n    @dec\n    def g(self):\n        pass\n\nx = 1\n",
        &[(1, 7), (2, 3), (5, 7), (6, 7), (4, 0), (9, 9)],
    ),
    (
        "python",
        "if a:\n    b()\nelif c:\n    d()\nelse:\n    e()\nx = (\n    1\n)\n",
        &[(1, 6), (3, 4), (5, 6), (2, 2), (7, 9), (9, 0)],
    ),
    ("ruby", "def f(a)\n  for x in a\n    y\n  end\n  z\nend\n", &[(1, 6), (2, 4), (3, 3), (5, 5), (6, 0)]),
    ("ruby", "class A\n  def f\n    1\n  end\n\n  def g\n    2\n  end\nend\n", &[(1, 9), (2, 4), (6, 8), (4, 0)]),
    (
        "go",
        "package m\n\nfunc f() {\n\tfor i := range a {\n\t\tg(i)\n\t}\n\treturn\n}\n",
        &[(3, 8), (4, 6), (5, 5), (7, 7), (8, 0)],
    ),
    ("go", "package m\n\n// c\nfunc f() {\n}\n", &[(4, 5), (3, 3)]),
    ("lua", "function f(a)\n  for i = 1, 2 do\n    g(i)\n  end\n  return 1\nend\n", &[(1, 6), (2, 4), (3, 3), (5, 5)]),
    (
        "yaml",
        "a:\n  b: 1\n  c:\n    - x\n    - y: 1\n      z: 2\nd: |\n  text\n\ne: 2\n",
        &[(1, 6), (2, 2), (3, 6), (4, 4), (5, 6), (6, 6), (7, 8), (10, 10)],
    ),
    ("yaml", "---\na: 1\nb: 2\n", &[(1, 0), (2, 2), (3, 3)]),
    ("yaml", "- a: 1\n  b: 2\n- c: 3\n", &[(1, 2), (2, 2), (3, 3)]),
    (
        "haskell",
        "module M where\n\nf :: Int -> Int\nf n = do\n  x <- g\n  h x\n\ndata T = A | B\n  deriving Show\n",
        &[(3, 3), (4, 6), (8, 9), (5, 5)],
    ),
    ("haskell", "class C a where\n  m :: a\n  n :: a\n", &[(1, 3), (2, 2)]),
    (
        "markdown",
        "# A\n\ntext\n\n## B\n\n- one\n- two\n  more\n\npara\n\n# C\n\nend\n",
        &[(1, 11), (3, 3), (5, 11), (7, 7), (8, 9), (11, 11), (13, 15)],
    ),
    ("markdown", "first\n\nsecond\n\n# A\n", &[(1, 1), (3, 3), (5, 5)]),
    (
        "toml",
        "top = 1\n\n[a.b]\nx = 1\ny = [\n  1,\n]\n\n# about c\n[[c]]\nz = 1\n",
        &[(1, 1), (3, 7), (4, 4), (5, 7), (10, 11), (9, 9)],
    ),
    ("make", "X = 1\n\nall: a b\n\techo 1\n\techo 2\n\na:\n\techo 3\n", &[(3, 5), (4, 4), (7, 8), (1, 1)]),
    (
        "swift",
        "class A {\n\n    func f() {\n\n        for i in 0..<3 {\n            g()\n        }\n        h()\n    }\n}\n",
        &[(1, 10), (3, 9), (5, 7), (6, 6), (8, 8)],
    ),
    ("swift", "@objc\nclass A {\n    @objc\n    func f() {\n    }\n}\n", &[(1, 6), (2, 6), (3, 5), (4, 5)]),
    (
        "java",
        "@Ann\npublic class A {\n    @Override\n    public void f() {\n        for (;;) {\n        }\n    }\n\n    int x = 1;\n}\n",
        &[(1, 10), (2, 10), (3, 7), (4, 7), (5, 6), (9, 9), (10, 0)],
    ),
    ("java", "class A {\n    @Override\n    // why\n    @Other(1)\n    void f() {}\n}\n", &[(2, 5), (4, 5), (5, 5)]),
    (
        "typescript",
        "@Dec()\nclass A {\n  @dec()\n  m() {\n    return 1;\n  }\n\n  @dec() private x = 1;\n}\n",
        &[(1, 9), (2, 9), (3, 6), (4, 6), (8, 8)],
    ),
    (
        "typescript",
        "export interface I {\n  a: string;\n  b(): void;\n}\ntype T =\n  | A\n  | B;\n",
        &[(1, 4), (2, 2), (5, 7), (6, 0)],
    ),
    (
        "tsx",
        "const a = (\n  <div>\n    <p>x</p>\n    <B\n      c={1}\n    />\n  </div>\n);\n",
        &[(1, 8), (2, 7), (3, 3), (4, 6), (5, 5), (7, 0)],
    ),
    (
        "javascript",
        "const o = {\n  a() {\n  },\n  b: 1,\n};\nif (x) {\n  y();\n} else {\n  z();\n}\n",
        &[(1, 5), (2, 3), (4, 4), (6, 10), (8, 0), (7, 7)],
    ),
    ("javascript", "f({\n  a: {\n  }, b: {\n  },\n});\n", &[(1, 5), (2, 0)]),
    (
        "rust",
        "/// d\n#[test]\n#[x]\nfn f() {\n    for i in a {\n        g(i);\n    }\n    1\n}\n\nstruct S;\n",
        &[(4, 9), (2, 9), (3, 9), (1, 1), (5, 7), (8, 8), (11, 11), (9, 0)],
    ),
    (
        "rust",
        "fn f() {\n    {\n        a();\n    }\n    match x {\n        A => 1,\n        B => {\n            2\n        }\n    };\n}\n",
        &[(2, 4), (5, 10), (6, 6), (7, 9)],
    ),
    (
        "c",
        "static int\nf(int a)\n{\n    if (a) {\n        b();\n    }\n    return 1;\n}\n\nstruct S {\n    int a;\n};\n",
        &[(1, 8), (4, 6), (7, 7), (10, 12), (11, 11), (3, 8)],
    ),
    (
        "cpp",
        "template <typename T>\nclass A {\n public:\n  int f() {\n    return 1;\n  }\n  int x;\n};\n",
        &[(1, 8), (2, 8), (4, 6), (7, 7)],
    ),
    (
        "c-sharp",
        "namespace N {\n  [Attr]\n  public class A {\n    [Test]\n    public void F() {\n      for (;;) {\n      }\n    }\n    int x = 1;\n  }\n}\n",
        &[(1, 11), (2, 10), (3, 10), (4, 8), (5, 8), (6, 7), (9, 9)],
    ),
    (
        "php",
        "<?php\n#[A]\nclass B {\n    #[T]\n    public function f() {\n        foreach ($a as $b) {\n        }\n        return 1;\n    }\n}\n",
        &[(2, 10), (3, 10), (4, 9), (5, 9), (6, 7), (8, 8)],
    ),
    (
        "kotlin",
        "@Ann\nclass A {\n    @Test\n    fun f(): Int {\n        for (i in a) {\n            g()\n        }\n        return 1\n    }\n\n    val y = 1\n}\n",
        &[(1, 12), (2, 12), (3, 9), (4, 9), (5, 7), (8, 8), (11, 11)],
    ),
    (
        "scala",
        "object O {\n  def f(a: Int): Int = {\n    for (i <- a) {\n      g()\n    }\n    1\n  }\n  def k(a: Int) =\n    val z = 1\n    z\n}\n",
        &[(1, 11), (2, 7), (3, 5), (6, 6), (8, 10), (9, 9)],
    ),
    (
        "zig",
        "pub fn f() u8 {\n    for (a) |x| {\n        g(x);\n    }\n    return 1;\n}\nconst S = struct {\n    x: u8,\n    fn m() void {}\n};\n",
        &[(1, 6), (2, 4), (5, 5), (7, 10), (8, 8), (9, 9)],
    ),
    (
        "elixir",
        "defmodule A do\n  @doc \"d\"\n  def f(a) do\n    for x <- a do\n      g(x)\n    end\n    1\n  end\nend\n",
        &[(1, 9), (2, 2), (3, 8), (4, 6), (7, 7)],
    ),
    ("elixir", "f fn x ->\n  a(x)\n  b(x)\nend\n", &[(1, 4), (2, 2), (3, 3)]),
    (
        "dart",
        "class A {\n  int x = 1;\n  @override\n  int f() {\n    for (var i in a) {\n    }\n    return 1;\n  }\n}\n",
        &[(1, 9), (2, 2), (3, 8), (4, 8), (5, 6), (7, 7)],
    ),
    ("nix", "{\n  a = {\n    b = 1;\n    d = 2;\n  };\n  c = 3;\n}\n", &[(1, 7), (2, 5), (3, 3), (4, 4), (6, 6)]),
    (
        "hcl",
        "resource \"a\" \"b\" {\n  x = 1\n  tags = {\n    y = 2\n  }\n}\n\nlocals {\n  z = 1\n}\n",
        &[(1, 6), (2, 2), (3, 5), (8, 10), (6, 0)],
    ),
    (
        "json",
        "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [\n      1\n    ]\n  }\n}\n",
        &[(1, 8), (2, 2), (3, 7), (4, 6), (5, 5), (6, 0)],
    ),
    (
        "html",
        "<html>\n<body>\n  <div id=\"x\">\n    <p>hi</p>\n  </div>\n  <br>\n</body>\n</html>\n",
        &[(1, 8), (2, 7), (3, 5), (4, 4), (5, 0)],
    ),
    (
        "css",
        ".a,\n#b > p {\n  color: red;\n}\n@media (x: 1) {\n  .c {\n    d: e;\n  }\n}\n",
        &[(1, 4), (3, 3), (5, 9), (6, 8), (7, 7)],
    ),
    (
        "bash",
        "f() {\n  for i in a; do\n    echo $i\n  done\n  if x; then\n    y\n  fi\n}\n",
        &[(1, 8), (2, 4), (3, 3), (5, 7), (4, 0), (8, 0)],
    ),
    (
        "sql",
        "-- about t\nCREATE TABLE t (\n  a int,\n  b text NOT NULL\n);\n\nSELECT\n  a,\n  b\nFROM t\nWHERE\n  a = 1\n  AND b = 'x';\n",
        &[(1, 1), (2, 5), (3, 3), (4, 4), (7, 13), (8, 8), (9, 9), (10, 13), (11, 13), (12, 13), (13, 0)],
    ),
];

#[test]
fn blocks_are_single_items() {
    let mut wrong = Vec::new();
    for (name, text, lines) in TABLE {
        let Some(language) = Language::from_name(name) else { continue };
        let parsed = parse(text, language, ParseLimits::ASKED).unwrap();
        assert!(parsed.is_clean(), "{name}: {text}\n{:?}", parsed.first_error());
        for (line, last) in *lines {
            let found = parsed.block_at(*line);
            if found.map_or(0, |block| block.last) != *last {
                wrong.push(format!("{name} line {line}: {found:?}, not {last}\n{text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[cfg(feature = "full")]
#[test]
fn every_language_has_a_row() {
    for language in Language::all() {
        assert!(TABLE.iter().any(|(name, ..)| *name == language.name()), "{language:?}");
    }
    assert!(Language::all().count() >= 30);
}

#[test]
fn comments_above_belong_to_the_block() {
    let text = "use a;\n\n// about f\n/// doc\n#[test]\nfn f() {}\nlet x = 1; // behind\nfn g() {}\n";
    let language = Language::from_name("rust").unwrap();
    let parsed = parse(text, language, ParseLimits::ASKED).unwrap();
    assert_eq!(parsed.block_at(6).unwrap().above, 3);
    assert_eq!(parsed.block_at(8).unwrap().above, 8);
    let text = "//! about the file\nfn f() {}\n";
    assert_eq!(parse(text, language, ParseLimits::ASKED).unwrap().block_at(2).unwrap().above, 2);
    let text = "#!/usr/bin/python\ndef f():\n    pass\n\nclass A:\n    # c\n    def g(self): pass\n";
    let parsed = parse(text, Language::from_name("python").unwrap(), ParseLimits::ASKED).unwrap();
    assert_eq!(parsed.block_at(2).unwrap().above, 2);
    assert_eq!(parsed.block_at(7).unwrap().above, 6);
}

#[test]
fn refusals_say_why() {
    let text = "fn f() {\n\n}\nfn g( {\n}\n";
    let parsed = parse(text, Language::from_name("rust").unwrap(), ParseLimits::ASKED).unwrap();
    assert_eq!(parsed.block_at(0), Err(NoBlock::NoLine));
    assert_eq!(parsed.block_at(6), Err(NoBlock::NoLine));
    assert_eq!(parsed.block_at(2), Err(NoBlock::Blank));
    assert_eq!(parsed.block_at(3), Err(NoBlock::Inside(1)));
    assert!(matches!(parsed.block_at(4), Err(NoBlock::Broken(_))), "{:?}", parsed.block_at(4));
    assert!(
        parse("fn f() {}", Language::from_name("rust").unwrap(), ParseLimits { bytes: 3, ..ParseLimits::CHECK })
            .is_none()
    );
}
