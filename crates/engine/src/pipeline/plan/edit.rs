//! Editing: from a request to a receipt. Steps 3 to 7 in ARCHITECTURE.md.

use crate::context::options::CallOptions;
use crate::context::{Context, LoadedFile, encoding};
use crate::model::call_context::{CallContext, StalePolicy, UnreadPolicy};
use crate::pipeline::plan::elided::plan_elided;
use crate::pipeline::plan::file_plan::{FilePlan, without_ops};
use crate::pipeline::plan::large::edit::plan_big;
use crate::pipeline::plan::large::{LoadedSource, load_sized};
use crate::pipeline::plan::new_file::fenced_content;
use crate::pipeline::plan::notebook::{self, refuse_text_edit};
use crate::pipeline::plan::stale;
use crate::session::base::{self, Base, find_base};
use crate::session::suggest::file_not_found;
use emendate_core::ChangeSet;
use emendate_core::Charset;
use emendate_core::Locator;
use emendate_core::Matching;
use emendate_core::Op;
use emendate_core::OpOrder;
use emendate_core::ResolveSettings;
use emendate_core::ResolvedEdit;
use emendate_core::Result;
use emendate_core::Snapshot;
use emendate_core::TieBreak;
use emendate_core::normalize_text;
use emendate_core::not_blank;
use emendate_core::resolve;
use emendate_core::whole_text::FENCE_NOTE;
use emendate_core::whole_text::WholeText;
use emendate_core::whole_text::begins_with_fence;
use emendate_core::whole_text::new_file_change;
use emendate_core::whole_text::whole_change;
use emendate_fs::SafePath;
use emendate_history::LineSet;
use std::borrow::Cow;
use std::ffi::OsStr;

/// A function that returns the operations for the version the caller saw.
type OpsBuilder<'a, 'o> = &'a mut dyn FnMut(&Snapshot) -> Result<Cow<'o, [Op]>>;

/// Operations, and the order in which they apply.
#[derive(Clone, Copy)]
pub(crate) struct OrderedOps<'a> {
    pub(crate) ops: &'a [Op],
    pub(crate) order: OpOrder,
}

/// A version that the caller saw, with the lines that were shown.
pub(crate) struct SeenVersion<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) lines: LineSet,
}

pub(crate) fn plan_edit(
    context: &Context,
    caller: &CallContext,
    place: SafePath,
    ops: &[Op],
    order: OpOrder,
    options: &CallOptions,
) -> Result<FilePlan> {
    let fills = matches!(ops.first(), Some(Op { at: Locator::Blank, .. }));
    let fresh: String = ops.iter().map(|op| &*op.text).collect();
    let now = match load_sized(context, &place)? {
        LoadedSource::Whole(version) => version,
        LoadedSource::Big(source) => match plan_big(context, caller, &place, source, ops, order, options)? {
            Some(plan) => return Ok(plan),
            None => context.version(&place)?,
        },
    };
    let Some(now) = now.map(|now| context.load_decoded(&place, now, options.declared, &fresh)).transpose()? else {
        if !fills {
            return Err(file_not_found(context, &place, caller));
        }
        let before = empty_file_text(context, &place, options)?;
        let resolved = resolve(&before, ops, order, settings(options, false))?;
        return Ok(FilePlan::create(place, before, resolved));
    };
    // Code 3 takes precedence over the checks of what was read.
    if fills && !now.snapshot.text().trim().is_empty() {
        let error = not_blank(&now.snapshot, &fresh);
        return Err(if ops.len() > 1 { error.prefixed("edits[0]: ").op(0) } else { error });
    }
    plan_against(context, caller, place, now, &mut |_| Ok(Cow::Borrowed(ops)), order, options)
}

