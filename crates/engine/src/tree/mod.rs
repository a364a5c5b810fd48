//! Hops 3 to 6 for a whole request: its steps in sequence, each on the result of the ones before it; nothing is
//! written.

mod carry;

use crate::caller::Caller;
use crate::edit::whole;
use crate::engine::{Engine, Opened};
use crate::limits::check_together;
use crate::notebook;
use crate::options::Options;
use crate::plan::{Becomes, Now, Plan, all_bytes, edit_more, written_over};
use crate::reject;
use crate::seen::Base;
use crate::shelves::key;
use crate::stale;
use crate::standing::{exists, gone, holds, other_link};
use crate::target::Target;
use crate::three_way::{Preimage, preimage};
use crate::watch::Step;
use emendate_core::notebook as core_notebook;
use emendate_core::rows::{self, Registers};
use emendate_core::words;
use emendate_core::{Ask, BinaryChange, Code, Error, FileMode, Handle, NewFile, Op, Order, Result, Snapshot};
use emendate_fs::Place;
use emendate_history::Lines;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The files of a request after its steps so far.
struct Tree<'a> {
    engine: &'a Engine,
    caller: &'a Caller,
    options: &'a Options,
    targets: &'a [Target],
    plans: Vec<Plan>,
    at: HashMap<PathBuf, usize>,
    /// Paths of failed steps: consequential errors are not reported.
    broken: HashSet<PathBuf>,
    /// Files already taken from their path, by the index of the step that places them.
    lifted: HashMap<usize, Plan>,
    /// A step failed that others depend on.
    stuck: bool,
    /// Edits that were left out, as text.
    rejected: String,
    /// The versions that texts refer to, by path.
    bases: HashMap<PathBuf, Handle>,
    /// git's object ids of the versions that patches were made for, by path.
    preimages: HashMap<PathBuf, String>,
    /// Files for hunks that were left out, and the hunks as text.
    leftovers: Vec<(Place, String)>,
    /// The registers so far.
    registers: Registers,
}

impl Engine {
    /// Hops 3 to 6: plans every step; all failures are reported together.
    pub(crate) fn plan(
        &self,
        caller: &Caller,
        targets: &[Target],
        registers: Registers,
        options: &Options,
    ) -> Result<(Vec<Plan>, Registers)> {
        let mut tree = Tree {
            engine: self,
            caller,
            options,
            targets,
            plans: Vec::with_capacity(targets.len()),
            at: HashMap::new(),
            broken: HashSet::new(),
            lifted: HashMap::new(),
            stuck: false,
            rejected: String::new(),
            bases: targets.iter().filter_map(|it| Some((it.place.absolute().to_owned(), it.base?))).collect(),
            preimages: preimages(targets, options),
            leftovers: Vec::new(),
            registers,
        };
        let mut errors = Vec::new();
        caller.begin(Step::Reading, targets.len());
        for (step, target) in targets.iter().enumerate() {
            if target.paths().any(|path| tree.broken.contains(path)) {
                continue;
            }
            let done = tree.step(step, target);
            caller.advance()?;
            tree.check_together()?;
            let Err(error) = done else { continue };
            if targets.len() == 1 && !options.patch.reject {
                return Err(error);
            }
            tree.broken.extend(target.paths().map(Path::to_owned));
            tree.reject(target, None);
            errors.push(error.prefixed(&format!("{}: ", target.place.shown())));
        }
        tree.write_leftovers()?;
        let mut plans = carry::settled(tree.plans);
        plans.retain(|plan| !(plan.creates() && plan.becomes == Becomes::Nothing));
        for plan in &mut plans {
            // The requested line format, else that of the text.
            plan.header = options.header.or(plan.header).filter(|_| options.worded.is_none());
            plan.worded = options.worded.or(plan.worded).filter(|_| options.header.is_none());
            plan.name = plan.header.map(|_| self.name_in_header(caller, &plan.place)).unwrap_or_default();
            plan.notes.extend(notebook::as_text(&plan.place, &plan.before, &plan.ops));
        }
        if options.partial && !plans.is_empty() && !tree.stuck {
            // One that is reported.
            let first = plans.iter().position(|plan| !plan.moved_on).unwrap_or_default();
            if let Some(plan) = plans.get_mut(first) {
                plan.failed.extend(Error::all(errors, targets.len()));
                plan.rejected = tree.rejected;
            }
            return Ok((plans, tree.registers));
        }
        Error::all(errors, targets.len()).map_or(Ok((plans, tree.registers)), Err)
    }
}

