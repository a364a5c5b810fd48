use super::{ApplyPatch, print};
use crate::code::Code;
use crate::error::Error;
use crate::formats::line_parser::{FileActionKind, ParseOptions, StreamEvent, parse_text};
use crate::formats::testing::{self, hunks, marked};
use crate::formats::{Format, FormatInput};
use crate::locate::doubled_plus;
use crate::locate::op::{FileAction, FileRequest, Hunk, HunkLine, HunkLineKind, Locator, NewFile, OpOrder, Request};
use crate::note::Notes;
use proptest::prelude::*;

fn parse(text: &str) -> Request {
    testing::parse(&ApplyPatch, text)
}

fn fails(text: &str) -> Error {
    testing::refusal(&ApplyPatch, text)
}

fn with(options: &ParseOptions, text: &str) -> Result<Request, Error> {
    parse_text(ApplyPatch.line_parser(options).unwrap(), text)
}

/// Wraps these lines in a patch.
fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}*** End Patch\n")
}

/// Returns the only hunk of the only file.
fn hunk(text: &str) -> Hunk {
    let request = parse(text);
    assert_eq!(request.files.len(), 1, "{text}");
    let mut hunks = hunks(&request.files[0]);
    assert_eq!(hunks.len(), 1, "{text}");
    hunks.remove(0).clone()
}

const UPDATE: &str = "*** Update File: f\n@@\n a\n-b\n+c\n";

#[test]
fn wrong_counts_do_not_place_new_lines() {
    let first = |header: &str| hunk(&patch(&format!("*** Update File: f\n{header}\n+new\n"))).first;
    assert_eq!(first("@@ -7,2 +7,4 @@"), None);
    assert_eq!((first("@@ -7,0 +8 @@"), first("@@ -7 +7 @@")), (Some(7), Some(7)));
    assert_eq!(hunk(&patch("*** Update File: f\n@@ -7,2 +7,4 @@\n old\n+new\n")).first, Some(7));
}

#[test]
fn all_operations_are_parsed() {
    let request = parse(&patch(
        "*** Add File: new.txt\n+one\n++two\n+\n+*** End Patch\n*** Add File: empty\n*** Delete File: old.txt\n\
         *** Update File: a b.py\n@@ class A\n@@ def f\n-x\n+y\n@@\n z\n+w\n*** End of File\n\
         *** Update File: m\n*** Move to: n\n*** Update File: p\n*** Move to: q\n@@\n-1\n+2\n",
    ));
    assert_eq!(request.notes, Notes::new());
    let paths: Vec<&str> = request.files.iter().map(|file| &*file.path).collect();
    assert_eq!(paths, ["new.txt", "empty", "old.txt", "a b.py", "m", "p"]);
    assert_eq!(request.files[0].action, FileAction::Create(NewFile::Text("one\n+two\n\n*** End Patch\n".into())));
    assert_eq!(request.files[1].action, FileAction::Create(NewFile::Text(String::new())));
    assert_eq!(request.files[2].action, FileAction::Delete { text: None });
    let found = hunks(&request.files[3]);
    assert_eq!(found.len(), 2);
    assert_eq!(
        (&*found[0].scopes, &*marked(found[0]), found[0].source_line),
        (&["class A".into(), "def f".into()][..], "-x\n+y\n", 10)
    );
    assert_eq!((&*marked(found[1]), found[1].at_end, found[0].at_end), (" z\n+w\n", true, false));
    assert_eq!(request.files[4].action, FileAction::Move { to: "n".into(), ops: vec![] });
    assert!(matches!(&request.files[5].action, FileAction::Move { to, ops } if to == "q" && ops.len() == 1));
    assert!(matches!(&request.files[3].action, FileAction::Edit { order: OpOrder::AsNeeded, .. }));
}

