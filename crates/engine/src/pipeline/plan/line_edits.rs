//! Edits by line number: resolved in the version that their header names, rebased to the current file, and never
//! applied to lines that were not shown.

pub(crate) mod by_anchor;

use crate::context::LoadedFile;
use crate::context::call::Call;
use crate::context::options::CallOptions;
use crate::model::call_context::StalePolicy;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::line_edits::by_anchor::AnchorPlacement;
use crate::pipeline::plan::placement::{self, EditedFile, PlacedEdits, PlacementStrategy, resolve_together};
use crate::pipeline::plan::repair::repair_edits;
use crate::pipeline::plan::{anchor_edits, stale, unseen_lines};
use crate::session::base::{self, Base, KnownLines};
use crate::session::failure_advice::is_repeat;
use crate::session::own_changes::own_changes;
use emendate_core::line_edits::{self, CarriedEdits, CarryConflict, LineMap, Registers};
use emendate_core::{
    ChangeSet, Changers, Code, ContentId, Error, Handle, Note, Notes, Op, ResolvedEdit, Result, Snapshot, TieBreak,
};
use emendate_fs::SafePath;
use emendate_history::{LineSet, RecordOrigin};
use std::borrow::Cow;

/// The reason why an edit does not fit the current file.
#[derive(Clone, Copy)]
enum Misfit<'a> {
    /// The version of its header is unknown.
    Unknown,
    /// The session saw other versions, which were not kept.
    Lost,
    /// The version is known, but the edit cannot be carried over.
    Blocked(&'a Snapshot, &'a ChangeSet, CarryConflict),
}

/// Operations, and the registers that they fill and paste.
pub(crate) struct RegisterOps<'a> {
    pub(crate) ops: &'a [Op],
    pub(crate) registers: &'a mut Registers,
}

/// Plans the edit for a file, or a sparse snapshot with its lines, given the version that the caller saw.
pub(crate) fn plan_rows_in(
    call: Call<'_>,
    path: SafePath,
    now: LoadedFile,
    base: Result<Base>,
    RegisterOps { ops, registers }: RegisterOps<'_>,
    options: &CallOptions,
) -> Result<FilePlan> {
    let file = EditedFile { call, options, path, now };
    let by_word = line_edits::names_anchor(ops);
    let nameable = matches!(options.tag, Some(Handle::Lines(..)));
    let nameless = is_nameless(&base, nameable);
    let mut placement = LinePlacement { ops: ops.into(), registers, nameable, moved: false, notes: Notes::new() };
    let mut plan = match base {
        _ if nameless && line_edits::is_position_independent(ops) => {
            let placed = placement.at_the_ends(&file)?;
            placement::planned(file, placed)
        }
        Err(_) if nameless => {
            return Err(mismatch(&file, ops, Misfit::Unknown));
        }
        base if by_word => placement::plan_on(base?, file, &mut AnchorPlacement { ops, numbered: placement })?,
        base => placement::plan_on(base?, file, &mut placement)?,
    };
    match options.tag {
        Some(_) => plan.display.header = Some(options.header_style()),
        None if by_word => plan.display.anchor_format = Some(anchor_edits::anchor_format(options)),
        // The numbers refer to the version the session saw last.
        None => {}
    }
    Ok(plan)
}

/// Edits of lines by their numbers.
struct LinePlacement<'a> {
    ops: Cow<'a, [Op]>,
    registers: &'a mut Registers,
    /// The header may name a version that is not known.
    nameable: bool,
    /// The lines were named by anchors, and have moved.
    moved: bool,
    /// Notes about the edits as they were written.
    notes: Notes,
}

impl LinePlacement<'_> {
    /// Places edits at the head or tail of a file, whatever its version.
    fn at_the_ends(&mut self, file: &EditedFile<'_>) -> Result<PlacedEdits> {
        let mut notes = Notes::from(vec![Note::AppliedAnywhere]);
        let ops = line_edits::fill_registers(&file.now.snapshot, &self.ops, self.registers, &mut notes)?;
        let placed = place_in_current_text(file, ops, notes, LineSet::none())?;
        Ok(PlacedEdits { merged: true, ..placed })
    }
}

