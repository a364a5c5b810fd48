use super::{FileDelta, PRINT_FORMATS, PrintFormat};
use crate::code::Code;
use crate::locate::op::FileMode;
use crate::text::snapshot::Snapshot;
use proptest::prelude::*;

fn printed(target: &str, delta: FileDelta<'_>) -> String {
    let text = PrintFormat::target_by_name(target).unwrap().print(&[delta]);
    text.unwrap_or_else(|error| panic!("{target}: {error:?}"))
}

fn edited(target: &str, before: &str, after: &str) -> String {
    let (before, after) = (Snapshot::from_text(before), Snapshot::from_text(after));
    printed(target, FileDelta::edited("src/a.rs", &before, &after))
}

#[test]
fn an_edit_in_every_format() {
    let lines = |changed: &str| {
        (0..9).map(|at| if at == 4 { changed.to_owned() } else { format!("l{at}\n") }).collect::<String>()
    };
    let (before, after) = (lines("old\n"), lines("new\nmore\n"));
    assert_eq!(
        edited("unified_diff", &before, &after),
        "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -2,7 +2,8 @@\n l1\n l2\n l3\n-old\n+new\n+more\n l5\n l6\n l7\n"
    );
    assert_eq!(
        edited("apply_patch", &before, &after),
        "*** Begin Patch\n*** Update File: src/a.rs\n@@\n l1\n l2\n l3\n-old\n+new\n+more\n l5\n l6\n l7\n*** End Patch\n"
    );
    assert_eq!(
        edited("search_replace", &before, &after),
        "src/a.rs\n<<<<<<< SEARCH\nl1\nl2\nl3\nold\nl5\nl6\nl7\n=======\nl1\nl2\nl3\nnew\nmore\nl5\nl6\nl7\n>>>>>>> REPLACE\n"
    );
    assert!(edited("hashline", &before, &after).ends_with("\nreplace 5..5:\n+new\n+more\n"));
    assert!(edited("hashline", &before, &before[3..]).ends_with("\ndelete 1\n"));
    assert!(edited("hashline", &before, &format!("top\n{before}")).ends_with("\ninsert head:\n+top\n"));
}

#[test]
fn a_place_among_many_like_it() {
    let method = |name: &str, body: &str| {
        format!(
            "fn {name}() {{\n    open();\n    work();\n    work();\n    {body};\n    work();\n    work();\n    close();\n}}\n"
        )
    };
    let file = |body: &str| method("one", "stop()") + &method("two", body) + &method("three", "stop()");
    for target in ["apply_patch", "search_replace"] {
        let text = edited(target, &file("stop()"), &file("go()"));
        assert!(text.contains("fn two()"), "{target}: {text}");
        assert!(!text.contains("fn one()"), "{target}: {text}");
    }
    assert!(edited("apply_patch", "\n\n", "a\n\n\n").contains("\n+a\n \n \n"));
    let same = "x\n".repeat(20);
    assert_eq!(edited("apply_patch", &same, &format!("{same}y\n")).matches("\n x").count(), 20);
}

#[test]
fn whole_files_and_names() {
    let (empty, text, open) = (Snapshot::from_text(""), Snapshot::from_text("a\nb\n"), Snapshot::from_text("a\nb"));
    let delta =
        |before, after| FileDelta { path: "new dir/é \"x\".txt", from: None, before, after, modes: (None, None) };
    for after in [&text, &empty, &open] {
        let unified = printed("unified_diff", delta(None, Some(after)));
        assert!(unified.contains("new file mode 100644"), "{unified}");
        assert!(printed("unified_diff", delta(Some(after), None)).contains("deleted file mode"));
    }
    assert!(printed("apply_patch", delta(None, Some(&text))).contains("*** Add File: new dir/é \"x\".txt\n+a\n+b\n"));
    assert!(printed("apply_patch", delta(Some(&open), None)).contains("*** Delete File: new dir"));
    assert!(printed("search_replace", delta(None, Some(&text))).contains("=======\na\nb\n>>>>>>>"));
    let moved = FileDelta { from: Some("old.txt"), ..FileDelta::edited("new.txt", &text, &open) };
    assert!(printed("unified_diff", moved).contains("rename from old.txt\nrename to new.txt\n"));
    let pure = FileDelta { after: Some(&text), ..moved };
    assert!(printed("unified_diff", pure).ends_with("rename to new.txt\n"));
    assert!(printed("apply_patch", pure).contains("*** Move to: new.txt\n"));
    let mode = FileDelta {
        modes: (Some(FileMode::Regular), Some(FileMode::Executable)),
        ..FileDelta::edited("a", &text, &text)
    };
    assert!(printed("unified_diff", mode).contains("old mode 100644\nnew mode 100755\n"));
}

