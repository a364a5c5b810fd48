//! The laws of edits in memory, and their behaviour on files.

use super::{ApplyLimits, ApplyOptions, ChangedSpan, FileChangeKind};
use super::{apply, apply_files, convert, diff, edit, named_files};
use crate::code::Code;
use crate::formats::print::PRINT_FORMATS;
use crate::formats::text_formats;
use crate::locate::find::Tier;
use crate::locate::op::Matching;
use crate::note::Notes;
use crate::parameters::ArgumentStyle;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Files = BTreeMap<String, String>;

fn files(list: &[(&str, &str)]) -> Files {
    list.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// Replaces the spans of a text; `None` if they are not sorted and disjoint, or do not fit the texts.
fn spliced(before: &str, after: &str, spans: &[ChangedSpan]) -> Option<String> {
    let (mut out, mut at) = (String::new(), 0);
    for span in spans {
        out.push_str(before.get(at..span.before.start)?);
        if out.len() != span.after.start {
            return None;
        }
        out.push_str(after.get(span.after.clone())?);
        at = span.before.end;
    }
    out.push_str(before.get(at..)?);
    Some(out)
}

/// Generates texts in which lines repeat, with all kinds of line ends, byte order marks and unusual characters.
fn text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "let alpha = compute(1);", "    let alpha = compute(1);", "fn name() {", "}", "", "“quoted” — dash é",
        "\tindented with tab  ", "value ...", "<<<<<<< SEARCH", "@@ -1,2 +1,2 @@",
    ]);
    let end = prop::sample::select(vec!["\n", "\n", "\r\n", "\r", ""]);
    (any::<bool>(), prop::collection::vec((line, end), 0..12)).prop_map(|(mark, lines)| {
        let mark = if mark { "\u{FEFF}" } else { "" };
        lines.iter().fold(mark.to_owned(), |text, (line, end)| text + line + end)
    })
}

/// Generates texts that resemble patches: parts of the examples of all formats in any order.
fn patch() -> impl Strategy<Value = String> {
    let mut parts: Vec<String> = vec!["*** Move to: b.txt\n".to_owned(), "rename to b.txt\n".to_owned()];
    for format in text_formats() {
        parts.extend(format.spec().example.split_inclusive('\n').map(str::to_owned));
        parts.push(format.spec().example.to_owned());
    }
    let any_part = prop_oneof![4 => prop::sample::select(parts), 1 => ".{0,20}\n", 2 => text()];
    prop::collection::vec(any_part, 0..8).prop_map(|parts| parts.concat())
}

#[test]
fn difference_of_line_ends_alone_is_shown() {
    let unified = |before, after| diff(before, after).unwrap().unified("x");
    assert!(unified("a\r\nb\n", "a\nb\n").ends_with("@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n"));
    assert!(unified("\u{feff}a\nb\n", "a\nb\n").ends_with("@@ -1,2 +1,2 @@\n-\u{feff}a\n+a\n b\n"));
    assert!(unified("a\r\nb\r\n", "a\r\nc\r\n").ends_with("@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"));
    assert!(unified("", "b\r\n").ends_with("\n+b\r\n"));
}