/// Finds the version that the caller saw, resolves the edit in it, and rebases the change to the
/// current file.
pub(crate) fn plan_against(
    context: &Context,
    caller: &CallContext,
    place: SafePath,
    now: LoadedFile,
    ops: OpsBuilder<'_, '_>,
    order: OpOrder,
    options: &CallOptions,
) -> Result<FilePlan> {
    // Only a notebook is opened before it is known what was read.
    if notebook::is_named(&place) {
        let meant = ops(&now.snapshot).unwrap_or_default();
        refuse_text_edit(context, caller, &place, &now.snapshot, &meant)?;
    }
    match find_base(context, caller, options, &place, &now)? {
        Base::Fresh { lines_seen: lines, note } => {
            let mut resolved = resolve(&now.snapshot, &ops(&now.snapshot)?, order, settings(options, false))?;
            resolved.notes.extend(note);
            let lines = base::after_writing(&lines, &now.snapshot, &resolved.changes);
            Ok(FilePlan::edit(place, now, resolved, lines))
        }
        Base::Lost => Err(stale::version_unavailable(context, caller, &place, &now)),
        Base::Stale { .. } if options.on_stale == StalePolicy::Reject => {
            Err(stale::version_unavailable(context, caller, &place, &now))
        }
        Base::Stale { seen, lines_seen: lines } => {
            let base = SeenVersion { snapshot: &seen, lines };
            plan_stale(context, caller, place, now, base, OrderedOps { ops: &ops(&seen)?, order }, options)
        }
    }
}

/// Resolves an edit in the version that was read, then rebases it to the changed file.
pub(crate) fn plan_stale(
    context: &Context,
    caller: &CallContext,
    place: SafePath,
    now: LoadedFile,
    base: SeenVersion<'_>,
    OrderedOps { ops, order }: OrderedOps<'_>,
    options: &CallOptions,
) -> Result<FilePlan> {
    let SeenVersion { snapshot: seen, lines } = base;
    let theirs = ChangeSet::diff(seen, &now.snapshot);
    let mine = match resolve(seen, ops, order, settings(options, true)) {
        Ok(mine) => mine,
        // A person may have seen the file elsewhere; a model knows only what it was shown.
        Err(_) if caller.unread == UnreadPolicy::Allow => {
            let resolved = resolve(&now.snapshot, ops, order, settings(options, true))?;
            return Ok(FilePlan::edit(place, now, resolved, LineSet::all()));
        }
        Err(error) => return Err(stale::unresolved(context, caller, &place, &now, seen, &theirs, &error)),
    };
    let isolated = stale::isolated(seen, ops, &mine.changes, &theirs);
    let rebased = mine.changes.rebase(seen, &theirs, TieBreak::TheirsFirst);
    match if isolated.is_empty() { rebased } else { Err(isolated) } {
        Ok(rebased) if rebased.changes.is_empty() => Err(stale::already_applied(&place, &now, &rebased)),
        Ok(rebased) => {
            let known = base::carry_lines(&lines, seen, &theirs);
            let changes = rebased.changes.with_line_ends_of(seen, &now.snapshot)?;
            let lines = base::after_writing(&known, &now.snapshot, &changes);
            let note = stale::merged(&rebased.touched, &rebased.already_made, ops.len());
            let mut plan = FilePlan::edit(place, now, ResolvedEdit { changes, ..mine }, lines);
            plan.merged = true;
            plan.notes.push(note);
            Ok(plan)
        }
        Err(_) if options.on_stale == StalePolicy::Markers => {
            let text = stale::with_markers(seen, &mine.changes, &now.snapshot)?;
            let changes = whole_change(&now.snapshot, &text)?;
            let lines = base::after_writing(&LineSet::none(), &now.snapshot, &changes);
            let mut plan = FilePlan::edit(place, now, ResolvedEdit { changes, ..mine }, lines);
            plan.merged = true;
            plan.has_conflict_markers = true;
            plan.notes.push(stale::MARKED_NOTE.to_owned());
            Ok(plan)
        }
        Err(conflicts) => {
            let base = stale::ForeignChange { seen, theirs: &theirs };
            Err(stale::conflict(context, caller, &place, &now, base, &conflicts, options))
        }
    }
}

/// Plans the text of a file that the call removed and adds again: a new text of the file, all of it.
///
/// Errors: `edit.omission`.
pub(crate) fn plan_after_removal(plan: &mut FilePlan, now: Snapshot, text: &str, options: &CallOptions) -> Result<()> {
    let whole = WholeText::read(&now, text, options.matching, options.cause.allows_invalid)?;
    if let Some(refusal) = whole.placeholders {
        return Err(refusal);
    }
    plan.changes = whole_change(&now, &whole.content)?;
    plan.before = now;
    plan.notes.extend(whole.notes);
    Ok(())
}

