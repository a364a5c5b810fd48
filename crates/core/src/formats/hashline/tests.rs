use super::Hashline;
use crate::formats::line_parser::{self, ParseOptions, StreamEvent};
use crate::formats::{Format, FormatInput};
use crate::formats::{detect, testing};
use crate::locate::anchor_map::{AnchorMap, AnchorPage};
use crate::locate::line_edits::{self, AnchorRange, LineTarget, Register};
use crate::locate::op::{FileAction, FileRequest, HunkLineKind, Op, Request};
use crate::note::Notes;
use crate::text::snapshot::Snapshot;
use crate::{Code, Error, Handle, HeaderStyle, ShortTag};
use proptest::prelude::*;

fn parse(text: &str) -> Result<Request, Error> {
    Hashline::SEED.parse(FormatInput::Text(text.to_owned()))
}

/// Parses operations on a single file.
fn read(text: &str) -> Vec<Op> {
    let mut request = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let Some(FileRequest { action: FileAction::Edit { ops, .. }, .. }) = request.files.pop() else { panic!("{text}") };
    ops
}

/// Returns the lines and texts of the operations.
fn ops(text: &str) -> Vec<(LineTarget, String)> {
    read(text).into_iter().map(|op| (line_edits::of(&op).unwrap().target, op.text)).collect()
}

fn refused(text: &str) -> Error {
    testing::refusal(&Hashline::SEED, text)
}

fn lines(from: usize, to: usize, text: &str) -> (LineTarget, String) {
    (LineTarget::Lines { from, to }, text.to_owned())
}

#[test]
fn every_operation_of_both_dialects_is_parsed() {
    let body = |place, text: &str| (place, text.to_owned());
    let seed = "¶a#1a2b\nreplace 2..3:\n+x\n+\ndelete 9\ninsert before 4:\n+b\ninsert after 5:\n+a\ninsert head:\n+h\ninsert tail:\n+t\nreplace block 7:\n+y\ndelete block 8\ninsert after block 6:\n+z\n";
    let current = "[a#1a2b]\nPUT 2.=3:\n+x\n+\nCUT 9\nPUT <4:\n+b\nPUT >5:\n+a\nPUT <1:\n+h\nPUT >$:\n+t\nPUT 7*:\n+y\nCUT 8*\nPUT >6*:\n+z\n";
    let wanted = [
        lines(2, 3, "x\n\n"),
        lines(9, 9, ""),
        body(LineTarget::Before(4), "b\n"),
        body(LineTarget::After(5), "a\n"),
        body(LineTarget::Head, "h\n"),
        body(LineTarget::Tail, "t\n"),
        body(LineTarget::Block(7), "y\n"),
        body(LineTarget::Block(8), ""),
        body(LineTarget::AfterBlock(6), "z\n"),
    ];
    for (text, header) in [(seed, HeaderStyle::Pilcrow), (current, HeaderStyle::Brackets)] {
        assert_eq!(ops(text), wanted);
        let request = parse(text).unwrap();
        assert_eq!(request.files[0].base, Some(Handle::Lines(header, ShortTag::parse("1A2B").unwrap())));
        assert!(request.notes.is_empty(), "{:?}", request.notes);
    }
}

#[test]
fn headers_are_parsed() {
    for (text, path) in [
        ("¶a b/c d.rs#1A2B", "a b/c d.rs"),
        ("¶ a.ts#1A2B  ", "a.ts"),
        ("¶\"a.ts\"#1A2B", "a.ts"),
        ("['a.ts#1A2B']", "a.ts"),
        ("¶Update File: a.ts#1A2B", "a.ts"),
        ("¶*** Update File:a.ts#1A2B", "a.ts"),
        ("¶ADD - FILE: ./a.ts#1A2B", "./a.ts"),
        ("¶Move to: a.ts#1A2B", "a.ts"),
        ("¶Update.ts#1A2B", "Update.ts"),
        ("¶C#/a.cs#1A2B", "C#/a.cs"),
        ("¶a#b.txt#1A2B", "a#b.txt"),
        ("¶app/[id]/page.tsx#1A2B", "app/[id]/page.tsx"),
        ("*** Update File: ¶a.ts#1A2B", "a.ts"),
        ("*** ¶a.ts#1A2B", "a.ts"),
        ("Add File: ¶a.ts#1A2B", "a.ts"),
        ("*** Update File: [a.ts#1A2B]", "a.ts"),
        ("  ¶a.ts#1A2B", "a.ts"),
        ("### ¶a.ts#1A2B", "a.ts"),
        ("> ¶a.ts#1A2B", "a.ts"),
        ("- ¶a.ts#1A2B", "a.ts"),
        ("2. ¶a.ts#1A2B", "a.ts"),
        ("--- ¶a.ts#1A2B", "a.ts"),
        ("`¶a.ts#1A2B`", "a.ts"),
        ("**¶a.ts#1A2B**", "a.ts"),
        ("File: `¶a.ts#1A2B`", "a.ts"),
        ("¶a.ts#1A2B:", "a.ts"),
        ("  [a.ts#1A2B]", "a.ts"),
        ("### [a.ts#1A2B]", "a.ts"),
        ("> [a.ts#1A2B]", "a.ts"),
        ("`[a.ts#1A2B]`", "a.ts"),
        ("**[a.ts#1A2B]**", "a.ts"),
        ("File: `[app/[id]/a.ts#1A2B]`:", "app/[id]/a.ts"),
    ] {
        let op = if text.contains(['[']) && !text.contains('¶') { "CUT 1" } else { "delete 1" };
        assert_eq!(parse(&format!("{text}\n{op}\n")).unwrap().files[0].path, path, "{text}");
    }
    for text in ["¶a.ts#1A2", "¶a.ts#1A2B5", "¶a.ts#1A2B:7", "¶a.ts#1A2G", "¶#1A2B", "¶"] {
        let error = refused(&format!("{text}\ndelete 1\n"));
        assert!(error.message().contains("header must be ¶PATH or ¶PATH#TAG"), "{text}: {error}");
    }
}

