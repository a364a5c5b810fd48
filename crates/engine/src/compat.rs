//! `apply` with `compat`: emulates another tool's handling of a patch exactly, but within our roots, policy and read
//! checks, for all files or none.

use crate::apply::ApplyInput;
use crate::base::{self, Base};
use crate::call_context::{CallContext, OptionValue, StalePolicy, UnreadPolicy};
use crate::engine::{Engine, LoadedFile};
use crate::limits;
use crate::options::CallOptions;
use crate::plan::replace_all_bytes;
use crate::plan::{CurrentState, FilePlan, SourceFile, TargetState, without_ops};
use crate::policy::Access;
use crate::receipt::Receipt;
use crate::reply::Answer;
use crate::stale;
use emendate_core::formats::apply_patch::codex::{
    self, CodexChange, CodexChangeKind, CodexOutcome, CodexPathState, Failure,
};
use emendate_core::{ChangeSet, Code, Error, Result, Snapshot};
use emendate_fs::{SafePath, shown};
use emendate_history::LineSet;
use serde_json::{Map, json};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A tool that can be emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compat {
    /// The `apply_patch` of Codex.
    Codex,
}

impl OptionValue for Compat {
    const NAMED_VALUES: &'static [(&'static str, Compat)] = &[("codex", Compat::Codex)];
}

impl Engine {
    /// Runs the tool `apply` as another tool would.
    pub(crate) fn apply_compat(
        &self,
        caller: &CallContext,
        tool: &str,
        args: &ApplyInput,
        options: &mut CallOptions,
    ) -> Result<Answer> {
        let Compat::Codex = Compat::parse("compat", tool)?;
        args.only_compat(options)?;
        options.cause.format = "apply_patch";
        caller.note_format(options.cause.format);
        let options = &*options;
        let directory = self.directory(caller, args.directory.as_deref())?;
        let directory = directory.to_str().ok_or_else(|| {
            Error::new(Code::PathInvalid, "directory is not UTF-8.").next("Name the directory by a link to it.")
        })?;
        let named = codex::paths(&args.input, directory);
        limits::check_files(named.len())?;
        let places: Vec<SafePath> =
            named.iter().filter_map(|path| self.store().resolve_path(Path::new(path)).ok()).collect();
        let turns = self.lock_paths(places.iter().map(SafePath::absolute));
        let stdout = RefCell::new(String::new());
        let receipts = self.plan_and_commit(caller, options.cause, options.dry_run, || {
            let view = EmulatedFiles::new(self, caller, options);
            let outcome = view.run(&args.input, directory)?;
            let plans = view.plans(&outcome)?;
            *stdout.borrow_mut() = outcome.stdout;
            Ok(plans)
        })?;
        drop(turns);
        Ok(self.answer_compat(receipts, stdout.into_inner(), options))
    }

    fn answer_compat(&self, receipts: Vec<Receipt>, stdout: String, options: &CallOptions) -> Answer {
        let operation = receipts.iter().find_map(Receipt::operation);
        let (told, files, _) = self.render_receipts(receipts);
        let mut data = Map::new();
        data.insert("format".to_owned(), options.cause.format.into());
        data.insert("dryRun".to_owned(), options.dry_run.into());
        data.insert("files".to_owned(), files.into());
        data.extend(operation.map(|operation| ("operation".to_owned(), operation.to_string().into())));
        // The tool has no dry run, so its output would not be true of one.
        if options.dry_run {
            return Answer { text: told, data };
        }
        data.insert("compat".to_owned(), json!({ "stdout": stdout, "stderr": "", "exit": 0 }));
        Answer { text: stdout, data }
    }
}

