//! Editing: from a request to a receipt. Hops 3 to 8 of the picture in ARCHITECTURE.md.

use crate::caller::{Caller, OnStale, Unread};
use crate::encoding;
use crate::engine::{Engine, Opened};
use crate::options::Options;
use crate::policy::Access;
use crate::receipt::{self, Receipt};
use crate::seen::{self, Base};
use crate::stale;
use emendate_core::{
    Ask, ChangeSet, Charset, Code, Error, FileRequest, Locator, Op, Order, Outcome, Request, Resolved, Result,
    Settings, Snapshot, Span, Splice, Tie, not_blank, reading_of, resolve,
};
use emendate_fs::{Draft, Expect, Goal, Place, Written};
use emendate_history::{Body, Limits, Lines};
use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;

/// Times an edit is worked out again because the file changed between the check and the write.
const ATTEMPTS: usize = 32;

/// What will be done to one file. Nothing is written yet.
pub(crate) struct Plan {
    pub(crate) place: Place,
    /// The file as it is; `None` when it is to be created.
    pub(crate) now: Option<Opened>,
    /// The text the changes apply to: that of the file, or the empty one of a new file.
    pub(crate) before: Snapshot,
    pub(crate) changes: ChangeSet,
    /// What became of each operation; empty for a whole-file write.
    pub(crate) ops: Vec<Outcome>,
    /// The file had changed since it was read, and the edit was carried over.
    pub(crate) merged: bool,
    /// Lines known to the caller once this is written.
    pub(crate) lines: Lines,
    pub(crate) notes: Vec<String>,
    /// What was left out, where the call accepts that.
    pub(crate) failed: Vec<Error>,
}

/// One file of a request, admitted.
struct Target {
    place: Place,
    ask: Ask,
}

impl Engine {
    /// Does what a request asks of all its files, or nothing. One receipt per file, in the order of the request.
    pub(crate) fn apply(&self, caller: &Caller, request: Request, options: &Options) -> Result<Vec<Receipt>> {
        let targets = self.targets(request)?;
        // Callers of this process queue up here instead of racing each other; other processes are met by the check
        // right before the write.
        let _turns = self.turns(targets.iter().map(|target| target.place.absolute()));
        for attempt in 1.. {
            let plans = self.plan(caller, &targets, options)?;
            if options.dry_run {
                return Ok(plans.into_iter().map(|plan| Receipt::new(plan, None, true)).collect());
            }
            match self.commit(&plans) {
                // Somebody wrote in between: look again, and merge or refuse as for any other change.
                Err(error) if error.code() == Code::ConflictRaced && attempt < ATTEMPTS => {
                    for plan in plans {
                        self.finish(plan);
                    }
                }
                Err(error) => return Err(raced(error)),
                Ok(written) => return Ok(self.settle(caller, plans, written)),
            }
        }
        Err(Error::new(Code::InternalBug, "The attempts ran out without an answer."))
    }

