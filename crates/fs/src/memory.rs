//! The same semantics without a disk, for tests and for front ends that keep files in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use emendate_core::{Code, Error, Result};

use crate::{
    Draft, Durability, Expect, Method, Place, RootInfo, Staged, Stamp, Store, Transaction, Version, Written, fault,
};

/// Files in memory beneath one root. Folders exist as long as a file is in them; there are no links, owners or modes, and
/// nothing is ever "racily clean": time is a counter.
#[derive(Debug)]
pub struct Memory {
    infos: Vec<RootInfo>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By path relative to the root.
    files: BTreeMap<PathBuf, File>,
    clock: i64,
    inodes: u64,
}

#[derive(Debug)]
struct File {
    bytes: Vec<u8>,
    stamp: Stamp,
}

impl State {
    /// Overwrites the file, or makes a new inode of it.
    fn put(&mut self, relative: &Path, bytes: Vec<u8>, replace: bool) -> Stamp {
        self.clock += 1;
        let kept = self.files.get(relative).filter(|_| !replace).map(|file| file.stamp.ino);
        let ino = kept.unwrap_or_else(|| {
            self.inodes += 1;
            self.inodes
        });
        let stamp = Stamp {
            dev: 1,
            ino,
            size: bytes.len() as u64,
            mtime_ns: self.clock,
            ctime_ns: self.clock,
            mode: 0o100_644,
            links: 1,
            uid: 0,
            gid: 0,
        };
        self.files.insert(relative.to_owned(), File { bytes, stamp });
        stamp
    }

    /// The files beneath a folder, in order of their paths.
    fn beneath<'s>(&'s self, folder: &'s Path) -> impl Iterator<Item = &'s Path> {
        let all =
            self.files.range::<Path, _>((Bound::Included(folder), Bound::Unbounded)).map(|(path, _)| path.as_path());
        all.take_while(move |path| path.starts_with(folder)).filter(move |path| *path != folder)
    }

    fn is_folder(&self, relative: &Path) -> bool {
        relative.as_os_str().is_empty() || self.beneath(relative).next().is_some()
    }

    /// The file that stands where a parent folder of `relative` should be.
    fn file_on_the_way<'p>(&self, relative: &'p Path) -> Option<&'p Path> {
        relative.ancestors().skip(1).find(|folder| self.files.contains_key(*folder))
    }

    fn file(&self, place: &Place) -> Result<Option<&File>> {
        match self.files.get(place.relative()) {
            Some(file) => Ok(Some(file)),
            None if self.is_folder(place.relative()) => Err(fault::not_regular(place.absolute(), "a directory")),
            None => Ok(None),
        }
    }

    fn still_expected(&self, draft: &Draft<'_>) -> Result<()> {
        let (path, relative) = (draft.place.absolute(), draft.place.relative());
        match (draft.expect, self.files.get(relative)) {
            (Expect::Missing, None) if self.file_on_the_way(relative).is_some() => {
                Err(fault::raced(path, "has lost its folder"))
            }
            (Expect::Missing, None) if !self.is_folder(relative) => Ok(()),
            (Expect::Missing, _) => Err(fault::raced(path, "was created meanwhile")),
            (Expect::Version { .. }, None) => Err(fault::raced(path, "was removed")),
            (Expect::Version { stamp, .. }, Some(file)) if !file.stamp.same_file(stamp) => {
                Err(fault::raced(path, "was replaced by another file"))
            }
            (Expect::Version { bytes, .. }, Some(file)) if file.bytes != bytes => {
                Err(fault::raced(path, "was changed"))
            }
            (Expect::Version { .. }, Some(_)) => Ok(()),
        }
    }
}

impl Memory {
    /// An empty store with one root, an absolute path that need not exist.
    pub fn new(root: &Path) -> Memory {
        let info = RootInfo { given: root.to_owned(), canonical: root.components().collect() };
        Memory { infos: vec![info], state: Mutex::default() }
    }

    /// Puts a file there, as another program would that writes into it: an existing one keeps its inode. `path` is
    /// absolute beneath the root, or relative to it; anything else is ignored.
    pub fn put(&self, path: impl AsRef<Path>, bytes: impl Into<Vec<u8>>) {
        if let Some(relative) = self.relative(path.as_ref()) {
            self.state().put(relative, bytes.into(), false);
        }
    }

    /// The content of a file; `path` as in [`Memory::put`].
    pub fn get(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let relative = self.relative(path.as_ref())?;
        self.state().files.get(relative).map(|file| file.bytes.clone())
    }