#[test]
fn lenient_forms_are_accepted_with_a_note() {
    for text in [
        "replace 2-3:", "replace 2…3:", "replace 2 3:", "replace 2 .. 3:", "replace 2....3:", "replace 2 -.. 3:",
        "replace 2.=3:", "replace 2.3:", "replace 2..3", " replace\t2..3 : ",
    ] {
        let text = format!("¶a#1A2B\n{text}\n+x\n");
        assert_eq!(ops(&text), [lines(2, 3, "x\n")], "{text}");
    }
    let assert_message = |text: &str, part: &str| {
        let notes = parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).notes;
        assert!(notes.iter().any(|note| note.to_string().contains(part)), "{text}: {notes:?}");
    };
    assert_message("¶a#1A2B\nreplace 2-3:\n+x\n", "separator");
    assert_message("¶a#1A2B\nreplace 2..3:\nx\n", "Auto-prefixed bare body");
    assert_message("[a#1A2B]\nPUT 2.=3:\n", "deletion");
    let colon = parse("¶a#1A2B\ndelete 2..3:\n").unwrap_err();
    assert!(colon.message().contains("no colon") && colon.next_step().contains("`replace 2..3:`"), "{colon}");
    assert_message("¶a#1A2B\nreplace 2..3:\n+delete 3\n", "reads like an operation");
    assert_message("¶a#1A2B\nreplace 2..3: +x\n", "on the line");
    assert_eq!(ops("¶a#1A2B\nreplace 2..3: +x\n+y\n"), [lines(2, 3, "x\ny\n")]);
    assert_eq!(ops("[a#1A2B]\n2.=3:\n+x\n"), [lines(2, 3, "x\n")]);
    assert_eq!(ops("[a#1A2B]\nPUT 2.=:\n+x\nCUT 7.=\n"), [lines(2, 2, "x\n"), lines(7, 7, "")]);
    for text in ["¶a#1A2B\nreplace 2..:\n+x\n", "¶a#1A2B\ndelete 2 -\n"] {
        assert!(refused(text).message().contains("has no last line"), "{text}");
    }
    assert!(refused("¶a#1A2B\ndelete 2..\n").next_step().contains("2..2 for line 2 alone"));
}

#[test]
fn bodies_are_parsed() {
    let body = |rows: &str| ops(&format!("¶a#1A2B\nreplace 2..3:\n{rows}\n"))[0].1.clone();
    assert_eq!(body("+a\n\n+b\n\n"), "a\n\nb\n");
    assert_eq!(body("a\n  \nb"), "a\n  \nb\n");
    for rows in ["- a\n- b", "- a\n+- b"] {
        assert_eq!(ops(&format!("[a#1A2B]\nPUT 2.=3:\n{rows}\n"))[0].1, "- a\n- b\n");
        assert!(refused(&format!("¶a#1A2B\nreplace 2..3:\n{rows}\n")).message().contains("`-` rows are not valid"));
        assert!(refused(&format!("¶a#1A2B\ninsert after 2:\n{rows}\n")).message().contains("`-` rows are not valid"));
    }
    assert_eq!(body("2:a\n\n3:b: c"), "a\n\nb: c\n");
    assert_eq!(body("2:3:a"), "3:a\n");
    assert_eq!(body("1: \"one\",\n2: \"two\","), "1: \"one\",\n2: \"two\",\n");
    assert_eq!(body("2:a\nb"), "2:a\nb\n");
    // The number of the line that the row becomes, or consecutive numbers of pasted rows, are stripped once.
    assert_eq!(body("2:    a\n3:}"), "    a\n}\n");
    assert_eq!(body("2: a\n3: b"), "2: a\n3: b\n");
    assert_eq!(body("2: x"), "2: x\n");
    assert_eq!(body("3:a\n4:b"), "a\nb\n");
    assert_eq!(body("2:2:B"), "2:B\n");
    assert_eq!(body("7:a\nb"), "7:a\nb\n");
    assert_eq!(body("10:30 standup\n11:30 lunch"), "10:30 standup\n11:30 lunch\n");
    assert_eq!(body("80:http\n443:https"), "80:http\n443:https\n");
    assert_eq!(body("+x\n3:y"), "x\ny\n");
    assert_eq!(ops("¶a#1A2B\ninsert after 4:\n5:a\n6:b\n")[0].1, "a\nb\n");
    assert_eq!(ops("¶a#1A2B\ninsert tail:\n5:a\n")[0].1, "5:a\n");
    assert_eq!(body("+2:a"), "2:a\n");
    assert_eq!(body("+*** End of File\n*** End of File"), "*** End of File\n");
    let request = parse("¶a#1A2B\nreplace 2..3:\n-old\n+new\n").unwrap();
    let FileAction::Edit { ops, .. } = &request.files[0].action else { panic!() };
    assert_eq!((&*ops[0].text, &*line_edits::of(&ops[0]).unwrap().old), ("new\n", &["old".to_owned()][..]));
    for (rows, part) in [
        ("-old", "`-` rows are not valid"),
        ("- a\n+b", "`-` rows are not valid"),
        ("42", "need a verb"),
        ("4 5", "bare range"),
        ("@@ -1,2 +1,2 @@", "unified-diff"),
        ("@@ x", "bracketed"),
        ("*** Add File: b", "sentinel"),
        ("+a\n…\n+b", "omitted lines"),
    ] {
        let error = refused(&format!("¶a#1A2B\nreplace 2..3:\n{rows}\n"));
        assert!(error.message().contains(part), "{rows}: {error}");
    }
}

