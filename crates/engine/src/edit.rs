//! Editing: from a request to a receipt. Hops 3 to 8 of the picture in ARCHITECTURE.md.

use crate::big::Sized;
use crate::caller::{Caller, OnStale, Unread};
use crate::encoding;
use crate::engine::{Engine, Opened};
use crate::new_file::without_fence;
use crate::notebook;
use crate::options::Options;
use crate::patching::check_blanks;
use crate::plan::{Plan, written_over};
use crate::receipt::Receipt;
use crate::seen::{self, Base};
use crate::stale;
use emendate_core::omission::{Verdict, shrunk};
use emendate_core::rows::Registers;
use emendate_core::{
    COPIED_NUMBERS, ChangeSet, Charset, Code, Locator, Matching, Op, Order, Request, Resolved, Result, Settings,
    Snapshot, Span, Splice, Tie, not_blank, reading_of, resolve, without_copied_numbers,
};
use emendate_fs::Place;
use emendate_history::Lines;
use std::borrow::Cow;
use std::cell::Cell;

/// A function that returns the operations for the version the caller saw.
type OpsIn<'a, 'o> = &'a mut dyn FnMut(&Snapshot) -> Result<Cow<'o, [Op]>>;

impl Engine {
    /// Applies a request to all its files, or to none. Returns one receipt per file, in the order of the request.
    pub(crate) fn apply(&self, caller: &Caller, request: Request, options: &Options) -> Result<Vec<Receipt>> {
        let mut targets = self.targets(request)?;
        if options.patch.reject {
            self.name_rejects(&mut targets)?;
        }
        let places = targets.iter().flat_map(|it| it.paths().chain(it.rejects.as_ref().map(Place::absolute)));
        let _turns = self.turns(places);
        let mut registers = Registers::default();
        let drawer = self.open_drawer(caller, &targets)?;
        let whole = Cell::new(options.whole);
        let mut plan = || {
            let options = &Options { whole: whole.get(), ..*options };
            let (mut plans, left) = self.plan(caller, &targets, drawer.registers(), options)?;
            self.end_lines_of_new_files(&mut plans)?;
            check_blanks(&mut plans, options.patch.whitespace)?;
            self.warn_of_syntax(&mut plans);
            registers = left;
            Ok(plans)
        };
        let mut receipts = match self.carry_out(caller, options.cause, options.dry_run, &mut plan) {
            Err(error) if self.fits_whole(&error) => {
                whole.set(true);
                self.carry_out(caller, options.cause, options.dry_run, &mut plan)?
            }
            other => other?,
        };
        if !options.dry_run
            && let Err(error) = self.close_drawer(caller, &drawer, registers)
            && let Some(receipt) = receipts.first_mut()
        {
            // The files are already changed, so this is not a failure of the call.
            receipt.note(format!("What was cut under a name could not be kept for later calls: {}", error.message()));
        }
        Ok(receipts)
    }

    pub(crate) fn plan_edit(
        &self,
        caller: &Caller,
        place: Place,
        ops: &[Op],
        order: Order,
        options: &Options,
    ) -> Result<Plan> {
        let fills = matches!(ops.first(), Some(Op { at: Locator::Blank, .. }));
        let fresh: String = ops.iter().map(|op| &*op.text).collect();
        let now = match self.sized(&place)? {
            Sized::Whole(version) => version,
            Sized::Big(source) => match self.plan_big(caller, &place, source, (ops, order), options)? {
                Some(plan) => return Ok(plan),
                None => self.version(&place)?,
            },
        };
        let Some(now) = now.map(|now| self.decoded(&place, now, options.declared, &fresh)).transpose()? else {
            if !fills {
                return Err(self.missing(&place, caller));
            }
            let before = self.blank(&place, options)?;
            let resolved = resolve(&before, ops, order, settings(options, false))?;
            return Ok(Plan::create(place, before, resolved));
        };
        // Code 3 takes precedence over the checks of what was read.
        if fills && !now.snapshot.text().trim().is_empty() {
            let error = not_blank(&now.snapshot);
            return Err(if ops.len() > 1 { error.prefixed("edits[0]: ").op(0) } else { error });
        }
        self.plan_against(caller, place, now, (&mut |_| Ok(Cow::Borrowed(ops)), order), options)
    }

