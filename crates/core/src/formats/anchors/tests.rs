use super::WordAnchors;
use crate::formats::{Format, FormatInput};
use crate::locate::anchor_map::{AnchorMap, AnchorPage};
use crate::locate::line_edits;
use crate::locate::line_format::{LINE_FORMATS, LineMark};
use crate::locate::op::FileAction;
use crate::note::Notes;
use crate::text::snapshot::Snapshot;
use crate::{OpOrder, ResolveSettings, resolve};
use serde_json::{Value, json};

/// Applies edits to a text, or returns the error message; `{0}` in an input is replaced by the anchor of the first
/// line, and so on.
fn done(text: &str, edits: &Value) -> Result<String, String> {
    let base = Snapshot::from_text(text);
    let words = AnchorMap::new(text).unwrap();
    let mut source = json!({ "path": "/f", "edits": edits }).to_string();
    for (at, word) in words.words().iter().enumerate() {
        source = source.replace(&format!("{{{at}}}"), &word.to_string());
    }
    let request = WordAnchors.parse(FormatInput::Text(source)).map_err(|error| error.message().to_owned())?;
    let FileAction::Edit { ops, .. } = &request.files[0].action else { panic!("no edit") };
    let page = AnchorPage::new(&base, words.words());
    let mut notes = Notes::new();
    let placed = ops.iter().map(|op| page.to_line_edit(&*page.without_copied_words(op, &mut notes)?, |_| false));
    let placed = placed.collect::<Result<Vec<_>, _>>().map_err(|it| it.error.message().to_owned())?;
    assert!(line_edits::are_line_edits(&placed));
    let resolved = resolve(&base, &placed, OpOrder::Together, ResolveSettings::default());
    let resolved = resolved.map_err(|error| error.message().to_owned())?;
    Ok(String::from_utf8(resolved.changes.apply(&base)).unwrap())
}

const TEXT: &str = "a\nb: x\n\n  d\ne\n";

#[test]
fn every_form_of_edit_is_applied() {
    for (edits, want) in [
        (json!([{ "anchor": "{0}:a", "text": "A" }]), "A\nb: x\n\n  d\ne\n"),
        (
            json!([{ "anchor": "{1}:b: x", "edit_type": "replace", "end_anchor": null, "text": "B\nC\n" }]),
            "a\nB\nC\n\n  d\ne\n",
        ),
        (json!([{ "anchor": "{1}\tb: x", "end_anchor": "{3}:  d", "text": "z" }]), "a\nz\ne\n"),
        (json!([{ "anchor": "{1}", "end_anchor": "{3}", "edit_type": "delete" }]), "a\ne\n"),
        (json!([{ "anchor": "{0}", "end_anchor": "{4}", "text": "" }]), ""),
        (json!([{ "anchor": "{2}:", "text": "z\r\ny" }]), "a\nb: x\nz\ny\n  d\ne\n"),
        (json!([{ "anchor": "{4}", "edit_type": "insert_after", "text": "f\n\n" }]), "a\nb: x\n\n  d\ne\nf\n\n"),
        (json!([{ "anchor": "{0}", "edit_type": "insert_before", "text": "\n" }]), "\na\nb: x\n\n  d\ne\n"),
    ] {
        assert_eq!(done(TEXT, &edits).as_deref(), Ok(want), "{edits}");
    }
}

#[test]
fn insertions_keep_their_order_around_a_line() {
    let insert = |anchor: &str, how: &str, text: &str| json!({ "anchor": anchor, "edit_type": how, "text": text });
    let (before, after) = (insert("{1}", "insert_before", "p\nq"), insert("{1}", "insert_after", "z"));
    let want = "a\np\nq\nb: x\nz\n\n  d\ne\n";
    assert_eq!(done(TEXT, &json!([before, after])).as_deref(), Ok(want));
    assert_eq!(done(TEXT, &json!([after, before])).as_deref(), Ok(want));
    // At one boundary, insertions at the upper line are first, and those at one line are in the given order.
    let below = insert("{2}", "insert_before", "y");
    let more = insert("{1}", "insert_after", "z2");
    assert_eq!(done(TEXT, &json!([below, after, more])).as_deref(), Ok("a\nb: x\nz\nz2\ny\n\n  d\ne\n"));
    // Insertions are placed next to a replaced range.
    let replaced = json!({ "anchor": "{2}", "end_anchor": "{3}", "text": "R" });
    assert_eq!(
        done(TEXT, &json!([replaced, after, insert("{4}", "insert_before", "w")])).as_deref(),
        Ok("a\nb: x\nz\nR\nw\ne\n")
    );
}