#[test]
fn wrappers_and_prose_are_ignored() {
    let inner = patch(UPDATE);
    let plain = parse(&inner);
    assert_eq!(plain.notes, Notes::new());
    for (before, after) in [
        ("<<EOF\n", "EOF\n"),
        ("<<'EOF'\n", "EOF"),
        ("apply_patch <<\"TAG\"\n", "TAG\n"),
        ("$ apply_patch <<'PATCH_1'\n", "PATCH_1\n"),
        ("cat <<EOF | apply_patch\n", "EOF\n"),
        ("bash -lc \"apply_patch <<'EOF'\n", "EOF\"\n"),
        ("```diff\n", "```\n"),
        ("Sure, here it is:\n\n```\napply_patch <<'EOF'\n", "EOF\n```\nDone.\n"),
        ("\n\n", "\n \n"),
        ("\u{FEFF}", ""),
    ] {
        for text in [format!("{before}{inner}{after}"), format!("{before}{inner}{after}").replace('\n', "\r\n")] {
            let request = parse(&text);
            let found = hunks(&request.files[0]).remove(0);
            assert_eq!(marked(found), " a\n-b\n+c\n", "{text}");
            assert_eq!(request.files[0].path, "f");
            assert_eq!(request.notes.is_empty(), before.trim().trim_start_matches('\u{FEFF}').is_empty(), "{text}");
        }
    }
    let moved = patch("*** Update File: f\n*** Move to: ./g\n*** Delete File: /abs\n");
    for before in
        ["cd sub/x && apply_patch <<'EOF'\n", "cd sub/x\napply_patch <<'EOF'\n", "cd sub && cd x; apply_patch <<E\n"]
    {
        let request = parse(&format!("{before}{moved}EOF\n"));
        assert_eq!((&*request.files[0].path, &*request.files[1].path), ("sub/x/f", "/abs"), "{before}");
        assert_eq!(request.files[0].action, FileAction::Move { to: "sub/x/g".into(), ops: vec![] });
        assert!(request.notes.iter().any(|note| note.to_string().contains("sub/x")), "{:?}", request.notes);
    }
    assert!(fails(&format!("cd $HOME && apply_patch <<'EOF'\n{inner}EOF\n")).message().contains("shell"));
    let two = parse(&format!("{inner}\nAnd then:\n{}", patch("*** Delete File: g\n")));
    assert_eq!(two.files.len(), 2);
}

#[test]
fn mistakes_are_repaired_and_reported() {
    for (text, part) in [
        (
            patch(UPDATE).replace("*** Begin Patch", "*** Begin Patch ***").replace("End Patch", "End Patch ***"),
            "Lines 1, 7",
        ),
        (patch(UPDATE).replace("*** Begin Patch\n", ""), "Line 1 of the request: `*** Begin Patch` was missing"),
        (patch(UPDATE).replace("File: f", "File:f"), "Line 2 of the request: the marker"),
        (patch(UPDATE).replace("File: f", "File:   f"), "marker"),
        (patch(UPDATE).replace("File: f", "file: f"), "marker"),
        (patch(UPDATE).replace("Update", "UPDATE"), "marker"),
        (patch(UPDATE).replace("File: f", "File: `f`"), "quotes"),
        (patch(UPDATE).replace("*** Begin Patch", "*** Begin Patch\n"), "blank line"),
        (patch(UPDATE).replace("@@", "@@ ... @@"), "`@@` line"),
        (patch(UPDATE).replace("@@\n", "\n@@\n"), "blank line"),
        (patch(UPDATE).replace("@@\n", "--- a/f\n+++ b/f\n@@\n"), "header of a unified diff"),
        (
            patch(UPDATE).replace("@@\n", "diff --git a/f b/f\nindex 12ab..34cd 100644\n--- a/f\n+++ b/f\n@@\n"),
            "unified",
        ),
        (patch(UPDATE).replace("@@\n", "@@ -1,2 +1,2 @@\n"), "hint"),
        (patch(UPDATE).replace("+c\n", "+c\n@@\n"), "without any line below"),
        (patch(&(UPDATE.to_owned() + "@@\n keep\n")), "changes nothing"),
        (patch(UPDATE).replace("*** E", " *** E"), "indented"),
        (patch(UPDATE).lines().map(|line| format!("    {line}\n")).collect(), "indented as a whole"),
        (
            patch(UPDATE)
                .replace("@@\n", "--- a/f\n+++ b/f\n@@\n")
                .lines()
                .map(|line| format!("   {line}\n"))
                .collect(),
            "indented as a whole",
        ),
        (patch(UPDATE).replace("Begin Patch", "Begin Patch\n*** Environment ID: here"), "environment `here`"),
    ] {
        let request = parse(&text);
        assert_eq!((request.files.len(), &*request.files[0].path), (1, "f"), "{text}");
        assert_eq!(marked(hunks(&request.files[0])[0]), " a\n-b\n+c\n", "{text}");
        assert!(request.notes.iter().any(|note| note.to_string().contains(part)), "{text}\n{:?}", request.notes);
    }
    let implicit = hunk(&patch(UPDATE).replace("@@\n", ""));
    assert_eq!((marked(&implicit), implicit.source_line), (" a\n-b\n+c\n".to_owned(), 3));
}

