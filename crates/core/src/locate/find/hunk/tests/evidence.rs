//! Hunks that fit several places: which evidence decides, and which contradicts another one.

use super::{at, below, edit, hunk, refuse, run};
use crate::code::Code;
use crate::locate::op::{Hunk, HunkLine, HunkLineKind};

/// A function with a preprocessor line in the first column, and the same lines before and after it.
const PROBE: &str = "int probe(struct dev *dev)\n{\n\tone(dev);\n\ttwo(dev);\n#ifdef B\n\tset_b(dev);\nout:\n\tone(dev);\n\ttwo(dev);\n#endif\n\treturn 0;\n}\n\nint other(struct dev *dev)\n{\n\tone(dev);\n\ttwo(dev);\n}\n";
const TWO: &str = " \tone(dev);\n-\ttwo(dev);\n+\tTWO(dev);";

/// Replaces the occurrence with this index.
fn with_two(nth: usize) -> String {
    let (at, _) = PROBE.match_indices("two").nth(nth).unwrap();
    format!("{}TWO{}", &PROBE[..at], &PROBE[at + 3..])
}

fn in_section(name: &str, hunk: Hunk) -> Hunk {
    Hunk { section: Some(name.to_owned()), ..hunk }
}

#[test]
fn section_includes_labels_and_preprocessor_lines() {
    let name = "int probe(struct dev *dev)";
    assert_eq!(edit(PROBE, in_section(name, at(8, TWO))), with_two(1));
    assert_eq!(edit(PROBE, in_section("int other(struct dev *dev)", at(1, TWO))), with_two(2));
    assert_eq!(refuse(PROBE, in_section(name, at(1, TWO))).code(), Code::MatchAmbiguous);
    assert_eq!(refuse(PROBE, below(&[name], TWO)).code(), Code::MatchAmbiguous);
}

#[test]
fn number_and_section_that_contradict_each_other_decide_nothing() {
    let file = "def first():\n    a = 1\n    one()\n    b = 1\nLIMIT = 1\ndef second():\n    one()\n";
    let change = "-    one()\n+    two()";
    assert_eq!(refuse(file, in_section("def first():", at(7, change))).code(), Code::MatchAmbiguous);
    // The number is wrong in any case if the section begins below it.
    assert_eq!(
        edit(file, in_section("def second():", at(3, change))),
        file.replace("():\n    one()", "():\n    two()")
    );
}

#[test]
fn anchor_prefers_whole_words() {
    let file = "class FooBar(Base):\n    limit = 10\n\n\nclass Foo(Base):\n    kind = 1\n    limit = 10\n";
    let change = "-    limit = 10\n+    limit = 20";
    let edited = "class FooBar(Base):\n    limit = 10\n\n\nclass Foo(Base):\n    kind = 1\n    limit = 20\n";
    assert_eq!(edit(file, below(&["class Foo"], change)), edited);
    assert!(edit(file, below(&["class Foo"], "+    size = 1")).contains("class Foo(Base):\n    size = 1\n"));
    // Part of a word is enough if it is unique.
    assert_eq!(edit(file, below(&["class FooB"], change)), file.replacen("10", "20", 1));
    let exported = file.replace("class Foo(", "export class Foo(");
    assert_eq!(refuse(&exported, below(&["class Foo"], change)).code(), Code::MatchAmbiguous);
}

#[test]
fn place_right_after_an_anchor_is_not_preferred_to_another_block() {
    let file = "class A:\n    def close(self):\n        self.open = False\n\n\nclass B:\n    def close(self):\n        self.log()\n        self.open = False\n";
    let change = "-        self.open = False\n+        self.open = None";
    assert_eq!(refuse(file, below(&["def close(self):"], change)).code(), Code::MatchAmbiguous);
    assert!(
        edit(file, below(&["class B:", "def close(self):"], change)).ends_with("log()\n        self.open = None\n")
    );
}

