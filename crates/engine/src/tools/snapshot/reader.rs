//! Readers of a snapshot, one for each processor. A file whose metadata are those of the last snapshot is not read.

use super::scan::{EntryChunk, SNAPSHOT_FILE_BYTES_MAX};
use crate::context::call::Call;
use crate::context::policy::{self, Access};
use emendate_core::{Code, ContentId, Error, Result, work};
use emendate_fs::{DirEntry, EntryKind, FileMeta, SafePath};
use emendate_history::{CachedFile, StatCache};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::AddAssign;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Mutex, PoisonError};

/// Maximum number of files, and of their bytes, that are compared with the history together.
const BATCH_FILES: usize = 512;
const BATCH_BYTES: usize = 4 << 20;

/// A file that was read.
pub(super) struct FreshFile {
    pub(super) path: SafePath,
    pub(super) file: CachedFile,
    pub(super) bytes: Vec<u8>,
}

/// Files that a snapshot omits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// Files that may hold secrets, or that rules do not let be read.
    pub(super) denied: usize,
    /// Files that are too large.
    pub(super) large: usize,
    /// Files and directories that could not be read.
    pub(super) unreadable: usize,
}

impl AddAssign for LeftOut {
    fn add_assign(&mut self, other: LeftOut) {
        self.denied += other.denied;
        self.large += other.large;
        self.unreadable += other.unreadable;
    }
}

/// The state before a snapshot.
pub(super) struct EarlierState {
    /// The files of the last snapshot.
    pub(super) files: StatCache,
    /// If there was none: the paths that the history knows, with the contents that were seen there last.
    pub(super) known: Option<HashMap<Vec<u8>, ContentId>>,
}

/// Takes batches of files that were read.
pub(super) type BatchSender = SyncSender<Vec<FreshFile>>;

/// Files with their paths.
pub(super) type FoundFiles = Vec<(Vec<u8>, CachedFile)>;

/// One reader.
pub(super) struct ChunkReader<'a> {
    call: Call<'a>,
    earlier: &'a EarlierState,
    batches: BatchSender,
    /// Files that have not changed since the last snapshot.
    found: FoundFiles,
    left_out: LeftOut,
    batch: Vec<FreshFile>,
    batch_bytes: usize,
}

impl<'a> ChunkReader<'a> {
    pub(super) fn new(call: Call<'a>, earlier: &'a EarlierState, batches: BatchSender) -> ChunkReader<'a> {
        ChunkReader {
            call,
            earlier,
            batches,
            found: Vec::new(),
            left_out: LeftOut::default(),
            batch: Vec::new(),
            batch_bytes: 0,
        }
    }

    /// Reads until there are no more chunks. Returns the files that have not changed, and what was omitted. It ends
    /// early if nobody takes the batches any more.
    ///
    /// Errors: `call.cancelled`, and the limit of work.
    pub(super) fn run(mut self, chunks: &Mutex<Receiver<EntryChunk>>) -> Result<(FoundFiles, LeftOut)> {
        loop {
            let next = chunks.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(chunk) = next else { break };
            self.chunk(&chunk)?;
        }
        self.send()?;
        Ok((self.found, self.left_out))
    }

    fn chunk(&mut self, chunk: &EntryChunk) -> Result<()> {
        if self.earlier.known.is_some() {
            // There is no cached metadata to compare with, and reading a file also returns its metadata.
            for entry in &chunk.entries {
                self.visit(&chunk.folder, entry, None)?;
            }
            return Ok(());
        }
        let names: Vec<&OsStr> = chunk.entries.iter().map(|entry| &*entry.name).collect();
        let Ok(metas) = self.call.store().entries_meta(&chunk.folder, &names) else {
            self.left_out.unreadable += names.len();
            return Ok(());
        };
        for (entry, meta) in chunk.entries.iter().zip(metas) {
            // An entry without metadata has vanished.
            if meta.is_some() {
                self.visit(&chunk.folder, entry, meta)?;
            }
        }
        Ok(())
    }

    fn visit(&mut self, folder: &SafePath, entry: &DirEntry, meta: Option<FileMeta>) -> Result<()> {
        self.call.caller.advance()?;
        if let Some(meta) = meta {
            let path = folder.absolute().join(&entry.name).into_os_string().into_encoded_bytes();
            if let Some(old) = self.earlier.files.files.get(&path).filter(|old| old.proves(&meta)) {
                self.found.push((path, *old));
                return Ok(());
            }
            if meta.size > SNAPSHOT_FILE_BYTES_MAX {
                self.left_out.large += 1;
                return Ok(());
            }
        }
        let safe_path = self.call.store().entry(folder, &entry.name);
        if policy::is_secret(&safe_path) || !self.call.may_access_name(&safe_path, Access::Read) {
            self.left_out.denied += 1;
            return Ok(());
        }
        if entry.kind == EntryKind::Link {
            self.read_link(folder, safe_path, entry, meta)
        } else {
            self.read(safe_path)
        }
    }

    /// Reads a symbolic link.
    fn read_link(&mut self, folder: &SafePath, path: SafePath, entry: &DirEntry, meta: Option<FileMeta>) -> Result<()> {
        let store = self.call.store();
        let look = || store.entries_meta(folder, &[&entry.name]).ok()?.pop()?;
        let (Some(meta), Ok(Some(target))) = (meta.or_else(look), store.read_link(&path)) else {
            self.left_out.unreadable += 1;
            return Ok(());
        };
        let bytes = target.into_encoded_bytes();
        // Links are so short that they are always read: `racy` makes the cached entry prove nothing.
        let file = CachedFile { meta, content: ContentId::of(&bytes), racy: true };
        self.push(path, file, bytes)
    }

    /// Reads a file.
    fn read(&mut self, path: SafePath) -> Result<()> {
        let version = match self.call.store().read(&path, SNAPSHOT_FILE_BYTES_MAX, Vec::new()) {
            Ok(Some(version)) => version,
            Ok(None) => return Ok(()),
            Err(error) if error.code() == Code::FileTooLarge => {
                self.left_out.large += 1;
                return Ok(());
            }
            Err(_) => {
                self.left_out.unreadable += 1;
                return Ok(());
            }
        };
        work::spend(version.bytes.len() / work::STEP_BYTES)?;
        let file = CachedFile { meta: version.meta, content: ContentId::of(&version.bytes), racy: version.racy };
        self.push(path, file, version.bytes)
    }

    fn push(&mut self, path: SafePath, file: CachedFile, bytes: Vec<u8>) -> Result<()> {
        self.batch_bytes += bytes.len();
        self.batch.push(FreshFile { path, file, bytes });
        if self.batch.len() < BATCH_FILES && self.batch_bytes < BATCH_BYTES {
            return Ok(());
        }
        self.send()
    }

    fn send(&mut self) -> Result<()> {
        self.batch_bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        // The receiver ends with an error, which is reported in place of this one.
        let gone = |_| Error::new(Code::InternalBug, "What the snapshot read was not recorded.");
        self.batches.send(batch).map_err(gone)
    }
}
