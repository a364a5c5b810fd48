use super::{CodexChange, CodexChangeKind, CodexOutcome, CodexPathState, Failure, USAGE, apply};
use proptest::prelude::*;

/// A tree with these files in `/w`.
fn look(files: &[(&str, &str)], path: &str) -> CodexPathState {
    if let Some((_, text)) = files.iter().find(|file| format!("/w/{}", file.0) == path) {
        return CodexPathState::File(text.as_bytes().to_vec());
    }
    let below = |above: &str, path: &str| path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'));
    let full = |name: &str| format!("/w/{name}");
    if path == "/w" || files.iter().any(|file| below(path, &full(file.0))) {
        return CodexPathState::Directory;
    }
    if files.iter().any(|file| below(&full(file.0), path)) { CodexPathState::Blocked } else { CodexPathState::Missing }
}

fn run(files: &[(&str, &str)], body: &str) -> Result<CodexOutcome, Failure> {
    apply(&format!("*** Begin Patch\n{body}*** End Patch\n"), "/w", |path| look(files, path))
}

fn fails(files: &[(&str, &str)], body: &str) -> String {
    run(files, body).unwrap_err().stderr
}

/// The text of the only file `f` after the patch.
fn edited(before: &str, chunks: &str) -> String {
    let outcome = run(&[("f", before)], &format!("*** Update File: f\n{chunks}")).unwrap_or_else(|it| panic!("{it:?}"));
    let [CodexChange { how: CodexChangeKind::Edited(bytes), .. }] = &*outcome.changes else { panic!("{outcome:?}") };
    String::from_utf8(bytes.clone()).unwrap()
}

// Every expectation below was observed with the tool itself.

#[test]
fn syntax_errors_have_the_tools_messages() {
    let headers = "Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'";
    let marks = "Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)";
    for (body, message) in [
        ("", "No files were modified.".to_owned()),
        ("\n*** Add File: x\n", format!("Invalid patch hunk on line 2: '' is not a valid hunk header. {headers}")),
        (
            "*** Add File: x\n+a\n  foo \n",
            format!("Invalid patch hunk on line 4: 'foo' is not a valid hunk header. {headers}"),
        ),
        (
            "*** Update File: \n-a\n",
            format!("Invalid patch hunk on line 2: '*** Update File:' is not a valid hunk header. {headers}"),
        ),
        ("*** Update File: f\n", "Invalid patch hunk on line 2: Update file hunk for path 'f' is empty".into()),
        ("*** Update File: f\n@@\n", "Invalid patch hunk on line 4: Update hunk does not contain any lines".into()),
        (
            "*** Update File: f\n@@\n@@  \n",
            format!("Invalid patch hunk on line 4: Unexpected line found in update hunk: '@@  '. {marks}"),
        ),
        (
            "*** Update File: f\n@@ a\n*** Update File: g\n",
            format!(
                "Invalid patch hunk on line 4: Unexpected line found in update hunk: '*** Update File: g'. {marks}"
            ),
        ),
        (
            "*** Update File: f\n-a\nfoo\n",
            "Invalid patch hunk on line 4: Expected update hunk to start with a @@ context marker, got: 'foo'".into(),
        ),
        (
            "*** Update File: f\n-a\n*** End of File\n c\n",
            "Invalid patch hunk on line 5: Expected update hunk to start with a @@ context marker, got: ' c'".into(),
        ),
        ("*** Environment ID: \n", "Invalid patch: apply_patch environment_id cannot be empty".into()),
        (
            "*** Environment ID: a\n*** Environment ID:b\n",
            "Invalid patch: apply_patch environment_id cannot be specified more than once".into(),
        ),
    ] {
        assert_eq!(fails(&[("f", "a\n")], body), message + "\n", "{body}");
    }
    let of = |text: &str| apply(text, "/w", |path| look(&[], path)).unwrap_err();
    assert_eq!((of("").exit, of("").stderr), (2, USAGE.to_owned()));
    for (text, end) in [
        ("x", "first"),
        (" \n", "last"),
        ("*** Begin Patch", "last"),
        ("\u{FEFF}*** Begin Patch\n*** End Patch", "first"),
    ] {
        assert!(of(text).stderr.starts_with(&format!("Invalid patch: The {end} line of the patch must be")), "{text}");
    }
}