#[test]
fn some_context_has_to_be_in_the_file() {
    let file = "def alpha(items):\n    total = sum(items)\n    return total\n\n\ndef render(page):\n    header = page.header\n    result = build_result(header)\n    return result\n";
    let change = "-    result = build_result(header)\n+    result = build_result(footer)";
    let lone = format!("     engine.start()\n{change}\n     engine.stop()");
    for stale in [hunk(&lone), below(&["def alpha(items):"], &lone), at(8, &lone)] {
        assert_eq!(refuse(file, stale).code(), Code::MatchNotFound);
    }
    // Stale context on one side is dropped, but not below an anchor of another block.
    let half = format!("     engine.start()\n     header = page.header\n{change}");
    assert!(edit(file, hunk(&half)).contains("footer"));
    assert!(edit(file, below(&["def render(page):"], &half)).contains("footer"));
    assert_eq!(refuse(file, below(&["def alpha(items):"], &half)).code(), Code::MatchNotFound);
    // More was dropped on both sides than is left.
    let little = format!("     engine.start()\n     header = page.header\n{change}\n     engine.stop()");
    assert_eq!(refuse(file, hunk(&little)).code(), Code::MatchNotFound);
}

#[test]
fn applied_hunks_are_recognized_before_context_is_dropped() {
    let file = "first_line = 1\nimport os_path_tools\nsecond_line = 2\n";
    for patch in [
        " first_line = 1\n import os_path_tools\n-import os_path_tools\n second_line = 2",
        " first_line = 1\n-import os_path_tools\n import os_path_tools\n second_line = 2",
    ] {
        assert_eq!(refuse(file, hunk(patch)).code(), Code::EditNoChange, "{patch}");
    }
    let file = "import alpha_module\nimport beta_module\nimport gamma_module\nvalue_one = 1\n";
    for patch in [
        " import alpha_module\n-import beta_module\n+import beta_module\n+import gamma_module\n value_one = 1",
        " import alpha_module\n-import beta_module\n+import beta_module\n+import gamma_module",
        "-import gamma_module\n+import beta_module\n+import gamma_module\n value_one = 1",
    ] {
        assert_eq!(refuse(file, hunk(patch)).code(), Code::EditNoChange, "{patch}");
    }
    let file = "import alpha_module\nimport beta_module\nvalue_one = 1\n";
    let patch = " import alpha_module\n-import beta_module\n+import beta_module\n+import gamma_module\n value_one = 1";
    assert!(edit(file, hunk(patch)).contains("import beta_module\nimport gamma_module\nvalue_one"));
}

#[test]
fn applied_hunks_are_recognized_with_a_tolerance() {
    let file = "def f():\n    alpha_one(\"x\")\n    beta_two()\n    gamma()\n";
    for patch in [
        "+    alpha_one(\"x\")\n     beta_two()\n     gamma()",
        "+alpha_one(\"x\")\n beta_two()\n gamma()",
        "+\talpha_one(\"x\")\n \tbeta_two()\n \tgamma()",
        "+    alpha_one(\"x\")\n     beta_two()  \n     gamma()",
        " alpha_one(“x”)\n+beta_two()",
    ] {
        let error = refuse(file, hunk(patch));
        assert_eq!(error.code(), Code::EditNoChange, "{patch}: {error}");
    }
    let added = "+delta()\n beta_two()\n gamma()";
    assert_eq!(edit(file, hunk(added)), file.replace("    beta", "    delta()\n    beta"));
}

/// The lines `line a` to `line l`.
fn letters() -> String {
    ('a'..='l').map(|letter| format!("line {letter}\n")).collect()
}

#[test]
fn numbers_count_the_lines_of_the_original_file_also_in_turn() {
    let added = Hunk {
        lines: vec![
            HunkLine { kind: HunkLineKind::Added, text: "line i".to_owned() },
            HunkLine { kind: HunkLineKind::Added, text: "line j".to_owned() },
        ],
        ..at(8, "")
    };
    let error = run(letters().as_bytes(), &[at(3, "-line c"), added]).unwrap_err();
    assert_eq!(error.code(), Code::EditNoChange, "{error}");
    // The last hunk needs the result of another one.
    let hunks = [at(1, "-x\n-y\n-z"), at(4, " a\n-b\n+B"), at(5, "-B\n+BB")];
    let (text, _) = run(b"x\ny\nz\na\nb\nc\na\nb\nc\n", &hunks).unwrap();
    assert_eq!(text, "a\nBB\nc\na\nb\nc\n");
}

#[test]
fn insertions_by_number_follow_the_offset_of_other_hunks() {
    let file = format!("new1\nnew2\n{}", letters());
    let (c, h) = (at(3, "-line c\n+line C"), at(8, "+after h"));
    let (text, resolved) = run(file.as_bytes(), &[c.clone(), h.clone()]).unwrap();
    assert!(text.contains("line C\n") && text.contains("line h\nafter h\nline i\n"), "{text}");
    let mut notes = resolved.ops[1].notes.iter().map(ToString::to_string);
    assert!(notes.any(|note| note.contains("the offset of the hunk above")));
    // Whether the lines above shifted as those below is unknown.
    let error = run(file.as_bytes(), &[h, at(10, "-line j\n+line J")]).unwrap_err();
    assert_eq!(error.code(), Code::MatchAmbiguous, "{error}");
}