#[test]
fn refusals_show_a_corrected_text() {
    for (text, next) in [
        ("¶a#1A2B\nreplace 3..2:\n+x\n", "replace 2..3:"),
        ("¶a#1A2B\nreplace 195..60:\n+x\n", "replace 195..254:"),
        ("¶a#1A2B\nreplace 2,3:\n+x\n", "write 2..3 or 2..4"),
        ("[a#1A2B]\nPUT 2.=3\n+x\n", "PUT 2.=3:"),
        ("¶a#1A2B\ndelete 2..3\n+x\n", "replace 2..3:"),
    ] {
        let error = refused(text);
        assert!(error.next_step().contains(next), "{text}: {error}");
    }
    for (text, converted) in [
        ("¶a#1A2B\nPUT 2.=3:\n+x\nCUT 9\n", "¶a#1A2B\nreplace 2..3:\n+x\ndelete 9..9\n"),
        ("[a#1A2B]\nSWAP 2.=3:\n+x\nDEL 9\nINS.POST 4:\n+y\n", "[a#1A2B]\nPUT 2.=3:\n+x\nCUT 9.=9\nPUT >4:\n+y\n"),
        ("[a#1A2B]\nreplace 2..3:\n+x\ninsert tail:\n+y\n", "[a#1A2B]\nPUT 2.=3:\n+x\nPUT >$:\n+y\n"),
        ("¶a#1A2B\n@@ 2..3 @@\n+x\n", "¶a#1A2B\nreplace 2..3:\n+x\n"),
        ("¶a#1A2B\n2:x\n3|y\n", "¶a#1A2B\nreplace 2..2:\n+x\nreplace 3..3:\n+y\n"),
        ("¶a#1A2B\nreplace 2..2: x\n", "¶a#1A2B\nreplace 2..2:\n+x\n"),
        ("¶a#1A2B\nREPLACE 2..3:\n+x\n", "¶a#1A2B\nreplace 2..3:\n+x\n"),
        ("[a#1A2B]\nput 2.=3:\n+x\n", "[a#1A2B]\nPUT 2.=3:\n+x\n"),
        (
            "¶a#1A2B\n@@ -2,3 +2,4 @@\n two\n-three\n+3\n+3b\n four\n@@ -9,1 +9,0 @@\n-nine\n@@ -20,0 +21,1 @@\n+x\n",
            "¶a#1A2B\nreplace 3..3:\n+3\n+3b\ndelete 9..9\ninsert after 20:\n+x\n",
        ),
        ("[a#1A2B]\n@@ -1,1 +1,2 @@\n+top\n one\n", "[a#1A2B]\nPUT <1:\n+top\n"),
    ] {
        assert_eq!(refused(text).data().get("converted").and_then(|it| it.as_str()), Some(converted), "{text}");
    }
    // A repair adds no lines: a row below a pasted one may be meant as an inserted line.
    for text in ["¶a#1A2B\n2:x\n2:y\n", "¶a#1A2B\n2:x\n+y\n", "¶a#1A2B\n2:x\ny\n3:z\n"] {
        assert!(refused(text).data().get("converted").is_none(), "{text}");
    }
    let several = refused("¶a#1A2B\nreplace 0:\n+x\n+y\ninsert 3:\n+z\ndelete 9\n");
    assert_eq!(several.data()["errors"].as_array().map(Vec::len), Some(2), "{several}");
}

