use super::UnifiedDiff;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::line_parser::{self, FileActionKind, ParseOptions, StreamEvent};
use crate::formats::testing::{self, hunks, marked};
use crate::formats::{Format, FormatInput};
use crate::locate::binary::apply_binary;
use crate::locate::op::{
    BinaryPayload, FileAction, FileMode, FileRequest, HunkLineKind, Locator, NewFile, Op, Request,
};
use crate::note::Notes;
use serde_json::Value;

fn read(text: &str) -> Result<Request> {
    UnifiedDiff.parse(FormatInput::Text(text.to_owned()))
}

fn read_in(options: &ParseOptions, text: &str) -> Result<Request> {
    line_parser::parse_text(UnifiedDiff.line_parser(options).unwrap(), text)
}

fn good(text: &str) -> Request {
    testing::parse(&UnifiedDiff, text)
}

fn bad(text: &str) -> Error {
    testing::refusal(&UnifiedDiff, text)
}

fn unparsable(text: &str, part: &str) {
    let error = bad(text);
    assert_eq!(error.code(), Code::EditUnparsable, "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

/// Prints every file: path, alternative names, and hunks.
fn shape(text: &str) -> String {
    let file = |file: &FileRequest| {
        let head = [std::slice::from_ref(&file.path), &*file.alternatives].concat().join(" ");
        let lines: Vec<String> = hunks(file).into_iter().map(marked).collect();
        format!("{head}\n{}", lines.join("@\n"))
    };
    good(text).files.iter().map(file).collect()
}

const HEAD: &str = "--- a/x\n+++ b/x\n";

/// Prints the only file's hunks, parsed below the usual header.
fn body(text: &str) -> String {
    let shape = shape(&format!("{HEAD}{text}"));
    shape.strip_prefix("x b/x a/x\n").unwrap_or_else(|| panic!("{shape}")).to_owned()
}

fn notes(text: &str) -> String {
    good(text).notes.texts().join(" ")
}

#[test]
fn names_and_prefixes_are_parsed() {
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    let lines = "-a\n+b\n";
    for (head, names) in [
        ("--- a/x\n+++ b/x\n", "x b/x a/x"),
        ("--- x\n+++ x\n", "x"),
        ("--- x\n+++ b/x\n", "x b/x"),
        ("--- a/x\n+++ x\n", "x a/x"),
        ("--- i/x\n+++ w/x\n", "x w/x i/x"),
        ("--- c/x\n+++ o/x\n", "x o/x c/x"),
        ("--- a/x\n+++ b/y\n", "y x b/y a/x"),
        ("--- old/x\n+++ new/x\n", "new/x old/x x"),
        ("--- a/x 2024-01-01 10:00:00\n+++ b/x 2024-01-01 10:00:00\n", "x b/x a/x"),
        ("--- \"a/caf\\303\\251\"\n+++ \"b/caf\\303\\251\"\n", "café b/café a/café"),
        ("--- a/my file\t\n+++ b/my file\t\n", "my file b/my file a/my file"),
        ("diff --git a/x b/x\nindex 123abcd..456abcd 100644\n", "x b/x a/x"),
        ("diff --git a/my file b/my file\n", "my file b/my file a/my file"),
        ("diff -u a/x b/x\n--- a/x\n+++ b/x\n", "x b/x a/x"),
        (
            "Index: x\n===================================================================\n--- x\t(revision 1)\n+++ x\t(working copy)\n",
            "x",
        ),
        ("Index: x\n=====\n", "x"),
        ("Index: x\n=====\ndiff --git a/x b/x\n--- a/x\t(revision 1)\n+++ b/x\t(working copy)\n", "x b/x a/x"),
        (
            "Index: x\n=====\nRCS file: /cvs/x,v\nretrieving revision 1.1\ndiff -u -r1.1 -r1.2\n--- x\t1 Jan 2024\t1.1\n+++ x\t2 Jan 2024\t1.2\n",
            "x",
        ),
        (
            "diff -r 0123456789ab x\n--- a/x\tThu Jan 01 10:00:00 2024 +0000\n+++ b/x\tThu Jan 01 11:00:00 2024 +0000\n",
            "x b/x a/x",
        ),
        ("--- a/x\n", "x a/x"),
        ("+++ b/x\n", "x b/x"),
    ] {
        assert_eq!(shape(&format!("{head}{hunk}")), format!("{names}\n{lines}"), "{head}");
    }
    unparsable("--- a/x\0y\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "NUL");
    unparsable("--- \n+++ \n@@ -1 +1 @@\n-a\n+b\n", "empty");
    unparsable("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "no file is named");
    unparsable("--- \"a/\\377\"\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "UTF-8");
}

#[test]
fn requested_leading_directories_are_removed() {
    let text = "--- a/one/x\n+++ b/one/x\n@@ -1 +1 @@\n-a\n+b\n";
    let names = |strip| {
        let options = ParseOptions { strip: Some(strip), ..ParseOptions::default() };
        read_in(&options, text).map(|request| (request.files[0].path.clone(), request.files[0].alternatives.join(" ")))
    };
    assert_eq!(names(0).unwrap(), ("b/one/x".to_owned(), "a/one/x".to_owned()));
    assert_eq!(names(1).unwrap(), ("one/x".to_owned(), String::new()));
    assert_eq!(names(2).unwrap(), ("x".to_owned(), String::new()));
    assert!(names(3).unwrap_err().message().contains("leading directories"));
}

#[test]
fn hunk_for_a_known_file_needs_no_header() {
    let text = "@@ -1 +1 @@\n-a\n+b\n";
    let options = ParseOptions { file: Some("src/x".to_owned()), ..ParseOptions::default() };
    assert_eq!(read_in(&options, text).unwrap().files[0].path, "src/x");
    for text in [text, "@@\n-a\n+b\n", "@@ ... @@\n-a\n+b\n"] {
        unparsable(text, "no file is named");
    }
    unparsable("nothing here\n", "no unified diff");
    unparsable("", "no unified diff");
    unparsable("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n@@ -9 +9 @@\n-a\n+b\n", "none follow");
    unparsable("--- a/x\n+++ b/x\n", "no hunk follows");
    unparsable("diff --git a/x b/x\nindex 1234567..89abcde 100644\n", "nothing follows");
}

#[test]
fn hunk_headers_of_every_form_are_parsed() {
    for header in
        ["@@", "@@ @@", "@@ ... @@", "@@ -1,3 +1,3 @@", "@@ -1,3 +1,3", "@@ -1 +1 @@", "@@ -7,9 +7,9 @@", "@@ -,+ @@"]
    {
        assert_eq!(body(&format!("{header}\n a\n-b\n+c\n d\n")), " a\n-b\n+c\n d\n", "{header}");
    }
    assert_eq!(body(" a\n-b\n+c\n d\n"), " a\n-b\n+c\n d\n");
    let first = |header: &str, lines: &str| {
        let request = good(&format!("{HEAD}{header}\n{lines}"));
        let hunk = hunks(&request.files[0])[0].clone();
        (hunk.first, hunk.section.unwrap_or_default())
    };
    let of = |line, section: &str| (line, section.to_owned());
    assert_eq!(first("@@ -34,1 +35,1 @@ class A:", "-a\n+b\n"), of(Some(34), "class A:"));
    assert_eq!(first("@@ class A:", "-a\n+b\n"), of(None, "class A:"));
    assert_eq!(first("@@ -10,0 +11,2 @@", "+a\n+b\n"), of(Some(10), ""));
    let empty = good(&format!("{HEAD}@@ -0,0 +1,2 @@\n+a\n+b\n"));
    let FileAction::Edit { ops, .. } = &empty.files[0].action else { panic!() };
    assert_eq!(ops[..], [Op { at: Locator::Blank, text: "a\nb\n".into() }]);
    // git's id shows that there was a text, so the lines are inserted before it.
    let git = good("diff --git a/x b/x\nindex 1234567..89abcde 100644\n--- a/x\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    assert_eq!(hunks(&git.files[0])[0].first, Some(0));
    unparsable("diff --git a/x b/x\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "the lines below it name b/y");
    assert_eq!(first("@@ -0,0 +0,0 @@", "-a\n+b\n"), of(None, ""));
    assert_eq!(first("@@ -10,3 +10,5 @@", "+a\n+b\n@@ -20 +20 @@\n-c\n+d\n"), of(None, ""));
    assert_eq!(first("@@ -99999999999999999999,1 +1,1 @@", "-a\n+b\n"), of(None, ""));
    assert!(notes(&format!("{HEAD}@@\n-a\n+b\n")).contains("without line numbers were read (line 3)"));
}

#[test]
fn counts_are_checked_but_not_required() {
    let wrong = |text: &str| {
        assert!(notes(&format!("{HEAD}{text}")).contains("Line counts of hunks were wrong"), "{text}");
        body(text)
    };
    // The text after the hunk shows that nothing was truncated.
    assert_eq!(wrong("@@ -1,9 +1,9 @@\n a\n-b\n+c\n*** End Patch\n"), " a\n-b\n+c\n");
    assert_eq!(wrong("@@ -1,9 +1,9 @@\n a\n-b\n+c\n d\n"), " a\n-b\n+c\n d\n");
    assert_eq!(wrong("@@ -1,9 +1,9 @@\n a\n-b\n+c\n@@ -20 +20 @@\n-d\n+e\n"), " a\n-b\n+c\n@\n-d\n+e\n");
    assert_eq!(wrong("@@ -1,1 +1,1 @@\n a\n-b\n+c\n d\n"), " a\n-b\n+c\n d\n");
    assert_eq!(wrong("@@ -1,2 +1,2 @@\n a\n-b\n+c\n\n d\n-e\n+f\n"), " a\n-b\n+c\n \n d\n-e\n+f\n");
    assert_eq!(wrong("@@ -1,2 +1,2 @@\n a\n-b\n+c\n d\n \n"), " a\n-b\n+c\n d\n");
    assert_eq!(wrong("@@ -5,2 +5,1 @@\n-a\n+b\n+c\n"), "-a\n+b\n+c\n");
    // The counts are consistent, and there is no final line end: nothing is missing.
    assert_eq!(body("@@ -1,2 +1,2 @@\n a\n-b\n+c"), " a\n-b\n+c\n");
    assert_eq!(good(&format!("{HEAD}@@ -1,2 +1,2 @@\n a\n-b\n+c")).notes, Notes::new());
    for cut in [
        "@@ -1,9 +1,9 @@\n a\n-b\n+c\n",
        "@@ -1,9 +1,9 @@\n a\n-b\n+c\n\n",
        "@@ -1,9 +1,9 @@\n a\n-b\n+c",
        "@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9,2 +9,3 @@\n a\n-b\n+c",
        "@@ -1 +1 @@\n-b\n",
        "@@ -1,2 +1,2 @@\n a\n-b\n",
        "@@ -1 +1 @@\n-b\n+c\n@@ -9,2 ",
    ] {
        unparsable(&format!("{HEAD}{cut}"), "cut off");
    }
    // Clients trim texts.
    for whole in ["@@\n-b\n+c", "@@\n-b\n+c\n a", "@@\n-b\n+c\n\\ No newline at end of file", "@@\n-b\n+c\n\nDone."] {
        assert!(body(whole).starts_with("-b\n+c\n"), "{whole}");
    }
}

#[test]
fn open_fence_means_that_the_text_is_cut_off() {
    let hunk = "@@ -1 +1 @@\n-b\n+c";
    for end in ["", "\n d\n", "\n@@ -9,2 ", "\n@@\n-d\n", "\ndiff --git a/y b/z\nrename from y\nrename to z\n"] {
        unparsable(&format!("Sure:\n\n```diff\n{HEAD}{hunk}{end}"), "the fence on line 3 is not closed");
    }
    // The counts, and the end of the last line, show that the hunk is complete.
    for end in ["\n", "\n\n", "\nDone.", "\n```", "\n-- \n2.43.0\n", "\n```\n\n```sh\ngit diff\n"] {
        assert_eq!(shape(&format!("Sure:\n\n```diff\n{HEAD}{hunk}{end}")), "x b/x a/x\n-b\n+c\n", "{end}");
    }
}

#[test]
fn lines_without_a_mark_are_kept() {
    assert_eq!(
        body("@@ -1,4 +1,5 @@\nimport os\n+import json\nimport sys\n \n \n"),
        "?import os\n+import json\n?import sys\n \n \n"
    );
    assert_eq!(body("@@\nimport os\n+ import json\n"), "?import os\n+ import json\n");
    assert_eq!(body("@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"), " a\n \n-b\n+c\n");
    assert_eq!(body("@@ -1,3 +1,3 @@\n-a\n+b\n\n\n"), "-a\n+b\n \n \n");
    assert_eq!(body("@@ -1,3 +1,3 @@\n-a\n+b\n\tx\n\ty\n"), "-a\n+b\n?\tx\n?\ty\n");
    assert!(notes(&format!("{HEAD}@@ -1,2 +1,2 @@\nx\n-a\n+b\n")).contains("lost its space (line 4)"));
    // A second change follows unmarked lines, and there are no counts: the placement checks if the lines exist.
    assert_eq!(body("@@\n-a\n+b\nx\n-c\n+d\n"), "-a\n+b\n?x\n-c\n+d\n");
}

#[test]
fn prose_is_not_part_of_a_hunk() {
    let a = "-a\n+b\n";
    for after in [
        "\nThis changes a.\n",
        "This changes a.\n",
        "\n- Changed a\n- Changed b\n",
        "\n    $ cargo test\n",
        "\ncommit 0123456789\nAuthor: A\n\n    - Change\n",
        "\nNotes:\n\n- Changed a\n+ Added b\n",
        "-- \n2.43.0\n\n",
        "--\n2.43.0\n",
        "-- \n",
        "---\n",
        "\n---\n",
        "```\nDone.\n",
        "diff -u a b\n",
        "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: x\n\n---\n x | 2 +-\n",
        "*** End Patch\n",
    ] {
        assert_eq!(body(&format!("@@ -1 +1 @@\n{a}{after}")), a, "{after}");
    }
    assert_eq!(body("@@\n-a\n+b\n-- \n2.43.0\n"), a);
    assert_eq!(body("@@ -1,4 +1,4 @@\n-a\n+b\n-- \n2.39.2 (Apple Git-143)\n"), a);
    // The hunks are in fences, with prose around and between them.
    let text = format!(
        "Sure:\n\n```diff\n{HEAD}@@ -1,5 +1,5 @@\n{a}```\n\nAnd - this:\n\n```diff\n@@ -9 +9 @@\n-c\n+d\n```\n- Done\n"
    );
    assert_eq!(shape(&text), "x b/x a/x\n-a\n+b\n@\n-c\n+d\n");
    // A line among changes only looks like an end.
    assert_eq!(body("@@ -1 +1 @@\n-a\n+b\n---\n+-- c\n"), "-a\n+b\n---\n+-- c\n");
    assert_eq!(body("@@ -1 +1 @@\n-a\n+b\n--\n+c\n"), "-a\n+b\n--\n+c\n");
    unparsable(&format!("{HEAD}@@ -1,9 +1,9 @@\n{a}Only in x: y\n-c\n+d\n"), "outside of a hunk");
    // The changes follow text of unknown meaning.
    unparsable(&format!("{HEAD}@@ -1,1 +1,1 @@\n{a}text\n-c\n+d\n"), "part of the hunk of line 3");
    unparsable(&format!("{HEAD}@@ -1,9 +1,9 @@\n{a}\ntext\n\n- Changed a\n+ Added b\n"), "part of the hunk of line 3");
    unparsable("*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\n", "apply_patch header");
}

#[test]
fn removals_that_resemble_headers_are_removals() {
    // The removed lines are comments in SQL or Lua, or worse; the counts are consistent.
    let sql = "@@ -1,3 +1,3 @@\n select 1;\n--- old comment\n+-- new comment\n select 2;\n";
    assert_eq!(body(sql), sql.split_once('\n').unwrap().1);
    let pair = "@@ -1,2 +1,2 @@\n a\n--- old\n+++ new\n@@ -9 +9 @@\n-c\n+d\n";
    assert_eq!(body(pair), " a\n--- old\n+++ new\n@\n-c\n+d\n");
    assert_eq!(body("@@ -1,3 +1,3 @@\n--- a/x\n+++ b/x\n b\n c\n"), "--- a/x\n+++ b/x\n b\n c\n");
    assert_eq!(body("@@ -1,2 +1,1 @@\n--- \n-- \n+--\n"), "--- \n-- \n+--\n");
    assert_eq!(body("@@ -1,2 +1,1 @@\n a\n-- \n"), " a\n-- \n");
    // The counts are used up or too large: the lines are the header of the next file.
    let next = "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n";
    for counts in ["-1 +1", "-1,1 +1,1", "-1,2 +1,2", "-1,3 +1,3", "-1,9 +1,9"] {
        let text = format!("{HEAD}@@ {counts} @@\n-a\n+b\n{next}");
        assert_eq!(shape(&text), "x b/x a/x\n-a\n+b\ny b/y a/y\n-c\n+d\n", "{counts}");
    }
    for header in ["@@", "@@ ... @@"] {
        let text = format!("{HEAD}{header}\n-a\n+b\n{next}");
        assert_eq!(shape(&text), "x b/x a/x\n-a\n+b\ny b/y a/y\n-c\n+d\n", "{header}");
    }
    let git = format!("{HEAD}@@ -1,9 +1,9 @@\n-a\n+b\ndiff --git a/y b/y\nindex 1234567..1234568 100644\n{next}");
    assert_eq!(shape(&git), "x b/x a/x\n-a\n+b\ny b/y a/y\n-c\n+d\n");
}

#[test]
fn final_line_end_is_parsed() {
    let open = |text: &str| {
        let request = good(&format!("{HEAD}{text}"));
        hunks(&request.files[0])[0].open
    };
    let marker = "\\ No newline at end of file";
    assert_eq!(open(&format!("@@ -1 +1 @@\n-a\n{marker}\n+b\n{marker}\n")), (true, true));
    assert_eq!(open(&format!("@@ -1 +1 @@\n-a\n+b\n{marker}\n")), (false, true));
    assert_eq!(open(&format!("@@ -1 +1 @@\n-a\n{marker}\n+b\n")), (true, false));
    assert_eq!(open(&format!("@@ -1,2 +1,2 @@\n-a\n+b\n c\n{marker}\n")), (true, true));
    assert_eq!(open("@@ -1 +1 @@\n-a\n+b\n\\ Kein Zeilenumbruch am Dateiende.\n"), (false, true));
    assert_eq!(open(&format!("@@ -1,2 +1,2 @@\n-a\n{marker}\n+b\n c\n")), (false, false));
    // A change of only the line end is a change.
    assert_eq!(body(&format!("@@ -1 +1 @@\n-a\n{marker}\n+a\n")), "-a\n+a\n");
    // There are two hunks, and the marker is in the first one.
    assert_eq!(body(&format!("@@ -1 +1 @@\n-a\n{marker}\n+b\n{marker}\n@@ -5 +5 @@\n-c\n+d\n")), "-a\n+b\n@\n-c\n+d\n");
}

#[test]
fn line_ends_and_indentation_are_normalized() {
    let text = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n";
    assert_eq!(shape(&text.replace('\n', "\r\n")), shape(text));
    let indented: String =
        text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") }).collect();
    assert_eq!(shape(&indented), shape(text));
    assert!(notes(&indented).contains("indentation was removed (line 1)"));
    let list = format!(
        "1. Do this:\n\n   ```diff\n{}   ```\n2. Done\n",
        text.replace("--- ", "   --- ")
            .replace("+++ ", "   +++ ")
            .replace("@@ -", "   @@ -")
            .replace("\n a\n\n-b\n+c", "\n    a\n\n   -b\n   +c")
    );
    assert_eq!(shape(&list), shape(text));
    assert_eq!(shape(&format!("\u{FEFF}{text}")), shape(text));
}

fn only(text: &str) -> FileRequest {
    let mut request = good(text);
    assert_eq!(request.files.len(), 1, "{request:?}");
    request.files.remove(0)
}

#[test]
fn created_and_deleted_files_are_parsed() {
    let made = |text: &str| match only(text) {
        FileRequest { path, action: FileAction::Create(NewFile::Text(text)), mode, alternatives: also, .. } => {
            assert!(also.is_empty());
            (path, text, mode)
        }
        file => panic!("{file:?}"),
    };
    let of = |text: &str, mode| ("x".to_owned(), text.to_owned(), mode);
    assert_eq!(made("--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n"), of("a\nb\n", None));
    assert_eq!(made("--- /dev/null\n+++ b/x\n@@ -0,0 +1,9 @@\n+a\n\n+b\n"), of("a\n\nb\n", None));
    assert_eq!(made("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"), of("a", None));
    assert_eq!(made("--- /dev/null\n+++ b/x\n+a\n"), of("a\n", None));
    let git = "diff --git a/x b/x\nnew file mode 100755\nindex 0000000..1234567\n";
    assert_eq!(
        made(&format!("{git}--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n")),
        of("a\n", Some(FileMode::Executable))
    );
    assert_eq!(made(&format!("{git}--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n")), of("a\n", Some(FileMode::Executable)));
    assert_eq!(made("diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\n"), of("", None));
    assert_eq!(
        made("--- x\t1970-01-01 01:00:00.000000000 +0100\n+++ x\t2024-01-01 10:00:00.0 +0100\n@@ -0,0 +1 @@\n+a\n"),
        of("a\n", None)
    );
    unparsable(git, "no hunk contains it");
    unparsable("--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n b\n", "not an added line");
    unparsable("--- /dev/null\n+++ b/x\n", "no hunk follows");

    let gone = |text: &str| match only(text) {
        FileRequest { path, action: FileAction::Delete { text }, .. } if path == "x" => text,
        file => panic!("{file:?}"),
    };
    assert_eq!(gone("--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n").as_deref(), Some("a\nb\n"));
    assert_eq!(gone("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n").as_deref(), Some("a"));
    assert_eq!(gone("diff --git a/x b/x\ndeleted file mode 100644\n"), None);
    assert_eq!(gone("diff --git a/x b/x\ndeleted file mode 100644\nindex e69de29..0000000\n").as_deref(), Some(""));
    unparsable("--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n b\n", "not a removed line");
    unparsable("--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n+b\n", "not a removed line");
    let mnemonic = only("diff --git i/x w/x\nnew file mode 100644\n--- /dev/null\n+++ w/x\n@@ -0,0 +1 @@\n+a\n");
    assert_eq!(mnemonic.path, "x");
    // If both sides have a name, a file whose lines are all removed is emptied, not deleted.
    assert_eq!(body("@@ -1,2 +0,0 @@\n-a\n-b\n"), "-a\n-b\n");
}

#[test]
fn renames_copies_and_modes_are_parsed() {
    let edit = "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
    for (word, moves) in [("rename", true), ("copy", false)] {
        for hunk in ["", edit] {
            let file = only(&format!("diff --git a/x b/y\nsimilarity index 90%\n{word} from x\n{word} to y\n{hunk}"));
            let (to, ops) = match &file.action {
                FileAction::Move { to, ops } if moves => (to, ops),
                FileAction::Copy { to, ops } if !moves => (to, ops),
                action => panic!("{action:?}"),
            };
            assert_eq!((&*file.path, &**to, ops.is_empty()), ("x", "y", hunk.is_empty()));
        }
    }
    let prefixed = only("diff --git a/x b/y\nrename from a/x\nrename to b/y\n");
    assert!(matches!(&prefixed.action, FileAction::Move { to, .. } if to == "y" && prefixed.path == "x"));
    // Without prefixes, a directory may be called `b`.
    for (from, to) in [("a.txt", "b/a.c"), ("b/a.c", "c.hpp"), ("b/a.c", "b/d.c")] {
        let bare = only(&format!("diff --git {from} {to}\nrename from {from}\nrename to {to}\n"));
        assert!(matches!(&bare.action, FileAction::Move { to: new, .. } if new == to && bare.path == from), "{from}");
    }
    let quoted = only("diff --git \"a/\\303\\251\" b/y\nrename from \"\\303\\251\"\nrename to y\n");
    assert_eq!(quoted.path, "é");
    let options = ParseOptions { strip: Some(2), ..ParseOptions::default() };
    let deep = read_in(&options, "diff --git a/d/x b/d/y\nrename from d/x\nrename to d/y\n").unwrap();
    assert!(matches!(&deep.files[0].action, FileAction::Move { to, .. } if to == "y"));

    let mode = only("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n");
    assert_eq!(mode.mode, Some(FileMode::Executable));
    assert!(hunks(&mode).is_empty());
    let both = only("diff --git a/x b/x\nold mode 100755\nnew mode 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n");
    assert_eq!((both.mode, hunks(&both).len()), (Some(FileMode::Regular), 1));
    unparsable("diff --git a/x b/x\nnew mode 9\n", "octal");
    unparsable(
        "diff --git a/x b/x\nindex 1234567..89abcde 160000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-Subproject commit a\n+Subproject commit b\n",
        "submodule",
    );
}

#[test]
fn symbolic_links_are_parsed() {
    let end = "\\ No newline at end of file\n";
    let made = only(&format!(
        "diff --git a/l b/l\nnew file mode 120000\nindex 0000000..1234567\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+target\n{end}"
    ));
    assert_eq!((made.action, made.mode), (FileAction::Create(NewFile::Link("target".to_owned())), None));
    let gone = good(&format!(
        "diff --git a/l b/l\ndeleted file mode 120000\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-target\n{end}"
    ));
    assert_eq!(gone.files[0].action, FileAction::Delete { text: Some("target".to_owned()) });
    let changed = good(&format!(
        "diff --git a/l b/l\nindex 1234567..2345678 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-old\n{end}+new\n{end}"
    ));
    let asks: Vec<&FileAction> = changed.files.iter().map(|file| &file.action).collect();
    assert_eq!(
        asks,
        [&FileAction::Delete { text: Some("old".to_owned()) }, &FileAction::Create(NewFile::Link("new".to_owned()))]
    );
    unparsable("diff --git a/l b/l\nold mode 100644\nnew mode 120000\n", "without its new content");
    unparsable(
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1,2 @@\n+a\n+b\n",
        "one line",
    );
}

// Both patches were made by `git diff --binary --full-index`.
const LITERAL: &str = include_str!("../../../tests/cases/binary_new.patch");
const DELTA: &str = include_str!("../../../tests/cases/binary_delta.patch");

fn old_bytes() -> Vec<u8> {
    (0..2000_u32).flat_map(|n| (n * 7919).to_be_bytes()).collect()
}

fn new_bytes() -> Vec<u8> {
    let mut bytes = old_bytes();
    bytes[4000..4004].copy_from_slice(b"\0new");
    bytes.extend_from_slice(b"\0the end");
    bytes
}

#[test]
fn binary_patches_apply_in_both_directions() {
    assert_eq!(only(LITERAL).action, FileAction::Create(NewFile::Bytes(old_bytes())));
    let back = ParseOptions { reverse: true, ..ParseOptions::default() };
    let removed = read_in(&back, LITERAL).unwrap().files;
    assert!(matches!(&removed[0].action, FileAction::Binary(change) if change.before.is_some()));
    assert_eq!(removed[1].action, FileAction::Delete { text: None });
    let FileAction::Binary(there) = only(DELTA).action else { panic!() };
    assert!(matches!(there.payload, BinaryPayload::Delta(_)) && there.before.is_some() && there.after.is_some());
    assert_eq!(apply_binary(&old_bytes(), &there).unwrap(), new_bytes());
    assert_eq!(apply_binary(&new_bytes(), &there).unwrap_err().code(), Code::StaleChanged);
    let FileAction::Binary(here) = read_in(&back, DELTA).unwrap().files.remove(0).action else { panic!() };
    assert_eq!(apply_binary(&new_bytes(), &here).unwrap(), old_bytes());

    let damaged = DELTA.replacen("delta ", "delta 9", 1);
    unparsable(&damaged, "damaged");
    let lines: Vec<&str> = DELTA.lines().collect();
    unparsable(&lines[..4].join("\n"), "damaged");
    unparsable(&lines[..3].join("\n"), "no data");
    let huge = DELTA.replacen("delta ", "delta 99999999", 1);
    assert_eq!(bad(&huge).code(), Code::CallTooLarge);
    let wrong = LITERAL.replacen("..", "..0", 1);
    unparsable(&wrong, "does not match its");
}

#[test]
fn other_texts_are_refused_with_the_reason() {
    unparsable(
        "diff --git a/x b/x\nindex 1234567..89abcde 100644\nBinary files a/x and b/x differ\n",
        "git diff --binary",
    );
    unparsable("Binary files a/x and b/x differ\n", "git diff --binary");
    for combined in [
        "diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,2 -1,2 +1,3 @@@\n  a\n",
        "--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n--a\n++b\n",
    ] {
        unparsable(combined, "combined diff");
    }
    unparsable("*** a/x\n--- b/x\n***************\n*** 1 ****\n", "context diff");
    assert!(notes(&format!("Only in old: y\n{HEAD}@@ -1 +1 @@\n-a\n+b\n")).contains("Only in"));
    assert!(UnifiedDiff.parse(FormatInput::Json(Value::Null)).is_err());
}

#[test]
fn hunks_without_changes_are_noted() {
    let error = bad(&format!("{HEAD}@@ -1,2 +1,2 @@\n a\n b\n@@ -9 +9 @@\n-c\n+c\n"));
    assert_eq!((error.code(), error.data()["line"].as_u64()), (Code::EditNoChange, Some(3)));
    assert_eq!(body("@@ -1,2 +1,2 @@\n a\n b\n@@ -9 +9 @@\n-c\n+d\n"), "-c\n+d\n");
    assert!(notes(&format!("{HEAD}@@ -1 +1 @@\n a\n@@ -9 +9 @@\n-c\n+d\n")).contains("skipped (line 3)"));
    // The header shows that the marks of added lines are missing.
    for change in ["", "@@ -9 +9 @@\n-c\n+d\n"] {
        unparsable(&format!("{HEAD}@@ -1,2 +1,3 @@\n a\n>b\n c\n{change}"), "none of its lines is marked");
        unparsable(&format!("{HEAD}@@ -1,2 +1,2 @@\na\n[-b-]{{+c+}}\n{change}"), "word diff");
    }
    assert!(notes(&format!("{HEAD}@@ -1 +1 @@\n [-a-z_-]\n@@ -9 +9 @@\n-c\n+d\n")).contains("skipped (line 3)"));
}

#[test]
fn diff_can_be_reversed() {
    let back = ParseOptions { reverse: true, ..ParseOptions::default() };
    let text = "--- a/x\n+++ b/x\n@@ -3,3 +5,4 @@ f\n a\n-b\n+c\n+d\n e\ndiff --git a/m b/n\nold mode 100644\nnew mode 100755\nrename from m\nrename to n\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+new\n--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n";
    let files = read_in(&back, text).unwrap().files;
    assert!(
        matches!(&files[0].action, FileAction::Create(NewFile::Text(text)) if text == "old\n" && files[0].path == "z")
    );
    assert!(
        matches!(&files[1].action, FileAction::Delete { text: Some(text) } if text == "new\n" && files[1].path == "y")
    );
    assert!(matches!(&files[2].action, FileAction::Move { to, .. } if to == "m" && files[2].path == "n"));
    assert_eq!(files[2].mode, Some(FileMode::Regular));
    let hunk = hunks(&files[3])[0];
    assert_eq!((marked(hunk), hunk.first), (" a\n-c\n-d\n+b\n e\n".to_owned(), Some(5)));
    let copy = read_in(&back, "diff --git a/x b/y\ncopy from x\ncopy to y\n").unwrap_err();
    assert!(copy.message().contains("copy"));
}

#[test]
fn several_patches_of_one_file_stay_apart() {
    let text = format!("{HEAD}@@ -1 +1 @@\n-a\n+b\n{HEAD}@@ -1 +1 @@\n-b\n+c\n");
    assert_eq!(shape(&text), "x b/x a/x\n-a\n+b\nx b/x a/x\n-b\n+c\n");
}

#[test]
fn limits_are_enforced() {
    let many = |count: usize| format!("{HEAD}{}", "@@ -1 +1 @@\n-a\n+b\n".repeat(count));
    assert!(read(&many(10_000)).is_ok());
    assert_eq!(bad(&many(10_001)).code(), Code::CallTooLarge);
    let modes = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n";
    assert_eq!(bad(&modes.repeat(10_001)).code(), Code::CallTooLarge);
}

#[test]
fn detected_ranges_are_exact() {
    let ranges =
        |text: &str| -> Vec<_> { UnifiedDiff.detected_ranges(text).into_iter().map(|it| (it.start, it.end)).collect() };
    let text = "Hi\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\nprose\n@@ -9 +9 @@\n-c\n+d\nbye\n";
    assert_eq!(ranges(text), [(1, 6), (8, 11)]);
    assert_eq!(ranges("a\n@@ -1 +1 @@\n-a\n+b\n"), [(1, 4)]);
    assert_eq!(ranges("diff --git a/x b/y\nrename from x\nrename to y\n"), [(0, 3)]);
    assert!(ranges("see\n---\n+++ and\n@@ words\n- a\n").is_empty());
    assert!(ranges("*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\n").is_empty());
    let both = "*** Begin Patch\n*** Update File: x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n*** End Patch\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(ranges(both), [(8, 11)]);
    assert!(ranges("a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n").is_empty());
}

#[test]
fn events_report_files_hunks_and_lines() {
    let mut machine = UnifiedDiff.line_parser(&ParseOptions::default()).unwrap();
    let mut events = Vec::new();
    for line in "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+c".split('\n') {
        machine.line(line, &mut events);
    }
    machine.finish(true, &mut events).unwrap();
    let line = |kind, text: &str| StreamEvent::Line { kind, text: text.to_owned() };
    let file = |path: &str, action| StreamEvent::File { path: path.to_owned(), action };
    let expected = [
        file("x", FileActionKind::Update),
        StreamEvent::Hunk { line: 3 },
        line(HunkLineKind::Removed, "a"),
        line(HunkLineKind::Added, "b"),
        StreamEvent::HunkDone,
        StreamEvent::FileDone,
        file("y", FileActionKind::Add),
        StreamEvent::Hunk { line: 8 },
        line(HunkLineKind::Added, "c"),
        StreamEvent::HunkDone,
        StreamEvent::FileDone,
    ];
    assert_eq!(events, expected);
}

/// The shared cases request the expected files and hunks; their placement is tested elsewhere.
#[test]
fn shared_cases_have_the_expected_structure() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../../../tests/cases/patches.json")).unwrap();
    let unified: Vec<&Value> = cases.iter().filter(|case| case["format"] == "unified").collect();
    assert_eq!(unified.len(), 24);
    for case in unified {
        let (name, patch) = (case["name"].as_str().unwrap(), case["patch"].as_str().unwrap());
        let request = match (name, read(patch)) {
            ("u-no-file-header", Err(error)) if error.code() == Code::EditUnparsable => continue,
            ("u-noop", Err(error)) if error.code() == Code::EditNoChange => continue,
            (_, Ok(request)) => request,
            (_, Err(error)) => panic!("{name}: {error}"),
        };
        let files = request.files.len();
        assert_eq!(files, if name == "u-two-files-second-fails" { 2 } else { 1 }, "{name}");
        for file in &request.files {
            match &file.action {
                FileAction::Create(NewFile::Text(_)) => {
                    assert!(["u-new-file-exists", "u-path-traversal"].contains(&name));
                }
                FileAction::Move { to, ops } => assert_eq!((name, &**to, ops.len()), ("u-rename-edit", "srv.py", 1)),
                _ => {
                    assert_eq!(hunks(file).len(), 1, "{name}");
                    let changes = patch.lines().filter(|line| line.starts_with(['-', '+'])).count();
                    let read = hunks(file)[0]
                        .lines
                        .iter()
                        .filter(|line| matches!(line.kind, HunkLineKind::Added | HunkLineKind::Removed));
                    assert_eq!(read.count() + 2, changes - if files == 2 { 4 } else { 0 }, "{name}");
                    assert!(case["input"].get(&file.path).is_some(), "{name}: {}", file.path);
                }
            }
        }
        let noted =
            ["u-counts-too-big", "u-hdr-bare", "u-hdr-missing-hunk-line", "u-col0-ctx-no-space"].contains(&name);
        assert!(!noted || !request.notes.is_empty(), "{name} has no note");
    }
}

mod line_ends;
mod names;
mod properties;

#[test]
fn removed_line_without_its_announced_replacement_is_refused() {
    let head = "--- a/f\n+++ b/f\n";
    let other = "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n";
    for rest in ["\nThe rest is the same.\n", "...\n", "```\n", other] {
        unparsable(&format!("{head}@@ -1,3 +1,3 @@\n a\n-b\n{rest}"), "what replaces the line is missing");
    }
    // A deletion has correct counts, counts that are too large on both sides, or counts that were exceeded.
    for counts in ["-1,2 +1", "-1,3 +1,2", "-1 +1,4"] {
        let request = good(&format!("{head}@@ {counts} @@\n a\n-b\n{other}"));
        assert_eq!(hunks(&request.files[0])[0].lines.len(), 2, "{counts}");
    }
}

#[test]
fn lines_added_as_the_first_without_old_ones_fill_the_file() {
    let op = |header: &str| {
        let request = good(&format!("--- a/x\n+++ b/x\n{header}\n+a\n+b\n"));
        let FileAction::Edit { ops, .. } = &request.files[0].action else { panic!("{header}") };
        matches!(ops[0].at, Locator::Blank)
    };
    assert!(op("@@ -0,0 +1,2 @@") && op("@@ -1,0 +1,2 @@"));
    // The position is below the first line, or given by a single number.
    assert!(!op("@@ -1,0 +2,2 @@") && !op("@@ -1,1 +1,2 @@") && !op("@@ -2,0 +1,2 @@"));
}

#[test]
fn new_file_with_doubled_marks_is_refused() {
    let new = |name: &str, lines: &str| format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,2 @@\n{lines}");
    unparsable(&new("x", "++def f():\n++    return 1\n"), "begins with `++`");
    unparsable("--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n++x\n", "begins with `++`");
    good(&new("x.patch", "++a\n++b\n"));
    good(&new("x", "++ a\n++ b\n"));
}