#[test]
fn hunk_below_may_show_that_a_number_misleads() {
    let block = "begin()\nprepare()\nfinish()\nspacer()\n";
    let file = format!("top\n{}tail_line\nend\n", block.repeat(4));
    let (change, tail) = (" begin()\n-prepare()\n+other()\n finish()", at(18, "-tail_line\n+other_line\n end"));
    let run_on = |file: &str| run(file.as_bytes(), &[at(6, change), tail.clone()]);
    assert!(run_on(&file).is_ok());
    let error = run_on(&format!("1\n2\n3\n4\n{file}")).unwrap_err();
    assert_eq!(error.code(), Code::MatchAmbiguous, "{error}");
}

#[test]
fn similar_place_includes_a_line_above_an_omitted_one() {
    let file = "class A:\n    def run(self):\n        host = self.host\n        port = self.port_of_service\n";
    let text = "     def run(self):\n-        port = self.port_of_service\n+        port = 1";
    let error = run(file.as_bytes(), &[hunk(text)]).unwrap_err().to_string();
    assert!(error.contains("(lines 2-4") && !error.contains("is not there"), "{error}");
}

#[test]
fn place_with_the_dropped_line_is_as_likely() {
    let file = "[staging]\nhost = a\nmode = slow\ndebug = no\n\n[production]\nhost = a\nmode = fast\ndebug = no\n";
    let patch = " [staging]\n host = a\n mode = fast\n-debug = no\n+debug = yes\n";
    for stale in [hunk(patch), at(1, patch), at(3, patch)] {
        let error = refuse(file, stale);
        assert_eq!(error.data()["reason"], "rivals", "{error}");
        assert!(error.to_string().contains("lines 7-9") && error.to_string().contains("lines 1-4"), "{error}");
    }
    // The number names the place; the file does not have the dropped line, or has it without the others.
    assert!(edit(file, at(6, patch)).ends_with("debug = yes\n"));
    assert!(edit(&file.replace("staging", "testing"), hunk(patch)).ends_with("debug = yes\n"));
    assert!(edit(&file.replace("host = a\nmode = slow\n", "kind = b\n"), hunk(patch)).ends_with("debug = yes\n"));
    let jobs = "jobs:\n  lint:\n    runs-on: ubuntu\n    steps:\n      - uses: checkout@v5\n      - run: make all\n\n  test:\n    runs-on: ubuntu\n    steps:\n      - uses: checkout@v4\n      - run: make all\n";
    let patch = "   lint:\n     runs-on: ubuntu\n     steps:\n       - uses: checkout@v4\n+      - run: make lint\n       - run: make all\n";
    assert_eq!(refuse(jobs, hunk(patch)).data()["reason"], "rivals");
    // The name is the last line of the context.
    let file = "first_value()\nsecond_value()\nthird_value()\nend alpha\nfirst_value()\nsecond_value()\nother_value()\nend beta\n";
    let patch = " first_value()\n-second_value()\n+2\n third_value()\n end beta\n";
    assert_eq!(refuse(file, hunk(patch)).data()["reason"], "rivals");
}

#[test]
fn shifted_hunk_has_rivals_too() {
    let file = "[alpha]\nhost = a.example\nuser = ada\nmode = slow\nretries = three\ndebug = no\n\n[beta]\nhost = b.example\nuser = bob\nmode = fast\nretries = three\ndebug = no\n";
    let lines = ["[alpha]", "host = a.example", "user = ada", "mode = fast"];
    for indent in ["", "    ", "\t"] {
        let head: String = lines.iter().map(|line| format!(" {indent}{line}\n")).collect();
        let patch = format!("{head}-{indent}retries = three\n+{indent}retries = nine\n {indent}debug = no\n");
        let error = refuse(file, hunk(&patch));
        assert_eq!(error.data()["reason"], "rivals", "{error}");
    }
}

#[test]
fn neighbour_with_more_of_the_lines_is_a_rival() {
    let file = "=== Maintainers\nsee below\nlist:\n* Chad Granum\nend of the list.\n=== Authors\nsee below\nlist:\n* Chad Granum\nend of the list\n=== Copyright\n";
    let patch =
        " === Maintainers\n see below\n list:\n * Chad Granum\n+* Ada\n end of the list\n === Authors\n see below\n";
    let error = refuse(file, hunk(patch));
    assert_eq!(error.data()["reason"], "rivals", "{error}");
}

