//! The same semantics in memory, for tests and for front ends that keep files in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use emendate_core::{Code, ContentId, Error, Result};
use rustix::io::Errno;

use crate::{
    Ahead, Attributes, Draft, Durability, Entry, Expect, Goal, Kind, MAX_LINKS, Method, Named, Piece, Place, RootInfo,
    Source, Staged, Stamp, Store, Transaction, Version, Written, fault,
};

/// Files and symbolic links in memory beneath one root. There are no owners and no hard links, and nothing is ever
/// "racily clean": time is a counter.
#[derive(Debug)]
pub struct Memory {
    infos: Vec<RootInfo>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By path relative to the root.
    nodes: BTreeMap<PathBuf, Node>,
    /// Every directory beneath the root that ever contained something.
    folders: BTreeSet<PathBuf>,
    clock: i64,
    inodes: u64,
}

#[derive(Debug)]
struct Node {
    body: Body,
    stamp: Stamp,
}

#[derive(Debug)]
enum Body {
    File(Vec<u8>),
    Link(OsString),
}

/// Default mode of a new file.
const PLAIN: u32 = 0o100_644;
const LINK: u32 = 0o120_777;

impl State {
    /// Overwrites a node, or replaces it with a new inode.
    fn put(&mut self, relative: &Path, body: Body, mode: u32, replace: bool) -> Stamp {
        self.clock += 1;
        let kept = self.nodes.get(relative).filter(|_| !replace).map(|node| node.stamp.ino);
        let ino = kept.unwrap_or_else(|| {
            self.inodes += 1;
            self.inodes
        });
        let size = match &body {
            Body::File(bytes) => bytes.len(),
            Body::Link(target) => target.len(),
        };
        let stamp = Stamp {
            dev: 1,
            ino,
            size: size as u64,
            mtime_ns: self.clock,
            ctime_ns: self.clock,
            mode,
            links: 1,
            uid: 0,
            gid: 0,
        };
        self.folders.extend(relative.ancestors().skip(1).filter(|it| !it.as_os_str().is_empty()).map(Path::to_owned));
        self.nodes.insert(relative.to_owned(), Node { body, stamp });
        stamp
    }

    fn is_folder(&self, relative: &Path) -> bool {
        relative.as_os_str().is_empty() || self.folders.contains(relative)
    }