impl ApplyInput {
    /// Refuses options that the other tool does not have.
    fn only_compat(&self, options: &CallOptions) -> Result<()> {
        let extra = [
            ("format", self.format.is_some()),
            ("file", self.file.is_some()),
            ("strip", self.strip.is_some()),
            ("reverse", self.reverse),
            ("partial", options.partial),
        ];
        let said: Vec<&str> = extra.iter().filter(|(_, said)| *said).map(|(name, _)| *name).collect();
        if said.is_empty() {
            return Ok(());
        }
        Err(Error::new(Code::CallInvalid, format!("compat does not go with {}.", said.join(", ")))
            .next("Leave them out, or leave compat out."))
    }
}

/// The state of one path as shown to the emulation.
struct ObservedPath {
    place: SafePath,
    now: Option<LoadedFile>,
    /// The path itself if it is a link, and its target.
    link: Option<(SafePath, OsString)>,
}

/// The existing file from which content is carried on.
struct ContentSource {
    place: SafePath,
    text: Snapshot,
    lines: LineSet,
}

/// The files as one attempt sees them.
struct EmulatedFiles<'a> {
    engine: &'a Engine,
    caller: &'a CallContext,
    options: &'a CallOptions,
    /// By the absolute path that the patch names.
    seen: RefCell<HashMap<String, ObservedPath>>,
    /// By the file that a path resolves to.
    names: RefCell<HashMap<PathBuf, String>>,
    /// The reason why a path could not be read; the emulation takes it for missing.
    refused: RefCell<Option<Error>>,
}

/// The final state of a path after all operations.
#[derive(Default)]
struct PathOutcome {
    bytes: Option<Vec<u8>>,
    /// The path that its content comes from.
    from: Option<String>,
    /// The former entry of the path was removed in between, even if it was a link.
    vacated: bool,
    /// Its whole text is new, whatever was there.
    whole: bool,
}