    /// Removes a file if it is there; `path` as in [`Memory::put`].
    pub fn remove(&self, path: impl AsRef<Path>) {
        if let Some(relative) = self.relative(path.as_ref()) {
            self.state().files.remove(relative);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is made after the last step that could fail, so the state is whole even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn root(&self) -> &RootInfo {
        // `new` puts exactly one there.
        &self.infos[0]
    }

    fn relative<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let relative = if path.is_absolute() { path.strip_prefix(&self.root().canonical).ok()? } else { path };
        let plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
        (plain && relative.file_name().is_some()).then_some(relative)
    }
}

impl Store for Memory {
    fn roots(&self) -> &[RootInfo] {
        &self.infos
    }

    fn admit(&self, path: &Path) -> Result<Place> {
        fault::admissible(path, &self.infos)?;
        let canonical = &self.root().canonical;
        let Ok(inside) = path.strip_prefix(canonical) else {
            return Err(fault::outside(path, &self.infos));
        };
        let mut relative = PathBuf::new();
        for part in inside.components() {
            match part {
                Component::Normal(name) => relative.push(name),
                Component::ParentDir if !relative.pop() => return Err(fault::outside(path, &self.infos)),
                _ => {}
            }
        }
        let state = self.state();
        if let Some(file) = state.file_on_the_way(&relative) {
            let file = fault::show(canonical.join(file));
            return Err(fault::invalid(path, &format!("goes through {file}, which is no folder"), "Check the path."));
        }
        if path.as_os_str().as_bytes().ends_with(b"/") && !state.is_folder(&relative) {
            return Err(fault::invalid(path, "ends in `/`, but is no folder", "Leave the `/` at the end out."));
        }
        Ok(Place::new((0, canonical), relative, path, None))
    }

    fn stamp(&self, place: &Place) -> Result<Option<Stamp>> {
        Ok(self.state().file(place)?.map(|file| file.stamp))
    }

    fn read(&self, place: &Place, limit: u64, mut buffer: Vec<u8>) -> Result<Option<Version>> {
        let state = self.state();
        let Some(file) = state.file(place)? else {
            return Ok(None);
        };
        if file.stamp.size > limit {
            return Err(fault::too_large(place.absolute(), Some(file.stamp.size), limit));
        }
        buffer.clear();
        buffer.extend_from_slice(&file.bytes);
        Ok(Some(Version { bytes: buffer, stamp: file.stamp, racy: false }))
    }

    fn siblings(&self, place: &Place) -> Result<Vec<OsString>> {
        let parent = place.relative().parent().unwrap_or(Path::new(""));
        let state = self.state();
        let names: BTreeSet<&std::ffi::OsStr> = state
            .beneath(parent)
            .filter_map(|path| path.strip_prefix(parent).ok()?.iter().next())
            .take(crate::SIBLINGS)
            .collect();
        Ok(names.into_iter().map(OsString::from).collect())
    }

    fn stage<'a>(&'a self, drafts: &'a [Draft<'a>], durability: Durability) -> Result<Staged<'a>> {
        let mut seen = BTreeSet::new();
        let state = self.state();
        for draft in drafts {
            if draft.place.relative().as_os_str().is_empty() {
                return Err(fault::not_regular(draft.place.absolute(), "a directory"));
            }
            if !seen.insert(draft.place.relative()) {
                return Err(fault::twins(draft.place.absolute()));
            }
            state.still_expected(draft)?;
        }
        Ok(Staged::new(Pending { memory: self, drafts, durability }))
    }
}

struct Pending<'a> {
    memory: &'a Memory,
    drafts: &'a [Draft<'a>],
    durability: Durability,
}

impl Transaction for Pending<'_> {
    fn commit(self: Box<Self>) -> Result<Vec<Written>> {
        let mut state = self.memory.state();
        self.drafts.iter().try_for_each(|draft| state.still_expected(draft))?;
        // Two drafts of which one needs a folder where the other puts a file.
        let targets: BTreeSet<&Path> = self.drafts.iter().map(|draft| draft.place.relative()).collect();
        for draft in self.drafts {
            if draft.place.relative().ancestors().skip(1).any(|folder| targets.contains(folder)) {
                let path = fault::show(draft.place.absolute());
                return Err(Error::new(Code::PathInvalid, format!("{path} is beneath another file of this call."))
                    .next("Name each of them differently."));
            }
        }
        let publish = |draft: &Draft<'_>| {
            let method = match (draft.expect, self.durability.syncs()) {
                (Expect::Missing, _) => Method::Created,
                (Expect::Version { .. }, false) => Method::Renamed,
                (Expect::Version { .. }, true) => Method::Exchanged,
            };
            let stamp = state.put(draft.place.relative(), draft.pieces.concat(), true);
            Written { stamp, method, notes: Vec::new() }
        };
        Ok(self.drafts.iter().map(publish).collect())
    }
}
