//! The plan of a whole request: its steps in sequence, each on the result of the ones before it.

pub(crate) mod relocate;

use crate::context::LoadedFile;
use crate::context::call::Call;
use crate::context::options::CallOptions;
use crate::model::{call_handle::CallPhase, call_size::check_call_size};
use crate::pipeline::plan::anchor_edits::plan_anchor_edits;
use crate::pipeline::plan::edit::{empty_file_text, plan_edit};
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, TargetState, replace_all_bytes, without_ops};
use crate::pipeline::plan::large::line_edits::plan_rows;
use crate::pipeline::plan::later_edits::add_edits;
use crate::pipeline::plan::notebook::edit::plan_cells;
use crate::pipeline::plan::placement::{EditedFile, OrderedOps, check_unchanged};
use crate::pipeline::plan::refusals::other_link;
use crate::pipeline::plan::request_tree::relocate::Relocation;
use crate::pipeline::plan::target::{self, ActionTarget};
use crate::pipeline::plan::three_way::{Preimage, plan_three_way, preimage};
use crate::pipeline::plan::whole_text::{new_text_notes, plan_after_removal, plan_write};
use crate::pipeline::plan::{notebook, reject};
use crate::session::failure_advice::with_advice;
use crate::session::names::name_in_header;
use crate::session::{last_change::done_before, last_change::removed_before, suggest::file_not_found};
use emendate_core::line_edits::{self, Registers};
use emendate_core::{
    BinaryChange, Code, Error, FileAction, Handle, NewFile, Op, OpOrder, Overlay, Result, Snapshot, anchor_map,
    check_amount, notebook as core_notebook,
    refusals::{check_removed_text, file_exists, file_gone},
    whole_text::{WrittenText, whole_change},
};
use emendate_fs::SafePath;
use emendate_history::LineSet;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The files of a request after its steps so far.
struct RequestTree<'a> {
    call: Call<'a>,
    options: &'a CallOptions,
    targets: &'a [ActionTarget],
    plans: Overlay<Path, FilePlan>,
    /// Paths of failed steps: consequential errors are not reported.
    broken: HashSet<PathBuf>,
    /// Files already taken from their path, by the index of the step that places them.
    moved_away: HashMap<usize, FilePlan>,
    /// Paths that a step removes or moves away.
    leaving: HashSet<PathBuf>,
    /// A step failed that others depend on.
    failed: bool,
    /// Edits that were skipped, as text.
    rejected: String,
    /// The versions that texts refer to, by path.
    bases: HashMap<PathBuf, Handle>,
    /// git's object ids of the versions that patches were made for, by path.
    preimages: HashMap<PathBuf, String>,
    /// Reject files, each with the text of the hunks that were skipped.
    leftovers: Vec<(SafePath, String)>,
    /// The registers so far.
    registers: Registers,
    /// The places that the edits so far change.
    places: usize,
}