    /// Hop 3, first half: admits every path; two names of one file become one target.
    fn targets(&self, request: Request) -> Result<Vec<Target>> {
        let of = request.files.len();
        let (mut targets, mut errors) = (Vec::<Target>::with_capacity(of), Vec::new());
        let mut known: HashMap<PathBuf, usize> = HashMap::new();
        for FileRequest { path, ask, .. } in request.files {
            let place = match self.admit(&path, Access::Write) {
                Ok(place) => place,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            let known = *known.entry(place.absolute().to_owned()).or_insert(targets.len());
            match (targets.get_mut(known).map(|target| &mut target.ask), ask) {
                (Some(Ask::Edit { ops, .. }), Ask::Edit { ops: more, .. }) => ops.extend(more),
                (Some(_), _) => errors.push(twice(&place)),
                (None, ask) => targets.push(Target { place, ask }),
            }
        }
        match Error::all(errors, of) {
            Some(error) => Err(error),
            None if targets.is_empty() => {
                Err(Error::new(Code::CallInvalid, "The call names no file.").next("Name the file to edit."))
            }
            None => Ok(targets),
        }
    }

    /// Hops 3 to 6: opens each file, resolves the request against what the caller saw, carries it over to what is there.
    fn plan(&self, caller: &Caller, targets: &[Target], options: &Options) -> Result<Vec<Plan>> {
        let (mut plans, mut errors) = (Vec::with_capacity(targets.len()), Vec::new());
        for Target { place, ask } in targets {
            let plan = match ask {
                Ask::Write(content) => self.plan_write(caller, place.clone(), content, options),
                Ask::Edit { ops, order } => self
                    .plan_edit(caller, place.clone(), ops, *order, options)
                    .map_err(|error| self.taught(caller, place, ops, error)),
                _ => Err(Error::new(Code::CallInvalid, "This engine cannot do that yet.")),
            };
            match plan {
                Ok(plan) => plans.push(plan),
                Err(error) if targets.len() == 1 => return Err(error),
                Err(error) => errors.push(error.prefixed(&format!("{}: ", place.shown()))),
            }
        }
        if options.partial && !plans.is_empty() {
            if let (Some(plan), Some(error)) = (plans.first_mut(), Error::all(errors, targets.len())) {
                plan.failed.push(error);
            }
            return Ok(plans);
        }
        Error::all(errors, targets.len()).map_or(Ok(plans), Err)
    }

    fn plan_edit(&self, caller: &Caller, place: Place, ops: &[Op], order: Order, options: &Options) -> Result<Plan> {
        let fills = matches!(ops.first(), Some(Op { at: Locator::Blank, .. }));
        let fresh: String = ops.iter().map(|op| &*op.text).collect();
        let Some(now) = self.snapshot(&place, options.declared, &fresh)? else {
            if !fills {
                return Err(self.missing(&place, caller));
            }
            let before = self.blank(&place, options)?;
            let resolved = resolve(&before, ops, order, settings(options, false))?;
            return Ok(Plan::create(place, before, resolved));
        };
        // Code 3 comes before the questions of what was read.
        if fills && !now.snapshot.text().trim().is_empty() {
            return Err(not_blank(&now.snapshot));
        }
        if place.absolute().extension().is_some_and(|it| it.eq_ignore_ascii_case("ipynb")) {
            return Err(notebook(&place));
        }
        match self.base(caller, options, &place, &now)? {
            Base::Fresh { lines, note } => {
                let mut resolved = resolve(&now.snapshot, ops, order, settings(options, false))?;
                resolved.notes.extend(note);
                let lines = seen::after_writing(&lines, &now.snapshot, &resolved.changes);
                Ok(Plan::edit(place, now, resolved, lines))
            }
            Base::Lost => Err(stale::lost(self, caller, &place, &now)),
            Base::Stale { .. } if options.on_stale == OnStale::Reject => Err(stale::lost(self, caller, &place, &now)),
            Base::Stale { seen, lines } => self.plan_stale(caller, place, now, (&seen, lines), (ops, order), options),
        }
    }

    /// The file changed since it was read: resolve in what was read, then rebase.
    fn plan_stale(
        &self,
        caller: &Caller,
        place: Place,
        now: Opened,
        (seen, lines): (&Snapshot, Lines),
        (ops, order): (&[Op], Order),
        options: &Options,
    ) -> Result<Plan> {
        let theirs = ChangeSet::between(seen, &now.snapshot);
        let mine = match resolve(seen, ops, order, settings(options, true)) {
            Ok(mine) => mine,
            // A person may look at the file elsewhere; a model knows what it was shown.
            Err(_) if caller.unread == Unread::Allow => {
                let resolved = resolve(&now.snapshot, ops, order, settings(options, true))?;
                return Ok(Plan::edit(place, now, resolved, Lines::all()));
            }
            Err(error) => return Err(stale::unresolved(self, caller, &place, &now, (seen, &theirs), &error)),
        };
        match mine.changes.rebase(seen, &theirs, Tie::TheirsFirst) {
            Ok(rebased) if rebased.changes.is_empty() => Err(stale::already(&place, &now, &rebased)),
            Ok(rebased) => {
                let known = seen::carried(&lines, seen, &theirs);
                let lines = seen::after_writing(&known, &now.snapshot, &rebased.changes);
                let note = stale::merged(&rebased.touched, &rebased.already, ops.len());
                let mut plan = Plan::edit(place, now, Resolved { changes: rebased.changes, ..mine }, lines);
                plan.merged = true;
                plan.notes.push(note);
                Ok(plan)
            }
            Err(_) if options.on_stale == OnStale::Markers => {
                let text = stale::with_markers(seen, &mine.changes, &now.snapshot)?;
                let changes = whole(&now.snapshot, &text)?;
                let lines = seen::after_writing(&Lines::none(), &now.snapshot, &changes);
                let mut plan = Plan::edit(place, now, Resolved { changes, ..mine }, lines);
                plan.merged = true;
                plan.notes.push(stale::MARKED.to_owned());
                Ok(plan)
            }
            Err(conflicts) => Err(stale::conflict(self, caller, &place, &now, (seen, &theirs), &conflicts, options)),
        }
    }

    fn plan_write(&self, caller: &Caller, place: Place, content: &str, options: &Options) -> Result<Plan> {
        let Some(now) = self.snapshot(&place, options.declared, content)? else {
            let before = self.blank(&place, options)?;
            let body = if before.raw().is_empty() { content } else { content.trim_start_matches('\u{FEFF}') };
            let text = before.codec().encode(body)?;
            let splice = Splice::new(Span::at(before.raw().len()), text, 0);
            let changes = ChangeSet::new(&before, [splice]).unwrap_or_else(|_| ChangeSet::none(&before));
            return Ok(Plan::create(place, before, written_over(changes)));
        };
        let reject = options.on_stale == OnStale::Reject || !options.on_stale_asked;
        match self.base(caller, options, &place, &now)? {
            Base::Fresh { lines, .. } => {
                let missing = lines.missing(now.snapshot.lines().count(now.snapshot.text()) as u64);
                if !missing.is_empty() && caller.unread == Unread::Deny {
                    return Err(stale::partly_read(&place, &now.snapshot, &missing));
                }
                let changes = whole(&now.snapshot, content)?;
                Ok(Plan::edit(place, now, written_over(changes), Lines::all()))
            }
            Base::Lost => Err(stale::lost(self, caller, &place, &now)),
            // A whole text says something about every line, so it is merged only when the caller asks for it.
            Base::Stale { .. } if reject => Err(stale::lost(self, caller, &place, &now)),
            Base::Stale { seen, lines } => {
                let missing = lines.missing(seen.lines().count(seen.text()) as u64);
                if !missing.is_empty() {
                    return Err(stale::partly_read(&place, &seen, &missing));
                }
                let op = Op { at: Locator::Whole, text: reading_of(content) };
                self.plan_stale(caller, place, now, (&seen, lines), (&[op], Order::Together), options)
            }
        }
    }

    /// The empty text of a file to be created, in the encoding declared for it.
    fn blank(&self, place: &Place, options: &Options) -> Result<Snapshot> {
        let configured = || encoding::configured(self.config(), self.store(), place);
        let (declared, marked) = match options.declared {
            Some(declared) => (Some(declared), declared.charset.unit() == 2),
            None => configured().map_or((None, false), |it| (Some(it.declared), it.mark)),
        };
        let mark: &[u8] = match declared.filter(|_| marked).map(|it| it.charset) {
            Some(Charset::Utf8) => b"\xEF\xBB\xBF",
            Some(Charset::Utf16Le) => b"\xFF\xFE",
            Some(Charset::Utf16Be) => b"\xFE\xFF",
            _ => b"",
        };
        Snapshot::open(mark.to_vec(), declared)
    }

    /// Hop 7: the only writer. Stages, checks again under the lock, publishes; all files or none. A plan that changes
    /// nothing is left out and has no entry in the answer.
    fn commit(&self, plans: &[Plan]) -> Result<Vec<Option<Written>>> {
        let writing: Vec<&Plan> = plans.iter().filter(|plan| plan.writes()).collect();
        let pieces: Vec<Vec<&[u8]>> =
            writing.iter().map(|plan| plan.changes.pieces(plan.before.raw()).collect()).collect();
        let drafts: Vec<Draft<'_>> = writing
            .iter()
            .zip(&pieces)
            .map(|(plan, pieces)| Draft { place: &plan.place, expect: plan.expects(), goal: Goal::content(pieces) })
            .collect();
        if drafts.is_empty() {
            return Ok(plans.iter().map(|_| None).collect());
        }
        let mut written = self.store().stage(&drafts, self.config().durability)?.commit()?.into_iter();
        Ok(plans.iter().map(|plan| if plan.writes() { written.next() } else { None }).collect())
    }

    /// Hop 8: the session knows what it wrote; the receipts say what happened.
    fn settle(&self, caller: &Caller, plans: Vec<Plan>, written: Vec<Option<Written>>) -> Vec<Receipt> {
        let one = |(plan, written): (Plan, Option<Written>)| match written {
            Some(written) => self.settle_one(caller, plan, written),
            None => Receipt::new(plan, None, false),
        };
        plans.into_iter().zip(written).map(one).collect()
    }

    fn settle_one(&self, caller: &Caller, mut plan: Plan, written: Written) -> Receipt {
        if !plan.lines.is_all() {
            // What the reply shows, the caller knows.
            let hunks = stale::reply_hunks(&plan.before, &plan.changes);
            if !receipt::is_cut(&hunks) {
                plan.lines.union(&seen::shown(&hunks));
            }
        }
        let content = emendate_core::ContentId::of_pieces(plan.changes.pieces(plan.before.raw()));
        let record = seen::written(content, written.stamp, plan.lines.clone());
        let splices: Vec<(Range<usize>, &[u8])> =
            plan.changes.splices().iter().map(|splice| (splice.span.range(), &*splice.text)).collect();
        let full = || plan.changes.apply(&plan.before);
        // What is too large is remembered by identity only, and so is what a person writes on top of a version that was
        // not kept: to put such contents together would be for nothing.
        let large = plan.before.raw().len() as u64 > Limits::default().blob;
        let keep = !large && (caller.unread == Unread::Deny || plan.now.is_none());
        let base = plan.now.as_ref().map_or(content, |now| now.snapshot.id());
        let body = Body::Change { base, splices: &splices, full: if keep { Some(&full) } else { None } };
        let trouble = self.remember(caller, &plan.place, &record, &body);
        plan.notes.extend(trouble);
        plan.notes.extend(written.notes.iter().cloned());
        Receipt::new(plan, Some((content, written)), false)
    }

    /// Keeps the buffers of a plan that has served.
    pub(crate) fn finish(&self, plan: Plan) {
        drop(plan.before);
        if let Some(now) = plan.now {
            self.recycle(now.snapshot);
        }
    }
}

impl Plan {
    fn edit(place: Place, now: Opened, resolved: Resolved, lines: Lines) -> Plan {
        let before = now.snapshot.clone();
        Plan::new(place, Some(now), before, resolved, lines)
    }

