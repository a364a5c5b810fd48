//! The files of a snapshot: those below a root that no ignore file leaves out. A file whose metadata are those of the
//! last snapshot is not read.

use crate::context::Context;
use crate::context::policy::{self, Access};
use crate::context::walk::{WalkFilter, has_file, ignore_files};
use crate::model::call_context::CallContext;
use emendate_core::{Code, ContentId, Error, Result, work};
use emendate_fs::{DirEntry, EntryKind, FileMeta, SafePath, is_temporary_name};
use emendate_history::{CachedFile, StatCache};
use emendate_os::ffi::OsStrExt as _;
use ignore::gitignore::Gitignore;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::sync::mpsc::SyncSender;

/// Files of one snapshot.
pub(crate) const SNAPSHOT_FILES_MAX: usize = 50_000;
/// Bytes of a file that belongs to a snapshot.
pub(crate) const SNAPSHOT_FILE_BYTES_MAX: u64 = 8 << 20;
/// Files, and bytes of them, that are settled together.
const BATCH_FILES: usize = 1024;
const BATCH_BYTES: usize = 8 << 20;
/// Directories of version control systems.
const VERSION_CONTROL: [&str; 4] = [".git", ".jj", ".hg", ".svn"];

/// A file that was read.
pub(super) struct FreshFile {
    pub(super) place: SafePath,
    pub(super) file: CachedFile,
    pub(super) bytes: Vec<u8>,
}

/// Files that a snapshot leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// Files that may hold secrets, or that rules do not let be read.
    pub(super) denied: usize,
    /// Files that are too large.
    pub(super) large: usize,
    /// Files and directories that could not be read.
    pub(super) unreadable: usize,
}

/// The scan of one root.
pub(super) struct TreeScan<'a> {
    pub(super) context: &'a Context,
    pub(super) caller: &'a CallContext,
    pub(super) scope: WalkFilter,
    /// The files of the last snapshot.
    pub(super) old: &'a StatCache,
    /// The files of this one.
    pub(super) found: HashMap<Vec<u8>, CachedFile>,
    pub(super) left_out: LeftOut,
    ignores: Vec<Gitignore>,
    batch: Vec<FreshFile>,
    batch_bytes: usize,
    files: usize,
}

/// Takes batches of files that were read.
pub(super) type BatchSender = SyncSender<Vec<FreshFile>>;