proptest! {
    #[test]
    fn edited_bytes_are_those_of_the_spans(text in text(), from in 0..200_usize, to in 0..200_usize, new in text(), all in any::<bool>()) {
        let cut = |at: usize| (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let old = &text[cut(from.min(to))..cut(from.max(to))];
        if let Ok(edited) = edit(&text, old, &new, &ApplyOptions::new().replace_all(all)) {
            prop_assert_eq!(spliced(&text, &edited.text, &edited.spans), Some(edited.text.clone()));
            prop_assert!(edited.text != text && edited.places > 0 && (all || edited.places == 1));
        }
    }

    #[test]
    fn every_difference_has_a_changed_line(
        sides in prop::array::uniform2((any::<bool>(), prop::collection::vec(("[a-c]?", any::<bool>()), 1..6))),
    ) {
        let [before, after] = sides.map(|(has_mark, lines)| {
            let lines = lines.iter().map(|(line, crlf)| format!("{line}{}", if *crlf { "\r\n" } else { "\n" }));
            format!("{}{}", if has_mark { "\u{feff}" } else { "" }, lines.collect::<String>())
        });
        let difference = diff(&before, &after).unwrap();
        let printed = difference.unified("x");
        prop_assert_eq!(difference.is_empty(), !printed.lines().skip(2).any(|line| line.starts_with(['-', '+'])));
    }

    #[test]
    fn patched_bytes_are_those_of_the_spans(text in text(), new in text(), context in 0..3_usize) {
        let Ok(change) = diff(&text, &new) else { return Ok(()) };
        prop_assert_eq!(spliced(&text, &new, &change.spans), Some(new.clone()));
        prop_assert_eq!(change.is_empty(), text == new);
        let Ok(patch) = change.to_patch("dir/a.txt", PRINT_FORMATS[context].name) else { return Ok(()) };
        if let Ok(applied) = apply(&text, &patch, &ApplyOptions::new()) {
            prop_assert_eq!(spliced(&text, &applied.text, &applied.spans), Some(applied.text.clone()));
            prop_assert_eq!(applied.text, new);
        }
    }

    #[test]
    fn any_patch_is_applied_or_refused(text in text(), patch in patch()) {
        let files = files(&[("a.txt", &text), ("src/main.rs", &text)]);
        if let Ok(applied) = apply(&text, &patch, &ApplyOptions::new()) {
            prop_assert_eq!(spliced(&text, &applied.text, &applied.spans), Some(applied.text.clone()));
        }
        if let Ok(applied) = apply_files(&files, &patch, &ApplyOptions::new()) {
            for (path, file) in &applied.files {
                let before = match &file.kind {
                    FileChangeKind::Renamed { from } | FileChangeKind::Copied { from } => files[from].clone(),
                    _ => files.get(path).cloned().unwrap_or_default(),
                };
                if let Some(after) = &file.text {
                    prop_assert_eq!(spliced(&before, after, &file.spans), Some(after.clone()));
                }
            }
        }
    }

    /// Several parts of one patch have the same effect as several patches in sequence.
    #[test]
    fn parts_of_a_patch_are_applied_in_sequence(steps in prop::collection::vec(step(), 1..6)) {
        let before = files(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "four\nfive\n")]);
        let patch = |sections: &[String]| format!("*** Begin Patch\n{}*** End Patch\n", sections.concat());
        let mut stepped = before.clone();
        for step in &steps {
            match apply_files(&stepped, &patch(std::slice::from_ref(step)), &ApplyOptions::new()) {
                Ok(applied) => applied.write_to(&mut stepped),
                Err(_) => return Ok(()),
            }
        }
        // A call may refuse what several calls would accept: edits that depend on each other in an unclear way.
        if let Ok(applied) = apply_files(&before, &patch(&steps), &ApplyOptions::new()) {
            let mut together = before.clone();
            applied.write_to(&mut together);
            prop_assert_eq!(together, stepped);
        }
    }
}

/// Generates a section of a Codex patch about one of three files.
fn step() -> impl Strategy<Value = String> {
    let path = prop::sample::select(vec!["a.txt", "b.txt", "c.txt"]);
    let words = prop::sample::select(vec!["one", "two", "three", "four", "five"]);
    (path.clone(), path, words, 0..6_u32).prop_map(|(path, to, word, kind)| match kind {
        0 => format!("*** Add File: {path}\n+{word}\n"),
        1 => format!("*** Delete File: {path}\n"),
        2 if to != path => format!("*** Update File: {path}\n*** Move to: {to}\n@@\n-{word}\n+{word}!\n"),
        _ => format!("*** Update File: {path}\n@@\n-{word}\n+{word}+\n"),
    })
}

#[test]
fn line_ends_and_marks_are_kept() {
    let text = "\u{FEFF}one\r\ntwo\r\nthree";
    let edited = edit(text, "one\ntwo\n", "1\n2\n2½\n", &ApplyOptions::new()).unwrap();
    assert_eq!(edited.text, "\u{FEFF}1\r\n2\r\n2½\r\nthree");
    assert_eq!((edited.added, edited.removed), (3, 2));
    let patch = "--- a/x\n+++ b/x\n@@ -2,2 +2,2 @@\n two\n-three\n\\ No newline at end of file\n+3\n\\ No newline at end of file\n";
    let applied = apply(text, patch, &ApplyOptions::new()).unwrap();
    assert_eq!(applied.text, "\u{FEFF}one\r\ntwo\r\n3");
    assert_eq!(applied.notes, Notes::new());
}