#[test]
fn indented_markers_in_an_update_are_lines_of_the_file() {
    let found = hunk(&patch("*** Update File: f\n@@\n-x\n+y\n *** End Patch\n  *** Update File: b\n  @@\n"));
    assert_eq!(marked(&found), "-x\n+y\n *** End Patch\n  *** Update File: b\n  @@\n");
    // At other places they are markers.
    let request = parse("  *** Begin Patch\n *** Add File: n\n+1\n  *** Update File: f\n@@\n-x\n+y\n*** End Patch");
    assert_eq!(request.files.len(), 2);
    assert_eq!(marked(hunks(&request.files[1])[0]), "-x\n+y\n");
}

#[test]
fn update_with_unmarked_lines_and_no_change_is_refused() {
    let idle = "*** Update File: g\n@@\n keep\nmaybe new\n";
    let error = fails(&patch(&format!("{UPDATE}{idle}")));
    assert!(error.message().contains("lines have no sign: `maybe new`") && error.data()["line"] == 7, "{error}");
    // Beside a change of the same file, such lines are searched for; lines with a space are known to stay.
    assert_eq!(hunks(&parse(&patch(&format!("{UPDATE}@@\nmaybe new\n"))).files[0]).len(), 2);
    assert_eq!(parse(&patch(&format!("{UPDATE}*** Update File: g\n@@\n keep\n"))).files.len(), 1);
}

#[test]
fn chunk_headers_select_a_place() {
    let of = |at: &str| hunk(&patch(UPDATE).replace("@@\n", at));
    assert_eq!(of("@@ def f():\n").scopes, ["def f():"]);
    assert_eq!(of("@@def f():\n").scopes, ["def f():"]);
    assert_eq!(of("@@ def f(): @@\n").scopes, ["def f():"]);
    assert_eq!(of("@@ a\n\n@@ b\n@@ c\n").scopes, ["a", "b", "c"]);
    let numbered = of("@@ -7,2 +9,3 @@ fn g()\n");
    assert_eq!((numbered.first, numbered.section.as_deref(), numbered.scopes.len()), (Some(7), Some("fn g()"), 0));
    assert_eq!(of("@@\n").scopes.len() + of("@@ ... @@\n").scopes.len(), 0);
}

#[test]
fn file_names_are_parsed() {
    let of = |name: &str| parse(&patch(UPDATE).replace("File: f", &format!("File: {name}"))).files.remove(0);
    assert_eq!((of("a/src/x").path, of("a/src/x").alternatives), ("a/src/x".into(), vec!["src/x".to_owned()]));
    assert_eq!((of("src/x").alternatives, of("./x").path), (vec![], "./x".into()));
    let strip = ParseOptions { strip: Some(1), ..ParseOptions::default() };
    let request = with(&strip, &patch(UPDATE).replace("File: f", "File: a/src/x")).unwrap();
    assert_eq!((&*request.files[0].path, request.files[0].alternatives.len()), ("src/x", 0));
    assert!(with(&strip, &patch(UPDATE)).unwrap_err().message().contains("leading directories to remove"));
    let named = ParseOptions { file: Some("dir/f".into()), ..ParseOptions::default() };
    assert_eq!(with(&named, &patch("@@\n-x\n+y\n")).unwrap().files[0].path, "dir/f");
    assert!(
        with(&ParseOptions::default(), &patch("@@\n-x\n+y\n")).unwrap_err().message().contains("operation is expected")
    );
    assert!(fails(&patch(UPDATE).replace("File: f", "File: ")).message().contains("no name"));
    assert!(fails(&patch(UPDATE).replace("File: f", "File: f\0g")).message().contains("NUL"));
}