/// Plans every step; all failures are reported together.
pub(crate) fn plan(
    call: Call<'_>,
    targets: &[ActionTarget],
    registers: Registers,
    options: &CallOptions,
) -> Result<(Vec<FilePlan>, Registers)> {
    // The lines of a refused cut must not be pasted, and those of a refused paste must not be cut.
    let options = &CallOptions { partial: options.partial && !target::paste_registers(targets), ..*options };
    let mut tree = RequestTree {
        call,
        options,
        targets,
        plans: Overlay::default(),
        broken: HashSet::new(),
        moved_away: HashMap::new(),
        leaving: targets.iter().filter(|it| it.action.leaves()).map(|it| it.path.absolute().to_owned()).collect(),
        failed: false,
        rejected: String::new(),
        bases: targets.iter().filter_map(|it| Some((it.path.absolute().to_owned(), it.base?))).collect(),
        preimages: preimages(targets, options),
        leftovers: Vec::new(),
        registers,
        places: 0,
    };
    let mut errors = Vec::new();
    call.caller.begin(CallPhase::Reading, targets.len());
    for (step, target) in targets.iter().enumerate() {
        if target.paths().any(|path| tree.broken.contains(path)) {
            continue;
        }
        let done = tree.step(step, target);
        call.caller.advance()?;
        tree.check_call_size()?;
        let Err(mut error) = done else { continue };
        if target.action.leaves() && error.code() == Code::FileTooLarge {
            error = error.next("Move or delete it with another program.");
        }
        let again = removed_before(call, options.origin, &target.path, &error).filter(|_| target.action.leaves());
        if again.is_some() || targets.len() == 1 && !options.patch.reject {
            return Err(again.unwrap_or(error));
        }
        tree.broken.extend(target.paths().map(Path::to_owned));
        tree.reject(target, None);
        errors.push(error.prefixed(&format!("{}: ", target.path.shown())));
    }
    tree.write_leftovers()?;
    let mut plans = relocate::final_plans(tree.plans);
    plans.retain(|plan| !(plan.creates() && plan.target == TargetState::Nothing));
    for plan in &mut plans {
        // The requested line format, else that of the text.
        let display = &mut plan.display;
        display.header = options.header.or(display.header).filter(|_| options.anchor_format.is_none());
        display.anchor_format = options.anchor_format.or(display.anchor_format).filter(|_| options.header.is_none());
        display.name = display.header.map(|_| name_in_header(call, &plan.path)).unwrap_or_default();
        plan.outcome.notes.extend(notebook::text_edit_warning(&plan.path, &plan.before, &plan.outcome.ops));
    }
    if options.partial && !plans.is_empty() && !tree.failed {
        // Failures of the whole request are reported with the first plan that has a reply of its own.
        let first = plans.iter().position(|plan| !plan.is_move_source).unwrap_or_default();
        if let Some(plan) = plans.get_mut(first) {
            plan.outcome.failed.extend(Error::combine(errors, targets.len()));
            plan.outcome.rejected = tree.rejected;
        }
        return Ok((plans, tree.registers));
    }
    Error::combine(errors, targets.len()).map_or(Ok((plans, tree.registers)), Err)
}

