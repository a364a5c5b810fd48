//! The tool `snapshot`: every file below the roots that was changed, created or deleted since the last snapshot, by
//! whatever program, becomes part of an operation.

pub(crate) mod scan;

use crate::context::config::OutsideChanges;
use crate::context::history_stores::key;
use crate::context::walk::WalkFilter;
use crate::context::{Context, policy};
use crate::model::call_context::CallContext;
use crate::model::call_handle::CallPhase;
use crate::model::reply::Answer;
use crate::model::reply_limits::LISTED_FILES_MAX;
use crate::pipeline::report::rendered::files_data;
use crate::session::in_doubt::{current_side, resolve_in_doubt};
use crate::session::outside::{OutsideChange, log_changes, outside_change};
use crate::tools::history::operation_list::{file_data, kind, shown};
use crate::tools::snapshot::scan::{FreshFile, LeftOut, TreeScan};
use emendate_core::formats::{self, FormatInput};
use emendate_core::{Code, Error, Result, work};
use emendate_fs::SafePath;
use emendate_history::{CachedFile, FileChange, FileState, KnownState, NewlyKnown, OperationId, StatCache};
use emendate_os::ffi::OsStrExt as _;
use ignore::overrides::Override;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Bytes of new contents that one snapshot stores.
pub(crate) const SNAPSHOT_BYTES_MAX: u64 = 64 << 20;
/// Characters of a note.
const NOTE_CHARS_MAX: usize = 200;

/// The input of `snapshot`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Args")]
pub(crate) struct SnapshotInput {
    /// A few words for the history, at most 200 characters: what happened since the last snapshot.
    note: Option<String>,
    /// Show what would be recorded, record nothing.
    dry_run: bool,
}

/// The snapshot of one root.
#[derive(Default)]
struct RootSnapshot {
    /// There was none before.
    is_first: bool,
    /// Files that it has.
    files: usize,
    operations: Vec<OperationId>,
    changes: Vec<FileChange>,
    left_out: LeftOut,
    /// Files whose contents were not stored, because all of them have too many bytes.
    unstored: usize,
}

/// Runs the tool `snapshot`.
pub(crate) fn snapshot(context: &Context, caller: &CallContext, input: Value) -> Result<Answer> {
    let args: SnapshotInput = formats::from_json(FormatInput::Json(input))?;
    let note: String = args.note.unwrap_or_default().chars().take(NOTE_CHARS_MAX).collect();
    if context.config().outside == OutsideChanges::Off || !context.keeps_history() {
        return Err(Error::new(Code::CallInvalid, "The history does not record changes by others.").next(
            "A person can set outside = \"seen\" or \"snapshots\" under [history], and name a state directory.",
        ));
    }
    let dry_run = args.dry_run || caller.dry_run;
    caller.begin(CallPhase::Reading, 0);
    let (mut text, mut files, mut total) = (String::new(), Vec::new(), 0);
    let (mut scanned, mut operations) = (0, Vec::new());
    for root in 0..context.roots().len() {
        let taken = RootScan { context, caller, root, note: &note, dry_run }.run()?;
        text.push_str(&describe(context, root, &taken, dry_run));
        total += taken.changes.len();
        scanned += taken.files;
        let room = LISTED_FILES_MAX.saturating_sub(files.len());
        files.extend(taken.changes.iter().take(room).map(|file| Value::from(file_data(file, &shown(&file.path)))));
        operations.extend(taken.operations);
    }
    let mut data = files_data(files, total, dry_run);
    data.insert("scanned".to_owned(), scanned.into());
    data.insert("operation".to_owned(), operations.first().map(ToString::to_string).into());
    data.insert("operations".to_owned(), operations.iter().map(|id| Value::from(id.to_string())).collect());
    Ok(Answer { text, data, ..Answer::default() })
}

/// Describes the snapshot of a root.
fn describe(context: &Context, root: usize, taken: &RootSnapshot, dry_run: bool) -> String {
    let name = context.roots().get(root).map(emendate_fs::shown).unwrap_or_default();
    let RootSnapshot { is_first, files, operations, changes, left_out, unstored } = taken;
    let mut text = match (is_first, changes.len()) {
        (true, 0) => format!("First snapshot of {name}: {files} files. Changes from now on will be found.\n"),
        (_, 0) => format!("Snapshot of {name}: {files} files, none of them changed.\n"),
        (_, count) => {
            let by: Vec<String> = operations.iter().map(|id| format!("operation {id}")).collect();
            let by = if dry_run { "nothing is recorded".to_owned() } else { by.join(", ") };
            format!("Snapshot of {name}: {files} files, {count} changed ({by}).\n")
        }
    };
    for file in changes.iter().take(LISTED_FILES_MAX) {
        let _ = writeln!(text, "{} {}  +{} -{}", kind(file), shown(&file.path), file.added, file.removed);
    }
    if changes.len() > LISTED_FILES_MAX {
        let _ = writeln!(
            text,
            "… and {} more files; history with the id of the operation has them.",
            changes.len() - LISTED_FILES_MAX
        );
    }
    for (count, why) in [
        (left_out.denied, "skipped, because they may hold secrets or must not be read"),
        (left_out.large, "skipped, because they are larger than 8 MiB"),
        (left_out.unreadable, "skipped, because they could not be read"),
        (*unstored, "recorded without their contents, which would take too much space"),
    ] {
        if count > 0 {
            let _ = writeln!(text, "Note: files {why}: {count}.");
        }
    }
    text
}

