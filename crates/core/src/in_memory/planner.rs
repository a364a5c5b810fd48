//! The steps of a request over an overlay: each applies to the files as the previous steps leave them.

use super::file_work::FileWork;
use super::function_names::MAX_BYTES;
use super::options::ApplyOptions;
use super::outcome::ChangedFile;
use crate::advice;
use crate::advice::Phrase;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::whole_text::{WholeText, WrittenText};
use crate::locate::find::check_amount;
use crate::locate::line_edits::Registers;
use crate::locate::op::{FileAction, FileRequest, NewFile, Op, OpOrder};
use crate::locate::refusals;
use crate::locate::resolve::resolve;
use crate::note::Note;
use crate::text::overlay::{Overlay, OverlayEntry};
use crate::text::snapshot::Snapshot;
use crate::text::view::View;
use crate::work;
use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use std::collections::BTreeMap;

/// The state of the files of a request after the steps so far.
pub(super) struct Planner<'v, V: View + ?Sized> {
    view: &'v V,
    files: Overlay<str, PlannedText>,
    pub(super) options: &'v ApplyOptions,
    pub(super) registers: Registers,
    steps: &'v [FileRequest],
    /// Files already taken from their path, by the index of the step that places them.
    lifted: HashMap<usize, FileWork>,
    /// Number of places that the edits of the steps so far change.
    places: usize,
}

/// A path after the steps so far.
pub(super) struct PlannedText {
    pub(super) work: FileWork,
    /// False if a step removed the file, or took it away.
    exists: bool,
}

impl PlannedText {
    /// Returns the outcome of a file that changed.
    ///
    /// Errors: as [`FileWork::into_changed_file`].
    pub(super) fn into_changed_file(self) -> Result<ChangedFile> {
        if self.exists { self.work.into_changed_file() } else { Ok(self.work.into_deleted_file()) }
    }
}

impl OverlayEntry<str> for PlannedText {
    fn exists(&self) -> bool {
        self.exists
    }

    fn moved_from(&self) -> Option<&str> {
        self.work.moved_from()
    }
}

/// Runs every step and returns the changed files; all failures are reported together.
///
/// Errors: those of the steps; then nothing is changed.
pub(super) fn run<V: View + ?Sized>(
    view: &V,
    files: Vec<FileRequest>,
    options: &ApplyOptions,
) -> Result<BTreeMap<String, PlannedText>> {
    let steps = joined(files)?;
    let mut planner = Planner {
        view,
        files: Overlay::default(),
        options,
        registers: Registers::default(),
        steps: &steps,
        lifted: HashMap::new(),
        places: 0,
    };
    let (mut errors, mut broken) = (Vec::new(), HashSet::new());
    for (nth, step) in steps.iter().enumerate() {
        // Errors that follow from an earlier one are not reported.
        if paths(step).any(|path| broken.contains(path)) {
            continue;
        }
        let done = planner.step(nth, step);
        work::check()?;
        check_amount(planner.places, 0)?;
        let Err(error) = done else { continue };
        if steps.len() == 1 {
            return Err(error);
        }
        broken.extend(paths(step));
        errors.push(error.prefixed(&format!("{}: ", step.path)));
    }
    Error::combine(errors, steps.len()).map_or(Ok(()), Err)?;
    planner.into_changed_files()
}

/// All paths that a step touches.
fn paths(step: &FileRequest) -> impl Iterator<Item = &str> {
    [Some(&*step.path), step.action.destination()].into_iter().flatten()
}

/// Joins consecutive edits of a file, unless a step on the same path comes between them.
fn joined(files: Vec<FileRequest>) -> Result<Vec<FileRequest>> {
    let of = files.len();
    if of == 1 {
        return Ok(files);
    }
    let (mut steps, mut errors) = (Vec::<FileRequest>::with_capacity(of), Vec::new());
    // The last step that touched each path.
    let mut last: HashMap<String, usize> = HashMap::new();
    for file in files {
        if let Some(before) = last.get(&file.path).map(|&at| &mut steps[at]) {
            match before.action.join(&file.action, || file.path.clone()) {
                Ok(true) => {
                    before.mode = file.mode.or(before.mode);
                    continue;
                }
                Ok(false) => {}
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            }
        }
        last.extend(paths(&file).map(|path| (path.to_owned(), steps.len())));
        steps.push(file);
    }
    Error::combine(errors, of).map_or(Ok(()), Err)?;
    if steps.is_empty() {
        return Err(refusals::no_file());
    }
    Ok(steps)
}