impl PlacementStrategy for LinePlacement<'_> {
    fn in_current(&mut self, file: &EditedFile<'_>, KnownLines { lines, note }: KnownLines) -> Result<PlacedEdits> {
        let EditedFile { call, path, now, .. } = file;
        let mut notes = std::mem::take(&mut self.notes);
        notes.extend(note);
        let ops = call.grammars().with_blocks(path, &now.snapshot, &self.ops, &mut notes)?;
        all_shown(file, &now.snapshot, &lines, &ops)?;
        let ops = line_edits::fill_registers(&now.snapshot, &ops, self.registers, &mut notes)?;
        let placed = place_in_current_text(file, ops, notes, lines)?;
        Ok(PlacedEdits { merged: self.moved, ..placed })
    }

    fn in_seen(&mut self, file: &EditedFile<'_>, seen: &Snapshot, lines: LineSet) -> Result<PlacedEdits> {
        let EditedFile { call, path, .. } = file;
        let mut notes = std::mem::take(&mut self.notes);
        let ops = call.grammars().with_blocks(path, seen, &self.ops, &mut notes)?;
        all_shown(file, seen, &lines, &ops)?;
        let ops = line_edits::fill_registers(seen, &ops, self.registers, &mut notes)?;
        let (carried, theirs) = carry_over(file, seen, &ops)?;
        notes.push(carry_note(file, &ops)?);
        notes.extend(carried.notes);
        let placed = place_in_current_text(file, carried.ops.into(), notes, base::carry_lines(&lines, seen, &theirs))
            .map_err(|error| error_in_seen(file, seen, &ops).unwrap_or(error))?;
        Ok(PlacedEdits { merged: true, ..placed })
    }

    fn refuse(&self, file: &EditedFile<'_>, is_kept: bool) -> Error {
        if !self.nameable {
            return file.version_unavailable();
        }
        let misfit = if is_kept { Misfit::Unknown } else { Misfit::Lost };
        mismatch(file, &self.ops, misfit)
    }
}

/// Carries edits over to the current version, by a comparison of both versions. If that leaves a place uncertain, the
/// changes of the session itself are certain: the log has them as they were made. Returns the changes, too.
fn carry_over(file: &EditedFile<'_>, seen: &Snapshot, ops: &[Op]) -> Result<(CarriedEdits, ChangeSet)> {
    let (now, settings) = (&file.now.snapshot, file.options.resolve_settings());
    let theirs = ChangeSet::diff(seen, now);
    let blocked = match line_edits::carry(LineMap::new(seen, now, &theirs), ops, settings) {
        Ok(carried) => return Ok((carried, theirs)),
        Err(blocked) => blocked,
    };
    // Without the log, the refusal remains.
    if let Some(own) = own_changes(file.call, &file.path, seen, now).ok().flatten()
        && let Ok(carried) = line_edits::carry(LineMap::recorded(seen, now, &own), ops, settings)
    {
        return Ok((carried, own));
    }
    Err(blocked_error(file, seen, &theirs, ops, blocked))
}

/// Resolves edits whose numbers refer to the current text.
fn place_in_current_text(
    file: &EditedFile<'_>,
    ops: Cow<'_, [Op]>,
    mut notes: Notes,
    lines_seen: LineSet,
) -> Result<PlacedEdits> {
    let (ops, mut resolved) = resolve_rows(file, ops, &mut notes)?;
    resolved.notes = notes;
    let replaced = line_edits::replaced_lines(&file.now.snapshot, &ops);
    Ok(PlacedEdits { replaced, ..PlacedEdits::new(resolved, lines_seen) })
}

/// Resolves the edits, or their repaired form.
fn resolve_rows<'o>(
    file: &EditedFile<'_>,
    ops: Cow<'o, [Op]>,
    notes: &mut Notes,
) -> Result<(Cow<'o, [Op]>, ResolvedEdit)> {
    let EditedFile { call, options, path, now } = file;
    let mut resolved = resolve_together(&now.snapshot, &ops, options)
        .map_err(|error| without_effect(file, &ops, error))
        .map_err(|error| notes.iter().fold(error, |error, note| error.evidence(note.to_string())))?;
    notes.append(&mut resolved.notes);
    // Parsing needs the whole text.
    let mended = || repair_edits(call, path, &now.snapshot, &ops, &resolved, options);
    let Some(mended) = (!now.snapshot.is_sparse()).then(mended).flatten() else {
        return Ok((ops, resolved));
    };
    notes.extend(mended.notes);
    Ok((mended.ops.into(), mended.resolved))
}