#[test]
fn patch_can_be_reversed() {
    let options = ParseOptions { reverse: true, ..ParseOptions::default() };
    let back = with(&options, &patch(&format!("{UPDATE}*** Add File: n\n+x\n"))).unwrap();
    assert_eq!(back.files[0].action, FileAction::Delete { text: Some("x\n".into()) });
    assert_eq!(marked(hunks(&back.files[1])[0]), " a\n-c\n+b\n");
    // This format does not contain the content of a deleted file.
    assert_eq!(with(&options, &patch("*** Delete File: d\n")).unwrap_err().code(), Code::CallInvalid);
}

#[test]
fn blank_lines_are_context() {
    let found = hunk(&patch("*** Update File: f\n@@\n\n-x\n\n+y\n\n\n"));
    assert_eq!(marked(&found), "?\n-x\n \n+y\n?\n?\n");
    let below = hunk(&patch("*** Update File: f\n@@ import os\n+import re\n\n"));
    assert_eq!(marked(&below), "+import re\n");
    let request = parse(&patch("*** Add File: n\n+a\n\n+b\n\n*** Delete File: d\n\n*** Add File: e\n\n"));
    assert_eq!(request.files[0].action, FileAction::Create(NewFile::Text("a\n\nb\n".into())));
    assert_eq!(request.files.len(), 3);
    assert_eq!(request.notes.len(), 2, "{:?}", request.notes);
}

#[test]
fn unmarked_lines_and_unterminated_patches_are_parsed() {
    let found = hunk(&patch("*** Update File: f\n@@\nimport os\n+import json\n\timport sys\n"));
    assert_eq!(marked(&found), "?import os\n+import json\n?\timport sys\n");
    let open = hunk(&patch("*** Update File: f\n@@\n-x\n\\ No newline at end of file\n+y\n"));
    assert_eq!(open.open, (true, false));
    let both = hunk(&patch("*** Update File: f\n@@\n-w\n+v\n x\n\\ Kein Zeilenumbruch\n"));
    assert_eq!(both.open, (true, true));
    let only = hunk(&patch("*** Update File: f\n@@\n-x\n\\ No newline\n+x\n"));
    assert_eq!((only.open, marked(&only)), ((true, false), "-x\n+x\n".to_owned()));
    let inner = hunk(&patch("*** Update File: f\n@@\n-x\n\\ No newline\n y\n"));
    assert_eq!(inner.open, (false, false));
    let new = parse(&patch("*** Add File: n\n+x\n\\ No newline at end of file\n"));
    assert_eq!(new.files[0].action, FileAction::Create(NewFile::Text("x".into())));
    // These `---` and `+++` are not a header of this file.
    let lists = hunk(&patch("*** Update File: f\n--- a/g\n+++ b/g\n"));
    assert_eq!(marked(&lists), "--- a/g\n+++ b/g\n");
}

#[test]
fn sections_of_one_file_are_joined() {
    let request = parse(&patch(
        "*** Update File: f\n-a\n+b\n*** Update File: g\n-1\n+2\n*** Update File: f\n-c\n+d\n\
         *** Delete File: g\n*** Add File: g\n+x\n*** Update File: g\n-x\n+y\n",
    ));
    let shape: Vec<(&str, bool)> =
        request.files.iter().map(|file| (&*file.path, matches!(file.action, FileAction::Edit { .. }))).collect();
    assert_eq!(shape, [("f", true), ("g", true), ("g", false), ("g", false), ("g", true)]);
    assert_eq!(hunks(&request.files[0]).len(), 2);
}

