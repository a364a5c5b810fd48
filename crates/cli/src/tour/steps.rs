//! The steps of the tour.

use super::Tour;
use crate::sources::Subject;
use emendate::core::Code;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Walks through all steps. `other` is a file that is never read.
pub(super) fn walk<W: Write>(tour: &mut Tour<W>, subject: &Subject, other: Option<&Path>) -> io::Result<()> {
    read(tour, subject)?;
    exact(tour, subject)?;
    ambiguous(tour, subject)?;
    stale(tour, subject)?;
    several(tour, subject)?;
    undo(tour, subject)?;
    conflict(tour, subject)?;
    create(tour)?;
    match other {
        Some(other) => unread(tour, other),
        None => Ok(()),
    }
}

fn named(path: &Path) -> String {
    path.display().to_string()
}

fn remark(line: &str, remark: &str) -> String {
    format!("{line} // {remark}")
}

fn replace(path: &Path, old: &str, new: &str) -> Value {
    json!({ "file_path": named(path), "old_string": old, "new_string": new })
}

/// True for a file whose first line an edit can name.
pub(super) fn begins(path: &Path) -> bool {
    on_disk(path).lines().next().is_some_and(|line| line.len() > 10)
}

/// The file's text; empty when it cannot be read, which no check accepts.
fn on_disk(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn read<W: Write>(tour: &mut Tour<W>, subject: &Subject) -> io::Result<()> {
    tour.heading("Read", "What was shown is remembered: edits are checked against it.")?;
    let reply = tour.call("read", json!({ "file_path": named(&subject.path) }))?;
    tour.expect(&reply, "the whole file was shown", |data| data["partial"] == false && data["tag"].is_string())
}

fn exact<W: Write>(tour: &mut Tour<W>, subject: &Subject) -> io::Result<()> {
    tour.heading("An exact edit", "Only the bytes of the edit change.")?;
    let (old, before) = (&subject.unique[0], on_disk(&subject.path));
    let new = remark(old, "edited exactly");
    let reply = tour.call("edit", replace(&subject.path, old, &new))?;
    let right = on_disk(&subject.path) == before.replacen(&**old, &new, 1);
    tour.expect(&reply, "one line differs, all others are as they were", |data| right && data["replacements"] == 1)
}

fn ambiguous<W: Write>(tour: &mut Tour<W>, subject: &Subject) -> io::Result<()> {
    tour.heading("An ambiguous edit", "The text occurs several times; the reply shows where, and how to choose.")?;
    let before = on_disk(&subject.path);
    let reply =
        tour.call("edit", replace(&subject.path, &subject.repeated, &remark(&subject.repeated, "which one?")))?;
    tour.expect_refusal(&reply, Code::MatchAmbiguous, &subject.path, before.as_bytes())
}

fn stale<W: Write>(tour: &mut Tour<W>, subject: &Subject) -> io::Result<()> {
    tour.heading(
        "A stale file, merged",
        "Somebody else changes another line after the read; the edit is carried over.",
    )?;
    let theirs = remark(&subject.unique[4], "changed by somebody else");
    let changed = on_disk(&subject.path).replacen(&*subject.unique[4], &theirs, 1);
    fs::write(&subject.path, &changed)?;
    let old = &subject.unique[1];
    let new = remark(old, "edited, not knowing of it");
    let reply = tour.call("edit", replace(&subject.path, old, &new))?;
    let right = on_disk(&subject.path) == changed.replacen(&**old, &new, 1);
    tour.expect(&reply, "both changes are in the file", |data| right && data["merged"] == true)
}

fn several<W: Write>(tour: &mut Tour<W>, subject: &Subject) -> io::Result<()> {
    tour.heading("Several edits, all or nothing", "All are matched against the file as it was seen.")?;
    let before = on_disk(&subject.path);
    let (first, second) = (&subject.unique[2], &subject.unique[3]);
    let (new_first, new_second) = (remark(first, "one"), remark(second, "two"));
    let edits = json!([
        { "old_string": first, "new_string": new_first },
        { "old_string": second, "new_string": new_second },
    ]);
    let reply = tour.call("multi_edit", json!({ "file_path": named(&subject.path), "edits": edits }))?;
    let wanted = before.replacen(&**first, &new_first, 1).replacen(&**second, &new_second, 1);
    let right = on_disk(&subject.path) == wanted;
    tour.expect(&reply, "both lines changed", |data| right && data["replacements"] == 2)
}

fn undo<W: Write>(tour: &mut Tour<W>, subject: &Subject) -> io::Result<()> {
    tour.heading("Taken back", "The last call is undone as a whole, though somebody else changed another line since.")?;
    let theirs = remark(&subject.unique[4], "changed once more by somebody else");
    let old = remark(&subject.unique[4], "changed by somebody else");
    let changed = on_disk(&subject.path).replacen(&*old, &theirs, 1);
    fs::write(&subject.path, &changed)?;
    let reply = tour.call("undo", json!({}))?;
    let (first, second) = (&subject.unique[2], &subject.unique[3]);
    let wanted = changed.replacen(&*remark(first, "one"), first, 1).replacen(&*remark(second, "two"), second, 1);
    let right = on_disk(&subject.path) == wanted;
    tour.expect(&reply, "both lines are as before, the other change is still there", |data| {
        right && data["undone"].is_array()
    })
}

fn conflict<W: Write>(tour: &mut Tour<W>, subject: &Subject) -> io::Result<()> {
    tour.heading("Edits that conflict", "The second needs the result of the first, which the file does not have yet.")?;
    let before = on_disk(&subject.path);
    let edits = json!([
        { "old_string": "edited exactly", "new_string": "edited a second time" },
        { "old_string": "a second time", "new_string": "a third time" },
    ]);
    let reply = tour.call("multi_edit", json!({ "file_path": named(&subject.path), "edits": edits }))?;
    tour.expect_refusal(&reply, Code::EditDependency, &subject.path, before.as_bytes())
}

fn create<W: Write>(tour: &mut Tour<W>) -> io::Result<()> {
    tour.heading("A new file", "Folders are made as needed.")?;
    let path = tour.work.join("notes/tour.md");
    let content = "# Notes\n\nWritten by the tour.\n";
    let reply = tour.call("write", json!({ "file_path": named(&path), "content": content }))?;
    let right = on_disk(&path) == content;
    tour.expect(&reply, "the file is there", |data| right && data["type"] == "create")
}

fn unread<W: Write>(tour: &mut Tour<W>, other: &Path) -> io::Result<()> {
    tour.heading("An edit of a file that was never read", "A model must have seen what it changes.")?;
    let before = on_disk(other);
    let line = before.lines().next().unwrap_or_default().to_owned();
    let reply = tour.call("edit", replace(other, &line, &remark(&line, "guessed")))?;
    tour.expect_refusal(&reply, Code::ReadRequired, other, before.as_bytes())
}