#[test]
fn mismatched_anchors_are_refused() {
    for (edits, part) in [
        (json!([{ "anchor": "{0}:A", "text": "x" }]), "its text differs"),
        (json!([{ "anchor": "{0}:a ", "text": "x" }]), "its text differs"),
        (json!([{ "anchor": "{3}", "end_anchor": "{0}", "text": "x" }]), "comes after"),
        (json!([{ "anchor": "not a word", "text": "x" }]), "must begin with the word"),
        (json!([{ "anchor": "3:a", "text": "x" }]), "must begin with the word"),
        (json!([{ "anchor": "{0}" }]), "text is missing"),
        (json!([{ "anchor": "{0}", "edit_type": "delete", "text": "x" }]), "delete takes no text"),
        (json!([{ "anchor": "{0}", "edit_type": "insert_after", "text": "" }]), "text is empty"),
        (json!([{ "anchor": "{0}:a\nb", "text": "x" }]), "more than one line"),
        (json!([{ "anchor": "{0}", "text": "{1}:b: x\nnew" }]), "has the word of a line"),
        (
            json!([{ "anchor": "{0}", "end_anchor": "{2}", "text": "x" }, { "anchor": "{1}", "text": "y" }]),
            "already targeted",
        ),
        (
            json!([{ "anchor": "{0}", "end_anchor": "{2}", "text": "x" }, { "anchor": "{1}", "edit_type": "insert_before", "text": "y" }]),
            "inserts between the lines",
        ),
        (json!([{ "anchor": "{0}", "end_anchor": "{2}", "edit_type": "insert_after", "text": "y" }]), "names one line"),
        (json!([{ "anchor": "{0}", "text": "{0}: x" }]), "is the word of a line"),
        (json!([{ "anchor": "{0}", "text": "a" }]), "match exactly"),
        (json!([]), "no edits"),
    ] {
        let error = done(TEXT, &edits).unwrap_err();
        assert!(error.to_lowercase().contains(part), "{edits}: {error}");
    }
    // Text that only resembles a mark is text.
    assert!(done(TEXT, &json!([{ "anchor": "{0}", "text": "Table:x" }])).is_ok());
    let unknown = AnchorMap::new(TEXT).unwrap();
    let unknown = ["Table", "Drop"].into_iter().find(|word| !unknown.words().contains(&word.parse().unwrap())).unwrap();
    assert!(done(TEXT, &json!([{ "anchor": unknown, "text": "x" }])).unwrap_err().contains("is not the word"));
}

#[test]
fn repeated_paths_are_joined_and_lists_may_be_strings() {
    let edit = json!({ "anchor": "Table", "text": "x" });
    let files = json!({ "files": [{ "path": "/f", "edits": [edit] }, { "path": "/g", "edits": [edit] }, { "path": "/f", "edits": [edit] }] });
    let request = WordAnchors.parse(FormatInput::Json(files)).unwrap();
    let counts: Vec<(&str, usize)> = request
        .files
        .iter()
        .map(|file| (&*file.path, if let FileAction::Edit { ops, .. } = &file.action { ops.len() } else { 0 }))
        .collect();
    assert_eq!(counts, [("/f", 2), ("/g", 1)]);
    let bare = json!({ "anchor": "Table", "text": "x" });
    for (edits, notes) in [(json!([bare]).to_string().into(), 1), (bare.clone(), 1), (bare.to_string().into(), 2)] {
        let text = json!({ "file_path": "/f", "edits": Value::clone(&edits) });
        assert_eq!(WordAnchors.parse(FormatInput::Json(text)).unwrap().notes.len(), notes, "{edits}");
    }
    for (source, part) in [("table", ": Table,"), ("TABLE", ": Table,"), ("`Table`", ": Table,"), ("zzqq", "Read")] {
        let text = json!({ "path": "/f", "edits": [{ "anchor": source, "text": "x" }] });
        let error = WordAnchors.parse(FormatInput::Json(text)).unwrap_err();
        assert!(error.to_string().contains(part), "{source}: {error}");
    }
}

#[test]
fn every_printed_mark_resolves_to_its_line() {
    let text: String =
        (0..4000).map(|at| format!("{}: {}\n", if at % 3 == 0 { "}" } else { "let x" }, at % 700)).collect();
    let (base, words) = (Snapshot::from_text(&text), AnchorMap::new(&text).unwrap());
    let page = AnchorPage::new(&base, words.words());
    for marks in LINE_FORMATS.iter().filter(|marks| marks.anchors) {
        for (number, line) in (1..).zip(text.lines()) {
            let mut row = String::new();
            (marks.push_line)(&mut row, LineMark::for_line(number, words.words()), line);
            let input = json!({ "path": "/f", "edits": [{ "anchor": row, "edit_type": "delete" }] });
            let request = WordAnchors.parse(FormatInput::Json(input)).unwrap();
            let FileAction::Edit { ops, .. } = &request.files[0].action else { panic!("no edit") };
            let placed = page.to_line_edit(&ops[0], |_| false).unwrap();
            assert_eq!(line_edits::of(&placed).unwrap().range(), Some((number, number)), "{row}");
        }
    }
}

#[test]
fn words_copied_into_new_lines_are_removed() {
    let run = |edits: Value| done(TEXT, &edits).unwrap();
    assert_eq!(run(json!([{ "anchor": "{0}:a", "text": "{0}:A" }])), "A\nb: x\n\n  d\ne\n");
    let range = json!([{ "anchor": "{3}:  d", "end_anchor": "{4}:e", "text": "{3}:  D\n{0}:new\n{4}:E\n" }]);
    assert_eq!(run(range), "a\nb: x\n\n  D\nnew\nE\n");
    assert_eq!(
        run(json!([{ "anchor": "{3}", "edit_type": "replace", "text": "{3}:  D\nmore: 1" }])),
        "a\nb: x\n\n  D\nmore: 1\ne\n"
    );
    // The row has the word of another line; in the second case, the line's own text begins with a word.
    assert_eq!(
        run(json!([{ "anchor": "{0}:a", "text": "{1}:A" }])),
        done(TEXT, &json!([{ "anchor": "{0}", "text": "{1}:A" }])).unwrap()
    );
}