    /// Returns a parent of `relative` that exists and is not a directory.
    fn in_the_way<'p>(&self, relative: &'p Path) -> Option<&'p Path> {
        relative.ancestors().skip(1).find(|folder| self.nodes.contains_key(*folder))
    }

    fn file(&self, place: &Place) -> Result<Option<(&[u8], Stamp)>> {
        match self.nodes.get(place.relative()) {
            Some(Node { body: Body::File(bytes), stamp }) => Ok(Some((bytes, *stamp))),
            Some(Node { body: Body::Link(_), .. }) => Err(fault::os("open", place.absolute(), Errno::LOOP)),
            None if self.is_folder(place.relative()) => Err(fault::not_regular(place.absolute(), "a directory")),
            None => Ok(None),
        }
    }

    fn still_expected(&self, draft: &Draft<'_>) -> Result<()> {
        let (path, relative) = (draft.place.absolute(), draft.place.relative());
        match (draft.expect, self.nodes.get(relative)) {
            (Expect::Missing, None) if self.in_the_way(relative).is_some() => {
                Err(fault::raced(path, "has lost its folder"))
            }
            (Expect::Missing, None) if !self.is_folder(relative) => Ok(()),
            (Expect::Missing, _) => Err(fault::raced(path, "was created meanwhile")),
            (Expect::Version { .. } | Expect::Content { .. }, None) => Err(fault::raced(path, "was removed")),
            (Expect::Version { stamp, .. }, Some(node)) if !node.stamp.same_file(stamp) => {
                Err(fault::raced(path, "was replaced by another file"))
            }
            (Expect::Version { bytes, .. }, Some(Node { body: Body::File(now), .. })) if now == bytes => Ok(()),
            (Expect::Content { source, .. }, Some(node)) if !node.stamp.same_file(source.stamp()) => {
                Err(fault::raced(path, "was replaced by another file"))
            }
            (Expect::Content { source, .. }, Some(Node { body: Body::File(now), .. }))
                if source.bytes() == Some(now) =>
            {
                Ok(())
            }
            (Expect::Version { .. } | Expect::Content { .. }, Some(_)) => Err(fault::raced(path, "was changed")),
            (Expect::Link { target }, Some(Node { body: Body::Link(now), .. })) if now == target => Ok(()),
            (Expect::Link { .. }, _) => Err(fault::raced(path, "is not the link any more that it was")),
        }
    }

    /// Returns the content and mode that a draft writes; `None` for a removal.
    fn made(&self, draft: &Draft<'_>) -> Result<Option<(Body, u32)>> {
        let kept = match draft.goal {
            Goal::Gone if matches!(draft.expect, Expect::Missing) => {
                return Err(fault::nothing(draft.place.absolute()));
            }
            Goal::Gone => return Ok(None),
            Goal::Link { target } => return Ok(Some((Body::Link(target.to_owned()), LINK))),
            Goal::File { like: Some(like), .. } => {
                let (_, stamp) = self.file(like)?.ok_or_else(|| fault::os("open", like.absolute(), Errno::NOENT))?;
                stamp.mode
            }
            Goal::File { .. } | Goal::Spliced { .. } => match self.nodes.get(draft.place.relative()) {
                Some(Node { body: Body::File(_), stamp }) => stamp.mode,
                _ => PLAIN,
            },
        };
        let mode = kept & !0o7777 | draft.goal.mode(kept);
        let bytes = match draft.goal {
            Goal::Spliced { source, pieces } => spliced(source, pieces)?,
            goal => goal.pieces().concat(),
        };
        Ok(Some((Body::File(bytes), mode)))
    }

    /// Predicts the metadata of a draft's file after the commit.
    fn predicted(&self, draft: &Draft<'_>) -> Stamp {
        let before = self.nodes.get(draft.place.relative()).map(|node| node.stamp).unwrap_or_default();
        match self.made(draft) {
            Ok(Some((_, mode))) => Stamp { mode, size: draft.goal.length(), ..before },
            _ => before,
        }
    }

    /// Publishes a draft with the result of [`State::made`].
    fn publish(&mut self, draft: &Draft<'_>, made: Option<(Body, u32)>, syncs: bool) -> Result<Written> {
        let relative = draft.place.relative();
        let method = match (draft.expect, syncs) {
            (Expect::Missing, _) => Method::Created,
            (_, _) if made.is_none() => Method::Removed,
            (_, false) => Method::Renamed,
            (_, true) => Method::Exchanged,
        };
        let stamp = if let Some((body, mode)) = made {
            self.put(relative, body, mode, true)
        } else {
            let gone = self.nodes.remove(relative).map(|node| node.stamp);
            gone.ok_or_else(|| fault::raced(draft.place.absolute(), "was removed"))?
        };
        Ok(Written { stamp, method, notes: Vec::new() })
    }

    /// Resolves links in `path`, relative to the root; the last component only with `follow`. Returns the resolved path
    /// and the first link met.
    fn resolve(&self, asked: &Path, root: &RootInfo, path: &Path, follow: bool) -> Result<(PathBuf, Option<PathBuf>)> {
        let outside = || fault::outside(asked, std::slice::from_ref(root));
        let parts = |path: &Path| path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
        let (mut relative, mut via, mut hops) = (PathBuf::new(), None, 0);
        let mut pending = parts(path);
        // The link whose target is being walked, and the number of components left after it.
        let mut inside: Option<(PathBuf, PathBuf, usize)> = None;
        while let Some(part) = pending.pop() {
            match Path::new(&part).components().next() {
                Some(Component::ParentDir) if !relative.pop() => return Err(outside()),
                Some(Component::Normal(name)) => relative.push(name),
                _ => {}
            }
            let Some(Node { body: Body::Link(target), .. }) = self.nodes.get(&relative) else {
                if let Some((at, target, left)) = &inside
                    && pending.len() >= *left
                    && !(self.nodes.contains_key(&relative) || self.is_folder(&relative))
                {
                    return Err(fault::symlink(asked, at, target, "is broken: nothing is there"));
                }
                continue;
            };
            if pending.is_empty() && !follow {
                break;
            }
            let at = root.canonical.join(&relative);
            hops += 1;
            if hops > MAX_LINKS {
                return Err(fault::symlink(asked, &at, Path::new(target), "loops: 40 links were followed"));
            }
            relative.pop();
            let target = Path::new(target);
            let rest = match target.strip_prefix(&root.canonical) {
                Ok(rest) => {
                    relative.clear();
                    rest
                }
                Err(_) if target.is_absolute() => {
                    return Err(fault::symlink(asked, &at, target, "leaves the roots"));
                }
                Err(_) => target,
            };
            if inside.as_ref().is_none_or(|(_, _, left)| pending.len() < *left) {
                inside = Some((at.clone(), target.to_owned(), pending.len()));
            }
            pending.extend(parts(rest));
            via.get_or_insert(at);
        }
        Ok((relative, via))
    }
}