#[test]
fn rows_that_resemble_headers_are_text() {
    // Only a complete header ends a body.
    assert_eq!(ops("¶a#1A2B\nreplace 2..3:\n+x\n¶ para\n"), [lines(2, 3, "x\n¶ para\n")]);
    assert_eq!(ops("¶a#1A2B\nreplace 2..3:\n+x\n+¶b.ts#1A2B\n"), [lines(2, 3, "x\n¶b.ts#1A2B\n")]);
    for (text, part) in [
        ("¶a#1A2B\nreplace 2..3:\n¶ para\n", "without its tag"),
        ("¶a#1A2B\nreplace 2..3:\n+x\n¶b.ts\ndelete 3\n", "without its tag"),
        ("¶a#1A2B\nreplace 2..3:\n¶b#1A2C\ndelete 3\n", "at least one `+TEXT`"),
        ("¶a#1A2B\nreplace 2..3:\ndelete 5\n", "at least one `+TEXT`"),
        ("¶a#1A2B\nreplace block 2:\ninsert head:\n+x\n", "at least one `+TEXT`"),
        ("¶a#1A2B\ninsert after 2:\n-old\n+new\n", "an insertion removes no lines"),
    ] {
        assert!(refused(text).message().contains(part), "{text}: {}", refused(text));
    }
    let full = parse("¶a#1A2B3C4D\ndelete 1\n").unwrap();
    assert_eq!(full.files[0].base, Some(Handle::Headed(HeaderStyle::Pilcrow, "1A2B3C4D".parse().unwrap())));
    assert!(refused("¶a#1A2B3\ndelete 1\n").message().contains("Input header must be"));
}

#[test]
fn headers_among_other_words_are_refused_above_an_operation() {
    for (header, mention) in [
        ("Edit ¶b#1A2B", "¶b#1A2B"),
        ("// ¶b/c d.ts#1A2B", "¶b/c d.ts#1A2B"),
        ("<!-- ¶app/[id].tsx#1A2B -->", "¶app/[id].tsx#1A2B"),
        ("a) ¶b#1A2B3C4D.", "¶b#1A2B3C4D"),
        ("- [b.ts#1A2B]", "[b.ts#1A2B]"),
        ("Now [see] [b.ts#1A2B]:", "[b.ts#1A2B]"),
        ("Edit ¶b#1A2B\n# the second one\n\n", "¶b#1A2B"),
        ("- [b.ts#1A2B]\n# the second one", "[b.ts#1A2B]"),
    ] {
        for (own, first, second) in [("¶a#1A2B", "replace 1..1:", "delete 4"), ("[a#1A2B]", "PUT 1.=1:", "CUT 4")] {
            for first in [format!("{first}\n+x"), first.to_owned(), second.replace('4', "1")] {
                let text = format!("{own}\n{first}\n{header}\n{second}\n");
                let error = refused(&text);
                assert!(error.message().contains("may be the header"), "{text}: {error}");
                assert!(error.next_step().contains(&format!("`{mention}` alone")), "{text}: {error}");
                let row = header.lines().next().unwrap();
                assert!(error.next_step().contains(&format!("`+{row}`")), "{text}: {error}");
            }
        }
    }
    // Nothing below it may belong to that file.
    let body = |rows: &str| ops(&format!("[a#1A2B]\nPUT 1.=1:\n{rows}\n"))[0].1.clone();
    for row in ["see ¶b#1A2B", "- [b#1A2B]", "see [b#1A2B] and #1A2B"] {
        assert_eq!(body(row), format!("{row}\n"));
        assert_eq!(body(&format!("+{row}\nCUT 4")), format!("{row}\n"));
    }
    for row in ["see [b#1A2B]\n+x", "x[#1A2B]", "x ¶b#1A2Bc", "see [b#1A2B"] {
        assert!(body(&format!("+x\n{row}\nCUT 4")).contains(row.lines().next().unwrap()), "{row}");
    }
}

#[test]
fn several_envelopes_are_parsed() {
    let (first, second) = ("¶a#1A2B\ndelete 1\n", "¶b#1A2B\ndelete 2\n");
    let wrapped = |text: &str| format!("*** Begin Patch\n{text}*** End Patch\n");
    let fenced = |text: &str| format!("```\n{text}```\n");
    for text in [
        wrapped(first) + &wrapped(second),
        wrapped(first) + second,
        wrapped(first) + "And the other file:\n\n" + &wrapped(second) + "[1]\nThat is all.\n",
        fenced(&wrapped(first)) + "\n" + &fenced(&wrapped(second)),
        wrapped(first) + &fenced(second),
    ] {
        let paths: Vec<String> = parse(&text).unwrap().files.into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["a", "b"], "{text}");
    }
    // An aborted text ends.
    assert_eq!(parse(&format!("{first}*** Abort\n{second}delete 3\n")).unwrap().files.len(), 1);
}

#[test]
fn operations_outside_of_sections_are_refused() {
    let (first, fence) = ("¶a#1A2B\ndelete 1\n", "```\n");
    for (text, header) in [
        (format!("{first}*** End Patch\ndelete 3\n"), "the header of its file"),
        (format!("{first}*** End Patch\nNow ¶b#1A2B:\ndelete 3\n"), "`¶b#1A2B`"),
        (format!("{fence}{first}{fence}In [b.ts#1A2B], too\n{fence}PUT 4.=4:\n+Y\n{fence}"), "`[b.ts#1A2B]`"),
        (format!("Edit ¶b#1A2B\nreplace 1..1:\n+X\n{fence}{first}{fence}"), "`¶b#1A2B`"),
        (format!("{fence}Edit ¶b#1A2B\nreplace 1..1:\n+X\n{first}{fence}"), "`¶b#1A2B`"),
    ] {
        let error = refused(&text);
        assert!(error.message().contains("is in no section"), "{text}: {error}");
        assert!(error.next_step().contains(&format!("Write {header} alone")), "{text}: {error}");
    }
}