/// Returns the error of edits in the version of their header, whose line numbers they use; `None` if they fit it.
fn error_in_seen(file: &EditedFile<'_>, seen: &Snapshot, ops: &[Op]) -> Option<Error> {
    let error = resolve_together(seen, ops, file.options).err()?;
    let numbers = "The numbers are those of the version of your header; the file changed since.";
    Some(without_effect(file, ops, error).evidence(numbers))
}

/// Refuses to replace lines that were never shown, and shows them.
fn all_shown(file: &EditedFile<'_>, seen: &Snapshot, lines: &LineSet, ops: &[Op]) -> Result<()> {
    let ranges = ops.iter().filter_map(|op| line_edits::of(op)?.range()).map(|(from, to)| from..=to);
    let what = "Lines that were not shown in this version cannot be replaced by their numbers.";
    unseen_lines::check(file, seen, lines, ranges, what)
}

/// Handles hunks that cannot be carried over: applied already, or in conflict with another change.
fn blocked_error(
    file: &EditedFile<'_>,
    seen: &Snapshot,
    theirs: &ChangeSet,
    ops: &[Op],
    blocked: CarryConflict,
) -> Error {
    let mine = resolve_together(seen, ops, file.options);
    let rebased = mine.and_then(|mine| {
        // In case of a conflict, the mismatch is reported as one.
        mine.changes.rebase(seen, theirs, TieBreak::TheirsFirst).map_err(|_| Error::new(Code::StaleChanged, ""))
    });
    match rebased {
        Ok(rebased) if rebased.changes.is_empty() => {
            return file.already_applied(&rebased);
        }
        Err(error) if error.code() == Code::ReadRange => return error,
        _ => {}
    }
    mismatch(file, ops, Misfit::Blocked(seen, theirs, blocked))
}

/// Creates the error for a header that does not fit the file, with the current lines named by the edit.
fn mismatch(file: &EditedFile<'_>, ops: &[Op], misfit: Misfit<'_>) -> Error {
    let EditedFile { options, path: safe_path, now, .. } = file;
    let Some(live) = now.snapshot.short_tag() else { return stale::changed_again(safe_path) };
    let path = safe_path.shown();
    let bound = match options.tag {
        Some(Handle::Lines(_, tag)) => tag.to_string(),
        Some(Handle::Tag(tag) | Handle::Headed(_, tag)) => tag.to_string(),
        None => String::new(),
    };
    let bound_to = format!("Section is bound to #{bound}, but the current file hashes to #{live}.");
    let known = matches!(misfit, Misfit::Blocked(..)) || options.on_stale == StalePolicy::Reject;
    let mut error = if known {
        Error::new(Code::StaleChanged, format!("Edit rejected for {path}: file changed between read and edit."))
            .evidence(bound_to)
    } else if matches!(misfit, Misfit::Lost) {
        Error::new(Code::StaleChanged, format!("Edit rejected for {path}: it is not the version of the header."))
            .evidence(bound_to)
            .evidence("What was read of it before is not kept, so the edit cannot be carried over.")
    } else {
        let what = format!("Edit rejected for {path}: hash #{bound} is not from this session.");
        Error::new(Code::StaleUnknownTag, what).evidence(format!(
            "The current file hashes to #{live}. Never invent the tag and never reuse one from a prior session."
        ))
    };
    if let Misfit::Blocked(seen, _, CarryConflict { op, line, why }) = misfit {
        let span = seen.lines().span_of(seen.text(), line, line);
        let text: String = seen.text()[span.range()].trim_end().chars().take(80).collect();
        let hunk = ops.get(op).and_then(line_edits::of).map_or(0, |rows| rows.source_line);
        error = error
            .evidence(format!("Hunk of line {hunk} of the input: line {line} of the version you saw ({text:?}) {why}."))
            .fact("blocking_line", line);
    }
    let named = ops.iter().filter_map(|op| line_edits::of(op)?.named_lines()).filter(|(from, _)| *from > 0);
    let (lines, which): (Vec<(usize, usize)>, _) = match misfit {
        Misfit::Blocked(seen, theirs, _) => {
            (named.map(|(from, to)| now_at(seen, &now.snapshot, theirs, from, to)).collect(), "The lines you named")
        }
        Misfit::Unknown | Misfit::Lost => (named.collect(), "The lines of these numbers"),
    };
    let excerpt = line_edits::excerpt(&now.snapshot, &lines);
    unseen_lines::mark_shown(file, &LineSet::none(), &excerpt.whole);
    if !excerpt.text.is_empty() {
        error = error.evidence(format!("{which}, as they are now:\n{}", excerpt.text));
    }
    let fresh = file.header(live);
    let shown = if excerpt.text.is_empty() { "" } else { " with the numbers of the lines shown above" };
    error
        .next(format!("Use the header {fresh}{shown}; read the file for others."))
        .fact("header", fresh)
        .fact("tag", now.snapshot.id().tag().to_string())
}