impl<V: View + ?Sized> Planner<'_, V> {
    fn step(&mut self, nth: usize, step: &FileRequest) -> Result<()> {
        let path = &*step.path;
        match &step.action {
            FileAction::Edit { ops, order } => self.edit(step, ops, *order)?,
            FileAction::Write(content) => {
                self.write(
                    path,
                    WrittenText { content, fence: step.fence.as_ref(), closing: step.closing.as_deref() },
                )?;
            }
            FileAction::Create(NewFile::Text(content)) => self.create(path, content)?,
            FileAction::Delete { text } => return self.delete(path, text.as_deref()),
            FileAction::Move { to, ops } => return self.carry(nth, step, CarryStep { to, ops, is_copied: false }),
            FileAction::Copy { to, ops } => return self.carry(nth, step, CarryStep { to, ops, is_copied: true }),
            FileAction::Create(_) | FileAction::Binary(_) => return Err(not_text(path)),
        }
        if let Some(file) = self.files.get_mut(path) {
            file.work.set_mode(step.mode);
        }
        Ok(())
    }

    /// True if there is a file at a path after the steps so far.
    fn has_file(&self, path: &str) -> bool {
        self.files.get(path).map_or_else(|| self.view.has_file(path), PlannedText::exists)
    }

    /// Returns the file at a path; fails if it exceeds the limits of the call.
    fn opened(&self, path: &str) -> Result<Option<Snapshot>> {
        let file = match self.files.get(path) {
            Some(file) if file.exists => Some(file.work.after()?),
            Some(_) => None,
            None => self.view.file(path)?,
        };
        match &file {
            Some(file) if file.raw().len() > self.options.limits.input_bytes => {
                Err(too_large(path, file.raw().len(), self.options))
            }
            _ => Ok(file),
        }
    }

    /// Records the work on a path.
    fn put(&mut self, path: &str, work: FileWork) -> Result<()> {
        work.check_after()?;
        self.files.put(path, PlannedText { work, exists: true });
        Ok(())
    }

    /// Edits a file as the earlier steps leave it.
    fn edit(&mut self, step: &FileRequest, ops: &[Op], order: OpOrder) -> Result<()> {
        let path = &*step.path;
        if let Some(file) = self.files.get(path) {
            if !file.exists() {
                return Err(refusals::file_gone(path));
            }
            let work = self.more(path, file.work.clone(), ops, order)?;
            return self.put(path, work);
        }
        let Some(now) = self.opened(path)? else {
            if !ops.first().is_some_and(Op::fills) {
                return Err(file_missing(path));
            }
            let mut work = FileWork::of_new_file();
            let resolved = resolve(&work.before, ops, order, self.options.settings())?;
            self.places += resolved.places();
            work.add(resolved);
            return self.put(path, work);
        };
        let mut work = FileWork::unchanged(now);
        if !ops.is_empty() {
            let resolved = self.resolved(step, &work.before, ops, order)?;
            self.places += resolved.places();
            work.add(resolved);
        }
        self.put(path, work)
    }

    /// Adds edits to the result of earlier steps.
    fn more(&mut self, path: &str, mut work: FileWork, ops: &[Op], order: OpOrder) -> Result<FileWork> {
        if ops.is_empty() {
            return Ok(work);
        }
        if crate::locate::line_edits::are_line_edits(ops) {
            return Err(refusals::lines_already_changed(path, ops));
        }
        if crate::locate::anchor_map::are_anchor_edits(ops) {
            return Err(refusals::named_twice(path, path));
        }
        let resolved = resolve(&work.after()?, ops, order, self.options.settings())?;
        self.places += resolved.places();
        work.add(resolved);
        Ok(work)
    }

    /// Replaces the whole content of a file, or creates it.
    fn write(&mut self, path: &str, written: WrittenText<'_>) -> Result<()> {
        let now = self.opened(path)?;
        let ApplyOptions { matching, placeholders_meant, .. } = *self.options;
        let text = now.as_ref().map(Snapshot::text);
        let (content, notes) = written.unwrap_fence(text, extension(path), matching, placeholders_meant)?;
        let mut work = match now {
            Some(now) => self.rewritten(now, &content, true)?,
            None => FileWork::of_new_text(extension(path), &content, self.options)?,
        };
        work.notes.extend(notes);
        self.put(path, work)
    }

    /// Returns the work that replaces the whole content of a file; `is_there` is false if an earlier step removed it, so
    /// that a placeholder cannot keep any of it.
    fn rewritten(&self, now: Snapshot, content: &str, is_there: bool) -> Result<FileWork> {
        let ApplyOptions { matching, placeholders_meant, .. } = *self.options;
        let WholeText { content, notes, placeholders } = WholeText::read(&now, content, matching, placeholders_meant)?;
        match placeholders {
            Some(refusal) if !is_there => return Err(refusal),
            Some(_) => return super::place::with_kept_code(now, &content, placeholders, self.options),
            None => {}
        }
        let mut work = FileWork::of_whole_text(now, &content)?;
        work.notes.extend(notes);
        Ok(work)
    }

    fn create(&mut self, path: &str, content: &str) -> Result<()> {
        match self.files.get(path) {
            Some(file) if file.exists() => Err(refusals::file_exists(path, None)),
            // An earlier step removed the file; its content is replaced.
            Some(_) => {
                let work = match self.view.file(path)? {
                    Some(now) => self.rewritten(now, content, false)?,
                    None => FileWork::of_new_text(extension(path), content, self.options)?,
                };
                self.put(path, work)
            }
            None => match self.opened(path)? {
                Some(now) if !self.options.overwrite => Err(refusals::file_exists(path, Some((&now, content)))),
                _ => self.write(path, WrittenText { content, fence: None, closing: None }),
            },
        }
    }

    fn delete(&mut self, path: &str, text: Option<&str>) -> Result<()> {
        let Some(now) = self.opened(path)? else {
            return Err(if self.files.get(path).is_some() { refusals::file_gone(path) } else { file_missing(path) });
        };
        let note = text.map_or(Ok(None), |text| refusals::check_removed_text(&now, text))?;
        let removed = || Ok::<_, Error>(PlannedText { work: FileWork::unchanged(now), exists: false });
        let at = self.files.touch(path, removed)?;
        self.files[at].exists = false;
        self.files[at].work.notes.extend(note.map(Note::from));
        Ok(())
    }

    /// Moves or copies a file, with optional edits.
    fn carry(&mut self, nth: usize, step: &FileRequest, carried: CarryStep<'_>) -> Result<()> {
        let CarryStep { to, ops, is_copied } = carried;
        let is_idle = step.path == to && ops.is_empty() && step.mode.is_none();
        // Beside other changes it is only superfluous.
        if is_idle && self.steps.len() == 1 && self.view.has_file(to) {
            return Err(refusals::moved_nowhere(to));
        }
        if step.path == to {
            self.edit(step, ops, OpOrder::AsNeeded)?;
            if let Some(file) = self.files.get_mut(to) {
                file.work.notes.push(refusals::ALREADY_THERE_NOTE);
                file.work.set_mode(step.mode);
            }
            return Ok(());
        }
        let mut work = if is_copied { self.copied(&step.path, ops)? } else { self.lift(nth, step, ops)? };
        // The file at the destination may be moved away by a later step of this request.
        if let Some(later) = self.leaving(nth, to)
            && let FileAction::Move { ops, .. } = &self.steps[later].action
        {
            let other = self.lift(later, &self.steps[later], ops)?;
            self.lifted.insert(later, other);
        }
        let is_free = !self.has_file(to) || (self.options.overwrite && self.files.get(to).is_none());
        if !is_free {
            return Err(refusals::occupied(to));
        }
        work.set_mode(step.mode);
        work.arrive_at(to);
        self.put(to, work)
    }

    /// Returns the later step that moves the file at a path away, unless an earlier step put that file there.
    fn leaving(&self, nth: usize, path: &str) -> Option<usize> {
        if self.files.get(path).is_some() || !self.view.has_file(path) {
            return None;
        }
        let later = self.steps.iter().enumerate().skip(nth + 1);
        let mut moves = later.filter(|(at, step)| {
            // A move onto itself frees nothing.
            matches!(&step.action, FileAction::Move { to, .. } if to != path)
                && step.path == path
                && !self.lifted.contains_key(at)
        });
        moves.next().map(|(at, _)| at)
    }

    /// Takes a file from its path.
    fn lift(&mut self, nth: usize, step: &FileRequest, ops: &[Op]) -> Result<FileWork> {
        if let Some(work) = self.lifted.remove(&nth) {
            return Ok(work);
        }
        let from = &step.path;
        self.edit(step, ops, OpOrder::AsNeeded)?;
        let left = self.files.get_mut(from).ok_or_else(|| refusals::file_gone(from))?;
        left.exists = false;
        Ok(left.work.lift(from))
    }

    /// Copies a file as it was before the request, like git; a file that the request created, as it is at this step.
    fn copied(&mut self, from: &str, ops: &[Op]) -> Result<FileWork> {
        let work = match (self.view.file(from)?, self.files.get(from)) {
            (Some(now), _) => FileWork::of_copy(from, now),
            (None, Some(made)) if made.exists() => made.work.clone(),
            (None, Some(_)) => return Err(refusals::file_gone(from)),
            (None, None) => return Err(file_missing(from)),
        };
        self.more(from, work, ops, OpOrder::AsNeeded)
    }

    /// Returns every file that changed.
    fn into_changed_files(self) -> Result<BTreeMap<String, PlannedText>> {
        self.check_directories()?;
        let moved = self.files.moved_sources();
        let is_changed = |(path, file): &(String, PlannedText)| {
            if file.exists { file.work.changes_anything() } else { self.view.has_file(path) && !moved.contains(path) }
        };
        Ok(self.files.into_entries().filter(is_changed).collect())
    }

    /// Checks that no new file is below a file, and that the path of none is a directory. A directory whose files were all
    /// removed exists until the changes are made on disk.
    ///
    /// Errors: [`Code::PathNotRegular`].
    fn check_directories(&self) -> Result<()> {
        let existing = || self.files.entries().filter(|(_, file)| file.exists()).map(|(path, _)| path);
        let directories: HashSet<&str> = existing().flat_map(directories_above).collect();
        for path in existing().filter(|path| !self.view.has_file(path)) {
            let what = match directories_above(path).find(|above| self.has_file(above)) {
                Some(above) => format!("The path lies below a file, {above}."),
                None if directories.contains(path) || self.view.has_below(path) => {
                    "The path is a directory: other files are below it.".to_owned()
                }
                None => continue,
            };
            let error = Error::new(Code::PathNotRegular, what).evidence(path);
            return Err(error.next("Choose another path for one of the two."));
        }
        Ok(())
    }
}

/// Returns the directories above a path, the uppermost first.
fn directories_above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// A move or copy.
#[derive(Clone, Copy)]
struct CarryStep<'a> {
    to: &'a str,
    ops: &'a [Op],
    is_copied: bool,
}

/// Returns the extension of the file name.
fn extension(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension)
}

/// Creates the error for a path without a file.
fn file_missing(path: &str) -> Error {
    Error::new(Code::FileMissing, "File does not exist.")
        .evidence(path)
        .next("Check the path, and give the text of this file with the others.")
}

/// Creates the error for a change that is not a change of text.
fn not_text(path: &str) -> Error {
    Error::new(Code::CallInvalid, "The patch makes a binary file or a symbolic link; these functions edit text.")
        .evidence(path)
        .next("Take that file out of the patch, or apply it to files with the engine.")
}

/// Creates the error for a text beyond the limit of the call.
pub(super) fn too_large(what: &str, bytes: usize, options: &ApplyOptions) -> Error {
    let most = options.limits.input_bytes;
    Error::new(Code::CallTooLarge, format!("{what} has {bytes} bytes, more than the {most} that one call may have."))
        .next(advice!["Give a smaller text, or raise ", Phrase::Field(MAX_BYTES), "."].or("Give a smaller text."))
}