    fn create(place: Place, before: Snapshot, resolved: Resolved) -> Plan {
        Plan::new(place, None, before, resolved, Lines::all())
    }

    fn new(place: Place, now: Option<Opened>, before: Snapshot, resolved: Resolved, lines: Lines) -> Plan {
        let Resolved { changes, ops, failed, notes } = resolved;
        Plan { place, now, before, changes, ops, merged: false, lines, notes, failed }
    }

    /// What must still be on disk when it is written.
    fn expects(&self) -> Expect<'_> {
        match &self.now {
            Some(now) => Expect::Version { bytes: now.snapshot.raw(), stamp: &now.stamp },
            None => Expect::Missing,
        }
    }

    /// True when there is something to write: a difference, or a file to create.
    fn writes(&self) -> bool {
        !self.changes.is_empty() || self.now.is_none()
    }
}

fn settings(options: &Options, stale: bool) -> Settings {
    Settings { matching: options.matching, stale, partial: options.partial }
}

/// The change that makes `content` the whole text; none when it already is.
fn whole(now: &Snapshot, content: &str) -> Result<ChangeSet> {
    let op = Op { at: Locator::Whole, text: reading_of(content) };
    match resolve(now, &[op], Order::Together, Settings::default()) {
        Ok(resolved) => Ok(resolved.changes),
        Err(error) if error.code() == Code::EditNoChange => Ok(ChangeSet::none(now)),
        Err(error) => Err(error),
    }
}

/// A change that no operation stands behind: a whole text.
fn written_over(changes: ChangeSet) -> Resolved {
    Resolved { changes, ops: Vec::new(), failed: Vec::new(), notes: Vec::new() }
}

fn twice(place: &Place) -> Error {
    Error::new(Code::CallInvalid, format!("The call writes {} twice.", place.shown()))
        .next("Name the file once, with all that is to be done to it.")
}

fn raced(error: Error) -> Error {
    if error.code() != Code::ConflictRaced {
        return error;
    }
    let what = error.message().to_owned();
    Error::new(Code::ConflictRaced, "File has been unexpectedly modified. Read it again before attempting to write it.")
        .evidence(what)
        .evidence(error.evidence_text())
        .next("Another program keeps writing this file. Read it again, then repeat the call; nothing was changed.")
}

fn notebook(place: &Place) -> Error {
    Error::new(Code::FileNotebook, "File is a Jupyter Notebook. Use the NotebookEdit to edit this file.")
        .evidence(place.shown())
        .next("Edit the notebook by cells with notebook_edit; text edits would break its JSON.")
}