/// Returns the note for edits that were carried over to a newer version.
fn carry_note(file: &EditedFile<'_>, ops: &[Op]) -> Result<Note> {
    Ok(if line_edits::is_position_independent(ops) {
        Note::AppliedAnywhere
    } else {
        Note::LinesCarried { by: who_changed(file)? }
    })
}

/// Returns whose changes came in between.
fn who_changed(file: &EditedFile<'_>) -> Result<Changers> {
    let latest = file.call.latest_record(&file.path)?;
    let wrote = latest.filter(|record| record.origin == RecordOrigin::Write).map(|record| record.content);
    Ok(match wrote {
        Some(content) if content == file.now.snapshot.id() => Changers::Own,
        Some(_) => Changers::Both,
        None => Changers::Others,
    })
}

/// Rewords the error of an edit without effect for this format; more firmly the second time in a row.
fn without_effect(file: &EditedFile<'_>, ops: &[Op], error: Error) -> Error {
    if error.code() != Code::EditNoChange {
        return error;
    }
    let path = file.path.shown();
    let texts: String =
        ops.iter().filter_map(|op| Some(format!("{}\n{}", line_edits::of(op)?.source_text, op.text))).collect();
    let words = format!("{} {}", file.now.snapshot.id(), ContentId::of(texts.as_bytes()));
    if ops.is_empty() {
        // Pastes of empty registers are dropped before edits are resolved.
        let what = format!("Edits to {path} would change nothing: the register to paste is empty.");
        return Error::new(Code::EditNoChange, what)
            .next("Cut lines into the register first: write the section with its `CUT` above the one with the `PUT`.");
    }
    let why = if ops.iter().all(|op| op.text.is_empty()) {
        "the line(s) to delete are behind the last line, so there is nothing to delete."
    } else {
        "your body row(s) are byte-identical to the file at the targeted lines."
    };
    let error = Error::new(
        Code::EditNoChange,
        format!("Edits to {path} parsed and applied cleanly, but produced no change: {why}"),
    );
    if is_repeat(file.call, &file.path, words) {
        return error
            .evidence("The same edit was sent before and changed nothing then either.")
            .next("Do not send this edit again. Read the file, and decide whether anything is left to change.")
            .fact("repeated", true);
    }
    error.next("The bug is somewhere else — re-read the file before issuing another edit. Do NOT widen the payload or add lines; verify the anchor first.")
}

/// True for a header that names no retrievable version.
fn is_nameless(base: &Result<Base>, nameable: bool) -> bool {
    match base {
        Err(error) => error.code() == Code::StaleUnknownTag,
        Ok(base) => nameable && base.is_lost(),
    }
}

/// Returns the position of lines of one version, or of their replacement, in a later one.
fn now_at(seen: &Snapshot, now: &Snapshot, theirs: &ChangeSet, from: usize, to: usize) -> (usize, usize) {
    let span = seen.raw_span(seen.lines().span_of(seen.text(), from, to));
    let start = stale::line_now(now, theirs.map(span.start(), false));
    let end = theirs.map(span.end(), true);
    // The end of a line is the start of the next one.
    (start, stale::line_now(now, end.saturating_sub(1)).max(start))
}