#[test]
fn place_in_another_block_than_that_of_the_anchor_is_refused() {
    let ini = "[staging]\nhost = a\nmode = slow\ndebug = no\n\n[production]\nhost = a\nmode = fast\ndebug = no\n";
    let python = "class A:\n    def start(self):\n        self.lock(0)\n        return go(self)\n\n    def stop(self):\n        self.lock()\n        return go(self)\n";
    let classes = python.replace("    def stop", "class B:\n    def start");
    let start = "         self.lock()\n-        return go(self)\n+        return go(self, 1)\n";
    let c = "int start(void)\n{\n\tlock(0);\n\treturn go();\n}\n\nint stop(void)\n{\n\tlock();\n\treturn go();\n}\n";
    let c_patch = " {\n \tlock();\n-\treturn go();\n+\treturn go(1);\n }\n";
    let text = "# A\n\n## Install\n\nRun it!\n\nDone.\n\n## Remove\n\nRun it.\n\nDone.\n";
    let css = ".a-button {\n  color: red;\n  margin: 1px;\n}\n.b-button {\n  color: blue;\n  margin: 1px;\n}\n";
    let html = "<form id=\"login\">\n  <b>Name!</b>\n  <i>Send</i>\n</form>\n<form id=\"register\">\n  <b>Name</b>\n  <i>Send</i>\n</form>\n";
    let sql = "CREATE TABLE users (\n  id BIGINT,\n  at TIME\n);\nCREATE TABLE orders (\n  id INT,\n  at TIME\n);\n";
    let json = "{\n  \"staging\": {\n    \"mode\": \"slow\",\n    \"debug\": false\n  },\n  \"production\": {\n    \"mode\": \"fast\",\n    \"debug\": false\n  }\n}\n";
    for (file, anchor, patch) in [
        (ini, "[staging]", " mode = fast\n-debug = no\n+debug = yes\n"),
        (ini, "[staging]", " host = a\n mode = fast\n+level = 3\n debug = no\n"),
        (python, "def start(self):", start),
        (&classes, "class A:", &format!("     def start(self):\n{start}")),
        (c, "int start(void)", c_patch),
        (text, "## Install", " Run it.\n \n-Done.\n+Finished.\n"),
        (css, ".a-button {", "   color: blue;\n-  margin: 1px;\n+  margin: 2px;\n"),
        (html, "<form id=\"login\">", "   <b>Name</b>\n-  <i>Send</i>\n+  <i>Log in</i>\n"),
        (sql, "CREATE TABLE users (", "   id INT,\n-  at TIME\n+  at DATE\n"),
        (json, "  \"staging\": {", "     \"mode\": \"fast\",\n-    \"debug\": false\n+    \"debug\": true\n"),
    ] {
        let error = refuse(file, below(&[anchor], patch));
        assert_eq!(error.code(), Code::MatchNotFound, "{error}");
    }
    // The hunk shows the line that begins the other block, or the place is below all blocks.
    assert!(
        edit(python, below(&["def start(self):"], &format!("     def stop(self):\n{start}"))).contains("(self, 1)")
    );
    let nested = format!("{python}\nclass C:\n    def stop(self):\n        self.log()\n");
    let log = "     def stop(self):\n-        self.log()\n+        self.print()\n";
    assert!(edit(&nested, below(&["def start(self):"], log)).ends_with("self.print()\n"));
    refuse(&nested, below(&["def start(self):"], "-        self.log()\n+        self.print()"));
    let file = format!("{python}\nprint(A)\n");
    assert!(edit(&file, below(&["def start(self):"], "-print(A)\n+print(B)")).ends_with("print(B)\n"));
    // A section whose lines are like those of the hunk.
    let error = refuse(c, in_section("int start(void)", at(2, c_patch)));
    assert_eq!(error.data()["reason"], "rivals", "{error}");
    for named in [in_section("int start(void)", at(8, c_patch)), in_section("int stop(void)", at(2, c_patch))] {
        assert!(edit(c, named).ends_with("return go(1);\n}\n"));
    }
    let other = c.replacen("lock(0);\n\treturn go();", "none();", 1);
    assert!(edit(&other, in_section("int start(void)", at(2, c_patch))).ends_with("return go(1);\n}\n"));
}