    /// Hops 4 and 5: finds the version that the caller saw, resolves the edit in it, and rebases the change to the
    /// current file.
    pub(crate) fn plan_against(
        &self,
        caller: &Caller,
        place: Place,
        now: Opened,
        (ops, order): (OpsIn<'_, '_>, Order),
        options: &Options,
    ) -> Result<Plan> {
        // Only a notebook is opened before it is known what was read.
        if notebook::is_named(&place) {
            let meant = ops(&now.snapshot).unwrap_or_default();
            self.no_notebook(caller, &place, &now.snapshot, &meant)?;
        }
        match self.base(caller, options, &place, &now)? {
            Base::Fresh { lines, note } => {
                let mut resolved = resolve(&now.snapshot, &ops(&now.snapshot)?, order, settings(options, false))?;
                resolved.notes.extend(note);
                let lines = seen::after_writing(&lines, &now.snapshot, &resolved.changes);
                Ok(Plan::edit(place, now, resolved, lines))
            }
            Base::Lost => Err(stale::lost(self, caller, &place, &now)),
            Base::Stale { .. } if options.on_stale == OnStale::Reject => Err(stale::lost(self, caller, &place, &now)),
            Base::Stale { seen, lines } => {
                self.plan_stale(caller, place, now, (&seen, lines), (&ops(&seen)?, order), options)
            }
        }
    }