#[test]
fn edits_by_line_numbers_cannot_be_reversed() {
    let options = ParseOptions { reverse: true, ..ParseOptions::default() };
    for (text, format) in
        [("¶a#1A2B\nreplace 1..1:\n-a\n+x\n", &Hashline::SEED), ("[a#1A2B]\nCUT 1\n", &Hashline::CURRENT)]
    {
        let error = line_parser::parse_text(format.line_parser(&options).unwrap(), text).unwrap_err();
        assert_eq!((error.code(), error.next_step()), (Code::CallInvalid, "Omit \"reverse\"."), "{error}");
    }
}

#[test]
fn sections_of_one_path_are_joined_and_inner_brackets_are_text() {
    assert_eq!(ops("¶a#1A2B\ndelete 1\n¶a\ndelete 3\n"), [lines(1, 1, ""), lines(3, 3, "")]);
    assert!(refused("¶a#1A2B\ndelete 1\n¶a#1A2C\ndelete 3\n").message().contains("Conflicting"));
    assert!(refused("¶a\ndelete 1\n").message().contains("Missing hashline snapshot tag"));
    for empty in ["¶a#1A2B\n\n", "¶b#1A2B\n¶a#1A2B\ndelete 1\n", "¶a#1A2B\ndelete 1\n[b#1A2B]\n"] {
        assert!(refused(empty).message().contains("has no operation"), "{empty}");
    }
    assert_eq!(ops("[a.toml#1A2B]\nPUT 1.=1:\n[b]\n"), [lines(1, 1, "[b]\n")]);
    assert_eq!(ops("[a.toml#1A2B]\nPUT 1.=1:\n+[b#1A2C]\n"), [lines(1, 1, "[b#1A2C]\n")]);
    assert!(refused("[a.ts#1A2B]\nPUT 1.=1:\n+x\n[src/b.ts]\nPUT 2.=2:\n+y\n").message().contains("without its tag"));
    let two = parse("[a#1A2B]\nCUT 1\n[b#1A2C]\nREM\n[c#1A2C]\nCUT 2\nMV 'd e'\n").unwrap();
    assert_eq!(two.files[1].action, FileAction::Delete { text: None });
    assert!(matches!(&two.files[2].action, FileAction::Move { to, ops } if to == "d e" && ops.len() == 1));
    for text in
        ["[a#1A2B]\nREM\nCUT 1\n", "[a#1A2B]\nCUT 1\nREM\n", "[a#1A2B]\nMV b\nCUT 1\n", "[a#1A2B]\nMV b\nMV c\n"]
    {
        assert!(refused(text).message().contains("cannot be combined"), "{text}");
    }
    assert!(
        refused("[a#1A2B]\nCUT 1 @x\n[b#1A2B]\nPUT >1 @x\n[a#1A2B]\nCUT 2\n").message().contains("are not adjacent")
    );
}

#[test]
fn registers_are_named_or_belong_to_the_call() {
    let request = parse("[a#1A2B]\nCUT 1.=2 @moved\nCUT 5\nPUT >9 @moved\nPUT <7\n").unwrap();
    let FileAction::Edit { ops, .. } = &request.files[0].action else { panic!() };
    let of = |at: usize| line_edits::of(&ops[at]).unwrap();
    assert_eq!(of(0).cut_to, Some(Register(Some("moved".to_owned()))));
    assert_eq!((&of(1).cut_to, &of(3).paste), (&Some(Register(None)), &Some(Register(None))));
    assert_eq!((of(2).paste.clone(), of(2).target), (Some(Register(Some("moved".to_owned()))), LineTarget::After(9)));
    assert!(refused("[a#1A2B]\nPUT >9 @r:\n").message().contains("never takes `:`"));
    assert!(refused(&format!("[a#1A2B]\nCUT 9 @{}\n", "x".repeat(65))).message().contains("1 to 64"));
}

#[test]
fn format_is_detected_with_surrounding_text() {
    for (text, name) in [
        ("Here it is:\n\n```\n¶a.rs#1A2B\nreplace 2..3:\n+<<<<<<< SEARCH\n```\n", None),
        ("¶a.rs#1A2B\nreplace 2..3:\n+x\n", Some("hashline")),
        ("*** Begin Patch\n¶a.rs#1A2B\ndelete 3\n*** End Patch\n", Some("hashline")),
        ("[a.rs#1A2B]\nPUT 2.=3:\n+x\n\n[b.rs#1A2B]\nCUT 4\n", Some("hashline_put")),
        ("[a.rs#1A2B]\nMV b.rs\n", Some("hashline_put")),
        ("[a.rs#1A2B]\nREM\n", Some("hashline_put")),
        ("[a.rs]\nPUT 2:\n+x\n", Some("hashline_put")),
        ("\n¶a.rs\n\nreplace 2:\n+x\n", Some("hashline")),
        ("replace 2:\n+x\n", Some("hashline")),
        ("¶a.rs#1A2B\nREPLACE 2:\n+x\n", Some("hashline")),
        ("[a.rs#1A2B]\nDEL 2\n", Some("hashline_put")),
    ] {
        let found = detect::detect_format(text).map(|format| format.spec().name);
        match name {
            Some(name) => assert_eq!(found.unwrap_or_else(|error| panic!("{text}: {error}")), name),
            None => assert_eq!(found.unwrap_or_else(|error| panic!("{text}: {error}")), "hashline"),
        }
    }
    for prose in ["delete 3 of them\n", "delete 3\nreplace the rest\n", "[1]: x\n", "as [a] says\n", "[a]\nb = 1\n"] {
        assert!(detect::detect_format(prose).is_err(), "{prose}");
    }
}