#[test]
fn refusals_name_the_line_and_a_remedy() {
    for (text, message, next) in [
        (
            patch("*** Add File: n\n+x\ny\n"),
            "Line 4 of the request: a line of a new file has no `+`",
            "+x\n+y\n*** End",
        ),
        (
            patch("*** Delete File: n\n-x\n"),
            "Line 3 of the request: no lines may follow",
            "*** Delete File: n\n*** End",
        ),
        (patch("*** Frobnicate File: n\n"), "no such operation", "*** Add File: PATH"),
        (patch("*** Update File: n\n"), "Line 2 of the request: the update has no chunk", "at least one chunk"),
        (patch("*** Update File: n\n@@ def f\n"), "no line follows", "below `@@`"),
        (
            patch(&(UPDATE.to_owned() + "*** Move to: g\n")),
            "wrong place",
            "directly below `*** Update File: f` (line 2)",
        ),
        (
            patch(&(UPDATE.to_owned() + "*** End of File\n-x\n")),
            "follows `*** End of File`",
            "*** End of File\n@@\n-x\n",
        ),
        (patch("*** Environment ID: \n*** Delete File: n\n"), "no name", "*** Begin Patch\n*** Delete"),
        (patch("*** Environment ID: a\n*** Environment ID: b\n*** Delete File: n\n"), "twice", "Omit"),
        (patch("so:\n*** Delete File: n\n"), "an operation is expected here", "*** Add File: PATH"),
        (patch(&format!("{UPDATE}*** Begin Patch\n")), "the one on line 1 is not ended", "*** End Patch"),
        ("only prose".into(), "contains no patch", "*** Begin Patch"),
        ("*** Begin Patch\n*** Update File: f\n@@\n-a\n+b".into(), "may be cut off", "as its last line"),
        (
            "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Pa".into(),
            "line 6 of the request is its last",
            "whole",
        ),
        (String::from("*** Begin Patch\n*** Add File: f\n+x\ny\n"), "may be cut off", "whole"),
    ] {
        let error = fails(&text);
        assert_eq!(error.code(), Code::EditUnparsable, "{text}");
        assert!(error.message().contains(message) && error.next_step().contains(next), "{text}\n{error}");
    }
    for text in [patch(""), patch("*** Update File: f\n@@\n a\n"), patch("*** Update File: f\n-a\n+a\n")] {
        assert_eq!(fails(&text).code(), Code::EditNoChange, "{text}");
    }
    assert_eq!(fails(&patch(&"*** Delete File: x\n".repeat(10_001))).code(), Code::CallTooLarge);
}

#[test]
fn corrected_patch_parses() {
    let error = fails(&patch("*** Add File: n\nx\n\n  y\n*** Update File: f\n@@ s\n-a\n+b\n"));
    let fixed = error.next_step().split_once("corrected:\n").unwrap().1;
    assert_eq!(parse(fixed).files[0].action, FileAction::Create(NewFile::Text("x\n\n  y\n".into())));
    assert_eq!(parse(fixed).notes, Notes::new());
}

#[test]
fn events_report_arriving_parts() {
    let mut machine = ApplyPatch.line_parser(&ParseOptions::default()).unwrap();
    let mut out = Vec::new();
    for line in patch("*** Update File: f\n*** Move to: g\n@@ s\n-a\n+b\n*** Add File: n\n+x\n").lines() {
        machine.line(line, &mut out);
    }
    let file = |path: &str, action| StreamEvent::File { path: path.into(), action };
    let line = |kind, text: &str| StreamEvent::Line { kind, text: text.into() };
    let expected = [
        file("f", FileActionKind::Update),
        file("f", FileActionKind::Move { to: "g".into() }),
        StreamEvent::Hunk { line: 4 },
        line(HunkLineKind::Removed, "a"),
        line(HunkLineKind::Added, "b"),
        StreamEvent::HunkDone,
        StreamEvent::FileDone,
        file("n", FileActionKind::Add),
        line(HunkLineKind::Added, "x"),
        StreamEvent::FileDone,
    ];
    assert_eq!(out, expected);
    assert!(machine.finish(false, &mut out).is_ok());
}

