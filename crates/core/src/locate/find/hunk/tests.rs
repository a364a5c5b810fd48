//! Hunks against files: placements and refusals.

use crate::code::Code;
use crate::error::Error;
use crate::locate::op::{Hunk, HunkLine, HunkLineKind, OpOrder, ResolveSettings};
use crate::locate::resolve::{ResolvedEdit, resolve};
use crate::text::snapshot::Snapshot;

mod evidence;

const APP: &str = "import os\nimport sys\n\n\nclass Config:\n    def get(self, key):\n        return self.values.get(key)\n\n    def close(self):\n        pass\n\n\nclass Server:\n    def get(self, key):\n        return self.config.get(key)\n\n    def close(self):\n        pass\n\n    def run(self):\n        host = self.get(\"host\")\n        port = int(self.get(\"8080\"))\n        print(f\"listening on {host}:{port}\")\n";

/// Parses a hunk from its marked lines.
fn hunk(text: &str) -> Hunk {
    let line = |line: &str| {
        let (kind, text) = match line.split_at_checked(1) {
            Some(("-", text)) => (HunkLineKind::Removed, text),
            Some(("+", text)) => (HunkLineKind::Added, text),
            Some((" ", text)) => (HunkLineKind::Context, text),
            None => (HunkLineKind::Context, ""),
            Some(_) => (HunkLineKind::Bare, line),
        };
        HunkLine { kind, text: text.to_owned() }
    };
    Hunk { lines: text.lines().map(line).collect(), source_line: 1, ..Hunk::default() }
}

fn run(file: &[u8], hunks: &[Hunk]) -> Result<(String, ResolvedEdit), Error> {
    let base = Snapshot::open(file.to_vec(), None).unwrap();
    let ops: Vec<_> = hunks.iter().cloned().map(Hunk::into_op).collect();
    let resolved = resolve(&base, &ops, OpOrder::AsNeeded, ResolveSettings::default())?;
    Ok((String::from_utf8(resolved.changes.apply(&base)).unwrap(), resolved))
}

#[track_caller]
fn edit(file: &str, hunk: Hunk) -> String {
    run(file.as_bytes(), &[hunk]).unwrap_or_else(|error| panic!("{error}")).0
}

#[track_caller]
fn refuse(file: &str, hunk: Hunk) -> Error {
    match run(file.as_bytes(), &[hunk]) {
        Ok((text, resolved)) => panic!("edited at {:?}: {text}", resolved.ops[0].tier),
        Err(error) => error,
    }
}

fn below(scopes: &[&str], text: &str) -> Hunk {
    Hunk { scopes: scopes.iter().map(|&it| it.to_owned()).collect(), ..hunk(text) }
}

fn at(first: usize, text: &str) -> Hunk {
    Hunk { first: Some(first), ..hunk(text) }
}

const CLOSE: &str = "     def close(self):\n-        pass\n+        self.values = None";

fn second_close() -> String {
    let at = APP.rfind("        pass").unwrap();
    format!("{}        self.values = None{}", &APP[..at], &APP[at + 12..])
}

#[test]
fn removed_elision_represents_unchanged_lines() {
    let file = "fn first() {\n    one();\n    two();\n}\n";
    let patch = "-fn first() {\n+fn second() {\n-    ...\n+    ...\n-}\n+}\n";
    assert_eq!(edit(file, hunk(patch)), "fn second() {\n    one();\n    two();\n}\n");
}

#[test]
fn lines_with_escapes_are_searched_decoded_too() {
    let file = "if a &amp;&amp; b {\n    say(\"one\");\n}\n".replace("&amp;", "&");
    assert_eq!(edit(&file, hunk("-if a &amp;&amp; b {\n+if a {")), file.replace("a && b", "a"));
    assert_eq!(edit(&file, hunk("-    say(\\\"one\\\");\n+    say(\\\"two\\\");")), file.replace("one", "two"));
    // Text that only resembles an escape is not one.
    let error = refuse(&file, hunk(" if a && b {\n-    ask(&one);\n+    ask(&two);\n }"));
    assert_eq!(error.code(), Code::MatchNotFound, "{error}");
}