#[test]
fn events_are_reported_line_by_line() {
    let mut machine = Hashline::SEED.line_parser(&ParseOptions::default()).unwrap();
    let mut events = Vec::new();
    for line in ["¶a#1A2B", "replace 2..3:", "+x"] {
        machine.line(line, &mut events);
    }
    assert!(
        matches!(&events[..], [StreamEvent::File { .. }, StreamEvent::Hunk { line: 2 }, StreamEvent::Line { kind: HunkLineKind::Added, text }] if text == "x")
    );
    machine.finish(true, &mut events).unwrap();
    assert!(events.ends_with(&[StreamEvent::HunkDone, StreamEvent::FileDone]));
}

#[test]
fn many_hunks_and_sections_take_linear_work() {
    // Ten thousand of each: anything quadratic would not finish.
    let hunks: String = (1..=10_000).map(|n| format!("replace {}..{}:\n+x\n", n * 3, n * 3 + 1)).collect();
    assert_eq!(ops(&format!("¶a#1A2B\n{hunks}")).len(), 10_000);
    let files: String = (1..=10_000).map(|n| format!("[f{n}#1A2B]\nPUT 1.=1:\n[x{n}]\n+y\n")).collect();
    assert_eq!(parse(&files).unwrap().files.len(), 10_000);
    let bad: String = (1..=10_000).map(|n| format!("replace {n},{n}:\n+x\n")).collect();
    assert!(refused(&format!("¶a#1A2B\n{bad}")).to_string().len() < 20_000);
}

/// Fragments from which texts close to the language are generated.
const PIECE: &str = "(¶a#1A2B|\\[a#1A2B\\]|\\[b\\]|replace |delete |insert |PUT |CUT |MV |REM|before |after |head|tail|block |2|9|\\.\\.|\\.=|\\*|:|\\+|-|@r|\\||<|>|\\$|…|@@|\\*\\*\\* |End Patch|Abort|#| |\t|é|x|\n|\n|\n|\r)";

proptest! {
    #[test]
    fn any_text_gets_an_answer(text in proptest::string::string_regex(&format!("{PIECE}{{0,40}}")).unwrap()) {
        let _ = parse(&text);
        for format in [Hashline::SEED, Hashline::CURRENT] {
            let count = text.lines().count();
            prop_assert!(format.detected_ranges(&text).iter().all(|range| range.start < range.end && range.end <= count));
        }
        let read = line_parser::parse_text(Hashline::CURRENT.line_parser(&ParseOptions { file: Some("f".to_owned()), ..ParseOptions::default() }).unwrap(), &text);
        let _ = read;
    }

    #[test]
    fn printed_ops_are_parsed(from in 1usize..99, len in 0usize..9, rows in prop::collection::vec("[ -~é]{0,12}", 1..5)) {
        let to = from + len;
        let body: String = rows.iter().map(|row| format!("+{row}\n")).collect();
        let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
        prop_assert_eq!(ops(&format!("¶a#1A2B\nreplace {from}..{to}:\n{body}")), [lines(from, to, &text)]);
        prop_assert_eq!(ops(&format!("[a#1A2B]\nPUT {from}.={to}:\n{body}")), [lines(from, to, &text)]);
    }
}