/// The snapshot of one root while it is taken.
struct RootScan<'a> {
    context: &'a Context,
    caller: &'a CallContext,
    root: usize,
    note: &'a str,
    dry_run: bool,
}

/// The results of the scan so far.
#[derive(Default)]
struct FoundChanges {
    changes: Vec<OutsideChange>,
    unstored: usize,
    stored_bytes: u64,
}

impl RootScan<'_> {
    fn run(&self) -> Result<RootSnapshot> {
        let context = self.context;
        resolve_in_doubt(context, self.root)?;
        let history = context.history(self.root);
        let old = history.stat_cache();
        let is_first = old.is_none();
        let path = context.roots().get(self.root).copied().unwrap_or(Path::new("/"));
        let root = context.store().resolve_no_follow(path)?;
        let scope = WalkFilter { globs: Override::empty(), hidden: true, all: false, watch: None };
        let old = old.unwrap_or_default();
        let mut scan = TreeScan::new(context, self.caller, scope, &old);
        let mut findings = self.scan(&mut scan, &root, is_first)?;
        self.find_deleted(&scan, &mut findings)?;
        let FoundChanges { changes, unstored, .. } = findings;
        let files: Vec<FileChange> = changes.iter().map(|it| it.change.clone()).collect();
        let mut taken = RootSnapshot {
            is_first,
            files: scan.found.len(),
            left_out: scan.left_out,
            unstored,
            ..RootSnapshot::default()
        };
        if self.dry_run {
            taken.changes = files;
            return Ok(taken);
        }
        taken.operations = log_changes(context, self.root, changes, self.note)?;
        if !taken.operations.is_empty() {
            taken.changes = files;
        }
        history.keep_stat_cache(&StatCache { files: scan.found })?;
        Ok(taken)
    }

    /// Scans the root. What was read is settled on another thread, so that reading goes on meanwhile.
    fn scan(&self, scan: &mut TreeScan<'_>, root: &SafePath, is_first: bool) -> Result<FoundChanges> {
        let (old, meter) = (scan.old, work::current());
        let (sender, batches) = sync_channel(1);
        thread::scope(|threads| {
            let settling = threads.spawn(move || {
                let _metered = meter.as_ref().map(work::Meter::enter);
                let (mut findings, mut settled) = (FoundChanges::default(), Vec::new());
                for batch in batches {
                    let done = self.settle(old, batch, is_first, &mut findings)?;
                    settled.extend(done.into_iter().map(|fresh| (key(&fresh.place).to_vec(), fresh.file)));
                }
                Ok::<_, Error>((findings, settled))
            });
            let scanned = scan.run(root, &sender);
            drop(sender);
            let settled = settling.join().unwrap_or_else(|panic| resume_unwind(panic));
            // If settling failed, the scan ended because of it.
            let (findings, settled) = settled?;
            scanned?;
            scan.found.extend(settled);
            Ok(findings)
        })
    }

    /// Compares files that were read with what is known of them. Returns those to which the cache may refer.
    fn settle(
        &self,
        old: &StatCache,
        batch: Vec<FreshFile>,
        is_first: bool,
        findings: &mut FoundChanges,
    ) -> Result<Vec<FreshFile>> {
        let history = self.context.history(self.root);
        let paths: Vec<&[u8]> = batch.iter().map(|it| key(&it.place)).collect();
        let known = history.newest_seen(&paths)?;
        let differing: Vec<usize> = (0..batch.len())
            .filter(|&nth| {
                let file = &batch[nth].file;
                let is_changed = known[nth].is_some_and(|known| known != file.content);
                let old = old.files.get(key(&batch[nth].place)).map(CachedFile::state);
                is_changed || known[nth].is_some() && old.is_some_and(|old| is_mode_changed(old, file.state()))
            })
            .collect();
        let wanted: Vec<&[u8]> = differing.iter().map(|&nth| paths[nth]).collect();
        let states = history.last_known(&wanted)?;
        let mut before: Vec<Before> =
            known.iter().map(|known| if known.is_some() { Before::Same } else { Before::Unknown }).collect();
        for (&nth, state) in differing.iter().zip(states) {
            let now = batch[nth].file.state();
            before[nth] = match state {
                // Whoever changed the mode, the history knows it.
                Some(KnownState { state: Some(state), in_doubt: false })
                    if state.content == now.content && !is_mode_changed(state, now) =>
                {
                    Before::Same
                }
                Some(state) if !state.in_doubt => Before::Known(state.state),
                _ => Before::InDoubt,
            };
        }
        let (mut settled, mut new) = (Vec::with_capacity(batch.len()), Vec::new());
        for (fresh, before) in batch.into_iter().zip(before) {
            let cached = old.files.get(key(&fresh.place)).map(CachedFile::state);
            match before {
                Before::Same => {}
                Before::InDoubt => continue,
                Before::Unknown if cached.is_none() && is_first => {
                    new.push(fresh);
                    continue;
                }
                Before::Unknown if cached.is_some_and(|old| old.content == fresh.file.content) => {}
                Before::Unknown => {
                    if !self.add(&fresh, cached, findings)? {
                        continue;
                    }
                }
                Before::Known(state) => {
                    if !self.add(&fresh, state, findings)? {
                        continue;
                    }
                }
            }
            settled.push(fresh);
        }
        self.know(&new, findings)?;
        settled.extend(new);
        Ok(settled)
    }

    /// Adds the change of a file. Returns false if the file has changed again since it was read.
    fn add(&self, fresh: &FreshFile, before: Option<FileState>, findings: &mut FoundChanges) -> Result<bool> {
        let after = fresh.file.state();
        // Later writes of this process or another one of ours are not changes by others.
        if current_side(self.context, &fresh.place).ok().flatten().map(|now| now.content) != Some(after.content) {
            return Ok(false);
        }
        let bytes = findings.room_for(fresh.bytes.len()).then(|| fresh.bytes.clone());
        let change = outside_change(self.context, self.root, &fresh.place, before, Some(after), bytes)?;
        findings.changes.push(change);
        Ok(true)
    }

    /// Remembers files that were not known.
    fn know(&self, new: &[FreshFile], findings: &mut FoundChanges) -> Result<()> {
        let most = self.context.config().history.total / 4;
        let mut found = Vec::with_capacity(new.len());
        for fresh in new {
            let fits = findings.stored_bytes + fresh.bytes.len() as u64 <= most;
            findings.stored_bytes += if fits { fresh.bytes.len() as u64 } else { 0 };
            findings.unstored += usize::from(!fits);
            found.push(NewlyKnown {
                path: key(&fresh.place),
                state: fresh.file.state(),
                bytes: fits.then_some(&*fresh.bytes),
            });
        }
        if found.is_empty() || self.dry_run { Ok(()) } else { self.context.history(self.root).know(&found) }
    }

    /// Finds files that are known and no longer there.
    fn find_deleted(&self, scan: &TreeScan<'_>, findings: &mut FoundChanges) -> Result<()> {
        let history = self.context.history(self.root);
        let mut missing = history.known_paths()?;
        missing.extend(scan.old.files.keys().cloned());
        missing.sort_unstable();
        missing.dedup();
        missing.retain(|path| !scan.found.contains_key(path));
        let paths: Vec<&[u8]> = missing.iter().map(|path| &**path).collect();
        for (path, known) in paths.iter().zip(history.last_known(&paths)?) {
            self.caller.check_cancelled()?;
            let before = match known {
                Some(known) if known.in_doubt => continue,
                Some(known) => known.state,
                None => scan.old.files.get(*path).map(CachedFile::state),
            };
            let Some(before) = before else { continue };
            let Some(place) = self.gone(path) else { continue };
            if policy::is_secret(&place) {
                continue;
            }
            findings.changes.push(outside_change(self.context, self.root, &place, Some(before), None, None)?);
        }
        Ok(())
    }

    /// Returns the place of a path where nothing is; `None` if something is there, or nobody can say.
    fn gone(&self, path: &[u8]) -> Option<SafePath> {
        let place = crate::tools::undo::file_states::logged_place(self.context, path).ok()?;
        if place.root() != self.root || place.absolute() != Path::new(OsStr::from_bytes(path)) {
            return None;
        }
        match current_side(self.context, &place) {
            Ok(None) => Some(place),
            Ok(Some(_)) | Err(_) => None,
        }
    }
}

/// True if a file became a link, or the reverse, or executable, or not. Other bits are not compared: file systems report
/// them differently, and git does not keep them either.
fn is_mode_changed(before: FileState, after: FileState) -> bool {
    let is_executable = |state: FileState| state.mode & 0o111 != 0;
    before.kind != after.kind || is_executable(before) != is_executable(after)
}

impl FoundChanges {
    /// Takes room for the new content of a file, if there is any left.
    fn room_for(&mut self, bytes: usize) -> bool {
        let fits = self.stored_bytes + bytes as u64 <= SNAPSHOT_BYTES_MAX;
        self.stored_bytes += if fits { bytes as u64 } else { 0 };
        self.unstored += usize::from(!fits);
        fits
    }
}

/// The knowledge of a file before the snapshot.
enum Before {
    /// It has not changed.
    Same,
    /// It was in this state.
    Known(Option<FileState>),
    /// An operation that nobody has resolved yet may have changed it.
    InDoubt,
    /// Nothing.
    Unknown,
}