impl<'a> EmulatedFiles<'a> {
    fn new(engine: &'a Engine, caller: &'a CallContext, options: &'a CallOptions) -> EmulatedFiles<'a> {
        let (seen, names, refused) = Default::default();
        EmulatedFiles { engine, caller, options, seen, names, refused }
    }

    /// Runs the emulation on the files.
    fn run(&self, patch: &str, directory: &str) -> Result<CodexOutcome> {
        let outcome = codex::apply(patch, directory, self.options.overwrite, |path| self.look(path));
        match self.refused.take() {
            Some(error) => Err(error),
            None => outcome.map_err(failed),
        }
    }

    fn look(&self, path: &str) -> CodexPathState {
        if let Some(seen) = self.seen.borrow().get(path) {
            return looked(seen);
        }
        match self.open(Path::new(path)) {
            Ok(Ok(seen)) => {
                let what = looked(&seen);
                self.seen.borrow_mut().insert(path.to_owned(), seen);
                what
            }
            Ok(Err(what)) => what,
            Err(error) => {
                self.refused.borrow_mut().get_or_insert(error);
                CodexPathState::Missing
            }
        }
    }

    /// Opens a path: a file or nothing, or an entry that can be neither.
    fn open(&self, path: &Path) -> Result<Result<ObservedPath, CodexPathState>> {
        let store = self.engine.store();
        let place = match store.resolve_path(path) {
            Ok(place) => place,
            Err(error) if error.code() == Code::PathInvalid && self.is_below_a_file(path) => {
                return Ok(Err(CodexPathState::Blocked));
            }
            Err(error) => return Err(error),
        };
        self.engine.check_access(&place, Access::Write)?;
        let name = path.to_string_lossy().into_owned();
        if let Some(name) = self.names.borrow_mut().insert(place.absolute().to_owned(), name) {
            return Err(Error::new(Code::PathSymlink, "The patch names one file by two paths.")
                .evidence(format!("{name} and {} are both {}", shown(path), place.shown()))
                .fact("exception", "two-names")
                .next("Name the file by one path."));
        }
        let now = match self.engine.load_file(&place, self.options.declared) {
            Ok(now) => now,
            Err(error) if error.data().get("kind").is_some_and(|kind| kind == "a directory") => {
                return Ok(Err(CodexPathState::Directory));
            }
            Err(error) => return Err(error),
        };
        let itself = if place.via_link().is_some() { Some(store.resolve_no_follow(path)?) } else { None };
        let link = match itself {
            Some(itself) => store.read_link(&itself)?.map(|target| (itself, target)),
            None => None,
        };
        Ok(Ok(ObservedPath { place, now, link }))
    }

    fn is_below_a_file(&self, path: &Path) -> bool {
        let store = self.engine.store();
        path.ancestors().skip(1).any(|above| {
            store.resolve_path(above).and_then(|place| store.metadata(&place)).is_ok_and(|stamp| stamp.is_some())
        })
    }

    /// Returns the plans that together have the effect of the emulation's steps.
    fn plans(&self, outcome: &CodexOutcome) -> Result<Vec<FilePlan>> {
        let mut seen = self.seen.take();
        let fates = fates(&outcome.changes);
        let mut sources = HashMap::new();
        for (path, fate) in &fates {
            let Some(ObservedPath { place, now: Some(now), link }) = seen.get(path) else { continue };
            // The entry itself is removed, not the target of a link; a moved entry becomes a file.
            if link.is_some() && fate.vacated {
                continue;
            }
            let (lines, text) = (self.known(place, now, fate.whole)?, now.snapshot.clone());
            sources.insert(path.clone(), ContentSource { place: place.clone(), text, lines });
        }
        let froms = fates.iter().filter(|(_, fate)| fate.bytes.is_some()).filter_map(|(_, fate)| fate.from.clone());
        let carried: HashSet<String> = froms.filter(|from| sources.contains_key(from)).collect();
        let mut plans = Vec::new();
        for (path, fate) in fates {
            let seen = match seen.remove(&path) {
                Some(seen) => seen,
                // The patch first removes an entry that was in the way.
                None => ObservedPath { place: self.cleared(&path)?, now: None, link: None },
            };
            let source = fate.from.as_ref().and_then(|from| sources.get(from));
            let lines = source.or_else(|| sources.get(&path)).map_or_else(LineSet::all, |it| it.lines.clone());
            let plan = plan(fate, seen, source, lines);
            plans.push(FilePlan {
                is_move_source: plan.target == TargetState::Nothing && carried.contains(&path),
                ..plan
            });
        }
        plans.retain(|plan| !(plan.creates() && plan.target == TargetState::Nothing));
        Ok(plans)
    }

    fn cleared(&self, path: &str) -> Result<SafePath> {
        self.engine.resolve_path(path, Access::Write).map_err(|error| {
            if error.code() != Code::PathInvalid {
                return error;
            }
            Error::new(Code::PathInvalid, "A file that the patch removes would become a directory.")
                .evidence(path)
                .fact("exception", "file-to-folder")
                .next("Send two patches: one that removes the file, then one that writes below the directory.")
        })
    }

    /// Returns the lines that the caller knows of a file it changes.
    ///
    /// Errors: `read.required`, `read.partial`, `stale.changed`.
    fn known(&self, place: &SafePath, now: &LoadedFile, whole: bool) -> Result<LineSet> {
        let person = self.caller.unread == UnreadPolicy::Allow;
        let lines = match self.engine.base(self.caller, self.options, place, now)? {
            Base::Fresh { lines_seen: lines, .. } => lines,
            // A person sees the file, and the tool also takes it as it is.
            _ if person && self.options.on_stale != StalePolicy::Reject => LineSet::all(),
            _ => return Err(stale::version_unavailable(self.engine, self.caller, place, now)),
        };
        let missing = lines.missing(now.snapshot.lines().count(now.snapshot.text()) as u64);
        if whole && !missing.is_empty() && !person {
            return Err(stale::partly_read(place, &now.snapshot, &lines));
        }
        Ok(lines)
    }
}

fn looked(seen: &ObservedPath) -> CodexPathState {
    seen.now.as_ref().map_or(CodexPathState::Missing, |now| CodexPathState::File(now.snapshot.raw().to_vec()))
}

/// Creates the plan for one path; `lines` are the ones that the caller knows of its source.
fn plan(fate: PathOutcome, seen: ObservedPath, source: Option<&ContentSource>, lines: LineSet) -> FilePlan {
    let (place, now) = match seen.link {
        Some((itself, target)) if fate.vacated => (itself, CurrentState::Link(target)),
        _ => (seen.place, seen.now.map_or(CurrentState::Nothing, CurrentState::File)),
    };
    let Some(bytes) = fate.bytes else { return FilePlan::replace_entry(place, now, TargetState::Nothing) };
    let before = match (source, &now) {
        (Some(source), _) => source.text.clone(),
        (None, CurrentState::File(opened)) => opened.snapshot.clone(),
        (None, _) => Snapshot::from_text(""),
    };
    let (before, changes) = changes(before, bytes);
    let lines = if before.is_binary() { lines } else { base::after_writing(&lines, &before, &changes) };
    let origin = source.map(|from| SourceFile { place: from.place.clone(), copied: false });
    FilePlan { source_file: origin, ..FilePlan::new(place, now, before, without_ops(changes), lines) }
}

/// Returns the final state of each path, in order of first occurrence.
fn fates(changes: &[CodexChange]) -> Vec<(String, PathOutcome)> {
    let mut order: Vec<String> = Vec::new();
    let mut fates: HashMap<String, PathOutcome> = HashMap::new();
    for CodexChange { path, how } in changes {
        let to = if let CodexChangeKind::Moved { to, .. } = how { Some(to) } else { None };
        for path in [Some(path), to].into_iter().flatten() {
            fates.entry(path.clone()).or_insert_with(|| {
                order.push(path.clone());
                PathOutcome::default()
            });
        }
        let was = fates.remove(path).unwrap_or_default();
        let vacated = was.vacated;
        let fate = match how {
            CodexChangeKind::Created(bytes) => {
                PathOutcome { bytes: Some(bytes.clone()), whole: true, vacated, from: None }
            }
            CodexChangeKind::Edited(bytes) => PathOutcome { bytes: Some(bytes.clone()), ..was },
            CodexChangeKind::Removed => PathOutcome { vacated: true, ..PathOutcome::default() },
            CodexChangeKind::Moved { to, bytes } => {
                // The content may have been moved several times.
                let from = if was.whole { was.from } else { Some(path.clone()) };
                let vacated = fates.get(to).is_some_and(|there| there.vacated);
                fates.insert(to.clone(), PathOutcome { bytes: Some(bytes.clone()), from, vacated, whole: true });
                PathOutcome { vacated: true, ..PathOutcome::default() }
            }
        };
        fates.insert(path.clone(), fate);
    }
    order.into_iter().filter_map(|path| fates.remove(&path).map(|fate| (path, fate))).collect()
}

/// Returns the change of a text to these bytes, as small as lines allow.
fn changes(before: Snapshot, bytes: Vec<u8>) -> (Snapshot, ChangeSet) {
    match before.reopen(bytes.clone()) {
        Ok(after) if !before.is_binary() && before.codec().charset == after.codec().charset => {
            let changes = ChangeSet::diff(&before, &after);
            (before, changes)
        }
        _ => {
            let before = Snapshot::binary(before.raw().to_vec());
            let changes = replace_all_bytes(&before, bytes);
            (before, changes)
        }
    }
}

fn failed(failure: Failure) -> Error {
    let Failure { code, stderr, exit, exception } = failure;
    let next = match code {
        Code::FileExists => {
            "Update the file instead, choose another path, or repeat the call with \"overwrite\": true."
        }
        _ => "Nothing was changed. Correct the patch; without compat, apply forgives more and says where the text is.",
    };
    let error = Error::new(code, stderr.trim_end_matches('\n')).next(next);
    let error = error.fact("compat", json!({ "stdout": "", "stderr": stderr, "exit": exit }));
    match exception {
        Some(exception) => error.fact("exception", exception),
        None => error,
    }
}