#[test]
fn fences_and_surrounding_text_are_ignored() {
    let understood = |text: &str| detect::parse_any(text, None, &ParseOptions::default()).map(|it| it.request);
    for text in [
        "```\n¶a.rs#1A2B\nreplace 2..3:\n+x\n```\n",
        "Here:\n\n```\n¶a.rs#1A2B\nreplace 2..3:\n+x\n```\nDone.\n",
        "¶a.rs#1A2B\nreplace 2..3:\n+x\n```\n",
        "````\n¶a.rs#1A2B\nreplace 2..3:\n+x\n````\n",
        "Here:\n¶a.rs#1A2B\nreplace 2..3:\n+x\n",
        "```sh\nls\n```\n\n¶a.rs#1A2B\nreplace 2..3:\n+x\n",
    ] {
        let request = understood(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let FileAction::Edit { ops, .. } = &request.files[0].action else { panic!() };
        assert_eq!((ops.len(), &*ops[0].text), (1, "x\n"), "{text}");
    }
    let two = "```diff\n¶a.rs#1A2B\ndelete 2\n```\n\nand\n\n```\n¶b.rs#1A2B\ndelete 2\n```\n";
    assert_eq!(understood(two).unwrap().files.len(), 2);
    assert_eq!(ops("¶a.md#1A2B\nreplace 2..3:\n+```\n+x\n+```\n"), [lines(2, 3, "```\nx\n```\n")]);
    assert_eq!(ops("¶a.md#1A2B\nreplace 2..3:\n```\nx\n```\n"), [lines(2, 3, "```\nx\n```\n")]);
    let text = "```\n¶a.rs#1A2B\nreplace 2..3:\nx\n```\ny\n```\n";
    assert!(understood(text).is_err(), "{text}");
}

#[test]
fn prose_around_sections_is_ignored_or_refused() {
    let above = "I will update the file.\n\n";
    let below = "\nLet me know if you need\nanything else!\n\nThe rest of it is as before.\n";
    for head in ["¶a.rs#1A2B\nreplace 2..3:\n", "[a.rs#1A2B]\nPUT 2.=3:\n"] {
        let request = parse(&format!("{above}{head}+x\n{below}")).unwrap();
        assert_eq!(request.notes.iter().filter(|it| it.to_string().contains("was ignored")).count(), 2);
        assert_eq!(ops(&format!("{above}{head}+x\n{below}")), [lines(2, 3, "x\n")]);
        // Text that may be a row, in the file or below others; a row that is a sentence.
        for rows in [
            "+x\n\ndef g():\n",
            "+x\ny\n\nThat is all of it.\n",
            "+x\nThat is all of it.\n",
            "x\n\nThat is all of it.\n",
        ] {
            assert!(refused(&format!("{head}{rows}")).message().contains("may be text below"), "{head}{rows}");
        }
        refused(&format!("{head}+x\n{below}").replace("a.rs", "a.md"));
        // Pasted rows.
        assert_eq!(ops(&format!("{head}x\n\ny\n")), [lines(2, 3, "x\n\ny\n")]);
        assert_eq!(ops(&format!("{head}+x\ny\n")), [lines(2, 3, "x\ny\n")]);
        // Rows and hunks without a header.
        for lost in ["+x\n", "@@ -1 +1 @@\n-a\n+b\n", "replace 1..1:\n+x\n"] {
            assert!(parse(&format!("{lost}\n{head}+x\n")).is_err(), "{lost}{head}");
        }
    }
    let two = "¶a.rs#1A2B\ndelete 2\n\nNow the second file:\n\n¶b.rs#1A2B\ndelete 2\n";
    assert_eq!(parse(two).unwrap().files.len(), 2);
    assert!(refused("¶a.rs#1A2B\ndelete 2\nNow the second file:\n").message().contains("does not take body rows"));
}

#[test]
fn open_fence_means_that_the_text_is_cut_off() {
    for head in ["¶a.rs#1A2B\nreplace 2..4:\n", "[a.rs#1A2B]\nPUT 2.=4:\n"] {
        for rows in ["+X one\n+Y tw", "+X one\n", ""] {
            let error = parse(&format!("Edit:\n```\n{head}{rows}")).unwrap_err();
            assert!(!rows.starts_with('+') || error.message().contains("the fence on line 2 is not closed"), "{error}");
        }
    }
    assert!(parse("```\n¶a.rs#1A2B\ndelete 2").is_err());
    assert!(parse("```\n¶a.rs#1A2B\ndelete 2\n").is_ok());
}

#[test]
fn anchors_are_accepted_in_place_of_numbers() {
    let word = |text: &str| Some(text.parse().unwrap());
    for (seed, current, place, words) in [
        ("replace Table:", "PUT Table:", LineTarget::Lines { from: 0, to: 0 }, (word("Table"), word("Table"))),
        ("replace Table..9:", "PUT Table.=9:", LineTarget::Lines { from: 0, to: 9 }, (word("Table"), None)),
        (
            "replace 2..TableFormer:",
            "PUT 2-TableFormer:",
            LineTarget::Lines { from: 2, to: 0 },
            (None, word("TableFormer")),
        ),
        ("insert before Table:", "PUT <Table:", LineTarget::Before(0), (word("Table"), None)),
        ("insert after block Table:", "PUT >Table*:", LineTarget::AfterBlock(0), (word("Table"), None)),
        ("replace block Table:", "PUT Table*:", LineTarget::Block(0), (word("Table"), None)),
    ] {
        for text in [format!("¶a#1A2B\n{seed}\n+x\n"), format!("[a#1A2B]\n{current}\n+x\n")] {
            let ops = read(&text);
            let rows = line_edits::of(&ops[0]).unwrap();
            assert_eq!((rows.target, rows.anchors), (place, AnchorRange { from: words.0, to: words.1 }), "{text}");
        }
    }
    // Without a version, anchors are sufficient; numbers are not.
    for (text, fine) in [
        ("¶a\ndelete Table..Former\n", true),
        ("[a]\nCUT Table\nPUT <1:\n+x\n", true),
        ("¶a\ndelete Table..9\n", false),
        ("¶a\ndelete Table\ndelete 3\n", false),
        ("¶a\ninsert head:\n+x\n", false),
        // Words outside the dictionary, and words that are only adjacent, are not anchors.
        ("¶a#1A2B\ndelete Qwertyuiop\n", false),
        ("¶a#1A2B\ndelete Table Former\n", false),
        ("¶a#1A2B\ndelete table\n", false),
    ] {
        let read = Hashline::SEED.parse(FormatInput::Text(text.to_owned()));
        assert_eq!(read.is_ok(), fine, "{text}: {read:?}");
    }
}

#[test]
fn copied_anchors_are_removed_from_new_rows() {
    let base = Snapshot::from_text("a\nb\nc\n");
    let words = AnchorMap::new(base.text()).unwrap();
    let page = AnchorPage::new(&base, words.words());
    let [first, second, third] = words.words() else { panic!("three lines") };
    let bare = |patch: &str| {
        let mut notes = Notes::new();
        let op = read(&format!("¶a#1A2B\n{patch}")).remove(0);
        page.without_copied_words(&op, &mut notes).map(|op| (op.text.clone(), notes.len())).map_err(|it| it.error)
    };
    for rows in ["+{1}:x\n+{2}:y\n", "{1}:x\n{2}:y\n", "+{1}\tx\n+{2}\ty\n"] {
        let rows = rows.replace("{1}", &first.to_string()).replace("{2}", &second.to_string());
        assert_eq!(bare(&format!("replace {first}..{second}:\n{rows}")).unwrap(), ("x\ny\n".to_owned(), 1));
    }
    // A word that the hunk does not name is text.
    assert_eq!(bare(&format!("replace {first}:\n+{third}:y\n")).unwrap(), (format!("{third}:y\n"), 0));
    assert_eq!(bare(&format!("replace 2:\n+{second}:y\n")).unwrap(), (format!("{second}:y\n"), 0));
    // A name with a value may be a row of its own.
    assert_eq!(bare(&format!("replace {first}:\n+{first}: y\n")).unwrap_err().code(), Code::CallInvalid);
}

#[test]
fn context_rows_of_a_diff_lose_their_space() {
    for head in ["¶a#1A2B\nreplace 1..3:", "[a#1A2B]\nPUT 1.=3:"] {
        let op = read(&format!("{head}\n a\n-b\n+B\n \n   c\n")).remove(0);
        assert_eq!(op.text, "a\nB\n\n  c\n");
        let rows = line_edits::of(&op).unwrap();
        assert_eq!((&*rows.old, &*rows.context), (&["b".to_owned()][..], &["a".to_owned(), "  c".to_owned()][..]));
    }
    // Without removed rows, a space is text.
    assert_eq!(ops("¶a#1A2B\nreplace 1..3:\n a\n+B\n")[0].1, " a\nB\n");
}

#[test]
fn file_names_round_trip_or_are_not_printed() {
    for (name, fine) in [
        ("a.rs", true),
        ("dir with blanks/ä.rs", true),
        ("a[1].rs", true),
        ("a#b.rs", true),
        (" a", false),
        ("a ", false),
        ("\"a\"", false),
        ("Update File: a", false),
        ("", false),
        ("a\nb", false),
    ] {
        assert_eq!(super::is_name(name), fine, "{name:?}");
    }
}

#[test]
fn rows_that_are_nearly_operations_are_not_written() {
    for row in [
        "insert 4:", "insert before 0:", "insert tail: x", "replace 4,5:", "replace line 4:", "replace 4..4: x",
        "Replace 4:", "delete line 4", "delete 1–2", "delete 4 # old", "delete 0", "insert end:", "PUT 4:",
        "SWAP 4.=5:", "* replace 4:", "2. replace 4:", "`replace 4:`",
    ] {
        let error = refused(&format!("¶a#1A2B\nreplace 2:\n+B\n{row}\n+x\n"));
        assert!(error.to_string().contains("may be an operation"), "{row}: {error}");
        assert_eq!(ops(&format!("¶a#1A2B\nreplace 2:\n+B\n+{row}\n+x\n"))[0].1, format!("B\n{row}\nx\n"));
    }
    // The line to be replaced reads like an operation.
    assert_eq!(ops("[a#1A2B]\nPUT 4:\n-PUT 2:\n+x\n")[0].1, "x\n");
    for row in ["PUT 4,5:", "PUT <0:", "PUT 4:5:", "PUT >$: x", "CUT 0", "put 4:", "delete 4", "DEL 4"] {
        let error = refused(&format!("[a#1A2B]\nPUT 2:\n+B\n{row}\n+x\n"));
        assert!(error.to_string().contains("may be an operation"), "{row}: {error}");
    }
    for row in
        ["delete from t;", "insert into t values (1);", "Replace the line 4 by this", "put(4)", "delete x[0]", "cut"]
    {
        assert_eq!(ops(&format!("[a#1A2B]\nPUT 2:\n{row}\n"))[0].1, format!("{row}\n"));
    }
}

#[test]
fn a_fence_around_a_body_is_not_written() {
    for fence in ["```", "```rust", "~~~"] {
        let end = &fence[..3];
        assert_eq!(ops(&format!("¶a.rs#1A2B\nreplace 2:\n{fence}\n+x\n+\n{end}\n"))[0].1, "x\n\n");
        let error = refused(&format!("¶a.rs#1A2B\nreplace 2:\n{fence}\nx\n{end}\n"));
        assert!(error.message().contains("may end the fence"), "{error}");
        let text = format!("¶a.md#1A2B\nreplace 2:\n{fence}\nx\n{end}\n");
        assert_eq!(ops(&text)[0].1, format!("{fence}\nx\n{end}\n"));
    }
    assert_eq!(ops("¶a#1A2B\nreplace 2:\n+```\n+x\n+```\n")[0].1, "```\nx\n```\n");
}