#[test]
fn anchors_select_a_place_and_several_places_are_ambiguous() {
    let error = refuse(APP, hunk(CLOSE));
    assert_eq!(error.code(), Code::MatchAmbiguous);
    assert!(error.to_string().contains("line 9") && error.to_string().contains("line 17"), "{error}");
    assert_eq!(edit(APP, below(&["class Server:"], CLOSE)), second_close());
    assert_eq!(edit(APP, below(&["class Server"], CLOSE)), second_close());
    assert_eq!(
        edit(APP, below(&["class Server:", "    def close(self):"], "-        pass\n+        self.values = None")),
        second_close()
    );
    assert_eq!(edit(APP, below(&["class Server:", "def close(self):"], CLOSE)), second_close(), "repeated as context");
    assert_eq!(refuse(APP, below(&["def close"], CLOSE)).code(), Code::MatchAmbiguous);
    let error = refuse(APP, below(&["class Servant:"], CLOSE));
    assert!(error.to_string().contains("`@@ class Server:`"), "{error}");
    let error =
        refuse(APP, below(&["class Server: ... def close(self):"], "-        pass\n+        self.values = None"));
    assert!(error.to_string().contains("`@@ class Server:`, and below it `@@ def close(self):`"), "{error}");
    let error = refuse(
        APP,
        below(&["def run"], "     def get(self, key):\n-        return self.config.get(key)\n+        return None"),
    );
    assert_eq!(error.data()["reason"], "misplaced", "{error}");
}

#[test]
fn sections_and_numbers_select_a_place() {
    assert_eq!(
        edit(APP, Hunk { section: Some("class Server:".into()), first: Some(1), ..hunk(CLOSE) }),
        second_close()
    );
    assert_eq!(edit(APP, at(17, CLOSE)), second_close());
    assert_eq!(edit(APP, at(18, CLOSE)), second_close());
    assert_eq!(refuse(APP, at(13, CLOSE)).code(), Code::MatchAmbiguous, "halfway");
    assert_eq!(refuse(APP, at(1, CLOSE)).code(), Code::MatchAmbiguous, "line 1 means not counted");
}

#[test]
fn order_of_hunks_selects_a_place() {
    let host = hunk("-import sys\n+import json");
    let run_hunk = hunk("-        port = int(self.get(\"8080\"))\n+        port = 1");
    let (text, _) = run(APP.as_bytes(), &[hunk(CLOSE), hunk("-class Server:\n+class Host:"), hunk(CLOSE)]).unwrap();
    assert_eq!(text.matches("self.values = None").count(), 2);
    let (text, resolved) = run(APP.as_bytes(), &[hunk("-class Server:\n+class Host:"), hunk(CLOSE)]).unwrap();
    assert!(text.ends_with(&second_close().replace("class Server:", "class Host:")[40..]), "{text}");
    assert!(resolved.ops[1].notes[0].to_string().contains("order"), "{:?}", resolved.ops[1].notes);
    // Hunks may be out of order if each is unique.
    let (text, _) = run(APP.as_bytes(), &[run_hunk, host]).unwrap();
    assert!(text.contains("import json") && text.contains("port = 1"));
}

#[test]
fn removed_lines_must_exist() {
    for old in ["port = int(self.get(\"8081\"))", "log.info(\"starting\")", "port = int(self.got(\"8080\"))"] {
        let error = refuse(
            APP,
            hunk(&format!(
                "         host = self.get(\"host\")\n-        {old}\n+        port = 1\n         print(f\"listening on {{host}}:{{port}}\")"
            )),
        );
        assert_eq!(error.code(), Code::MatchNotFound);
        assert!(error.to_string().contains("not there"), "{error}");
        assert!(error.to_string().contains("lines 21-23"), "{error}");
    }
}

