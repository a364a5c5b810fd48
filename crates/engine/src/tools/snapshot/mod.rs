//! The tool `snapshot`: every file below the roots that was changed, created or deleted since the last snapshot, by
//! whatever program, becomes part of an operation.

mod reader;
pub(crate) mod scan;
mod tool_row;

use crate::context::call::Call;
use crate::context::config::OutsideChanges;
use crate::context::history_stores::{key, log_path};
use crate::context::{Context, policy};
use crate::model::call_handle::CallPhase;
use crate::model::reply::{Answer, counted};
use crate::model::reply_limits::LISTED_FILES_MAX;
use crate::pipeline::report::rendered::files_data;
use crate::session::in_doubt::{current_side, resolve_all_in_doubt};
use crate::session::outside::{OutsideCause, OutsideChange, last_known, log_changes, outside_change};
use crate::tools::history::operation_list::{change_kind, file_data, shown};
use crate::tools::snapshot::reader::{ChunkReader, EarlierState, FoundFiles, FreshFile, LeftOut};
use crate::tools::snapshot::scan::TreeWalk;
use crate::tools::undo::file_states::{logged_place, logged_place_below_link};
use emendate_core::formats::{self, FormatInput};
use emendate_core::{Code, ContentId, Error, Result, work};
use emendate_fs::SafePath;
use emendate_history::{
    CachedFile, FileChange, FileState, KnownState, NewlyKnown, OperationId, OwnedContent, StatCache,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

pub(crate) use tool_row::TOOL;

/// Bytes of new contents that one snapshot stores.
pub(crate) const SNAPSHOT_BYTES_MAX: u64 = 64 << 20;
/// Threads that read files.
const READERS_MAX: usize = 8;
/// Chunks of files that were found and not read yet.
const CHUNKS_AHEAD: usize = 16;
/// Errors for a path at which a directory is, or that leads through a file or a link where its directory was.
const NO_FILE_THERE: [Code; 3] = [Code::PathNotRegular, Code::PathInvalid, Code::PathSymlink];
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
    /// Number of files in the snapshot.
    files: usize,
    operations: Vec<OperationId>,
    changes: Vec<FileChange>,
    left_out: LeftOut,
    /// Number of files whose contents were not stored because all new contents together are too large.
    unstored: usize,
}