impl RequestTree<'_> {
    fn step(&mut self, step: usize, target: &ActionTarget) -> Result<()> {
        let ActionTarget { path, to, action, mode, .. } = target;
        // Files that leave may be in a directory that becomes a file.
        let entered = Some(path).filter(|path| !self.leaving.contains(path.absolute()));
        for path in [entered, to.as_ref()].into_iter().flatten() {
            self.not_below_a_file(path)?;
        }
        match (action, to) {
            (FileAction::Edit { ops, order }, _) => {
                let plan = self.edit(path, ops, *order).map_err(|error| self.explain_error(path, ops, error))?;
                self.plans[plan].set_mode(*mode);
                let left_out: Vec<usize> = self.plans[plan].outcome.failed.iter().filter_map(Error::op_index).collect();
                self.reject(target, Some(&left_out));
            }
            (FileAction::Write(content), _) => {
                let content = WrittenText { content, fence: target.fence.as_ref(), closing: target.closing.as_deref() };
                self.add(plan_write(self.call, path.clone(), content, self.options)?);
            }
            (FileAction::Create(file), _) => {
                let at = self.create(path, file)?;
                self.plans[at].set_mode(*mode);
            }
            (FileAction::Delete { text }, _) => self.delete(path, text.as_deref())?,
            (FileAction::Move { ops, .. }, Some(to)) => {
                self.move_file(Relocation { step, from: path, to, ops, copied: false, mode: *mode })?;
            }
            (FileAction::Copy { ops, .. }, Some(to)) => {
                self.relocate(Relocation { step, from: path, to, ops, copied: true, mode: *mode })?;
            }
            (FileAction::Binary(change), _) => {
                let plan = self.binary(path, change)?;
                plan.set_mode(*mode);
            }
            _ => return Err(Error::new(Code::CallInvalid, "This engine cannot do that yet.")),
        }
        Ok(())
    }

    /// The limits on the files of a call together. A single file has limits of its own.
    ///
    /// Errors: `call.too_large`, `edit.too_much_work`.
    fn check_call_size(&self) -> Result<()> {
        if self.targets.len() == 1 {
            return Ok(());
        }
        check_amount(self.places, 0)?;
        check_call_size(self.written_plans().count(), self.written_plans().map(FilePlan::size_max).sum())
    }

    /// Returns the plans that write.
    fn written_plans(&self) -> impl Iterator<Item = &FilePlan> {
        self.plans.entries().map(|(_, plan)| plan).filter(|plan| plan.writes())
    }

    /// Errors: [`Code::PathNotRegular`] for a path below an entry that this call creates and that is not a directory.
    fn not_below_a_file(&self, safe_path: &SafePath) -> Result<()> {
        let above = safe_path.absolute().ancestors().skip(1);
        let Some(plan) = above.filter_map(|path| self.plans.get(path)).find(|plan| plan.target != TargetState::Nothing)
        else {
            return Ok(());
        };
        let what = if plan.target == TargetState::File { "file" } else { "symbolic link" };
        Err(Error::new(
            Code::PathNotRegular,
            format!("The path lies below a {what} that this call has at {}.", plan.path.shown()),
        )
        .evidence(safe_path.shown())
        .next("Choose another path for one of the two."))
    }

    fn explain_error(&self, path: &SafePath, ops: &[Op], error: Error) -> Error {
        done_before(self.call, self.options, path, &error).unwrap_or_else(|| with_advice(self.call, path, ops, error))
    }

    /// Records edits that are skipped: those with these indices, or all.
    fn reject(&mut self, target: &ActionTarget, only: Option<&[usize]>) {
        if !self.options.partial {
            return;
        }
        let ops = target.action.ops().iter().enumerate();
        let ops = ops.filter(|(nth, _)| only.is_none_or(|only| only.contains(nth)));
        let path = target.path.relative().to_string_lossy();
        let text = reject::text(&emendate_os::paths::with_slashes(&path), ops.map(|(_, op)| op));
        let rejects = target.rejects.as_ref().filter(|_| !text.is_empty() && self.call.path_exists(&target.path));
        self.leftovers.extend(rejects.map(|rejects| (rejects.clone(), text.clone())));
        self.rejected.push_str(&text);
    }

    /// Plans the reject files, which receive the hunks that were skipped; existing ones are replaced.
    fn write_leftovers(&mut self) -> Result<()> {
        for (path, text) in std::mem::take(&mut self.leftovers) {
            let mut plan = match self.load_file(&path)? {
                Some(now) if !now.snapshot.is_binary() => {
                    let changes = whole_change(&now.snapshot, &text)?;
                    FilePlan::edit(path, now, without_ops(changes), LineSet::all())
                }
                Some(_) => return Err(file_exists(&path.shown(), None)),
                None => {
                    let before = empty_file_text(&self.call, &path, self.options)?;
                    let changes = replace_all_bytes(&before, before.codec().encode(&text)?);
                    FilePlan::create(path, before, without_ops(changes))
                }
            };
            plan.outcome.notes.push("Holds the hunks that could not be applied.".to_owned());
            self.add(plan);
        }
        Ok(())
    }

    /// Plans a patch in the version that it was made for; no plan if the file is that version, or if none is known.
    /// Also returns a note for the reply.
    fn three_way(
        &self,
        path: &SafePath,
        ops: &[Op],
        order: OpOrder,
        options: &CallOptions,
    ) -> Result<(Option<FilePlan>, Option<String>)> {
        let Some(id) = self.preimages.get(path.absolute()) else { return Ok((None, None)) };
        let Some(now) = self.call.snapshot(path, options.declared, "")? else { return Ok((None, None)) };
        Ok(match preimage(self.call.caller, path, &now, id)? {
            Preimage::Current => (None, None),
            Preimage::Other(seen) => {
                let ops = OrderedOps { ops, order };
                let file = EditedFile { call: self.call, options, path: path.clone(), now };
                (Some(plan_three_way(file, &seen, ops)?), None)
            }
            Preimage::Unknown(why) => {
                let note = format!(
                    "The version {id} that the patch was made for is not in a git repository here ({why}); its lines were searched in the current file."
                );
                (None, Some(note))
            }
        })
    }

    /// Returns the options for a file, with the version that the text refers to.
    fn options(&self, path: &SafePath) -> CallOptions {
        let named = self.bases.get(path.absolute()).copied();
        // Dependent steps, files that are written together and those that get a mode need their whole texts.
        let whole = self.options.whole || self.targets.len() > 1 || self.targets.iter().any(|it| it.mode.is_some());
        CallOptions { tag: named.or(self.options.tag), whole, ..*self.options }
    }

    fn plan_at(&self, path: &SafePath) -> Option<usize> {
        self.plans.position(path.absolute())
    }

    /// Adds a plan, or replaces the one for the same path.
    fn add(&mut self, plan: FilePlan) -> usize {
        let path = plan.path.clone();
        self.plans.put(path.absolute(), plan)
    }

    /// Edits a file as the earlier steps leave it.
    fn edit(&mut self, path: &SafePath, ops: &[Op], order: OpOrder) -> Result<usize> {
        let Some(at) = self.plan_at(path) else {
            let plan = self.first_edit(path, ops, order)?;
            self.places += plan.outcome.ops.iter().map(|op| op.places).sum::<usize>();
            return Ok(self.add(plan));
        };
        if self.plans[at].target != TargetState::File {
            return Err(file_gone(&path.shown()));
        }
        self.places += add_edits(&mut self.plans[at], ops, order, self.options)?;
        Ok(at)
    }

    /// Edits a file that no earlier step changed.
    fn first_edit(&mut self, path: &SafePath, ops: &[Op], order: OpOrder) -> Result<FilePlan> {
        if ops.is_empty() {
            return self.load(path);
        }
        let options = self.options(path);
        if line_edits::are_line_edits(ops) {
            return plan_rows(self.call, path.clone(), ops, &options, &mut self.registers);
        } else if anchor_map::are_anchor_edits(ops) {
            return plan_anchor_edits(self.call, path.clone(), ops, &options);
        } else if core_notebook::are(ops) {
            return plan_cells(self.call, path.clone(), ops, &options);
        }
        let note = match self.three_way(path, ops, order, &options)? {
            (Some(plan), _) => return Ok(plan),
            (None, note) => note,
        };
        let plan = plan_edit(self.call, path.clone(), ops, order, &options);
        let mut plan = plan.map_err(|error| note.iter().cloned().fold(error, Error::evidence))?;
        plan.outcome.notes.extend(note);
        Ok(plan)
    }

    /// Loads a file from disk.
    fn load(&self, path: &SafePath) -> Result<FilePlan> {
        let now = self.load_file(path)?.ok_or_else(|| file_not_found(self.call, path))?;
        let known = self.call.latest_record(path)?;
        let lines = known.filter(|it| it.content == now.snapshot.id()).map_or_else(LineSet::none, |it| it.lines);
        Ok(FilePlan::unchanged(path.clone(), now, lines))
    }

    /// Loads a file from disk; a binary one as bytes.
    fn load_file(&self, path: &SafePath) -> Result<Option<LoadedFile>> {
        self.call.load_file(path, self.options.declared)
    }

    fn create(&mut self, path: &SafePath, file: &NewFile) -> Result<usize> {
        match self.plan_at(path) {
            Some(at) if self.plans[at].target == TargetState::Nothing => return self.replace(at, file),
            Some(_) => return Err(file_exists(&path.shown(), None)),
            None => {}
        }
        if !self.is_freed(path) {
            let text = if let NewFile::Text(text) = file { Some(text) } else { None };
            let may_replace = text.is_some() && self.options.overwrite;
            if let Some(now) = if may_replace { None } else { self.load_file(path)? } {
                return Err(file_exists(&path.shown(), text.map(|text| (&now.snapshot, &**text))));
            }
            if let Some(content) = text {
                let content = WrittenText { content, fence: None, closing: None };
                return Ok(self.add(plan_write(self.call, path.clone(), content, self.options)?));
            }
        }
        let plan = FilePlan::replace_entry(path.clone(), CurrentState::Nothing, TargetState::File);
        let at = self.add(plan);
        self.replace(at, file)
    }

    /// Replaces content that an earlier step removed or moved away. What was moved is still there, so the text is that of
    /// a new file.
    fn replace(&mut self, at: usize, file: &NewFile) -> Result<usize> {
        let plan = &mut self.plans[at];
        let is_new = plan.is_move_source;
        plan.target = match file {
            NewFile::Link(target) => TargetState::Link(std::ffi::OsString::from(target)),
            NewFile::Text(_) | NewFile::Bytes(_) => TargetState::File,
        };
        match (file, &plan.current) {
            (NewFile::Text(text), CurrentState::File(now)) if !is_new && !now.snapshot.is_binary() => {
                let now = now.snapshot.clone();
                plan_after_removal(plan, now, text, self.options)?;
            }
            (NewFile::Text(text), _) => {
                plan.before = empty_file_text(&self.call, &plan.path, self.options)?;
                plan.changes = replace_all_bytes(&plan.before, plan.before.codec().encode(text)?);
                plan.outcome.notes.extend(new_text_notes(&plan.path, text, self.options)?);
            }
            (NewFile::Bytes(bytes), _) => {
                plan.before = Snapshot::binary(Vec::new());
                plan.changes = replace_all_bytes(&plan.before, bytes.clone());
            }
            (NewFile::Link(_), _) => {}
        }
        plan.is_new_after_move = is_new && plan.target == TargetState::File && plan.current.file().is_some();
        plan.executable = plan.is_new_after_move.then_some(false);
        plan.is_move_source = false;
        plan.source_file = None;
        plan.seen.lines = LineSet::all();
        Ok(at)
    }

    fn delete(&mut self, path: &SafePath, text: Option<&str>) -> Result<()> {
        let plan = match self.plan_at(path) {
            Some(at) if self.plans[at].target == TargetState::Nothing => return Err(file_gone(&path.shown())),
            Some(at) => at,
            None => {
                let plan = match self.call.store().read_link(path)? {
                    Some(target) => {
                        FilePlan::replace_entry(path.clone(), CurrentState::Link(target), TargetState::Nothing)
                    }
                    None => self.removable(path)?,
                };
                self.add(plan)
            }
        };
        let after = self.plans[plan].after()?;
        if let Some(text) = text {
            match &self.plans[plan].current {
                CurrentState::Link(target) if target.to_string_lossy() == text.trim_end_matches('\n') => {}
                CurrentState::Link(target) => return Err(other_link(target, text)),
                _ => {
                    let note = check_removed_text(&after, text)?;
                    self.plans[plan].outcome.notes.extend(note.map(str::to_owned));
                }
            }
        }
        self.plans[plan].target = TargetState::Nothing;
        Ok(())
    }

    /// Loads a file that may be deleted: in the version that the caller saw, if it saw it.
    fn removable(&self, path: &SafePath) -> Result<FilePlan> {
        let now = self.load_file(path)?.ok_or_else(|| file_not_found(self.call, path))?;
        check_unchanged(self.call, &self.options(path), path, &now)?;
        Ok(FilePlan::unchanged(path.clone(), now, LineSet::all()))
    }

    fn binary(&mut self, path: &SafePath, change: &BinaryChange) -> Result<&mut FilePlan> {
        let at = match self.plan_at(path) {
            Some(at) if self.plans[at].target == TargetState::File => at,
            Some(_) => return Err(file_gone(&path.shown())),
            None => {
                let plan = self.removable(path)?;
                self.add(plan)
            }
        };
        let plan = &mut self.plans[at];
        let old = plan.changes.apply(&plan.before);
        let new = emendate_core::apply_binary(&old, change)?;
        plan.before = Snapshot::binary(plan.before.raw().to_vec());
        plan.changes = replace_all_bytes(&plan.before, new);
        Ok(plan)
    }
}

/// The object ids that patches name, if the call asks for a merge by them.
fn preimages(targets: &[ActionTarget], options: &CallOptions) -> HashMap<PathBuf, String> {
    // A shorter id may belong to several contents.
    const DIGITS_MIN: usize = 7;
    let named = targets.iter().filter(|_| options.patch.three_way);
    let named = named.filter(|it| it.preimage.as_ref().is_some_and(|id| id.len() >= DIGITS_MIN));
    named.filter_map(|it| Some((it.path.absolute().to_owned(), it.preimage.clone()?))).collect()
}
