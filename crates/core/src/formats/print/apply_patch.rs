//! Printer of V4A patches that the original tool understands in the same way. That tool takes the first place that a
//! hunk fits, so every hunk has enough context to fit only once, and no extension is used.

use super::hunk::{LineDifference, PrintedHunk};
use super::{FileDelta, unsaid};
use crate::error::Result;
use crate::formats::apply_patch;
use crate::locate::op::{FileAction, FileRequest, Hunk, HunkLine, HunkLineKind, NewFile, Op, OpOrder, Request};
use crate::note::Notes;
use crate::text::explain::LineKind as Kind;

pub(super) fn print(deltas: &[FileDelta<'_>], context: usize) -> Result<String> {
    let files = deltas.iter().map(|delta| Ok(FileRequest::new(delta.old_path(), action(delta, context)?)));
    let request = Request { files: files.collect::<Result<_>>()?, notes: Notes::new() };
    apply_patch::print(&request).ok_or_else(|| unsaid(deltas[0].path, "a name or a line contains a line end"))
}

fn action(delta: &FileDelta<'_>, context: usize) -> Result<FileAction> {
    if delta.new_mode().is_some() {
        return Err(unsaid(delta.path, "it has no permissions"));
    }
    let (old, new) = (delta.text_before(), delta.text_after());
    if delta.after.is_some() && !new.is_empty() && is_open(new) != is_open(old) {
        return Err(unsaid(delta.path, "it cannot express a last line without a line end"));
    }
    let (before, after) = match (delta.before, delta.after) {
        (None, _) => return Ok(FileAction::Create(NewFile::Text(new.to_owned()))),
        (_, None) => return Ok(FileAction::Delete { text: None }),
        (Some(before), Some(after)) => (before, after),
    };
    let difference = LineDifference::new(before, after);
    let ops: Vec<Op> = difference.hunks(old, context).iter().map(op).collect();
    Ok(match delta.from {
        Some(_) => FileAction::Move { to: delta.path.to_owned(), ops },
        None => FileAction::Edit { ops, order: OpOrder::Together },
    })
}

/// True for a text whose last line has no line end.
fn is_open(text: &str) -> bool {
    !text.is_empty() && !text.ends_with('\n')
}

fn op(hunk: &PrintedHunk<'_>) -> Op {
    Hunk { lines: hunk.lines.iter().map(|(kind, text)| hunk_line(*kind, text)).collect(), ..Hunk::default() }.into_op()
}

/// Converts a line of a hunk.
fn hunk_line(kind: Kind, text: &str) -> HunkLine {
    HunkLine {
        kind: match kind {
            Kind::Kept => HunkLineKind::Context,
            Kind::Removed => HunkLineKind::Removed,
            Kind::Added => HunkLineKind::Added,
        },
        text: text.to_owned(),
    }
}