impl Tree<'_> {
    fn step(&mut self, step: usize, target: &Target) -> Result<()> {
        let Target { place, to, ask, mode, .. } = target;
        for place in [Some(place), to.as_ref()].into_iter().flatten() {
            self.not_below_a_file(place)?;
        }
        match (ask, to) {
            (Ask::Edit { ops, order }, _) => {
                let plan = self.edit(place, ops, *order).map_err(|error| self.taught(place, ops, error))?;
                self.plans[plan].executable = mode.map(|mode| mode == FileMode::Executable);
                let left_out: Vec<usize> = self.plans[plan].failed.iter().filter_map(op_index).collect();
                self.reject(target, Some(&left_out));
            }
            (Ask::Write(content), _) => {
                let plan = self.engine.plan_write(self.caller, place.clone(), content, self.options)?;
                self.add(plan);
            }
            (Ask::Create(file), _) => {
                let plan = self.create(place, file)?;
                self.plans[plan].executable = mode.map(|mode| mode == FileMode::Executable);
            }
            (Ask::Delete { text }, _) => self.delete(place, text.as_deref())?,
            (Ask::Move { ops, .. }, Some(to)) => self.moved(step, (place, to), ops, *mode)?,
            (Ask::Copy { ops, .. }, Some(to)) => self.carry(step, (place, to), ops, true, *mode)?,
            (Ask::Binary(change), _) => self.binary(place, change)?,
            _ => return Err(Error::new(Code::CallInvalid, "This engine cannot do that yet.")),
        }
        Ok(())
    }

    /// The limit on the files of a call together. A single file has limits of its own.
    ///
    /// Errors: `call.too_large`.
    fn check_together(&self) -> Result<()> {
        let size = |plan: &Plan| plan.before.raw().len().max(plan.changes.len_after(&plan.before));
        let written = || self.plans.iter().filter(|plan| plan.writes());
        if self.targets.len() == 1 { Ok(()) } else { check_together(written().count(), written().map(size).sum()) }
    }

    /// Errors: [`Code::PathNotRegular`] for a path below an entry that this call creates and that is not a directory.
    fn not_below_a_file(&self, place: &Place) -> Result<()> {
        let made = |path: &Path| self.at.get(path).map(|&at| &self.plans[at]);
        let above = place.absolute().ancestors().skip(1);
        let Some(plan) = above.filter_map(made).find(|plan| plan.becomes != Becomes::Nothing) else { return Ok(()) };
        let what = if plan.becomes == Becomes::File { "file" } else { "symbolic link" };
        Err(Error::new(
            Code::PathNotRegular,
            format!("The path lies below a {what} that this call has at {}.", plan.place.shown()),
        )
        .evidence(place.shown())
        .next("Choose another path for one of the two."))
    }

    fn taught(&self, place: &Place, ops: &[Op], error: Error) -> Error {
        self.engine.taught(self.caller, place, ops, error)
    }

    /// Records edits that are left out: those with these indices, or all.
    fn reject(&mut self, target: &Target, only: Option<&[usize]>) {
        if let (Ask::Edit { ops, .. } | Ask::Move { ops, .. } | Ask::Copy { ops, .. }, true) =
            (&target.ask, self.options.partial)
        {
            let ops = ops.iter().enumerate().filter(|(nth, _)| only.is_none_or(|only| only.contains(nth)));
            let path = target.place.relative().to_string_lossy();
            let text = reject::text(&path, ops.map(|(_, op)| op));
            if let Some(rejects) =
                target.rejects.as_ref().filter(|_| !text.is_empty() && self.engine.is_there(&target.place))
            {
                self.leftovers.push((rejects.clone(), text.clone()));
            }
            self.rejected.push_str(&text);
        }
    }

    /// Plans the files that take what was left out; older ones are replaced.
    fn write_leftovers(&mut self) -> Result<()> {
        for (place, text) in std::mem::take(&mut self.leftovers) {
            let mut plan = match self.opened(&place)? {
                Some(now) if !now.snapshot.is_opaque() => {
                    let changes = whole(&now.snapshot, &text)?;
                    Plan::edit(place, now, written_over(changes), Lines::all())
                }
                Some(_) => return Err(exists(&place, None)),
                None => {
                    let before = self.engine.blank(&place, self.options)?;
                    let changes = all_bytes(&before, before.codec().encode(&text)?);
                    Plan::create(place, before, written_over(changes))
                }
            };
            plan.notes.push("Holds the hunks that could not be applied.".to_owned());
            self.add(plan);
        }
        Ok(())
    }

    /// Plans a patch by the version that it was made for; nothing where the file is that version or none is known. Also
    /// what is to be said of it.
    fn three_way(
        &self,
        place: &Place,
        ops: &[Op],
        order: Order,
        options: &Options,
    ) -> Result<(Option<Plan>, Option<String>)> {
        let Some(id) = self.preimages.get(place.absolute()) else { return Ok((None, None)) };
        let Some(now) = self.engine.snapshot(place, options.declared, "")? else { return Ok((None, None)) };
        Ok(match preimage(self.caller, place, &now, id)? {
            Preimage::Current => (None, None),
            Preimage::Other(seen) => {
                let version = (place.clone(), now, &seen);
                (Some(self.engine.plan_three_way(self.caller, version, (ops, order), options)?), None)
            }
            Preimage::Unknown(why) => {
                let note = format!(
                    "The version {id} that the patch was made for is not in a git repository here ({why}); its lines were looked for in the file as it is."
                );
                (None, Some(note))
            }
        })
    }

    /// Returns the options for a file, with the version that the text refers to.
    fn options(&self, place: &Place) -> Options {
        let named = self.bases.get(place.absolute()).copied();
        // Dependent steps, files that are written together and those that get a mode need their whole texts.
        let moded = self.targets.iter().any(|target| target.mode.is_some());
        let whole = self.options.whole || self.targets.len() > 1 || moded;
        Options { tag: named.or(self.options.tag), whole, ..*self.options }
    }

    fn plan_at(&self, place: &Place) -> Option<usize> {
        self.at.get(place.absolute()).copied()
    }

    /// Adds a plan, or replaces the one for the same path.
    fn add(&mut self, plan: Plan) -> usize {
        let path = plan.place.absolute().to_owned();
        if let Some(&at) = self.at.get(&path) {
            self.plans[at] = plan;
            return at;
        }
        self.at.insert(path, self.plans.len());
        self.plans.push(plan);
        self.plans.len() - 1
    }

    /// Edits a file as the earlier steps leave it.
    fn edit(&mut self, place: &Place, ops: &[Op], order: Order) -> Result<usize> {
        let Some(at) = self.plan_at(place) else {
            let plan = if ops.is_empty() {
                self.load(place)?
            } else {
                let options = self.options(place);
                if rows::are(ops) {
                    self.engine.plan_rows(self.caller, place.clone(), ops, &options, &mut self.registers)?
                } else if words::are(ops) {
                    self.engine.plan_words(self.caller, place.clone(), ops, &options)?
                } else if core_notebook::are(ops) {
                    self.engine.plan_cells(self.caller, place.clone(), ops, &options)?
                } else {
                    match self.three_way(place, ops, order, &options)? {
                        (Some(plan), _) => plan,
                        (None, note) => {
                            let plan = self.engine.plan_edit(self.caller, place.clone(), ops, order, &options);
                            let told =
                                |error: Error| note.iter().fold(error, |error, note| error.evidence(note.clone()));
                            let mut plan = plan.map_err(told)?;
                            plan.notes.extend(note);
                            plan
                        }
                    }
                }
            };
            return Ok(self.add(plan));
        };
        if self.plans[at].becomes != Becomes::File {
            return Err(gone(place));
        }
        edit_more(&mut self.plans[at], ops, order, self.options)?;
        Ok(at)
    }

    /// Loads a file from disk.
    fn load(&self, place: &Place) -> Result<Plan> {
        let now = self.opened(place)?.ok_or_else(|| self.engine.missing(place, self.caller))?;
        let known = self.engine.sessions(place).latest(&self.caller.session, key(place))?;
        let lines = known.filter(|it| it.content == now.snapshot.id()).map_or_else(Lines::none, |it| it.lines);
        Ok(Plan::kept(place.clone(), now, lines))
    }

    /// Loads a file from disk; a binary one as bytes.
    fn opened(&self, place: &Place) -> Result<Option<Opened>> {
        self.engine.opened(place, self.options.declared)
    }

    fn create(&mut self, place: &Place, file: &NewFile) -> Result<usize> {
        let known = self.plan_at(place);
        let removed = known.is_some_and(|at| self.plans[at].becomes == Becomes::Nothing);
        if known.is_some() && !removed {
            return Err(exists(place, None));
        }
        if removed && let Some(at) = known {
            return self.replace(at, file);
        }
        if let NewFile::Text(text) = file {
            let there = if self.options.overwrite { None } else { self.opened(place)? };
            if let Some(now) = there {
                return Err(exists(place, Some((&now.snapshot, text))));
            }
            let plan = self.engine.plan_write(self.caller, place.clone(), text, self.options)?;
            return Ok(self.add(plan));
        }
        if self.opened(place)?.is_some() {
            return Err(exists(place, None));
        }
        let plan = Plan::other(place.clone(), Now::Nothing, Becomes::File);
        let at = self.add(plan);
        self.replace(at, file)
    }

    /// Replaces content that an earlier step removed.
    fn replace(&mut self, at: usize, file: &NewFile) -> Result<usize> {
        let plan = &mut self.plans[at];
        plan.becomes = match file {
            NewFile::Link(target) => Becomes::Link(OsString::from(target)),
            NewFile::Text(_) | NewFile::Bytes(_) => Becomes::File,
        };
        match (file, &plan.now) {
            (NewFile::Text(text), Now::File(now)) if !now.snapshot.is_opaque() => {
                plan.before = now.snapshot.clone();
                plan.changes = whole(&plan.before, text)?;
            }
            (NewFile::Text(text), _) => {
                plan.before = self.engine.blank(&plan.place, self.options)?;
                plan.changes = all_bytes(&plan.before, plan.before.codec().encode(text)?);
            }
            (NewFile::Bytes(bytes), _) => {
                plan.before = Snapshot::opaque(Vec::new());
                plan.changes = all_bytes(&plan.before, bytes.clone());
            }
            (NewFile::Link(_), _) => {}
        }
        plan.moved_on = false;
        plan.origin = None;
        plan.lines = Lines::all();
        Ok(at)
    }

    fn delete(&mut self, place: &Place, text: Option<&str>) -> Result<()> {
        let plan = match self.plan_at(place) {
            Some(at) if self.plans[at].becomes == Becomes::Nothing => return Err(gone(place)),
            Some(at) => at,
            None => {
                let plan = match self.engine.store().link(place)? {
                    Some(target) => Plan::other(place.clone(), Now::Link(target), Becomes::Nothing),
                    None => self.removable(place)?,
                };
                self.add(plan)
            }
        };
        let after = self.plans[plan].after()?;
        if let Some(text) = text {
            match &self.plans[plan].now {
                Now::Link(target) if target.to_string_lossy() == text.trim_end_matches('\n') => {}
                Now::Link(target) => return Err(other_link(target, text)),
                _ => holds(&after, text)?,
            }
        }
        self.plans[plan].becomes = Becomes::Nothing;
        Ok(())
    }

    /// Loads a file that may be deleted: in the version that the caller saw, if it saw it.
    fn removable(&self, place: &Place) -> Result<Plan> {
        let now = self.opened(place)?.ok_or_else(|| self.engine.missing(place, self.caller))?;
        match self.engine.base(self.caller, &self.options(place), place, &now)? {
            Base::Fresh { .. } => Ok(Plan::kept(place.clone(), now, Lines::all())),
            Base::Stale { .. } | Base::Lost => Err(stale::lost(self.engine, self.caller, place, &now)),
        }
    }

    fn binary(&mut self, place: &Place, change: &BinaryChange) -> Result<()> {
        let plan = match self.plan_at(place) {
            Some(at) if self.plans[at].becomes == Becomes::File => at,
            Some(_) => return Err(gone(place)),
            None => {
                let plan = self.removable(place)?;
                self.add(plan)
            }
        };
        let plan = &mut self.plans[plan];
        let old = plan.changes.apply(&plan.before);
        let new = emendate_core::apply_binary(&old, change)?;
        plan.before = Snapshot::opaque(plan.before.raw().to_vec());
        plan.changes = all_bytes(&plan.before, new);
        Ok(())
    }
}

/// The object ids that patches name, where the call asks for a merge by them.
fn preimages(targets: &[Target], options: &Options) -> HashMap<PathBuf, String> {
    // A shorter id may be that of a content that nobody meant.
    const DIGITS_MIN: usize = 7;
    let named = targets.iter().filter(|_| options.patch.three_way);
    let named = named.filter(|it| it.preimage.as_ref().is_some_and(|id| id.len() >= DIGITS_MIN));
    named.filter_map(|it| Some((it.place.absolute().to_owned(), it.preimage.clone()?))).collect()
}

fn op_index(error: &Error) -> Option<usize> {
    error.op_index().and_then(|op| usize::try_from(op).ok())
}