#[test]
fn every_file_that_a_patch_may_change_is_named() {
    let named = |patch: &str, format: &str| {
        let options = ApplyOptions::new().format(format);
        named_files(patch, &options).unwrap().into_iter().collect::<Vec<_>>().join(" ")
    };
    let body = "@@\n-x\n+y\n";
    let v4a = |lines: &str| named(&format!("*** Begin Patch\n{lines}*** End Patch\n"), "apply_patch");
    assert_eq!(v4a(&format!("*** Update File: a.py\n{body}")), "a.py");
    assert_eq!(v4a(&format!("*** Update File: a.py\n{body}** remove_file: `e` **\n*** Delete File: f \n")), "a.py f");
    assert_eq!(v4a(&format!("*** Update File: a.py\n{body}*** delete_file: `e`\n")), "a.py e");
    assert_eq!(v4a(&format!("*** Update File: a/b\n*** Move to: a/c\n{body}")), "a/b a/c b c");
    assert_eq!(v4a(&format!("*** Update File: ./a/b\n{body}")), "./a/b");
    assert_eq!(named("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-x\n+y\n", "unified_diff"), "a/x b/y x y");
}

#[test]
fn advice_writes_arguments_as_the_language_of_the_caller() {
    let next = |style: ArgumentStyle, new: &str, most: usize| {
        let limits = ApplyLimits::default().input_bytes(most);
        let options = ApplyOptions::new().limits(limits).argument_style(style);
        edit("beta\ngamma\n", if most > 9 { "gamma" } else { "" }, new, &options).unwrap_err().next_step().to_owned()
    };
    for (style, meant, bytes) in [
        (ArgumentStyle::Builder, "`placeholders_meant(true)`", "limits.input_bytes"),
        (ArgumentStyle::Python, "`placeholders_meant=True`", "max_bytes"),
        (ArgumentStyle::JavaScript, "`placeholdersMeant: true`", "maxBytes"),
    ] {
        let omission = next(style, "gamma\n# ... rest of code ...", 99);
        assert!(omission.contains(meant), "{omission}");
        assert_eq!(next(style, "", 3), format!("Give a smaller text, or raise `{bytes}`."));
    }
    let options = ApplyOptions::new().argument_style(ArgumentStyle::Python);
    let error = edit("alpha\nbeta\n", "betta", "b", &options).unwrap_err();
    assert!(error.next_step().contains("`old=\"beta\"`"), "{error}");
    let error =
        convert(&files(&[("a", "x\n")]), "a\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n", "nothing", &options);
    assert!(error.unwrap_err().next_step().starts_with("Use one of: unified_diff, "));
    let strip = ApplyOptions::new().strip(9).argument_style(ArgumentStyle::Python);
    for patch in
        ["--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n", "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch\n"]
    {
        assert_eq!(apply("x\n", patch, &strip).unwrap_err().next_step(), "Use a smaller `strip`.");
        let unnamed = strip.clone().argument_style(ArgumentStyle::Unnamed);
        let error = apply("x\n", patch, &unnamed).unwrap_err();
        assert_eq!(error.next_step(), "Strip fewer leading directories from the names.");
    }
    let added = "*** Begin Patch\n*** Add File: a\n+q\n*** End Patch\n";
    // Only the function on files can replace one.
    let error = apply("x\n", added, &options).unwrap_err();
    assert_eq!(error.next_step(), "Update the file instead, or choose another path.");
    let error = apply_files(&files(&[("a", "x\n")]), added, &options).unwrap_err();
    assert!(error.next_step().ends_with("repeat the call with `overwrite=True`."), "{error}");
    let deleted = apply("x\n", "*** Begin Patch\n*** Delete File: a\n*** End Patch\n", &options).unwrap_err();
    assert_eq!(deleted.next_step(), "Use `apply_files`, which returns deleted files as well.");
    assert!(!diff("a\0", "b").unwrap_err().next_step().contains("encoding"));
}

