//! Counts edits in memory with the core alone.

use crate::text::{changed, lines, mark, marked};
use emendate::core::anchor_map::{AnchorMap, AnchorPage};
use emendate::core::formats::replace::Replacement;
use emendate::core::formats::{FormatInput, format_by_name};
use emendate::core::{
    ExpectedMatches, FileAction, Op, OpOrder, ResolveSettings, Snapshot, TextQuery, Tier, explain, find, resolve,
};
use serde_json::json;
use std::fmt::Write as _;
use std::hint::black_box;

/// Number of lines in 1 MB.
const MB: usize = 33_000;
/// Number of lines for searches that compare more than bytes.
const LINES: usize = 10_000;
/// Number of hunks of a patch.
const HUNKS: usize = 20;

fn op(old: &str, new: &str) -> Op {
    let edit = Replacement { old_string: old.to_owned(), new_string: new.to_owned(), ..Replacement::default() };
    edit.to_op().unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a line with two neighbours on each side.
fn block(all: &[&str], at: usize) -> String {
    all[at - 2..at + 3].iter().map(|line| format!("{line}\n")).collect()
}

/// Makes one exact edit in 1 MB: find, prove unique, splice.
pub(crate) fn exact() -> Box<dyn FnMut()> {
    several(1)
}

/// Makes a hundred exact edits in one call.
pub(crate) fn needles() -> Box<dyn FnMut()> {
    several(100)
}

fn several(edits: usize) -> Box<dyn FnMut()> {
    let text = lines(MB);
    let all: Vec<&str> = text.lines().collect();
    // Skip the first place: matches near the start are found at once.
    let places: Vec<usize> = marked(MB, edits + 1).skip(1).collect();
    let pair = |&at: &usize| (block(&all, at), block(&all, at).replace("as it was", "as it is"));
    let ops: Vec<Op> = places.iter().map(pair).map(|(old, new)| op(&old, &new)).collect();
    let base = Snapshot::from_text(&text);
    base.id();
    Box::new(move || {
        let made = resolve(&base, &ops, OpOrder::Together, ResolveSettings::default());
        let made = made.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(made.changes.splices().len(), ops.len());
        black_box(made.changes.chunks(base.raw()).map(<[u8]>::len).sum::<usize>());
    })
}

/// Finds a block with different indentation.
pub(crate) fn cascade() -> Box<dyn FnMut()> {
    let text = lines(LINES);
    let all: Vec<&str> = text.lines().collect();
    let old: String = block(&all, 7005).lines().map(|line| format!("      {line}\n")).collect();
    let new = old.replace("as it was", "as it is");
    search(text, old, new, Some(Tier::IndentShift))
}

/// Finds a block of twenty lines with a typo in a line that the edit does not change (goal G8).
pub(crate) fn drift() -> Box<dyn FnMut()> {
    let text = lines(LINES);
    let block: String = text.lines().skip(7000).take(20).map(|line| format!("{line}\n")).collect();
    let old = block.replace("measure(7015", "meausre(7015");
    let new = old.replace(&mark(7005), &changed(7005));
    assert!(old != block && new != old);
    search(text, old, new, Some(Tier::Drift))
}

/// Fails to find a block and reports where it nearly occurs.
pub(crate) fn failure() -> Box<dyn FnMut()> {
    let text = lines(LINES);
    let all: Vec<&str> = text.lines().collect();
    let old = block(&all, 7005).replace("measure(7005", "weigh(7006");
    let new = old.replace("as it was", "as it is");
    search(text, old, new, None)
}

fn search(text: String, old: String, new: String, tier: Option<Tier>) -> Box<dyn FnMut()> {
    Box::new(move || {
        let base = Snapshot::from_text(&text);
        let found = find(&base, &TextQuery::new(&old, ExpectedMatches::Unique), &new, ResolveSettings::default());
        assert_eq!(found.as_ref().ok().map(|found| found.tier), tier, "{found:?}");
        black_box(found.map_err(|error| error.to_string())).ok();
    })
}

/// Computes the unified diff of a known edit in the middle of 1 MB.
pub(crate) fn diff() -> Box<dyn FnMut()> {
    let text = lines(MB);
    let base = Snapshot::from_text(&text);
    let at = MB / 20 * 10 + 5;
    let made = resolve(&base, &[op(&mark(at), &changed(at))], OpOrder::Together, ResolveSettings::default());
    let changes = made.unwrap_or_else(|error| panic!("{error}")).changes;
    Box::new(move || {
        let fresh = Snapshot::from_text(&text);
        let diff = explain::unified("f", &explain::hunks(&fresh, &changes, 3), usize::MAX);
        assert!(diff.text.contains(&changed(at)));
        black_box(diff);
    })
}

/// Applies a patch from its text to the new text.
fn patch(format: &'static str, input: String) -> Box<dyn FnMut()> {
    let text = lines(LINES);
    let edits = marked(LINES, HUNKS);
    let want = edits.fold(text.clone(), |text, at| text.replacen(&mark(at), &changed(at), 1));
    Box::new(move || {
        let Some(format) = format_by_name(format) else { panic!("{format}: no such format") };
        let request = format.parse(FormatInput::Text(input.clone())).unwrap_or_else(|error| panic!("{error}"));
        let FileAction::Edit { ops, .. } = &request.files[0].action else { panic!("no edit") };
        let base = Snapshot::from_text(&text);
        let made = resolve(&base, ops, OpOrder::AsNeeded, ResolveSettings::default());
        let made = made.unwrap_or_else(|error| panic!("{error}"));
        assert!(made.changes.apply(&base) == want.as_bytes(), "another text");
    })
}

/// Fails to apply a patch with one hunk and reports where its lines nearly occur.
pub(crate) fn miss() -> Box<dyn FnMut()> {
    let text = lines(LINES);
    let body = hunks([7005], |at| format!("@@ -{0},7 +{0},7 @@", at - 2)).replace("-    let", "-    let &mut");
    let input = format!("--- a/f.rs\n+++ b/f.rs\n{body}");
    Box::new(move || {
        let Some(format) = format_by_name("unified_diff") else { panic!("no such format") };
        let request = format.parse(FormatInput::Text(input.clone())).unwrap_or_else(|error| panic!("{error}"));
        let FileAction::Edit { ops, .. } = &request.files[0].action else { panic!("no edit") };
        let base = Snapshot::from_text(&text);
        let Err(error) = resolve(&base, ops, OpOrder::AsNeeded, ResolveSettings::default()) else { panic!("it fits") };
        assert_eq!(error.data()["nearest"]["from"], 7003);
        black_box(error.to_string());
    })
}

/// Builds the hunks, each under its header.
fn hunks(lines_changed: impl IntoIterator<Item = usize>, head: impl Fn(usize) -> String) -> String {
    let text = lines(LINES);
    let all: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    for at in lines_changed {
        let context =
            |from: usize, to: usize| all[from..to].iter().map(|line| format!(" {line}\n")).collect::<String>();
        let (before, after) = (context(at - 3, at), context(at + 1, at + 4));
        let _ = write!(out, "{}\n{before}-{}\n+{}\n{after}", head(at), all[at], changed(at));
    }
    out
}

/// Applies twenty hunks with line numbers.
pub(crate) fn unified_diff() -> Box<dyn FnMut()> {
    let body = hunks(marked(LINES, HUNKS), |at| format!("@@ -{0},7 +{0},7 @@", at - 2));
    patch("unified_diff", format!("--- a/f.rs\n+++ b/f.rs\n{body}"))
}

/// Applies twenty hunks without line numbers.
pub(crate) fn apply_patch() -> Box<dyn FnMut()> {
    let body = hunks(marked(LINES, HUNKS), |_| "@@".to_owned());
    patch("apply_patch", format!("*** Begin Patch\n*** Update File: f.rs\n{body}*** End Patch\n"))
}

/// Replaces twenty lines by number.
pub(crate) fn hashline() -> Box<dyn FnMut()> {
    let hunk = |at: usize| format!("replace {0}..{0}:\n+{1}\n", at + 1, changed(at));
    patch("hashline", format!("¶f.rs#0000\n{}", marked(LINES, HUNKS).map(hunk).collect::<String>()))
}

/// Replaces twenty lines by anchor word.
pub(crate) fn anchors() -> Box<dyn FnMut()> {
    let text = lines(LINES);
    let Some(words) = AnchorMap::new(&text) else { panic!("too many lines") };
    let edit = |at: usize| json!({ "anchor": format!("{}:{}", words.words()[at], mark(at)), "text": changed(at) });
    let edits: Vec<serde_json::Value> = marked(LINES, HUNKS).map(edit).collect();
    let input = json!({ "path": "/f.rs", "edits": edits });
    let want = marked(LINES, HUNKS).fold(text.clone(), |text, at| text.replacen(&mark(at), &changed(at), 1));
    Box::new(move || {
        let Some(format) = format_by_name("anchors") else { panic!("no such format") };
        let request = format.parse(FormatInput::Json(input.clone())).unwrap_or_else(|error| panic!("{error}"));
        let FileAction::Edit { ops, .. } = &request.files[0].action else { panic!("no edit") };
        let base = Snapshot::from_text(&text);
        let page = AnchorPage::new(&base, words.words());
        let rows = |op: &Op| {
            page.to_line_edit(op, |word| words.is_tombstone(word)).unwrap_or_else(|why| panic!("{}", why.error))
        };
        let ops: Vec<Op> = ops.iter().map(rows).collect();
        let made = resolve(&base, &ops, OpOrder::Together, ResolveSettings::default());
        let made = made.unwrap_or_else(|error| panic!("{error}"));
        assert!(made.changes.apply(&base) == want.as_bytes(), "another text");
    })
}
