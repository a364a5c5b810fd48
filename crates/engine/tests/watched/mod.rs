//! A disk under the engine that reports the progress of a call: for tests that end a process there, or let others
//! continue.

use emendate::core::Result;
use emendate::fs::{
    Ahead, Attributes, Draft, Durability, Entry, Local, Named, Place, RootInfo, Source, Staged, Stamp, Store,
    Transaction, Version, Written,
};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// A disk that reports the points of a call it reaches.
pub(crate) struct Watched {
    pub(crate) local: Local,
    /// Called with `before staging`, `before the log`, `before the commit` and `after the commit`.
    pub(crate) reached: Box<dyn Fn(&str) + Send + Sync>,
}

struct Step<'a>(Staged<'a>, &'a (dyn Fn(&str) + Send + Sync));

impl Transaction for Step<'_> {
    fn ahead(&self) -> Ahead {
        self.1("before the log");
        self.0.ahead()
    }

    fn commit(self: Box<Self>) -> Result<Vec<Written>> {
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
    fn admit(&self, path: &Path) -> Result<Place> {
        self.local.admit(path)
    }
    fn admit_link(&self, path: &Path) -> Result<Place> {
        self.local.admit_link(path)
    }
    fn link(&self, place: &Place) -> Result<Option<OsString>> {
        self.local.link(place)
    }
    fn stamp(&self, place: &Place) -> Result<Option<Stamp>> {
        self.local.stamp(place)
    }
    fn read(&self, place: &Place, limit: u64, buffer: Vec<u8>) -> Result<Option<Version>> {
        self.local.read(place, limit, buffer)
    }
    fn source(&self, place: &Place) -> Result<Option<Source>> {
        self.local.source(place)
    }
    fn siblings(&self, place: &Place) -> Result<Vec<OsString>> {
        self.local.siblings(place)
    }
    fn attributes(&self, place: &Place) -> Result<Option<Attributes>> {
        self.local.attributes(place)
    }
    fn remove_folder(&self, place: &Place) -> Result<bool> {
        self.local.remove_folder(place)
    }
    fn list(&self, place: &Place) -> Result<Option<Vec<Entry>>> {
        self.local.list(place)
    }
    fn named(&self, root: usize, folder: &Path, names: &[&OsStr]) -> Result<Vec<Option<Named>>> {
        self.local.named(root, folder, names)
    }
    fn stage<'a>(&'a self, drafts: &'a [Draft<'a>], durability: Durability) -> Result<Staged<'a>> {
        (self.reached)("before staging");
        Ok(Staged::new(Step(self.local.stage(drafts, durability)?, &*self.reached)))
    }
}