pub(crate) fn plan_write(
    context: &Context,
    caller: &CallContext,
    place: SafePath,
    content: &str,
    options: &CallOptions,
) -> Result<FilePlan> {
    let lenient = options.matching != Matching::Exact;
    let Some(inside) = fenced_content(&place, content).filter(|_| lenient) else {
        return plan_whole(context, caller, place, content, options);
    };
    let mut plan = plan_whole(context, caller, place.clone(), inside, options)?;
    // A file that begins with a fence keeps it.
    if begins_with_fence(plan.before.text()) {
        return plan_whole(context, caller, place, content, options);
    }
    plan.notes.push(FENCE_NOTE.to_owned());
    Ok(plan)
}

/// Plans a write of a file's whole text.
fn plan_whole(
    context: &Context,
    caller: &CallContext,
    place: SafePath,
    content: &str,
    options: &CallOptions,
) -> Result<FilePlan> {
    let Some(now) = context.snapshot(&place, options.declared, content)? else {
        let before = empty_file_text(context, &place, options)?;
        let changes = new_file_change(&before, content)?;
        let mut plan = FilePlan::create(place, before, without_ops(changes));
        let extension = plan.place.absolute().extension().and_then(OsStr::to_str);
        plan.notes.extend(WholeText::of_new_file(extension, content, options.matching)?.notes);
        return Ok(plan);
    };
    let reject = options.on_stale == StalePolicy::Reject || !options.on_stale_asked;
    let base = find_base(context, caller, options, &place, &now)?;
    let WholeText { content, notes, placeholders } =
        WholeText::read(&now.snapshot, content, options.matching, options.cause.allows_invalid)?;
    if let Some(refusal) = placeholders {
        return plan_elided(context, caller, place, now, &content, refusal, options);
    }
    match base {
        Base::Fresh { lines_seen: lines, .. } => {
            let missing = lines.missing(now.snapshot.lines().count(now.snapshot.text()) as u64);
            if !missing.is_empty() && caller.unread == UnreadPolicy::Deny {
                return Err(stale::partly_read(&place, &now.snapshot, &lines));
            }
            let changes = whole_change(&now.snapshot, &content)?;
            Ok(with_notes(notes, FilePlan::edit(place, now, without_ops(changes), LineSet::all())))
        }
        Base::Lost => Err(stale::version_unavailable(context, caller, &place, &now)),
        // A whole text is about every line, so it is merged only at the caller's request.
        Base::Stale { .. } if reject => Err(stale::version_unavailable(context, caller, &place, &now)),
        Base::Stale { seen, lines_seen: lines } => {
            let missing = lines.missing(seen.lines().count(seen.text()) as u64);
            if !missing.is_empty() {
                return Err(stale::partly_read(&place, &seen, &lines));
            }
            let op = Op { at: Locator::Whole, text: normalize_text(&content) };
            let base = SeenVersion { snapshot: &seen, lines };
            plan_stale(context, caller, place, now, base, OrderedOps { ops: &[op], order: OpOrder::Together }, options)
                .map(|plan| with_notes(notes, plan))
        }
    }
}

/// Creates the empty text of a file to be created, in the encoding declared for it.
pub(crate) fn empty_file_text(context: &Context, place: &SafePath, options: &CallOptions) -> Result<Snapshot> {
    let (declared, marked) = match options.declared {
        Some(declared) => (Some(declared), declared.charset.unit() == 2),
        None => encoding::configured_encoding(context.config(), context.store(), place)
            .map_or((None, false), |it| (Some(it.declared), it.mark)),
    };
    let mark: &[u8] = match declared.filter(|_| marked).map(|it| it.charset) {
        Some(Charset::Utf8) => b"\xEF\xBB\xBF",
        Some(Charset::Utf16Le) => b"\xFF\xFE",
        Some(Charset::Utf16Be) => b"\xFE\xFF",
        _ => b"",
    };
    Snapshot::open(mark.to_vec(), declared)
}

/// Adds notes to a plan.
fn with_notes(notes: Vec<String>, mut plan: FilePlan) -> FilePlan {
    plan.notes.extend(notes);
    plan
}

pub(crate) fn settings(options: &CallOptions, stale: bool) -> ResolveSettings {
    let omissions = options.cause.allows_invalid;
    ResolveSettings {
        matching: options.matching,
        stale,
        partial: options.partial,
        omissions,
        context: options.patch.context,
        ..ResolveSettings::default()
    }
}