#[test]
fn detected_ranges_are_exact() {
    let of = |text: &str| -> Vec<(usize, usize)> {
        ApplyPatch.detected_ranges(text).into_iter().map(|range| (range.start, range.end)).collect()
    };
    let inner = patch(UPDATE);
    assert_eq!(of(&inner), [(0, 7)]);
    assert_eq!(of(&format!("Sure:\n```\n{inner}```\n{inner}")), [(2, 9), (10, 17)]);
    assert_eq!(of(&format!("cd x && apply_patch <<E\n{inner}E\n")), [(0, 8)]);
    assert_eq!(of(&inner.replace("*** Begin Patch\n", "")), [(0, 6)]);
    assert_eq!(of(&inner.replace("*** End Patch\n", "\n\n")), [(0, 6)]);
    assert_eq!(of(&inner.replace("*** End", "  *** End")), [(0, 7)]);
    assert!(of("a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n").is_empty());
    assert!(of("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n*** note\n").is_empty());
    let context = "-a\n+b\n *** Begin Patch\n *** Update File: x\n \n";
    for below in ["", "```\n", "\nDone.\n", "-- \n2.43.0\n"] {
        assert_eq!(of(&format!("{context}{below}")), [(2, 4)], "{below}");
    }
    // The lines of a hunk may have no indentation below markers that have one.
    assert_eq!(of(&inner.replace("*** ", "  *** ")), [(0, 7)]);
    assert_eq!(of(&format!(" {inner}")), [(0, 7)]);
}

#[test]
fn every_shared_case_is_parsed() {
    let cases: serde_json::Value = serde_json::from_str(include_str!("../../../tests/cases/patches.json")).unwrap();
    let cases: Vec<_> = cases.as_array().unwrap().iter().filter(|case| case["format"] == "codex").collect();
    assert_eq!(cases.len(), 18);
    for case in cases {
        let result = ApplyPatch.parse(FormatInput::Text(case["patch"].as_str().unwrap().into()));
        assert_eq!(result.is_err(), case["name"] == "c-missing-end", "{}: {result:?}", case["name"]);
    }
}

#[test]
fn large_patch_takes_linear_time() {
    let text = patch(&format!("*** Update File: f\n{}", "@@ s\n a\n\n-b\n+c\n".repeat(9_000)));
    assert_eq!(hunks(&parse(&text).files[0]).len(), 9_000);
    let blank_lines = patch(&format!("*** Add File: f\n+x\n{}+y\n", "\n".repeat(300_000)));
    assert_eq!(parse(&blank_lines).notes.len(), 1);
    let scopes = patch(&format!("*** Update File: f\n{}-b\n+c\n", "@@ s\n".repeat(100_000)));
    assert_eq!(hunk(&scopes).scopes.len(), 100_000);
}

#[test]
fn prompt_is_short_and_its_patch_parses() {
    let prompt = ApplyPatch.spec().prompt;
    assert!(prompt.len() <= 1_500, "{}", prompt.len());
    let end = prompt.find("*** End Patch").unwrap() + "*** End Patch".len();
    let request = parse(&prompt[prompt.find("*** Begin").unwrap()..end]);
    assert_eq!((request.files.len(), request.notes.len()), (4, 0));
}

fn text_line() -> impl Strategy<Value = String> {
    "[ a-z*@+é-]{0,8}".prop_map(|text| text)
}

fn any_hunk() -> impl Strategy<Value = Hunk> {
    let kind = prop_oneof![Just(HunkLineKind::Context), Just(HunkLineKind::Removed), Just(HunkLineKind::Added)];
    let lines = prop::collection::vec((kind, text_line()).prop_map(|(kind, text)| HunkLine { kind, text }), 1..6);
    let scopes = prop::collection::vec("[a-z]{1,4}( [a-z]{1,4})?", 0..3);
    let first = prop::option::of((1usize..99, prop::option::of("[a-z]{1,5}")));
    (lines, scopes, first, any::<bool>()).prop_map(|(lines, scopes, first, at_end)| {
        let (first, section) = first.map_or((None, None), |(first, section)| (Some(first), section));
        Hunk { lines, scopes, section, first, at_end, ..Hunk::default() }
    })
}