    /// Resolves an edit in the version that was read, then rebases it to the changed file.
    pub(crate) fn plan_stale(
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
            // A person may have seen the file elsewhere; a model knows only what it was shown.
            Err(_) if caller.unread == Unread::Allow => {
                let resolved = resolve(&now.snapshot, ops, order, settings(options, true))?;
                return Ok(Plan::edit(place, now, resolved, Lines::all()));
            }
            Err(error) => return Err(stale::unresolved(self, caller, &place, &now, (seen, &theirs), &error)),
        };
        let isolated = stale::isolated(seen, ops, &mine.changes, &theirs);
        let rebased = mine.changes.rebase(seen, &theirs, Tie::TheirsFirst);
        match if isolated.is_empty() { rebased } else { Err(isolated) } {
            Ok(rebased) if rebased.changes.is_empty() => Err(stale::already(&place, &now, &rebased)),
            Ok(rebased) => {
                let known = seen::carried(&lines, seen, &theirs);
                let changes = rebased.changes.ended_as(seen, &now.snapshot)?;
                let lines = seen::after_writing(&known, &now.snapshot, &changes);
                let note = stale::merged(&rebased.touched, &rebased.already, ops.len());
                let mut plan = Plan::edit(place, now, Resolved { changes, ..mine }, lines);
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
                plan.marked = true;
                plan.notes.push(stale::MARKED.to_owned());
                Ok(plan)
            }
            Err(conflicts) => Err(stale::conflict(self, caller, &place, &now, (seen, &theirs), &conflicts, options)),
        }
    }

    pub(crate) fn plan_write(&self, caller: &Caller, place: Place, content: &str, options: &Options) -> Result<Plan> {
        let lenient = options.matching != Matching::Exact;
        let Some(inside) = without_fence(&place, content).filter(|_| lenient) else {
            return self.plan_whole(caller, place, content, options);
        };
        let mut plan = self.plan_whole(caller, place.clone(), inside, options)?;
        // A file that begins with a fence keeps it.
        if plan.before.text().trim_start().starts_with(['`', '~']) {
            return self.plan_whole(caller, place, content, options);
        }
        plan.notes.push("The fence around the whole content was left out.".to_owned());
        Ok(plan)
    }

    /// Plans a write of a file's whole text.
    fn plan_whole(&self, caller: &Caller, place: Place, content: &str, options: &Options) -> Result<Plan> {
        let Some(now) = self.snapshot(&place, options.declared, content)? else {
            let before = self.blank(&place, options)?;
            let body = if before.raw().is_empty() { content } else { content.trim_start_matches('\u{FEFF}') };
            let text = before.codec().encode(body)?;
            let splice = Splice::new(Span::at(before.raw().len()), text, 0);
            let changes = ChangeSet::new(&before, [splice]).unwrap_or_else(|_| ChangeSet::none(&before));
            let mut plan = Plan::create(place, before, written_over(changes));
            if let Verdict::Warn(warning) = shrunk("", content, true) {
                plan.notes.push(warning);
            }
            return Ok(plan);
        };
        let reject = options.on_stale == OnStale::Reject || !options.on_stale_asked;
        let base = self.base(caller, options, &place, &now)?;
        let bare = match options.matching {
            Matching::Standard => without_copied_numbers(&now.snapshot, content)?,
            _ => None,
        };
        let copied = bare.as_ref().map(|_| COPIED_NUMBERS.to_owned());
        let content = bare.as_deref().unwrap_or(content);
        let warning = match shrunk(now.snapshot.text(), content, options.cause.allows_invalid) {
            Verdict::Refuse(error) => {
                let content = content.to_owned();
                return self.plan_elided(caller, place, now, &content, error, options);
            }
            Verdict::Warn(warning) => Some(warning),
            Verdict::Fine => None,
        };
        let told = |mut plan: Plan| {
            plan.notes.extend(copied);
            plan.notes.extend(warning);
            plan
        };
        match base {
            Base::Fresh { lines, .. } => {
                let missing = lines.missing(now.snapshot.lines().count(now.snapshot.text()) as u64);
                if !missing.is_empty() && caller.unread == Unread::Deny {
                    return Err(stale::partly_read(&place, &now.snapshot, &missing));
                }
                let changes = whole(&now.snapshot, content)?;
                Ok(told(Plan::edit(place, now, written_over(changes), Lines::all())))
            }
            Base::Lost => Err(stale::lost(self, caller, &place, &now)),
            // A whole text is about every line, so it is merged only at the caller's request.
            Base::Stale { .. } if reject => Err(stale::lost(self, caller, &place, &now)),
            Base::Stale { seen, lines } => {
                let missing = lines.missing(seen.lines().count(seen.text()) as u64);
                if !missing.is_empty() {
                    return Err(stale::partly_read(&place, &seen, &missing));
                }
                let op = Op { at: Locator::Whole, text: reading_of(content) };
                self.plan_stale(caller, place, now, (&seen, lines), (&[op], Order::Together), options).map(told)
            }
        }
    }

    /// Creates the empty text of a file to be created, in the encoding declared for it.
    pub(crate) fn blank(&self, place: &Place, options: &Options) -> Result<Snapshot> {
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
}

pub(crate) fn settings(options: &Options, stale: bool) -> Settings {
    let omissions = options.cause.allows_invalid;
    Settings {
        matching: options.matching,
        stale,
        partial: options.partial,
        omissions,
        context: options.patch.context,
        ..Settings::default()
    }
}

/// Returns the change that makes `content` the whole text; empty if it already is.
pub(crate) fn whole(now: &Snapshot, content: &str) -> Result<ChangeSet> {
    let op = Op { at: Locator::Whole, text: reading_of(content) };
    match resolve(now, &[op], Order::Together, Settings::default()) {
        Ok(resolved) => Ok(resolved.changes),
        Err(error) if error.code() == Code::EditNoChange => Ok(ChangeSet::none(now)),
        Err(error) => Err(error),
    }
}
