//! Plans of edits by text: finds the version that the caller saw, places the edits in it, and carries them over to the
//! current file.

use crate::context::call::Call;
use crate::context::options::CallOptions;
use crate::context::{Context, encoding};
use crate::model::call_context::StalePolicy;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::large::{LoadedSource, StreamedEdit, load_sized};
use crate::pipeline::plan::notebook::{self, refuse_text_edit};
use crate::pipeline::plan::placement::{self, EditedFile, OrderedOps, PlacedEdits, PlacementStrategy, SeenVersion};
use crate::pipeline::plan::strings::resolve_beside_strings;
use crate::pipeline::plan::{stale, unseen_lines};
use crate::session::base::{self, KnownLines};
use emendate_core::carried_text::{VersionPair, unproven};
use emendate_core::whole_text::whole_change;
use emendate_core::{
    CONFLICT_BEGIN, ChangeSet, Charset, ExpectedMatches, Locator, MergeBase, Note, Op, OpOrder, ResolveSettings,
    ResolvedEdit, Result, Snapshot, Splice, TieBreak, Tier, not_blank, resolve,
};
use emendate_fs::SafePath;
use emendate_history::LineSet;
use std::borrow::Cow;

/// A function that returns the operations for the version the caller saw.
type OpsBuilder<'a, 'o> = &'a mut dyn FnMut(&Snapshot) -> Result<Cow<'o, [Op]>>;

pub(crate) fn plan_edit(
    call: Call<'_>,
    path: SafePath,
    ops: &[Op],
    order: OpOrder,
    options: &CallOptions,
) -> Result<FilePlan> {
    let fills = matches!(ops.first(), Some(Op { at: Locator::Blank, .. }));
    let now = match load_sized(&call, &path)? {
        LoadedSource::Whole(version) => version,
        LoadedSource::Big(source) => {
            let edit = StreamedEdit { call, path: &path, ops, options };
            match edit.plan(source, order)? {
                Some(plan) => return Ok(plan),
                None => call.version(&path)?,
            }
        }
    };
    if now.is_none() && ops.first().is_some_and(Op::fills) {
        let before = empty_file_text(&call, &path, options)?;
        let resolved = resolve(&before, ops, order, options.resolve_settings())?;
        return Ok(FilePlan::create(path, before, resolved));
    }
    let now = placement::load_for_edit(call, &path, now, ops, options)?;
    // The error for a file that is not blank (code 3 in the seeds) takes precedence over the checks of what was read.
    if fills && !now.snapshot.text().trim().is_empty() {
        let new: String = ops.iter().map(|op| &*op.text).collect();
        let error = not_blank(&now.snapshot, &new);
        return Err(if ops.len() > 1 { error.prefixed(&format!("{}: ", ops[0].name(0))).op(0) } else { error });
    }
    let file = EditedFile { call, options, path, now };
    plan_against(file, &mut |_| Ok(Cow::Borrowed(ops)), order)
}

/// Finds the version that the caller saw, resolves the edit in it, and rebases the change to the
/// current file.
pub(crate) fn plan_against(file: EditedFile<'_>, ops: OpsBuilder<'_, '_>, order: OpOrder) -> Result<FilePlan> {
    // Only a notebook is opened before it is known what was read.
    if notebook::is_named(&file.path) {
        let meant = ops(&file.now.snapshot).unwrap_or_default();
        refuse_text_edit(file.call, &file.path, &file.now.snapshot, &meant)?;
    }
    placement::plan(file, &mut TextPlacement { ops, order })
}

/// Edits by text, or by any other locator that is resolved in one version.
struct TextPlacement<'a, 'o> {
    ops: OpsBuilder<'a, 'o>,
    order: OpOrder,
}

impl PlacementStrategy for TextPlacement<'_, '_> {
    fn in_current(&mut self, file: &EditedFile<'_>, KnownLines { lines, note }: KnownLines) -> Result<PlacedEdits> {
        let now = &file.now.snapshot;
        let (ops, settings) = ((self.ops)(now)?, file.options.resolve_settings());
        let mut resolved = resolve_beside_strings(file.call, &file.path, now, &ops, self.order, settings)?;
        unseen_lines::check_between_anchors(file, &lines, &ops, &resolved)?;
        resolved.notes.extend(note);
        Ok(PlacedEdits::new(resolved, lines))
    }

    fn in_seen(&mut self, file: &EditedFile<'_>, seen: &Snapshot, lines: LineSet) -> Result<PlacedEdits> {
        let base = SeenVersion { snapshot: seen, lines, of: MergeBase::Seen };
        carry_over(file, base, OrderedOps { ops: &(self.ops)(seen)?, order: self.order })
    }
}