#[test]
fn stale_context_at_an_edge_is_dropped() {
    let text = "     # Starts to listen.\n         host = self.get(\"host\")\n-        port = int(self.get(\"8080\"))\n+        port = 1";
    let (out, resolved) = run(APP.as_bytes(), &[hunk(text)]).unwrap();
    assert!(out.contains("        port = 1\n        print"));
    assert!(resolved.ops[0].notes[0].to_string().contains("first 1 line"), "{:?}", resolved.ops[0].notes);
    // A function may have been renamed; a name with another number is a different function.
    edit(APP, hunk(&text.replace("# Starts to listen.", "def start(self):")));
    refuse(APP, hunk(&text.replace("# Starts to listen.", "def run2(self):")));
    // A definition that is elsewhere, or that no other context supports, is refused as well.
    refuse(APP, hunk(&text.replace("# Starts to listen.", "def close(self):")));
    refuse(APP, hunk("     def start(self):\n-        host = self.get(\"host\")\n+        host = None"));
    refuse(
        APP,
        hunk(
            "         port = int(self.get(\"8080\"))\n-        print(f\"listening on {host}:{port}\")\n+        pass\n \n     def start(self):\n         return host",
        ),
    );
    // Without its anchor, an insertion has no place.
    refuse(APP, hunk("     def start(self):\n+        new_line = 1\n         host = self.host()"));
    refuse(APP, hunk(" stale_line_one\n+inserted_line\n class Server:"));
}

#[test]
fn lost_blanks_of_context_are_tolerated() {
    assert_eq!(
        edit(APP, hunk("import os\n+import json\nimport sys")),
        APP.replacen("import sys", "import json\nimport sys", 1)
    );
    let text = "    def run(self):\n        host = self.get(\"host\")\n-        port = int(self.get(\"8080\"))\n+        port = 1";
    assert_eq!(edit(APP, hunk(text)), APP.replace("port = int(self.get(\"8080\"))", "port = 1"));
}

#[test]
fn indentation_follows_the_file() {
    let text = " def run(self):\n     host = self.get(\"host\")\n-    port = int(self.get(\"8080\"))\n+    port = 1\n+    if port:\n+        pass";
    assert!(edit(APP, hunk(text)).contains("\n        port = 1\n        if port:\n            pass\n        print"));
    let go = "func main() {\n\tx := 1\n\tif x > 0 {\n\t\tprintln(\"a\")\n\t}\n}\n";
    assert_eq!(
        edit(go, hunk("     x := 1\n     if x > 0 {\n-        println(\"a\")\n+        println(\"b\")\n     }")),
        go.replace("\"a\"", "\"b\"")
    );
}

#[test]
fn context_keeps_its_bytes_and_new_lines_follow_their_neighbours() {
    let file = b"one\r\ntwo\nthree\r\nfour\n";
    let (out, _) = run(file, &[hunk(" one\n two\n-three\n+THREE\n+more\n four")]).unwrap();
    assert_eq!(out, "one\r\ntwo\nTHREE\r\nmore\r\nfour\n");
    let (out, _) =
        run("It\u{2019}s fine \u{2014} really\nold\n".as_bytes(), &[hunk(" It's fine - really\n-old\n+new")]).unwrap();
    assert_eq!(out, "It\u{2019}s fine \u{2014} really\nnew\n");
    let (out, _) = run(b"a\rb\nline2\nline3\n", &[hunk("-line2\n+LINE2\n+more")]).unwrap();
    assert_eq!(out, "a\rb\nLINE2\nmore\nline3\n");
    // The hunk determines which of the repeated lines is kept.
    let (out, _) = run(b"x\r\nx\ny\n", &[hunk("-x\n x\n y")]).unwrap();
    assert_eq!(out, "x\ny\n");
    let (out, _) = run(b"x\r\nx\ny\n", &[hunk(" x\n-x\n y")]).unwrap();
    assert_eq!(out, "x\r\ny\n");
}