#[test]
fn an_empty_old_text_is_no_new_file() {
    let error = edit("abc", "", "b", &ApplyOptions::new()).unwrap_err();
    assert_eq!((error.code(), error.next_step()), (Code::CallInvalid, "Give the text to replace as `old`."));
    assert!(!error.to_string().contains("already exists") && error.evidence_text().contains("abc"), "{error}");
    let same = edit("abc", "", "abc", &ApplyOptions::new()).unwrap_err();
    assert_eq!(same.code(), Code::EditNoChange);
    assert_eq!(edit(" \n", "", "b\n", &ApplyOptions::new()).unwrap().text, "b\n");
}

#[test]
fn tolerance_is_reported_and_limited() {
    let text = "fn main() {\n    let a = 1;\n    let b = 2;\n}\n";
    let old = "let a = 1;\nlet b = 2;";
    let edited = edit(text, old, "let a = 1;\nlet b = 3;", &ApplyOptions::new()).unwrap();
    assert_eq!(edited.text, text.replace("b = 2", "b = 3"));
    assert_eq!((edited.tier, edited.notes.len()), (Tier::IndentShift, 1));
    for matching in [Matching::Strict, Matching::Exact] {
        let error = edit(text, old, "x", &ApplyOptions::new().matching(matching)).unwrap_err();
        assert_eq!(error.code(), Code::MatchNotFound);
    }
}

#[test]
fn advice_names_the_arguments_of_the_functions() {
    let error = edit("a\na\n", "a", "b", &ApplyOptions::new()).unwrap_err();
    assert_eq!(error.code(), Code::MatchAmbiguous);
    let said = error.to_string();
    assert!(!said.contains("old_string") && said.contains("replace_all"), "{said}");
    let same = edit("a\n", "a", "a", &ApplyOptions::new()).unwrap_err().to_string();
    assert!(!same.contains("_string"), "{same}");
    let all = edit("a\na\n", "a", "b", &ApplyOptions::new().replace_all(true)).unwrap();
    assert_eq!((&*all.text, all.edits, all.places), ("b\nb\n", 1, 2));
}

#[test]
fn limits_refuse_before_and_while_working() {
    let limits = ApplyLimits::default().input_bytes(8);
    let options = ApplyOptions::new().limits(limits);
    for call in [
        edit("123456789", "1", "2", &options),
        edit("1", "1", "123456789", &options),
        apply("1", "123456789", &options),
    ] {
        assert_eq!(call.unwrap_err().code(), Code::CallTooLarge);
    }
    let long = "a line of text\n".repeat(10_000);
    let options = ApplyOptions::new().limits(ApplyLimits::default().work_steps(10));
    let error = edit(&long, "another line", "x", &options).unwrap_err();
    assert_eq!(error.code(), Code::CallTooMuchWork);
    assert!(!error.message().contains("written") && error.next_step().contains("limits.work_steps"), "{error}");
    assert!(edit("a\n", "a", "b", &ApplyOptions::new()).is_ok());
}

#[test]
fn one_text_takes_patches_about_one_file() {
    let options = ApplyOptions::new();
    let moved = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+two\n*** End Patch\n";
    let applied = apply("one\n", moved, &options).unwrap();
    assert_eq!((&*applied.text, applied.new_path.as_deref()), ("two\n", Some("b.txt")));
    let added = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch\n";
    assert_eq!(apply("", added, &options).unwrap().text, "one\n");
    assert_eq!(apply("text\n", added, &options).unwrap_err().code(), Code::FileExists);
    let deleted = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n";
    assert_eq!(apply("one\n", deleted, &options).unwrap_err().code(), Code::CallInvalid);
    let two = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** Update File: b.txt\n@@\n-one\n+two\n*** End Patch\n";
    let error = apply("one\n", two, &options).unwrap_err();
    assert!(error.to_string().contains("apply_files"), "{error}");
    let bare = "@@\n-one\n+two\n";
    assert_eq!(apply("one\n", bare, &options).unwrap().text, "two\n");
    let named = apply("one\n", moved, &ApplyOptions::new().path("other.txt")).unwrap();
    assert!(
        named.notes[0].to_string().contains("a.txt") && named.notes[0].to_string().contains("other.txt"),
        "{:?}",
        named.notes
    );
}