#[test]
fn lenient_syntax_is_accepted() {
    let inner = "*** Begin Patch\n*** Add File: x\n+a\n*** End Patch\n";
    for text in [
        inner.to_owned(),
        inner.replace('\n', "\r\n"),
        format!("<<EOF\n{inner}EOF\n"),
        format!("<<'EOF'\n{inner}xxEOF"),
        format!("  {inner}\n \n *** End Patch \n"),
        inner.replace("*** Add", "*** Environment ID: e\n   *** Add"),
    ] {
        let outcome = apply(&text, "/w", |path| look(&[], path)).unwrap_or_else(|it| panic!("{text}: {it:?}"));
        assert_eq!(outcome.stdout, "Success. Updated the following files:\nA x\n");
        assert_eq!(
            outcome.changes,
            [CodexChange { path: "/w/x".into(), how: CodexChangeKind::Created(b"a\n".to_vec()) }]
        );
    }
    for text in [format!("<<TAG\n{inner}TAG"), format!("```\n{inner}```"), format!("\u{FEFF}{inner}")] {
        assert!(apply(&text, "/w", |path| look(&[], path)).is_err(), "{text}");
    }
}

#[test]
fn chunks_are_placed_like_the_tool_does() {
    for (before, chunks, after) in [
        ("a\n", "@@\n-a\n+b\n", "b\n"),
        ("a", "-a\n+b\n", "b\n"),
        ("x\ndef\ny\n", "@@ def\n+new\n", "x\ndef\ny\nnew\n"),
        ("x\ny", "+n1\n@@\n-y\n+Y\n", "x\nY\nn1\n"),
        ("x\ny", "+n1\n@@\n+n2\n", "x\ny\nn1\nn2\n"),
        ("a\na\n", "-a\n+b\n", "b\na\n"),
        ("x\ny\nx\ny\n", " x\n-y\n+Y\n*** End of File\n", "x\ny\nx\nY\n"),
        ("a\nc\n", " a\n+b\n\n", "a\nb\nc\n"),
        ("a\nc\n", "-a\n-\n+b\n+\n+\n", "b\n\nc\n"),
        ("a\nc\n", "-a\n \n+\n", "\nc\n"),
        ("    a\n", "-a\n+b\n", "b\n"),
        ("\ta\r\nb \r\nc\r\n", "+1\n a\n+2\n b\n-c\n+3\n", "1\r\n\ta\r\n2\r\nb \r\n3\r\n"),
        ("a\rc\nx", "-c\n+d\n", "a\rd\rx\r"),
        ("“x” – y\n", "-\"x\" - y\n+d\n", "d\n"),
        ("x\n  y\nx\ny\n", "-y\n+z\n", "x\n  y\nx\nz\n"),
        ("x\ny\n", "-x\n-y\n", ""),
        ("a\n", " a\n", "a\n"),
    ] {
        assert_eq!(edited(before, chunks), after, "{before:?} {chunks:?}");
    }
    for (before, chunks, message) in [
        ("a\nb\n", "@@ zz\n-a\n", "Failed to find context 'zz' in /w/f\n"),
        ("a\nb\n", "@@ a\n-a\n", "Failed to find expected lines in /w/f:\na\n"),
        ("a\nb\n", "-b\n@@\n-a\n", "Failed to find expected lines in /w/f:\na\n"),
        ("a\nb\n", "-a\n+c\n*** End of File\n", "Failed to find expected lines in /w/f:\na\n"),
        ("\u{FEFF}a\n", "-a\n", "Failed to find expected lines in /w/f:\na\n"),
    ] {
        assert_eq!(fails(&[("f", before)], &format!("*** Update File: f\n{chunks}")), message, "{before:?} {chunks:?}");
    }
}