#[test]
fn final_line_ends_follow_the_hunk() {
    let file = "x\ny\nx\ny\n";
    let end = |text| Hunk { at_end: true, ..hunk(text) };
    assert_eq!(edit(file, end(" x\n-y\n+Y")), "x\ny\nx\nY\n");
    let error = refuse("x\ny\nz\n", end(" x\n-y\n+Y"));
    assert!(error.to_string().contains("not at the end"), "{error}");
    assert_eq!(edit("a\nb", hunk("-b\n+c\n+d")), "a\nc\nd", "state kept");
    assert_eq!(edit("a\nb", Hunk { open: (true, false), ..hunk("-b\n+c") }), "a\nc\n");
    assert_eq!(edit("a\nb\n", Hunk { open: (false, true), ..hunk("-b\n+c") }), "a\nc");
    assert_eq!(edit("a\nb\n", Hunk { open: (true, true), ..hunk(" a\n-b\n+c") }), "a\nc\n", "a wrong mark");
    assert_eq!(edit("a\nb\n", Hunk { open: (false, true), ..hunk(" a\n b") }), "a\nb", "only the line end");
    assert_eq!(edit("a\nb\n", hunk("-a\n-b")), "");
    assert_eq!(edit("a\nb", hunk("-b")), "a", "state kept, with or without context");
    assert_eq!(edit("a\nb", hunk(" a\n-b")), "a");
    assert_eq!(edit("a\nb", Hunk { open: (true, false), ..hunk("-b") }), "a\n", "as in git");
}

#[test]
fn insertions_are_placed_by_context() {
    assert_eq!(
        edit(APP, below(&["import sys"], "+import json")),
        APP.replacen("import sys\n", "import sys\nimport json\n", 1)
    );
    assert_eq!(edit("a\nb\n", at(1, "+x")), "a\nx\nb\n");
    assert_eq!(edit("a\nb\n", at(0, "+x")), "x\na\nb\n");
    assert_eq!(edit("a\nb", Hunk { at_end: true, ..hunk("+x") }), "a\nb\nx");
    assert_eq!(refuse("a\nx\n", Hunk { at_end: true, ..hunk("+x") }).code(), Code::EditNoChange);
    assert_eq!(edit("a\n}\n", Hunk { at_end: true, ..hunk("+}") }), "a\n}\n}\n");
    assert_eq!(edit("", hunk("+x")), "x\n");
    assert!(refuse("a\nb\n", hunk("+x")).to_string().contains("nothing in it says where"));
    refuse("a\n", at(7, "+x"));
}

#[test]
fn applied_hunk_is_not_applied_again() {
    let file = APP.replacen("import sys", "import sys_of_old\nimport sys", 1);
    let error = refuse(&file, hunk(" import os\n+import sys_of_old\n import sys"));
    assert_eq!(error.code(), Code::EditNoChange, "{error}");
    let error = refuse("alpha\nbeta_inserted\ngamma\n", hunk(" alpha\n+beta_inserted"));
    assert_eq!(error.data()["already_applied"], true);
    let error = refuse("a\nx\nb\n", hunk(" a\n+x"));
    assert_eq!(error.data()["already_applied"], true);
    let error = refuse("a\nx\nb\n", at(1, "+x"));
    assert_eq!(error.data()["already_applied"], true);
    // A brace may be meant twice, but context on both sides of it would show that.
    let error = refuse("{\n}\n}\n", hunk(" {\n+}"));
    assert_eq!(error.data()["already_applied"], true);
    assert_eq!(edit("{\n}\n}\n", hunk(" {\n+}\n }\n }")), "{\n}\n}\n}\n");
    let error = refuse(APP, hunk("-def old_name_of_it():\n+class Server:"));
    assert_eq!(error.data()["already_at"], 13);
}

#[test]
fn missing_marks_and_extra_blank_lines_are_repaired() {
    let file = "def f():\n    a\n    z\n";
    let unmarked = hunk("     a\n+    b\n    c\n+    d\n     z");
    let mut unmarked = unmarked;
    unmarked.lines[2] = HunkLine { kind: HunkLineKind::Bare, text: "    c".into() };
    assert_eq!(edit(file, unmarked), "def f():\n    a\n    b\n    c\n    d\n    z\n");
    // The first space of these lines was taken for the mark.
    let shifted = hunk("     a\n+    b\n    c\n+    d\n     z");
    assert_eq!(edit(file, shifted), "def f():\n    a\n    b\n    c\n    d\n    z\n");
    refuse(file, hunk("     a\n+    b\n      c\n+    d\n     z"));
    refuse("c\ndef f():\n    a\n    z\n", hunk("     a\n+    b\n    c\n+    d\n     z"));
    assert_eq!(edit(file, hunk("     a\n-    z\n-\n+    y\n+")), "def f():\n    a\n    y\n");
}