#[test]
fn files_are_created_moved_swapped_copied_and_deleted() {
    let before = files(&[("a", "one\n"), ("b", "two\n"), ("c", "three\n")]);
    let patch = "\
diff --git a/a b/b
similarity index 100%
rename from a
rename to b
diff --git a/b b/a
similarity index 100%
rename from b
rename to a
diff --git a/c b/d
similarity index 100%
copy from c
copy to d
diff --git a/c b/c
deleted file mode 100644
--- a/c
+++ /dev/null
@@ -1 +0,0 @@
-three
";
    let applied = apply_files(&before, patch, &ApplyOptions::new()).unwrap();
    let kinds: Vec<_> = applied.files.iter().map(|(path, file)| (&**path, file.kind.clone())).collect();
    let from = |path: &str| path.to_owned();
    assert_eq!(
        kinds,
        [
            ("a", FileChangeKind::Renamed { from: from("b") }),
            ("b", FileChangeKind::Renamed { from: from("a") }),
            ("c", FileChangeKind::Deleted),
            ("d", FileChangeKind::Copied { from: from("c") }),
        ]
    );
    let mut after = before.clone();
    applied.write_to(&mut after);
    assert_eq!(after, files(&[("a", "two\n"), ("b", "one\n"), ("d", "three\n")]));
}

#[test]
fn nothing_is_applied_unless_all_of_it_is() {
    let before = files(&[("a", "one\n"), ("b", "two\n")]);
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-one\n+1\n*** Update File: b\n@@\n-three\n+3\n*** Delete File: c\n*** End Patch\n";
    let error = apply_files(&before, patch, &ApplyOptions::new()).unwrap_err();
    assert_eq!(error.code(), Code::MatchNotFound);
    assert!(error.to_string().contains("2 of 3"), "{error}");
    let below = "*** Begin Patch\n*** Add File: a/x\n+1\n*** End Patch\n";
    assert_eq!(apply_files(&before, below, &ApplyOptions::new()).unwrap_err().code(), Code::PathNotRegular);
    for name in ["../x", "/x"] {
        let outside = format!("*** Begin Patch\n*** Add File: {name}\n+1\n*** End Patch\n");
        assert_eq!(apply_files(&before, &outside, &ApplyOptions::new()).unwrap_err().code(), Code::PathOutside);
    }
    let absolute = "*** Begin Patch\n*** Update File: /a\n@@\n-one\n+1\n*** Add File: /x\n+1\n*** End Patch\n";
    let made = apply_files(&files(&[("/a", "one\n")]), absolute, &ApplyOptions::new()).unwrap();
    assert_eq!(made.files.keys().collect::<Vec<_>>(), ["/a", "/x"]);
}

#[test]
fn line_edits_need_the_version_of_their_header() {
    let text = "one\ntwo\nthree\n";
    let tag = crate::Snapshot::from_text(text).short_tag().unwrap();
    let patch = format!("¶a.txt#{tag}\nreplace 2..2:\n+TWO\n");
    let options = ApplyOptions::new().format("hashline");
    let applied = apply(text, &patch, &options).unwrap();
    assert_eq!(applied.text, "one\nTWO\nthree\n");
    let error = apply("zero\none\ntwo\n", &patch, &options).unwrap_err();
    assert_eq!(error.code(), Code::StaleUnknownTag);
}

#[test]
fn placeholders_keep_code_or_are_refused() {
    let text = "fn a() {\n    one();\n}\n\nfn b() {\n    two();\n}\n";
    let whole = "a.rs\n```\n// ... existing code ...\n\nfn b() {\n    three();\n}\n```\n";
    let applied = apply(text, whole, &ApplyOptions::new()).unwrap();
    assert_eq!(applied.text, text.replace("two", "three"));
    assert!(applied.notes.iter().any(|note| note.to_string().contains("kept as it is")), "{:?}", applied.notes);
    let unclear = "a.rs\n```\n    three();\n    // ... existing code ...\n    four();\n```\n";
    assert_eq!(apply(text, unclear, &ApplyOptions::new()).unwrap_err().code(), Code::EditOmission);
}

#[test]
fn changes_are_converted_with_their_effect() {
    let before = files(&[("a.txt", "one\ntwo\nthree\n")]);
    let block = "a.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n";
    for target in PRINT_FORMATS {
        let patch = convert(&before, block, target.name, &ApplyOptions::new()).unwrap();
        assert_eq!((patch.from, patch.to), ("search_replace", target.name));
        if target.format.spec().schema.is_none() {
            let applied = apply_files(&before, &patch.text, &ApplyOptions::new()).unwrap();
            assert_eq!(applied.files["a.txt"].text.as_deref(), Some("one\n2\nthree\n"), "{}", patch.text);
        }
    }
    assert_eq!(convert(&before, block, "runes", &ApplyOptions::new()).unwrap_err().code(), Code::CallInvalid);
    assert_eq!(diff("a", "a").unwrap().to_patch("x", "unified_diff").unwrap_err().code(), Code::EditNoChange);
}