fn any_file(number: usize) -> impl Strategy<Value = FileRequest> {
    let ops = |least| prop::collection::vec(any_hunk().prop_map(Hunk::into_op), least..4);
    let text = prop::collection::vec(text_line(), 0..4);
    let action = prop_oneof![
        (text, any::<bool>()).prop_map(|(lines, open)| {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            FileAction::Create(NewFile::Text(if open { text.trim_end_matches('\n').to_owned() } else { text }))
        }),
        Just(FileAction::Delete { text: None }),
        ops(1).prop_map(|ops| FileAction::Edit { ops, order: OpOrder::AsNeeded }),
        (ops(0), "[a-z]{1,5}/[a-z]{1,3}").prop_map(|(ops, to)| FileAction::Move { to, ops }),
    ];
    action.prop_map(move |action| FileRequest::new(format!("dir {number}/f.txt"), action))
}

fn any_request() -> impl Strategy<Value = Request> {
    prop::collection::vec(any_file(0), 1..5).prop_map(|mut files| {
        for (number, file) in files.iter_mut().enumerate() {
            file.path = format!("dir {number}/f.txt");
        }
        Request { files, notes: Notes::new() }
    })
}

/// Removes the parts of a request that a patch cannot express: line numbers of hunks, and edits that change nothing.
fn normalized(mut request: Request) -> Request {
    for file in &mut request.files {
        let (FileAction::Edit { ops, .. } | FileAction::Move { ops, .. }) = &mut file.action else { continue };
        ops.retain(|op| !matches!(&op.at, Locator::Hunk(hunk) if hunk.old_text() == hunk.new_text()));
        for op in ops {
            if let Locator::Hunk(hunk) = &mut op.at {
                hunk.source_line = 0;
            }
        }
    }
    request.files.retain(|file| !matches!(&file.action, FileAction::Edit { ops, .. } if ops.is_empty()));
    request.notes = Notes::new();
    request
}

proptest! {
    #[test]
    fn printed_patches_are_parsed(request in any_request()) {
        let text = print(&request).unwrap();
        let expected = normalized(request);
        match ApplyPatch.parse(FormatInput::Text(text.clone())) {
            Ok(read) => prop_assert_eq!(normalized(read), expected, "{}", text),
            Err(error) if error.code() == Code::EditUnparsable => {
                // The patch may be refused if all lines of a new file begin with a plus sign.
                prop_assert!(expected.files.iter().any(|file| matches!(
                    &file.action,
                    FileAction::Create(NewFile::Text(text)) if doubled_plus::is_suspected(text.lines())
                )), "{text}\n{error}");
            }
            Err(error) => prop_assert!(expected.files.is_empty() && error.code() == Code::EditNoChange, "{text}\n{error}"),
        }
    }

    #[test]
    fn truncated_patch_is_refused(request in any_request(), part in 0.0f64..1.0) {
        let text = print(&request).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let kept = (lines.len() as f64 * part) as usize;
        prop_assert!(ApplyPatch.parse(FormatInput::Text(lines[..kept].concat())).is_err());
    }

    #[test]
fn any_text_is_parsed_or_refused(
        text in "((\\*{2,4} ?(Begin Patch|End Patch|(Add|Update|Delete|Odd) File:? ?|Move to: |End of File|Environment ID: )|apply_patch <<E|cd x|```|@@ ?|--- a/f|\\+\\+\\+ b/f|[ +-]|\\\\ N|f|é|.{0,5}| {1,2})\r?\n?){0,40}",
        whole in any::<bool>(),
    ) {
        let text = if whole { patch(&format!("*** Update File: f\n{text}\n")) } else { text };
        let ranges = ApplyPatch.detected_ranges(&text);
        prop_assert!(ranges.iter().all(|range| range.start < range.end && range.end <= text.lines().count()));
        if let Ok(request) = ApplyPatch.parse(FormatInput::Text(text)) {
            prop_assert!(!ranges.is_empty() && request.files.iter().all(|file| !file.path.is_empty()));
            if let Some(text) = print(&request) {
                let again = ApplyPatch.parse(FormatInput::Text(text.clone()));
                prop_assert_eq!(again.map(|it| it.files.len()), Ok(request.files.len()), "{}", text);
            }
        }
    }
}