#[test]
fn many_hunks_take_linear_work() {
    let line = |n: usize| format!("line number {n} of the file\n");
    let file: String = (0..2000).map(line).collect();
    let hunks: Vec<Hunk> =
        (0..200).map(|n| hunk(&format!(" {}-{}+changed {n}\n", line(n * 10), line(n * 10 + 1)))).collect();
    let (out, resolved) = run(file.as_bytes(), &hunks).unwrap();
    assert_eq!(resolved.ops.len(), 200);
    let expected: String =
        (0..2000).map(|n| if n % 10 == 1 { format!("changed {}\n", n / 10) } else { line(n) }).collect();
    assert_eq!(out, expected);
}

#[test]
fn blank_context_between_changes_is_not_rewritten() {
    // The file has one blank line where the hunk has two. The missing one determines what would be written, so nothing
    // is.
    let text = " alpha_alpha\n-beta_beta\n \n+gamma_gamma\n ";
    for file in ["zero\nalpha_alpha\nbeta_beta\n\n", "zero\nalpha_alpha\nbeta_beta\n\nomega\n"] {
        let written = run(file.as_bytes(), &[hunk(text)]).map(|it| it.0);
        assert!(written.is_err() || written == Ok(file.replace("beta_beta\n\n", "\ngamma_gamma\n")), "{written:?}");
    }
}

#[test]
fn place_after_an_anchor_is_reported() {
    let file = "def f():\n    x = 1\n    y = 2\n    x = 1\n";
    let (out, resolved) = run(file.as_bytes(), &[below(&["def f():"], "-    x = 1\n+    x = 3")]).unwrap();
    assert_eq!(out, file.replacen("x = 1", "x = 3", 1));
    let told = "Of 2 places below the anchor, the one right after it was chosen.";
    assert!(resolved.ops[0].notes.iter().any(|note| note.to_string() == told), "{:?}", resolved.ops[0].notes);
    let (_, resolved) = run(file.as_bytes(), &[below(&["def f():"], "-    y = 2\n+    y = 3")]).unwrap();
    assert!(resolved.ops[0].notes.is_empty(), "{:?}", resolved.ops[0].notes);
}

/// Returns the notes about the only hunk.
fn notes(file: &str, hunk: Hunk) -> Vec<String> {
    let (_, resolved) = run(file.as_bytes(), &[hunk]).unwrap_or_else(|error| panic!("{error}"));
    resolved.ops[0].notes.iter().map(ToString::to_string).collect()
}

#[test]
fn note_about_dropped_context_says_where_the_file_has_it() {
    let file = "alpha_line()\nbeta_line()\nother_line()\ngamma_line()\nomega_line()\n";
    let dropped =
        |context: &str| notes(file, at(9, &format!("{context}\n-gamma_line()\n+delta_line()\n omega_line()")));
    let absent = "Context of the hunk is not in the file and was ignored: the first 1 line.";
    assert_eq!(dropped(" missing_line()")[0], absent);
    let there = "Context of the hunk does not fit its place and was ignored: the first 2 lines. Line 2 of the file has some \
                 of it.";
    assert_eq!(dropped(" beta_line()\n missing_line()")[0], there);
}

#[test]
fn place_below_the_block_of_an_anchor_is_reported() {
    let file = "import os\n\ndef f():\n    x = 1\n\nrun()\nlog()\n";
    let change = "-run()\n+run(1)";
    let below_block = "The place is below the block of `@@ def f():`, which is lines 3-4.";
    assert_eq!(notes(file, below(&["def f():"], change)), [below_block]);
    assert!(notes(file, below(&["import os"], change)).is_empty());
    assert!(notes(file, below(&["run()"], "-log()\n+log(1)")).is_empty());
    assert!(notes(file, below(&["def f():"], "-    x = 1\n+    x = 2")).is_empty());
}

#[test]
fn failure_describes_the_place_the_hunk_points_at() {
    let done = APP.replace("        pass", "        self.values = None");
    let error = refuse(&done, Hunk { section: Some("class Server:".into()), ..hunk(CLOSE) });
    assert_eq!(error.data()["already_at"], 17, "{error}");
    let error = refuse(
        &done,
        below(&["class Server"], "     def close(self):\n-        self.value = None\n+        self.x = 1"),
    );
    assert!(error.to_string().contains("lines 17-18"), "{error}");
}