#[test]
fn converted_changes_may_reuse_the_path_of_another_file() {
    let before = files(&[("b", "other\n"), ("y", "third\n"), ("z", "a one\nb two\n")]);
    let texts = |patch: &str| -> BTreeMap<String, Option<String>> {
        let applied =
            apply_files(&before, patch, &ApplyOptions::new()).unwrap_or_else(|error| panic!("{patch}{error}"));
        applied.files.into_iter().map(|(path, file)| (path, file.text)).collect()
    };
    for body in [
        "*** Update File: z\n*** Move to: x\n*** Add File: z\n+a one\n+b two\n+c three\n",
        "*** Update File: z\n*** Move to: a\n*** Add File: z\n+a one\n+b two\n+c three\n",
        "*** Delete File: b\n*** Update File: z\n*** Move to: b\n",
        "*** Delete File: b\n*** Update File: z\n*** Move to: b\n*** Add File: z\n+new\n",
        "*** Update File: z\n*** Move to: b\n*** Update File: b\n*** Move to: z\n",
        "*** Update File: y\n*** Move to: x\n*** Update File: z\n*** Move to: y\n*** Add File: z\n+new\n",
    ] {
        let patch = format!("*** Begin Patch\n{body}*** End Patch\n");
        for target in ["unified_diff", "apply_patch"] {
            let printed = convert(&before, &patch, target, &ApplyOptions::new()).unwrap().text;
            assert_eq!(texts(&printed), texts(&patch), "{printed}");
        }
    }
}

#[test]
fn heading_names_the_file_of_a_block_below_a_sentence() {
    let block = "```python\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```\n";
    let changed = |list: &[(&str, &str)], above: &str| {
        let done = apply_files(&files(list), &format!("{above}{block}"), &ApplyOptions::default());
        done.map(|done| done.files.into_keys().collect::<Vec<_>>().join(" ")).map_err(|error| error.to_string())
    };
    let both = [("a.py", "x = 1\n"), ("b.py", "x = 1\n")];
    let first = "a.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 3\n>>>>>>> REPLACE\n\n";
    assert_eq!(changed(&both, "### b.py\n\nThis file holds the timeout.\n\n"), Ok("b.py".to_owned()));
    assert_eq!(changed(&both, &format!("{first}### b.py\n\nThis one, too.\n\n")), Ok("a.py b.py".to_owned()));
    assert_eq!(changed(&both, &format!("{first}b.py\nNow b.py as a.py imports it.\n")), Ok("a.py b.py".to_owned()));
    // A heading and a sentence name different files: only the text decides.
    let above = "### `a.py`\n\nImport the helper from `b.py`:\n\n";
    assert!(changed(&both, above).unwrap_err().contains("not clear which is meant"));
    assert_eq!(changed(&[("a.py", "x = 1\n"), ("b.py", "y = 1\n")], above), Ok("a.py".to_owned()));
    assert_eq!(changed(&[("a.py", "y = 1\n"), ("b.py", "x = 1\n")], above), Ok("b.py".to_owned()));
    assert_eq!(changed(&[("b.py", "x = 1\n")], above), Ok("b.py".to_owned()));
    assert_eq!(changed(&both, "- a.py\n- b.py\n\nIn `a.py`:\n\n"), Ok("a.py".to_owned()));
}

#[test]
fn file_is_created_once() {
    let block = |text: &str| format!("n.py\n<<<<<<< SEARCH\n=======\n{text}\n>>>>>>> REPLACE\n\n");
    let created = |texts: [&str; 2]| apply_files(&files(&[]), &texts.map(block).concat(), &ApplyOptions::default());
    let done = created(["x = 1", "x = 1"]).unwrap();
    assert_eq!(done.files["n.py"].text.as_deref(), Some("x = 1\n"));
    assert_eq!(created(["x = 1", "y = 2"]).unwrap_err().code(), Code::EditContradiction);
}