/// Runs the tool `snapshot`.
pub(crate) fn snapshot(call: Call<'_>, input: Value) -> Result<Answer> {
    let args: SnapshotInput = formats::from_json(FormatInput::Json(input))?;
    let note: String = args.note.unwrap_or_default().chars().take(NOTE_CHARS_MAX).collect();
    let cause = call.caller.shell_of.as_deref().map_or(OutsideCause::Described(&note), OutsideCause::Shell);
    if call.config().outside == OutsideChanges::Off || !call.history_stores.keeps_history() {
        return Err(Error::new(Code::CallInvalid, "The history does not record changes by others.").next(
            "A person can set outside = \"seen\" or \"snapshots\" under [history], and name a state directory.",
        ));
    }
    let dry_run = args.dry_run || call.caller.dry_run;
    call.caller.begin(CallPhase::Reading, 0);
    let (mut text, mut files, mut total) = (String::new(), Vec::new(), 0);
    let (mut scanned, mut operations) = (0, Vec::new());
    for root in 0..call.root_count() {
        let taken = RootScan { call, root, cause, dry_run }.run()?;
        text.push_str(&describe(&call, root, &taken, dry_run));
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
    Ok(Answer { text, data, operation: operations.first().copied(), ..Answer::default() })
}

/// Describes the snapshot of a root.
fn describe(context: &Context, root: usize, taken: &RootSnapshot, dry_run: bool) -> String {
    let name = context.root_path(root).map(emendate_fs::shown).unwrap_or_default();
    let RootSnapshot { is_first, files, operations, changes, left_out, unstored } = taken;
    let files = counted(*files, "file");
    let mut text = match (is_first, changes.len()) {
        (true, 0) => format!("First snapshot of {name}: {files}. Changes from now on will be found.\n"),
        (_, 0) => format!("Snapshot of {name}: {files}, none changed.\n"),
        (_, count) => {
            let by: Vec<String> = operations.iter().map(|id| format!("operation {id}")).collect();
            let by = if dry_run { "nothing is recorded".to_owned() } else { by.join(", ") };
            format!("Snapshot of {name}: {files}, {count} changed ({by}).\n")
        }
    };
    for file in changes.iter().take(LISTED_FILES_MAX) {
        let _ = writeln!(text, "{} {}  +{} -{}", change_kind(file).name(), shown(&file.path), file.added, file.removed);
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
    call: Call<'a>,
    root: usize,
    cause: OutsideCause<'a>,
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
        let context = self.call.context;
        resolve_all_in_doubt(context)?;
        let history = context.history(self.root);
        let files = history.stat_cache();
        let is_first = files.is_none();
        let known = if is_first { Some(history.all_newest_seen()?) } else { None };
        let earlier = EarlierState { files: files.unwrap_or_default(), known };
        let path = context.root_path(self.root).unwrap_or(Path::new("/"));
        let root = context.store().resolve_no_follow(path)?;
        let (found, left_out, mut findings) = self.scan(&earlier, root)?;
        self.find_deleted(&earlier, &found, &mut findings)?;
        let FoundChanges { changes, unstored, .. } = findings;
        let files: Vec<FileChange> = changes.iter().map(|it| it.change.clone()).collect();
        let mut taken = RootSnapshot { is_first, files: found.len(), left_out, unstored, ..RootSnapshot::default() };
        if self.dry_run {
            taken.changes = files;
            return Ok(taken);
        }
        taken.operations = log_changes(context, self.root, changes, self.cause)?;
        if !taken.operations.is_empty() {
            taken.changes = files;
        }
        history.keep_stat_cache(&StatCache { files: found })?;
        Ok(taken)
    }

    /// Scans the root: this thread walks through its directories, others read the files, and one more compares what was
    /// read with the history. A failure of one thread ends the others.
    fn scan(
        &self,
        earlier: &EarlierState,
        root: SafePath,
    ) -> Result<(HashMap<Vec<u8>, CachedFile>, LeftOut, FoundChanges)> {
        let (meter, readers) = (work::current(), thread::available_parallelism().map_or(1, usize::from));
        let (chunk_sender, chunks) = sync_channel(CHUNKS_AHEAD);
        let (batch_sender, batches) = sync_channel(1);
        // Dropped by the last reader, so that the walk does not wait for one.
        let chunks = Arc::new(Mutex::new(chunks));
        let meter = meter.as_ref();
        thread::scope(|threads| {
            let comparing = threads.spawn(move || {
                let _metered = meter.map(work::Meter::enter);
                self.compare_batches(earlier, batches)
            });
            let reading: Vec<_> = (0..readers.min(READERS_MAX))
                .map(|_| {
                    let reader = ChunkReader::new(self.call, earlier, batch_sender.clone());
                    let chunks = Arc::clone(&chunks);
                    threads.spawn(move || {
                        let _metered = meter.map(work::Meter::enter);
                        reader.run(&chunks)
                    })
                })
                .collect();
            drop((chunks, batch_sender));
            let walked = TreeWalk::new(self.call, chunk_sender).run(root);
            let read: Vec<_> =
                reading.into_iter().map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic))).collect();
            let compared = comparing.join().unwrap_or_else(|panic| resume_unwind(panic));
            // The first failure ended the others.
            let (findings, compared) = compared?;
            let read = read.into_iter().collect::<Result<Vec<_>>>()?;
            let mut left_out = LeftOut { unreadable: walked?, ..LeftOut::default() };
            let count: usize = read.iter().map(|(found, _)| found.len()).sum();
            let mut found = HashMap::with_capacity(count + compared.len());
            found.extend(compared);
            for (unchanged, skipped) in read {
                found.extend(unchanged);
                left_out += skipped;
            }
            Ok((found, left_out, findings))
        })
    }

    /// Compares all batches with the history. Returns the changes, and the files that the cache may contain.
    fn compare_batches(
        &self,
        earlier: &EarlierState,
        batches: Receiver<Vec<FreshFile>>,
    ) -> Result<(FoundChanges, FoundFiles)> {
        let (mut findings, mut compared) = (FoundChanges::default(), Vec::new());
        for batch in batches {
            let done = self.compare_batch(earlier, batch, &mut findings)?;
            compared.extend(done.into_iter().map(|fresh| (key(&fresh.path).to_vec(), fresh.file)));
        }
        // Sorted in the order of a walk, because batches arrive in any order.
        let path = |change: &OutsideChange| log_path(&change.change.path).to_owned();
        findings.changes.sort_by_cached_key(path);
        Ok((findings, compared))
    }

    /// Compares files that were read with what the history knows of them. Returns the files that the cache may contain.
    fn compare_batch(
        &self,
        earlier: &EarlierState,
        batch: Vec<FreshFile>,
        findings: &mut FoundChanges,
    ) -> Result<Vec<FreshFile>> {
        let (old, history) = (&earlier.files, self.call.history(self.root));
        let paths: Vec<&[u8]> = batch.iter().map(|it| key(&it.path)).collect();
        let known = match &earlier.known {
            Some(known) => paths.iter().map(|path| known.get(*path).copied()).collect(),
            None => history.newest_seen(&paths)?,
        };
        let differing: Vec<usize> = (0..batch.len())
            .filter(|&nth| {
                let file = &batch[nth].file;
                let is_changed = known[nth].is_some_and(|known| known != file.content);
                let old = old.files.get(key(&batch[nth].path)).map(CachedFile::state);
                is_changed || known[nth].is_some() && old.is_some_and(|old| is_mode_changed(old, file.state()))
            })
            .collect();
        let wanted: Vec<&[u8]> = differing.iter().map(|&nth| paths[nth]).collect();
        let states = if wanted.is_empty() { Vec::new() } else { last_known(&self.call, self.root, &wanted)? };
        let mut before: Vec<Before> =
            known.iter().map(|known| if known.is_some() { Before::Same } else { Before::Unknown }).collect();
        for (&nth, state) in differing.iter().zip(states) {
            let now = batch[nth].file.state();
            before[nth] = match state {
                // The history already knows this mode, whoever changed it.
                Some(KnownState { state: Some(state), in_doubt: false })
                    if state.content == now.content && !is_mode_changed(state, now) =>
                {
                    Before::Same
                }
                Some(state) if !state.in_doubt => Before::Known(state.state),
                _ => Before::InDoubt,
            };
        }
        let (mut compared, mut new) = (Vec::with_capacity(batch.len()), Vec::new());
        self.store_missing(&batch, &before, findings)?;
        for (fresh, before) in batch.into_iter().zip(before) {
            let cached = old.files.get(key(&fresh.path)).map(CachedFile::state);
            match before {
                Before::Same => {}
                Before::InDoubt => continue,
                Before::Unknown if earlier.known.is_some() => {
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
            compared.push(fresh);
        }
        self.record_new_files(&new, findings)?;
        compared.extend(new);
        Ok(compared)
    }

    /// Adds the change of a file. Returns false if the file has changed again since it was read.
    fn add(&self, fresh: &FreshFile, before: Option<FileState>, findings: &mut FoundChanges) -> Result<bool> {
        let after = fresh.file.state();
        // Later writes of this process or another one of ours are not changes by others.
        if current_side(&self.call, &fresh.path).ok().flatten().map(|now| now.content) != Some(after.content) {
            return Ok(false);
        }
        let bytes = findings.room_for(fresh.bytes.len()).then(|| fresh.bytes.clone());
        let change = outside_change(&self.call, self.root, &fresh.path, before, Some(after), bytes)?;
        findings.changes.push(change);
        Ok(true)
    }

    /// Remembers files that were not known.
    fn record_new_files(&self, new: &[FreshFile], findings: &mut FoundChanges) -> Result<()> {
        let most = self.call.config().history.total / 4;
        let mut found = Vec::with_capacity(new.len());
        for fresh in new {
            let size = fresh.bytes.len() as u64;
            let fits = findings.stored_bytes + size <= most;
            findings.stored_bytes += if fits { size } else { 0 };
            findings.unstored += usize::from(!fits);
            let bytes = fits.then_some(&*fresh.bytes);
            found.push(NewlyKnown { path: key(&fresh.path), state: fresh.file.state(), bytes });
        }
        if found.is_empty() || self.dry_run { Ok(()) } else { self.call.history(self.root).remember_files(&found) }
    }

    /// Stores the contents of unchanged files of which the history has only the id, as after the edit of a large file:
    /// else their next change by others could not be undone.
    fn store_missing(&self, batch: &[FreshFile], before: &[Before], findings: &mut FoundChanges) -> Result<()> {
        let is_same = |before: &Before| matches!(before, Before::Same);
        let same: Vec<&FreshFile> =
            batch.iter().zip(before).filter(|(_, before)| is_same(before)).map(|(fresh, _)| fresh).collect();
        if same.is_empty() || self.dry_run {
            return Ok(());
        }
        let history = self.call.history(self.root);
        let contents: Vec<ContentId> = same.iter().map(|fresh| fresh.file.content).collect();
        let lacking = history.not_stored(&contents)?;
        let mut missing = Vec::new();
        for fresh in same.into_iter().filter(|fresh| lacking.contains(&fresh.file.content)) {
            if !history.can_rebuild(fresh.file.content, &[])? && findings.room_for(fresh.bytes.len()) {
                missing.push(OwnedContent { id: fresh.file.content, bytes: fresh.bytes.clone() });
            }
        }
        if missing.is_empty() { Ok(()) } else { history.store_versions(&missing) }
    }

    /// Finds files that are known and no longer there.
    fn find_deleted(
        &self,
        earlier: &EarlierState,
        found: &HashMap<Vec<u8>, CachedFile>,
        findings: &mut FoundChanges,
    ) -> Result<()> {
        let history = self.call.history(self.root);
        let is_missing = |path: &[u8]| !found.contains_key(path);
        let mut missing = match &earlier.known {
            Some(known) => known.keys().filter(|path| is_missing(path)).cloned().collect(),
            None => history.known_paths(&is_missing)?,
        };
        missing.extend(earlier.files.files.keys().filter(|path| is_missing(path)).cloned());
        if missing.is_empty() {
            return Ok(());
        }
        missing.sort_unstable();
        missing.dedup();
        let paths: Vec<&[u8]> = missing.iter().map(|path| &**path).collect();
        for (path, known) in paths.iter().zip(last_known(&self.call, self.root, &paths)?) {
            self.call.caller.check_cancelled()?;
            let before = match known {
                Some(known) if known.in_doubt => continue,
                Some(known) => known.state,
                None => earlier.files.files.get(*path).map(CachedFile::state),
            };
            let Some(before) = before else { continue };
            let Some(safe_path) = self.resolve_missing(path) else { continue };
            if policy::is_secret(&safe_path) {
                continue;
            }
            findings.changes.push(outside_change(&self.call, self.root, &safe_path, Some(before), None, None)?);
        }
        Ok(())
    }

    /// Resolves a path at which there is no file or link any more; `None` if there is one, or if that cannot be
    /// determined. A directory may be there instead, or a file or a link where a directory of the path was.
    fn resolve_missing(&self, path: &[u8]) -> Option<SafePath> {
        let is_of_path = |safe_path: &SafePath| safe_path.absolute() == log_path(path);
        let safe_path = match logged_place(&self.call, path).ok().filter(is_of_path) {
            Some(safe_path) => safe_path,
            None => logged_place_below_link(&self.call, path).ok().flatten()?,
        };
        if safe_path.root() != self.root {
            return None;
        }
        match current_side(&self.call, &safe_path) {
            Ok(None) => Some(safe_path),
            Err(error) if NO_FILE_THERE.contains(&error.code()) => Some(safe_path),
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
    /// Reserves space for the new content of a file; false if too little is left.
    fn room_for(&mut self, bytes: usize) -> bool {
        let fits = self.stored_bytes + bytes as u64 <= SNAPSHOT_BYTES_MAX;
        self.stored_bytes += if fits { bytes as u64 } else { 0 };
        self.unstored += usize::from(!fits);
        fits
    }
}

/// Knowledge of a file from before the snapshot.
enum Before {
    /// The file has not changed.
    Same,
    /// The file was in this state.
    Known(Option<FileState>),
    /// An operation that nobody has resolved yet may have changed it.
    InDoubt,
    /// Nothing is known of it.
    Unknown,
}