#[test]
fn whole_file_with_the_name_of_a_word_is_in_a_tag() {
    let text = Snapshot::from_text("all:\necho\n");
    for (path, start) in [
        ("run", "<file path=\"run\">\nall:"),
        ("my notes", "<file path=\"my notes\">\nall:"),
        ("Makefile", "Makefile\n```"),
        ("run.sh", "run.sh\n```"),
        ("bin/run", "bin/run\n```"),
    ] {
        for before in [None, Some(&Snapshot::from_text("all:\n"))] {
            let printed =
                printed("whole_file", FileDelta { path, from: None, before, after: Some(&text), modes: (None, None) });
            assert!(printed.starts_with(start), "{printed}");
        }
    }
}

#[test]
fn unified_diff_has_the_line_ends_and_the_mark_of_the_file() {
    let edit = |before: &str, after: &str| edited("unified_diff", before, after);
    assert!(edit("one\r\ntwo\r\n", "one\r\nTWO\r\n").ends_with("\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+TWO\r\n"));
    assert!(edit("one\r\ntwo\n", "one\r\nTWO\n").ends_with("\n one\r\n-two\n+TWO\n"));
    assert!(
        edit("one\r\ntwo", "one\r\nTWO")
            .ends_with("\n one\r\n-two\n\\ No newline at end of file\n+TWO\n\\ No newline at end of file\n")
    );
    assert!(edit("one", "one\r\ntwo\r\n").ends_with("file\n+one\r\n+two\r\n"));
    let marked = |text: &str| Snapshot::open(format!("\u{FEFF}{text}").into_bytes(), None).unwrap();
    let (before, after) = (marked("one\ntwo\n"), marked("ONE\ntwo\n"));
    let text = printed("unified_diff", FileDelta::edited("a", &before, &after));
    assert!(text.ends_with("\n-\u{FEFF}one\n+\u{FEFF}ONE\n two\n"), "{text}");
    let crlf = Snapshot::from_text("a\r\nb\r\n");
    let text = printed("unified_diff", FileDelta { before: None, ..FileDelta::edited("a.txt", &crlf, &crlf) });
    assert!(text.ends_with("@@ -0,0 +1,2 @@\n+a\r\n+b\r\n"), "{text}");
}

#[test]
fn last_lines_come_and_go_with_their_ends() {
    for (before, after) in
        [("a\n}", "a\n}\n\n"), ("a\n\n", "a"), ("a\n\n", "b"), ("a\n}", "a\n}\nb\n"), ("a", "a\n"), ("a\n", "a")]
    {
        assert!(edited("unified_diff", before, after).contains("\\ No newline"), "{before:?}");
    }
}

#[test]
fn what_a_format_cannot_say() {
    let (text, open) = (Snapshot::from_text("a\nb\n"), Snapshot::from_text("a\nb"));
    let crlf = Snapshot::from_text("a\r\nb\r\n");
    let (cr, both) = (Snapshot::from_text("a\r\r\nb\n"), Snapshot::from_text("a\nb\nc\n"));
    let moved = FileDelta { from: Some("o"), ..FileDelta::edited("a", &text, &both) };
    let mode = FileDelta { modes: (None, Some(FileMode::Executable)), ..FileDelta::edited("a", &text, &text) };
    let new = |after| FileDelta { before: None, ..FileDelta::edited("a.txt", &text, after) };
    for (target, delta) in [
        ("apply_patch", FileDelta::edited("a", &text, &open)),
        ("apply_patch", mode),
        ("apply_patch", new(&open)),
        ("apply_patch", FileDelta::edited("a\nb", &text, &both)),
        ("search_replace", moved),
        ("search_replace", mode),
        ("search_replace", FileDelta { after: None, ..new(&text) }),
        ("search_replace", FileDelta::edited("no name", &text, &both)),
        ("unified_diff", FileDelta::edited("a", &text, &crlf)),
        ("unified_diff", FileDelta::edited("a", &cr, &both)),
    ] {
        let target = PrintFormat::target_by_name(target).unwrap();
        match target.print(&[delta]) {
            Err(error) => assert_eq!(error.code(), Code::CallInvalid, "{}", target.name),
            // A name with spaces can be written in tags.
            Ok(text) => assert!(text.starts_with("<path>no name</path>"), "{}: {text}", target.name),
        }
    }
    assert_eq!(PRINT_FORMATS[0].print(&[]).unwrap_err().code(), Code::EditNoChange);
}

