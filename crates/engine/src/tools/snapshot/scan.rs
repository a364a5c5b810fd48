//! The files of a snapshot: those below a root that no ignore file excludes. One thread lists the directories;
//! [readers](super::reader) examine the files.

use crate::context::call::Call;
use crate::context::walk::{WalkFilter, has_file, ignore_files};
use emendate_core::{Code, Error, Result, work};
use emendate_fs::{DirEntry, EntryKind, SafePath, is_temporary_name};
use ignore::gitignore::Gitignore;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// Files of one snapshot.
pub(crate) const SNAPSHOT_FILES_MAX: usize = 50_000;
/// Bytes of a file that belongs to a snapshot.
pub(crate) const SNAPSHOT_FILE_BYTES_MAX: u64 = 8 << 20;
/// Entries of a directory that one reader gets at a time.
const CHUNK_ENTRIES: usize = 64;
/// Directories of version control systems.
const VERSION_CONTROL: [&str; 4] = [".git", ".jj", ".hg", ".svn"];

/// Files and links of one directory that belong to a snapshot.
pub(super) struct EntryChunk {
    pub(super) folder: Arc<SafePath>,
    pub(super) entries: Vec<DirEntry>,
}

/// The walk through the directories of one root.
pub(super) struct TreeWalk<'a> {
    call: Call<'a>,
    filter: WalkFilter,
    ignores: Vec<Gitignore>,
    chunks: SyncSender<EntryChunk>,
    files: usize,
    /// Directories that could not be read.
    unreadable: usize,
}

impl<'a> TreeWalk<'a> {
    pub(super) fn new(call: Call<'a>, chunks: SyncSender<EntryChunk>) -> TreeWalk<'a> {
        let filter = WalkFilter { globs: Gitignore::empty(), hidden: true, no_ignore: false, handle: None };
        TreeWalk { call, filter, ignores: Vec::new(), chunks, files: 0, unreadable: 0 }
    }

    /// Walks through a root. Returns the number of directories that could not be read. It ends early if nobody takes
    /// the files any more.
    ///
    /// Errors: `call.too_large`, `call.cancelled`.
    pub(super) fn run(mut self, root: SafePath) -> Result<usize> {
        self.enter(root)?;
        Ok(self.unreadable)
    }

    fn enter(&mut self, folder: SafePath) -> Result<()> {
        self.call.caller.check_cancelled()?;
        let entries = match self.call.store().list(&folder) {
            Ok(Some(entries)) => entries,
            Err(error) if error.code() == Code::CallTooLarge => return Err(error),
            Ok(None) | Err(_) => {
                self.unreadable += 1;
                return Ok(());
            }
        };
        let has_rules = [".gitignore", ".ignore"].iter().any(|name| has_file(entries.iter(), name));
        if has_rules {
            // Without rules that are too many, the snapshot has more files.
            self.ignores.push(ignore_files(&self.call, folder.absolute()).unwrap_or_else(|_| Gitignore::empty()));
        }
        let folder = Arc::new(folder);
        let (mut path, mut chunk) = (folder.absolute().to_owned(), Vec::new());
        for entry in entries {
            if !self.belongs(&entry, &mut path)? {
                continue;
            }
            if entry.kind == EntryKind::Directory {
                let safe_path = self.call.store().entry(&folder, &entry.name);
                self.enter(safe_path)?;
                continue;
            }
            self.files += 1;
            if self.files > SNAPSHOT_FILES_MAX {
                return Err(too_many(&folder));
            }
            chunk.push(entry);
            if chunk.len() == CHUNK_ENTRIES {
                self.send(&folder, std::mem::take(&mut chunk))?;
            }
        }
        if has_rules {
            self.ignores.pop();
        }
        if chunk.is_empty() { Ok(()) } else { self.send(&folder, chunk) }
    }

    /// True if an entry belongs to the snapshot. `folder` is the path of its directory, and has that value again
    /// afterwards.
    fn belongs(&self, entry: &DirEntry, folder: &mut PathBuf) -> Result<bool> {
        work::spend(1)?;
        // Temporary files of a dead process of ours are not changes by others.
        if VERSION_CONTROL.iter().any(|name| entry.name == OsStr::new(name)) || is_temporary_name(&entry.name) {
            return Ok(false);
        }
        // A link is an entry of its own: its target is not examined.
        let is_link = entry.kind == EntryKind::Link;
        let as_file = is_link.then(|| DirEntry { kind: EntryKind::File, ..entry.clone() });
        folder.push(&entry.name);
        let takes = self.filter.takes(as_file.as_ref().unwrap_or(entry), folder, &self.ignores);
        folder.pop();
        Ok(takes)
    }

    fn send(&self, folder: &Arc<SafePath>, entries: Vec<DirEntry>) -> Result<()> {
        // The receivers end with an error, which is reported in place of this one.
        let gone = |_| Error::new(Code::InternalBug, "What the snapshot found was not read.");
        self.chunks.send(EntryChunk { folder: Arc::clone(folder), entries }).map_err(gone)
    }
}

/// Refuses a root with too many files.
fn too_many(folder: &SafePath) -> Error {
    let what = format!("The root has more than {SNAPSHOT_FILES_MAX} files that no ignore file leaves out.");
    Error::new(Code::CallTooLarge, what)
        .evidence(folder.shown())
        .next("Name directories of generated files in .gitignore or .ignore, then repeat the call.")
}