#[test]
fn line_number_does_not_decide_without_context() {
    let file = "one\nstart_block()\nfinish_block()\nfour\nfive\nsix\nstart_block()\nfinish_block()\nnine\n";
    let second = file.rsplitn(2, "finish_block()").collect::<Vec<_>>();
    let second = format!("{}done(){}", second[1], second[0]);
    // Context at the beginning is dropped: the number is that of the first dropped line.
    let front = " stale_one\n stale_two\n start_block()\n-finish_block()\n+done()\n";
    assert_eq!(edit(file, at(5, front)), second);
    assert_eq!(refuse(file, at(2, front)).code(), Code::MatchAmbiguous, "lines 2 and 7 are about as near to 4");
    // Context at the end is dropped: the number is that of the place.
    let back = " start_block()\n-finish_block()\n+done()\n stale_one\n stale_two\n";
    assert_eq!(edit(file, at(7, back)), second);
    // Context on both sides is dropped: nothing ties the place to the number.
    for line in [6, 7, 1, 2] {
        let both = format!(" stale_one\n{back}");
        assert_eq!(refuse(file, at(line, &both)).code(), Code::MatchAmbiguous, "{line}");
    }
}

#[test]
fn context_with_another_number_or_name_is_not_a_typo() {
    let file = "struct tpacket_req {\n    int size;\n    int count;\n    int frames;\n};\n";
    let patch = " struct tpacket_req3 {\n     int size;\n     int count;\n-    int frames;\n+    int blocks;\n };\n";
    assert_eq!(refuse(file, hunk(patch)).code(), Code::MatchNotFound);
    // Context without a counterpart is stale.
    let patch = patch.replace("struct tpacket_req3 {", "# packets of the ring");
    assert_eq!(edit(file, hunk(&patch)), file.replace("frames", "blocks"));
}

#[test]
fn hunk_with_a_closer_match_elsewhere_is_ambiguous() {
    let file = "class A:\n    def area(self):\n        w = self.width\n        return w * 2\n\n\ndef area(self):\n    w = self.width\n    return w * 3\n";
    let patch = " def area(self):\n     w = self.width\n-    return w * 2\n+    return w * 4\n";
    let error = refuse(file, hunk(patch));
    assert_eq!(error.data()["reason"], "rivals", "{error}");
    let shifted = file.replace("w * 2", "w * 4");
    assert_eq!(edit(file, below(&["class A:"], patch)), shifted);
    assert_eq!(edit(file, at(2, patch)), shifted);
}

#[test]
fn blanks_between_tokens_may_differ() {
    let file = "int main( void )\n{\n    call( first,second );\n    return 0;\n}\n";
    let patch = " int main(void)\n {\n-    call(first, second);\n+    call(first);\n     return 0;\n";
    let (text, resolved) = run(file.as_bytes(), &[hunk(patch)]).unwrap();
    assert_eq!(text, file.replace("call( first,second );", "call( first );"));
    assert!(
        resolved.ops[0].notes[0].to_string().contains("whitespace between the tokens"),
        "{:?}",
        resolved.ops[0].notes
    );
    // Words are not joined.
    refuse("returnvalue = long_name_here\n", hunk("-return value = long_name_here\n+x"));
}

#[test]
fn short_hunks_may_omit_blank_lines() {
    let file = "def a():\n    x = 1\n\n    y = 2\n    return x\n";
    assert_eq!(
        edit(file, hunk(" def a():\n     x = 1\n-    y = 2\n+    y = 3\n     return x\n")),
        file.replace("y = 2", "y = 3")
    );
    assert_eq!(
        refuse(&[file, file].concat(), hunk("     x = 1\n-    y = 2\n+    y = 3\n     return x\n")).code(),
        Code::MatchAmbiguous
    );
}

