//! The placement of edits in one text: by line number, by anchor, by cell, and with placeholders for kept code.

use super::file_work::FileWork;
use super::options::ApplyOptions;
use super::planner::Planner;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::print::numbered_anchors;
use crate::locate::elided;
use crate::locate::line_edits;
use crate::locate::notebook;
use crate::locate::op::{FileRequest, Op, OpOrder, normalize_text};
use crate::locate::resolve::{ResolvedEdit, resolve};
use crate::note::{Note, Notes};
use crate::text::content::Handle;
use crate::text::snapshot::Snapshot;
use crate::text::view::View;
use std::borrow::Cow;

impl<V: View + ?Sized> Planner<'_, V> {
    /// Resolves the first edits of a file.
    pub(super) fn resolved(
        &mut self,
        step: &FileRequest,
        now: &Snapshot,
        ops: &[Op],
        order: OpOrder,
    ) -> Result<ResolvedEdit> {
        let mut notes = Notes::new();
        check_version(step, now, ops, &mut notes)?;
        let ops = if line_edits::are_line_edits(ops) {
            line_edits::fill_registers(now, ops, &mut self.registers, &mut notes)?
        } else if notebook::are(ops) {
            Cow::Owned(ops.iter().map(|op| notebook::with_clearing(op, true)).collect())
        } else {
            numbered_anchors(now, ops)?
        };
        let resolved = resolve(now, &ops, order, self.options.settings());
        let mut resolved =
            resolved.map_err(|error| notes.iter().fold(error, |error, note| error.evidence(note.to_string())))?;
        resolved.notes.extend(notes);
        Ok(resolved)
    }
}

/// Checks that the text is the version that the request names.
///
/// Errors: [`Code::StaleUnknownTag`], unless no edit depends on the text.
fn check_version(step: &FileRequest, now: &Snapshot, ops: &[Op], notes: &mut Notes) -> Result<()> {
    let (fits, named) = match step.base {
        None => return Ok(()),
        Some(Handle::Lines(_, tag)) => (now.short_tag() == Some(tag), tag.to_string()),
        Some(Handle::Tag(tag) | Handle::Headed(_, tag)) => (now.id().tag() == tag, tag.to_string()),
    };
    if fits {
        return Ok(());
    }
    if matches!(step.base, Some(Handle::Lines(..))) && line_edits::is_position_independent(ops) {
        notes.push(Note::AppliedAnywhere);
        return Ok(());
    }
    let live = now.short_tag().map_or_else(|| now.id().tag().to_string(), |tag| tag.to_string());
    Err(Error::new(Code::StaleUnknownTag, format!("Edit rejected for {}: #{named} is not the given text.", step.path))
        .evidence(format!("The given text hashes to #{live}."))
        .next("Give the version that the header names, or take the numbers and the header from this one."))
}

/// Returns the edit that a whole text with placeholders expresses. No grammar is consulted for the extent of symbols,
/// so a placement that only grammars can prove is refused.
pub(super) fn with_kept_code(
    now: Snapshot,
    content: &str,
    mut refusal: Option<Error>,
    options: &ApplyOptions,
) -> Result<FileWork> {
    let text = normalize_text(content);
    let expansion = elided::expand_or_refuse(now.text(), &text, &[], &mut refusal)?;
    let resolved = resolve(&now, &expansion.ops, OpOrder::Together, options.settings())?;
    let mut work = FileWork::unchanged(now);
    work.add(resolved);
    work.notes.extend(expansion.notes());
    Ok(work)
}