#[test]
fn files_are_reported_in_the_tools_order() {
    let files = [("f", "a\n"), ("sub/f", "1\n")];
    let outcome = run(
        &files,
        "*** Update File: f\n*** Move to: g\n-a\n+b\n*** Update File: ./g\n-b\n+c\n*** Delete File: g\n*** Add File: z\n",
    );
    assert_eq!(outcome.unwrap().stdout, "Success. Updated the following files:\nA z\nM g\nM ./g\nD g\n");
    for (body, message) in [
        (
            "*** Update File: no/../nope\n-a\n",
            "Failed to read file to update /w/nope: No such file or directory (os error 2)\n",
        ),
        ("*** Update File: sub\n-a\n", "Failed to read file to update /w/sub: path `/w/sub` is not a file\n"),
        ("*** Update File: f/g\n-a\n", "Failed to read file to update /w/f/g: Not a directory (os error 20)\n"),
        ("*** Delete File: sub\n", "Failed to delete file /w/sub\n"),
        ("*** Delete File: no\n", "Failed to delete file /w/no\n"),
        ("*** Add File: sub\n", "Failed to write file /w/sub\n"),
        ("*** Add File: f/g\n", "Failed to write file /w/f/g\n"),
        ("*** Update File: f\n*** Move to: sub\n-a\n", "Failed to write file /w/sub\n"),
        (
            "*** Delete File: f\n*** Update File: f\n-a\n",
            "Failed to read file to update /w/f: No such file or directory (os error 2)\n",
        ),
    ] {
        assert_eq!(fails(&files, body), message, "{body}");
    }
    let latin =
        |path: &str| if path == "/w/f" { CodexPathState::File(b"abc\xff\n".to_vec()) } else { CodexPathState::Missing };
    let patch = "*** Begin Patch\n*** Update File: f\n-a\n*** End Patch";
    let error = apply(patch, "/w", latin).unwrap_err().stderr;
    assert_eq!(error, "Failed to read file to update /w/f: invalid utf-8 sequence of 1 bytes from index 3\n");
}

#[test]
fn files_are_written_over_and_a_move_to_the_same_path_is_an_edit() {
    let files = [("f", "a\n"), ("g", "keep\n")];
    for body in [
        "*** Add File: g\n+x\n",
        "*** Update File: f\n*** Move to: ./g\n-a\n+b\n",
        "*** Delete File: g\n*** Add File: g\n+x\n*** Add File: n\n*** Add File: n\n+y\n",
    ] {
        assert!(run(&files, body).is_ok(), "{body}");
    }
    let same = run(&files, "*** Update File: f\n*** Move to: ./f\n-a\n+b\n").unwrap();
    assert_eq!(same.changes, [CodexChange { path: "/w/f".into(), how: CodexChangeKind::Edited(b"b\n".to_vec()) }]);
    assert_eq!(same.stdout, "Success. Updated the following files:\nM ./f\n");
}

#[test]
fn move_may_follow_an_end_of_file() {
    let outcome = run(&[("f", "a\n")], "*** Update File: f\n*** End of File\n*** Move to: g\n-a\n+b\n").unwrap();
    assert!(matches!(&outcome.changes[0].how, CodexChangeKind::Moved { to, .. } if to == "/w/g"));
}

#[test]
fn long_files_and_hostile_repetition_are_searched_once() {
    let file = "x\n".repeat(200_000);
    let chunk = format!("{}-y\n", " x\n".repeat(20_000));
    assert!(fails(&[("f", &file)], &format!("*** Update File: f\n{chunk}")).starts_with("Failed to find expected"));
    let chunk = format!("{}-y\n", " x\n".repeat(20_000));
    assert_eq!(edited(&(file + "y\n"), &chunk).len(), 400_000);
}

proptest! {
    #[test]
    fn any_text_terminates(
        file in "([ ab“\"]{0,3}(\r|\n|\r\n)){0,8}[ab]{0,2}",
        text in "((\\*\\*\\* (Begin Patch|End Patch|(Add|Update|Delete) File: (f|g|d/h)|Move to: (f|g)|End of File|Environment ID: e)|<<EOF|EOF|@@( a)?|[ +-][ ab\"]{0,3}|.{0,4}|)\r?\n){0,20}",
        whole in any::<bool>(),
    ) {
        let text = if whole { format!("*** Begin Patch\n{text}*** End Patch") } else { text };
        let _ = apply(&text, "/w", |path| look(&[("f", &file)], path));
    }
}