/// Returns the bytes of a spliced file.
fn spliced(source: &Source, pieces: &[Piece<'_>]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for piece in pieces {
        match *piece {
            Piece::New(bytes) => out.extend_from_slice(bytes),
            Piece::Kept { at, len } => {
                let from = out.len();
                out.resize(from + usize::try_from(len).unwrap_or(usize::MAX), 0);
                source.read(at, &mut out[from..])?;
            }
        }
    }
    Ok(out)
}

impl Memory {
    /// Creates an empty store with one root, an absolute path that need not exist.
    pub fn new(root: &Path) -> Memory {
        let info = RootInfo { given: root.to_owned(), canonical: root.components().collect() };
        Memory { infos: vec![info], state: Mutex::default() }
    }

    /// Writes a file like another program that overwrites it in place: an existing one keeps its inode and mode. `path`
    /// is absolute beneath the root, or relative to it; anything else is ignored.
    pub fn put(&self, path: impl AsRef<Path>, bytes: impl Into<Vec<u8>>) {
        if let Some(relative) = self.relative(path.as_ref()) {
            let mut state = self.state();
            let mode = state.nodes.get(relative).map_or(PLAIN, |node| node.stamp.mode);
            state.put(relative, Body::File(bytes.into()), mode, false);
        }
    }

    /// Returns the content of a file; `path` as in [`Memory::put`].
    pub fn get(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let relative = self.relative(path.as_ref())?;
        match &self.state().nodes.get(relative)?.body {
            Body::File(bytes) => Some(bytes.clone()),
            Body::Link(_) => None,
        }
    }