#[test]
fn doubled_mark_is_dropped_where_lines_prove_it() {
    let file = "import os\n\ndef area(w, h):\n    total = w * h\n    return total\n";
    for (text, want) in [
        ("     total = w * h\n-    return total\n++    print(w)\n++    return w", "    print(w)\n    return w\n"),
        ("     total = w * h\n--    return total\n++return w", "    return total\n"),
    ] {
        let got = run(file.as_bytes(), &[hunk(text)]);
        if text.contains("--") {
            // Only the sign of the removed line is doubled, and the file has no such line.
            assert!(got.is_ok_and(|(text, _)| text == file.replace("    return total", "return w")));
            continue;
        }
        let (text, resolved) = got.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(text, file.replace("    return total\n", want));
        assert!(resolved.ops[0].notes.iter().any(|note| note.to_string().contains("begins with `++`")));
    }
    assert_eq!(edit(file, hunk("-import os\n++import os.path\n ")), file.replace("import os", "import os.path"));
}

#[test]
fn sign_that_may_be_text_is_kept_or_refused() {
    let file = "import os\n\nprint(os)\n";
    let error = refuse(file, hunk(" import os\n++import sys\n "));
    assert_eq!(error.code(), Code::EditUnparsable);
    assert!(error.to_string().contains("let the hunk also remove a line"), "{error}");
    // A hunk that follows this advice; a sign as the only change; lists and numbers; a file with such lines.
    assert_eq!(edit(file, hunk("-import os\n+import os\n++import sys\n ")), "import os\n+import sys\n\nprint(os)\n");
    assert_eq!(edit("foo\nbar\n", hunk("-foo\n++foo\n bar")), "+foo\nbar\n");
    // A diff in a document; the border of a table; an increment, whose first half would be the sign.
    assert_eq!(edit("x\n-foo\n", hunk(" x\n--foo\n++foo")), "x\n+foo\n");
    assert_eq!(edit("x\n\n", hunk(" x\n++---+---+\n ")), "x\n+---+---+\n\n");
    refuse("i = 0;\ncount++;\n", hunk(" i = 0;\n-count++;\n++count;"));
    refuse("for {\n  i++;\n}\n", hunk(" for {\n-  i++;\n++i;\n }"));
    assert_eq!(edit("list\n\n", hunk(" list\n++ one\n++ two\n ")), "list\n+ one\n+ two\n\n");
    assert_eq!(edit("list\n\n", hunk(" list\n++49 1\n ")), "list\n+49 1\n\n");
    assert_eq!(edit(" a\n+    b\n", hunk("  a\n++    c\n +    b")), " a\n+    c\n+    b\n");
}

#[test]
fn removed_line_of_column_0_shows_no_depth() {
    let file = "function a() {\n\tlet x_value = 1;\n\treturn x_value;\n}\nexport { a };\n";
    let lines = " function a() {\n     let x_value = 1;\n+    x_value += 1;\n     return x_value;\n }\n-export { a };";
    let want = file.replace("= 1;\n", "= 1;\n\tx_value += 1;\n");
    assert_eq!(edit(file, hunk(&format!("{lines}\n+export {{ a, b }};"))), want.replace("a };", "a, b };"));
    assert_eq!(edit(file, hunk(lines)), want.replace("export { a };\n", ""));
    let file = "class A:\n  def a():\n    x_value = 1\n\nfoo_bar = 1\n";
    let lines = "     def a():\n         x_value = 1\n+        y_value = 2\n \n-foo_bar = 1";
    assert_eq!(
        edit(file, hunk(lines)),
        file.replace("x_value = 1\n\nfoo_bar = 1\n", "x_value = 1\n    y_value = 2\n\n")
    );
    // All changed lines are at column 0, or a removed line shows the depth.
    let file = "f() {\n\tif a:\n    mixed_up();\n}\nexport_all();\n";
    let lines = " f() {\n   if a:\n     mixed_up();\n }\n-export_all();\n+export_one();";
    assert_eq!(edit(file, hunk(lines)), file.replace("_all", "_one"));
    let lines = " f() {\n   if a:\n-    mixed_up();\n+    mixed_up();\n+    more();\n }";
    assert_eq!(edit(file, hunk(lines)), file.replace("up();\n", "up();\n    more();\n"));
}