impl<'a> TreeScan<'a> {
    pub(super) fn new(
        context: &'a Context,
        caller: &'a CallContext,
        scope: WalkFilter,
        old: &'a StatCache,
    ) -> TreeScan<'a> {
        let found = HashMap::with_capacity(old.files.len());
        TreeScan {
            context,
            caller,
            scope,
            old,
            found,
            left_out: LeftOut::default(),
            ignores: Vec::new(),
            batch: Vec::new(),
            batch_bytes: 0,
            files: 0,
        }
    }

    /// Scans a root. It ends early if nobody takes the batches any more.
    ///
    /// Errors: `call.too_large`, `call.cancelled`.
    pub(super) fn run(&mut self, root: &SafePath, batches: &BatchSender) -> Result<()> {
        self.enter(root, batches)?;
        self.send(batches)
    }

    fn enter(&mut self, folder: &SafePath, batches: &BatchSender) -> Result<()> {
        self.caller.check_cancelled()?;
        let entries = match self.context.store().list_with_meta(folder) {
            Ok(Some(entries)) => entries,
            Err(error) if error.code() == Code::CallTooLarge => return Err(error),
            Ok(None) | Err(_) => {
                self.left_out.unreadable += 1;
                return Ok(());
            }
        };
        let has_rules = [".gitignore", ".ignore"].iter().any(|name| has_file(entries.iter().map(|(it, _)| it), name));
        if has_rules {
            self.ignores.push(ignore_files(self.context, folder.absolute()));
        }
        for (entry, meta) in &entries {
            self.visit(folder, entry, meta, batches)?;
        }
        if has_rules {
            self.ignores.pop();
        }
        Ok(())
    }

    fn visit(&mut self, folder: &SafePath, entry: &DirEntry, meta: &FileMeta, batches: &BatchSender) -> Result<()> {
        work::spend(1)?;
        let path = folder.absolute().join(&entry.name);
        // Temporary files of a dead process of ours are not changes by others.
        let is_skipped =
            VERSION_CONTROL.iter().any(|name| entry.name == OsStr::new(name)) || is_temporary_name(&entry.name);
        // A link is an entry of its own: what it leads to is not looked at.
        let is_link = entry.kind == EntryKind::Link;
        let as_file = is_link.then(|| DirEntry { kind: EntryKind::File, ..entry.clone() });
        if is_skipped || !self.scope.takes(as_file.as_ref().unwrap_or(entry), &path, &self.ignores) {
            return Ok(());
        }
        if entry.kind == EntryKind::Directory {
            if let Ok(place) = self.context.store().resolve_no_follow(&path) {
                return self.enter(&place, batches);
            }
            self.left_out.unreadable += 1;
            return Ok(());
        }
        self.files += 1;
        if self.files > SNAPSHOT_FILES_MAX {
            return Err(too_many(folder));
        }
        self.caller.advance()?;
        if let Some(old) = self.old.files.get(path.as_os_str().as_bytes()).filter(|old| old.proves(meta)) {
            self.found.insert(path.into_os_string().into_encoded_bytes(), *old);
            return Ok(());
        }
        if meta.size > SNAPSHOT_FILE_BYTES_MAX {
            self.left_out.large += 1;
            return Ok(());
        }
        let Ok(place) = self.context.store().resolve_no_follow(&path) else {
            self.left_out.unreadable += 1;
            return Ok(());
        };
        if is_link { self.read_link(place, meta, batches) } else { self.read(place, batches) }
    }

    /// Reads a symbolic link.
    fn read_link(&mut self, place: SafePath, meta: &FileMeta, batches: &BatchSender) -> Result<()> {
        if policy::is_secret(&place) || !self.context.may_access_name(&place, Access::Read) {
            self.left_out.denied += 1;
            return Ok(());
        }
        let Ok(Some(target)) = self.context.store().read_link(&place) else {
            self.left_out.unreadable += 1;
            return Ok(());
        };
        let bytes = target.into_encoded_bytes();
        // Links are so short that the cache need not prove anything of them.
        let file = CachedFile { meta: *meta, content: ContentId::of(&bytes), racy: true };
        self.push(FreshFile { place, file, bytes }, batches)
    }

    /// Reads a file.
    fn read(&mut self, place: SafePath, batches: &BatchSender) -> Result<()> {
        if policy::is_secret(&place) || !self.context.may_access_name(&place, Access::Read) {
            self.left_out.denied += 1;
            return Ok(());
        }
        let version = match self.context.store().read(&place, SNAPSHOT_FILE_BYTES_MAX, Vec::new()) {
            Ok(Some(version)) => version,
            Ok(None) => return Ok(()),
            Err(_) => {
                self.left_out.unreadable += 1;
                return Ok(());
            }
        };
        work::spend(version.bytes.len() / work::STEP_BYTES)?;
        let file = CachedFile { meta: version.meta, content: ContentId::of(&version.bytes), racy: version.racy };
        self.push(FreshFile { place, file, bytes: version.bytes }, batches)
    }

    fn push(&mut self, fresh: FreshFile, batches: &BatchSender) -> Result<()> {
        self.batch_bytes += fresh.bytes.len();
        self.batch.push(fresh);
        if self.batch.len() < BATCH_FILES && self.batch_bytes < BATCH_BYTES {
            return Ok(());
        }
        self.send(batches)
    }

    fn send(&mut self, batches: &BatchSender) -> Result<()> {
        self.batch_bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        // The receiver ends with an error, which is reported in place of this one.
        let gone = |_| Error::new(Code::InternalBug, "What the snapshot read was not recorded.");
        batches.send(batch).map_err(gone)
    }
}

/// Refuses a root with too many files.
fn too_many(folder: &SafePath) -> Error {
    let what = format!("The root has more than {SNAPSHOT_FILES_MAX} files that no ignore file leaves out.");
    Error::new(Code::CallTooLarge, what)
        .evidence(folder.shown())
        .next("Name directories of generated files in .gitignore or .ignore, then repeat the call.")
}