    /// Removes a file or link if it exists, but no directory; `path` as in [`Memory::put`].
    pub fn remove(&self, path: impl AsRef<Path>) {
        if let Some(relative) = self.relative(path.as_ref()) {
            self.state().nodes.remove(relative);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is made after the last step that can fail, so the state is consistent even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn root(&self) -> &RootInfo {
        // `new` adds exactly one root.
        &self.infos[0]
    }

    fn admitted(&self, path: &Path, follow: bool) -> Result<Place> {
        fault::admissible(path, &self.infos)?;
        let canonical = &self.root().canonical;
        let Ok(inside) = path.strip_prefix(canonical) else {
            return Err(fault::outside(path, &self.infos));
        };
        let state = self.state();
        let (relative, via) = state.resolve(path, self.root(), inside, follow)?;
        if let Some(file) = state.in_the_way(&relative) {
            let file = fault::show(canonical.join(file));
            return Err(fault::invalid(path, &format!("goes through {file}, which is no folder"), "Check the path."));
        }
        if path.as_os_str().as_bytes().ends_with(b"/") && !state.is_folder(&relative) {
            return Err(fault::invalid(path, "ends in `/`, but is no folder", "Leave the `/` at the end out."));
        }
        Ok(Place::new(0, canonical, relative, path, via))
    }

    /// Looks up a path below a root; see [`Store::named`].
    fn look_up(&self, root: usize, path: &Path) -> Option<Named> {
        let stamp = self.state().nodes.get(path).map(|node| node.stamp)?;
        let leads_to = stamp.is_link().then(|| self.admit(&self.infos[root].canonical.join(path)));
        let leads_to = leads_to.and_then(Result::ok).and_then(|place| self.stamp(&place).ok().flatten());
        Some(Named { stamp, leads_to })
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
        self.admitted(path, true)
    }

    fn admit_link(&self, path: &Path) -> Result<Place> {
        self.admitted(path, false)
    }

    fn link(&self, place: &Place) -> Result<Option<OsString>> {
        Ok(match self.state().nodes.get(place.relative()) {
            Some(Node { body: Body::Link(target), .. }) => Some(target.clone()),
            _ => None,
        })
    }

    fn stamp(&self, place: &Place) -> Result<Option<Stamp>> {
        Ok(self.state().file(place)?.map(|(_, stamp)| stamp))
    }

    fn read(&self, place: &Place, limit: u64, mut buffer: Vec<u8>) -> Result<Option<Version>> {
        let state = self.state();
        let Some((bytes, stamp)) = state.file(place)? else {
            return Ok(None);
        };
        if stamp.size > limit {
            return Err(fault::too_large(place.absolute(), Some(stamp.size), limit));
        }
        buffer.clear();
        buffer.extend_from_slice(bytes);
        Ok(Some(Version { bytes: buffer, stamp, racy: false }))
    }

    fn source(&self, place: &Place) -> Result<Option<Source>> {
        let state = self.state();
        let Some((bytes, stamp)) = state.file(place)? else { return Ok(None) };
        Ok(Some(Source::memory(place.absolute(), stamp, bytes.to_vec())))
    }

    fn siblings(&self, place: &Place) -> Result<Vec<OsString>> {
        let parent = place.relative().parent().unwrap_or(Path::new(""));
        let state = self.state();
        let here = state.nodes.keys().chain(&state.folders).filter(|path| path.parent() == Some(parent));
        let names: BTreeSet<&OsStr> = here.filter_map(|path| path.file_name()).collect();
        Ok(names.into_iter().take(crate::SIBLINGS).map(OsString::from).collect())
    }

    fn attributes(&self, place: &Place) -> Result<Option<Attributes>> {
        Ok(self.state().file(place)?.map(|_| Attributes::default()))
    }

    fn remove_folder(&self, place: &Place) -> Result<bool> {
        let mut state = self.state();
        let inside = |path: &&PathBuf| path.parent() == Some(place.relative());
        let empty = !state.nodes.keys().chain(&state.folders).any(|path| inside(&path));
        Ok(empty && state.folders.remove(place.relative()))
    }

    fn list(&self, place: &Place) -> Result<Option<Vec<Entry>>> {
        let state = self.state();
        if !state.is_folder(place.relative()) {
            return Ok(None);
        }
        let kind = |node: &Node| if matches!(node.body, Body::File(_)) { Kind::File } else { Kind::Link };
        let nodes = state.nodes.iter().map(|(path, node)| (path, kind(node)));
        let here = nodes.chain(state.folders.iter().map(|path| (path, Kind::Folder)));
        let here = here.filter(|(path, _)| path.parent() == Some(place.relative()));
        let mut entries: Vec<Entry> = here
            .filter_map(|(path, kind)| Some(Entry { name: path.file_name()?.to_owned(), kind }))
            .take(crate::MAX_ENTRIES + 1)
            .collect();
        entries.sort_unstable();
        fault::listed(place, Some(entries))
    }

    fn named(&self, root: usize, folder: &Path, names: &[&OsStr]) -> Result<Vec<Option<Named>>> {
        // A directory has only one name here, so aliases need no handling.
        Ok(names.iter().map(|name| self.look_up(root, &folder.join(name))).collect())
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
            state.made(draft)?;
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
    fn ahead(&self) -> Ahead {
        let state = self.memory.state();
        let mut made: Vec<PathBuf> = Vec::new();
        for folder in self.drafts.iter().flat_map(|draft| draft.place.relative().ancestors().skip(1)) {
            if !state.is_folder(folder) {
                made.push(self.memory.root().canonical.join(folder));
            }
        }
        made.sort_unstable();
        made.dedup();
        let spliced = self.drafts.first().and_then(|draft| match draft.goal {
            Goal::Spliced { source, pieces } => Some(ContentId::of(&spliced(source, pieces).ok()?)),
            _ => None,
        });
        Ahead { stamps: self.drafts.iter().map(|draft| state.predicted(draft)).collect(), made, spliced }
    }

    fn commit(self: Box<Self>) -> Result<Vec<Written>> {
        let mut state = self.memory.state();
        self.drafts.iter().try_for_each(|draft| state.still_expected(draft))?;
        // One draft may need a directory where another writes a file.
        let targets: BTreeSet<&Path> = self.drafts.iter().map(|draft| draft.place.relative()).collect();
        for draft in self.drafts {
            if draft.place.relative().ancestors().skip(1).any(|folder| targets.contains(folder)) {
                let path = fault::show(draft.place.absolute());
                return Err(Error::new(Code::PathInvalid, format!("{path} is beneath another file of this call."))
                    .next("Name each of them differently."));
            }
        }
        // Everything that may fail, or reads the old state, happens before the first change.
        let made = self.drafts.iter().map(|draft| state.made(draft)).collect::<Result<Vec<_>>>()?;
        let syncs = self.durability.syncs();
        self.drafts.iter().zip(made).map(|(draft, made)| state.publish(draft, made, syncs)).collect()
    }
}