/// Resolves an edit in the version that was read, then rebases it to the changed file.
pub(crate) fn carry_over(
    file: &EditedFile<'_>,
    base: SeenVersion<'_>,
    OrderedOps { ops, order }: OrderedOps<'_>,
) -> Result<PlacedEdits> {
    let EditedFile { call, options, now, .. } = file;
    let SeenVersion { snapshot: seen, lines, of } = base;
    let theirs = ChangeSet::diff(seen, &now.snapshot);
    let foreign = stale::ForeignChange { seen, theirs: &theirs };
    let settings = ResolveSettings { stale: true, ..options.resolve_settings() };
    let mut mine = match resolve_beside_strings(*call, &file.path, seen, ops, order, settings) {
        Ok(mine) => mine,
        // A person may have seen the file elsewhere; a model knows only what it was shown.
        Err(_) if call.caller.allows_unread() => {
            let resolved = resolve(&now.snapshot, ops, order, settings)?;
            return Ok(PlacedEdits::new(resolved, LineSet::all()));
        }
        Err(error) => return Err(file.unresolved(foreign, &error)),
    };
    let isolated = stale::isolated(seen, ops, &mine.changes, &theirs);
    let rebased = mine.changes.rebase(seen, &theirs, TieBreak::TheirsFirst);
    let is_doubtful = !isolated.is_empty();
    let conflicts = rebased.as_ref().err().into_iter().flatten().chain(&isolated);
    let in_conflict: Vec<u32> = conflicts.map(|it| it.op).collect();
    let check_places = || {
        let versions = VersionPair { seen, now: &now.snapshot, theirs: &theirs };
        // A patch may be merged as git does it.
        let edit = (of == MergeBase::Seen).then(|| unproven(versions, &mine.changes, ops, &in_conflict)).flatten();
        edit.map_or(Ok(()), |edit| Err(file.not_carried(foreign, stale::why_unproven(&edit))))
    };
    match if is_doubtful { Err(isolated) } else { rebased } {
        Ok(mut rebased) => {
            check_places()?;
            rebased.changes = rebased.changes.with_line_ends_of(seen, &now.snapshot)?;
            let again = placed_again(file, OrderedOps { ops, order }, &rebased.changes);
            let again = again.map_err(|why| file.not_carried(foreign, why))?;
            if again.is_none() && rebased.changes.is_empty() {
                return Err(file.already_applied(&rebased));
            }
            let note = stale::merged(of, &rebased, ops);
            mine = again.unwrap_or(ResolvedEdit { changes: rebased.changes, ..mine });
            mine.notes.push(note);
            let lines_seen = base::carry_lines(&lines, seen, &theirs);
            Ok(PlacedEdits { merged: true, ..PlacedEdits::new(mine, lines_seen) })
        }
        Err(conflicts) if options.on_stale == StalePolicy::Markers => {
            check_places()?;
            let text = stale::with_markers(seen, &mine.changes, &now.snapshot)?;
            // The merge of the texts may place an edit without a marker although its place is in doubt.
            if is_doubtful && (ops.len() > 1 || !has_more_markers(&text, now.snapshot.text())) {
                return Err(file.conflict(foreign, &conflicts));
            }
            mine.changes = whole_change(&now.snapshot, &text)?;
            mine.notes.push(Note::ConflictMarkers);
            let placed = PlacedEdits::new(mine, LineSet::none());
            Ok(PlacedEdits { merged: true, has_conflict_markers: true, ..placed })
        }
        Err(conflicts) => Err(file.conflict(foreign, &conflicts)),
    }
}

/// True if a merged text has more conflicts between markers than the file.
fn has_more_markers(merged: &str, file: &str) -> bool {
    let count = |text: &str| text.matches(CONFLICT_BEGIN).count();
    count(merged) > count(file)
}

/// Places edits of which one counts its places in the changed file as well: others may have added places. `None` if no
/// edit counts, or if nothing is left to do.
///
/// Errors: the reason why the call is refused.
fn placed_again(
    file: &EditedFile<'_>,
    OrderedOps { ops, order }: OrderedOps<'_>,
    carried: &ChangeSet,
) -> Result<Option<ResolvedEdit>, String> {
    let counts = |op: &Op| matches!(&op.at, Locator::Find(find) if find.expected != ExpectedMatches::Unique);
    if !ops.iter().any(counts) {
        return Ok(None);
    }
    let settings = ResolveSettings { stale: true, ..file.options.resolve_settings() };
    let again = match resolve(&file.now.snapshot, ops, order, settings) {
        Ok(again) => again,
        Err(_) if carried.is_empty() => return Ok(None),
        Err(error) => return Err(format!("And in the file as it is now: {}", error.message())),
    };
    let made = again.changes.splices();
    let has = |mine: &Splice| {
        let at = made.binary_search_by_key(&mine.span, |it| it.span);
        at.is_ok_and(|at| made[at].text == mine.text)
    };
    let exact = again.ops.iter().all(|it| it.tier == Tier::Exact || !ops.get(it.op).is_some_and(counts));
    if !carried.splices().iter().all(has) {
        return Err("Some of the places that your edit matched are other ones now.".to_owned());
    }
    if !exact && made.len() > carried.splices().len() {
        return Err("There are more places now that are nearly like the text of your edit.".to_owned());
    }
    Ok(Some(again))
}

/// Creates the empty text of a file to be created, in the encoding declared for it.
pub(crate) fn empty_file_text(context: &Context, path: &SafePath, options: &CallOptions) -> Result<Snapshot> {
    let (declared, marked) = match options.declared {
        Some(declared) => (Some(declared), declared.charset.unit() == 2),
        None => encoding::configured_encoding(context.config(), context.store(), path)
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
