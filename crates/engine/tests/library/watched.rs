//! A disk under the engine that reports the progress of a call: for tests that end a process there, or let others
//! continue.

use emendate::core::Result;
use emendate::fs::{
    CommitPreview, DirEntry, Durability, FileAttributes, FileMeta, FileSource, FileVersion, FileWrite, LocalStore,
    NameInfo, RootInfo, SafePath, Staged, Store, Transaction, WriteReport,
};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// A disk that reports the points of a call it reaches.
pub(crate) struct Watched {
    pub(crate) local: LocalStore,
    /// Called with `before staging`, `before the log`, `before the commit` and `after the commit`.
    pub(crate) reached: Box<dyn Fn(&str) + Send + Sync>,
}

struct Step<'a>(Staged<'a>, &'a (dyn Fn(&str) + Send + Sync));

impl Transaction for Step<'_> {
    fn preview(&self) -> CommitPreview {
        self.1("before the log");
        self.0.preview()
    }

    fn commit(self: Box<Self>) -> Result<Vec<WriteReport>> {
        self.1("before the commit");
        let written = self.0.commit();
        self.1("after the commit");
        written
    }
}

impl Store for Watched {
    fn roots(&self) -> &[RootInfo] {
        self.local.roots()
    }
    fn resolve_path(&self, path: &Path) -> Result<SafePath> {
        self.local.resolve_path(path)
    }
    fn resolve_no_follow(&self, path: &Path) -> Result<SafePath> {
        self.local.resolve_no_follow(path)
    }
    fn read_link(&self, place: &SafePath) -> Result<Option<OsString>> {
        self.local.read_link(place)
    }
    fn metadata(&self, place: &SafePath) -> Result<Option<FileMeta>> {
        self.local.metadata(place)
    }
    fn read(&self, place: &SafePath, limit: u64, buffer: Vec<u8>) -> Result<Option<FileVersion>> {
        self.local.read(place, limit, buffer)
    }
    fn source(&self, place: &SafePath) -> Result<Option<FileSource>> {
        self.local.source(place)
    }
    fn siblings(&self, place: &SafePath) -> Result<Vec<OsString>> {
        self.local.siblings(place)
    }
    fn attributes(&self, place: &SafePath) -> Result<Option<FileAttributes>> {
        self.local.attributes(place)
    }
    fn remove_dir(&self, place: &SafePath) -> Result<bool> {
        self.local.remove_dir(place)
    }
    fn list(&self, place: &SafePath) -> Result<Option<Vec<DirEntry>>> {
        self.local.list(place)
    }
    fn lookup_names(&self, root: usize, folder: &Path, names: &[&OsStr]) -> Result<Vec<Option<NameInfo>>> {
        self.local.lookup_names(root, folder, names)
    }
    fn stage<'a>(&'a self, writes: &'a [FileWrite<'a>], durability: Durability) -> Result<Staged<'a>> {
        (self.reached)("before staging");
        Ok(Staged::new(Step(self.local.stage(writes, durability)?, &*self.reached)))
    }
}