/// Generates a text and another one that shares lines with it.
fn pair() -> impl Strategy<Value = (String, String)> {
    let line = prop::sample::select(vec![
        "a", "b", "", "    c", "}", "=======", "<<<<<<< SEARCH", ">>>>>>> REPLACE", "\\=======", ":start_line:3", "@@",
        "--- a", "+++ b", "*** End Patch", "\\ No newline at end of file", "é…", "-x", "+x",
    ]);
    let lines = prop::collection::vec(line.clone(), 0..30);
    (lines, prop::collection::vec((0usize..30, 0usize..3, prop::collection::vec(line, 0..3)), 1..4)).prop_map(
        |(old, edits)| {
            let mut new = old.clone();
            for (at, remove, add) in edits {
                let at = at.min(new.len());
                new.splice(at..(at + remove).min(new.len()), add);
            }
            let text = |lines: Vec<&str>| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            (text(old), text(new))
        },
    )
}

proptest! {
    #[test]
    fn what_is_printed_can_be_read((old, new) in pair(), cut: bool, crlf: bool) {
        let form = |text: &str| {
            let text = if cut { text.trim_end_matches('\n') } else { text };
            Snapshot::from_text(&if crlf { text.replace('\n', "\r\n") } else { text.to_owned() })
        };
        let (before, after) = (form(&old), form(&new));
        if before.text() == after.text() {
            return Ok(());
        }
        let delta = FileDelta::edited("src/a.rs", &before, &after);
        // Every call of `print` checks the law itself; this test shows that ordinary changes can be printed at all.
        for target in PRINT_FORMATS {
            if let Err(error) = target.print(&[delta]) {
                prop_assert_eq!(error.code(), Code::CallInvalid);
                // A file of one unterminated line has no line ends that could be shown.
                let ends = !crlf || before.text().contains('\n');
                let said = target.name == "unified_diff" || !cut;
                // A file that begins like an edit cannot be printed as a whole file.
                let opening = new.trim_start();
                let edit = target.name == "whole_file"
                    && ["<", "\\", ":", "@", "-", "+", "*"].iter().any(|it| opening.starts_with(it));
                // If only new lines begin with a plus sign, a patch would look like one with doubled marks.
                let begins_so = |text: &str| text.lines().any(|line| line.starts_with('+'));
                let signs = !begins_so(&old) && begins_so(&new);
                let plain = said && ends && !edit && !signs && ![&before, &after].iter().any(|it| it.text().trim().is_empty());
                prop_assert!(!plain, "{}: {:?}\n{:?}\n{:?}", target.name, error, before.text(), after.text());
            }
        }
    }
}

#[test]
fn new_file_is_printed_with_its_mark() {
    let after = Snapshot::open_text("\u{feff}one\r\ntwo\r\n").unwrap();
    let delta = FileDelta { path: "new.txt", from: None, before: None, after: Some(&after), modes: (None, None) };
    let diff = printed("unified_diff", delta);
    assert!(diff.ends_with("\n@@ -0,0 +1,2 @@\n+\u{feff}one\r\n+two\r\n"), "{diff:?}");
    let after = Snapshot::open_text("\u{feff}one\n").unwrap();
    let delta = FileDelta { after: Some(&after), ..delta };
    for target in ["unified_diff", "apply_patch", "whole_file"] {
        assert!(printed(target, delta).contains("\u{feff}one"), "{target}");
    }
}
