//! The same semantics in memory, for tests and for front ends that keep files in memory.

use emendate_os::ffi::OsStrExt;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use emendate_core::Result;
use emendate_os::io::Errno;

use crate::{
    DirEntry, Durability, EntryKind, FileAttributes, FileMeta, FileSource, FileVersion, FileWrite, LINKS_MAX, NameInfo,
    RootInfo, SafePath, Staged, Store, error,
};

mod transaction;

use transaction::MemoryTransaction;

/// Files and symbolic links in memory beneath one root. There are no owners and no hard links, and nothing is ever
/// "racily clean": time is a counter. Clones share the files.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    infos: Vec<RootInfo>,
    state: Arc<Mutex<MemoryState>>,
}

#[derive(Debug, Default)]
struct MemoryState {
    /// The files and links, by path relative to the root.
    nodes: BTreeMap<PathBuf, MemoryNode>,
    /// Every directory beneath the root that ever contained something.
    folders: BTreeSet<PathBuf>,
    clock: i64,
    inodes: u64,
}

#[derive(Debug)]
struct MemoryNode {
    body: NodeContent,
    meta: FileMeta,
}

#[derive(Debug)]
enum NodeContent {
    File(Vec<u8>),
    Link(OsString),
}

/// Default mode of a new file.
const DEFAULT_MODE: u32 = 0o100_644;
const LINK_MODE: u32 = 0o120_777;

impl MemoryState {
    /// Overwrites a node, or replaces it with a new inode.
    fn put(&mut self, relative: &Path, body: NodeContent, mode: u32, replace: bool) -> FileMeta {
        self.clock += 1;
        let kept = self.nodes.get(relative).filter(|_| !replace).map(|node| node.meta.ino);
        let ino = kept.unwrap_or_else(|| {
            self.inodes += 1;
            self.inodes
        });
        let size = match &body {
            NodeContent::File(bytes) => bytes.len(),
            NodeContent::Link(target) => target.len(),
        };
        let meta = FileMeta {
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
        self.nodes.insert(relative.to_owned(), MemoryNode { body, meta });
        meta
    }

    fn is_folder(&self, relative: &Path) -> bool {
        relative.as_os_str().is_empty() || self.folders.contains(relative)
    }

    /// Returns a parent of `relative` that exists and is not a directory.
    fn blocking_file<'p>(&self, relative: &'p Path) -> Option<&'p Path> {
        relative.ancestors().skip(1).find(|folder| self.nodes.contains_key(*folder))
    }

    fn file(&self, path: &SafePath) -> Result<Option<(&[u8], FileMeta)>> {
        match self.nodes.get(path.relative()) {
            Some(MemoryNode { body: NodeContent::File(bytes), meta }) => Ok(Some((bytes, *meta))),
            Some(MemoryNode { body: NodeContent::Link(_), .. }) => {
                Err(error::os_error("open", path.absolute(), Errno::LOOP))
            }
            None if self.is_folder(path.relative()) => Err(error::not_regular(path.absolute(), "a directory")),
            None => Ok(None),
        }
    }

    /// Resolves links in `path`, relative to the root; the last component only with `follow`. Returns the resolved path
    /// and the first link met.
    fn resolve(&self, asked: &Path, root: &RootInfo, path: &Path, follow: bool) -> Result<(PathBuf, Option<PathBuf>)> {
        let (mut relative, mut via, mut links_followed) = (PathBuf::new(), None, 0);
        let mut pending = reversed_components(path);
        // The link whose target is being walked, and the number of components left after it.
        let mut inside: Option<(PathBuf, PathBuf, usize)> = None;
        while let Some(part) = pending.pop() {
            match Path::new(&part).components().next() {
                Some(Component::ParentDir) if !relative.pop() => {
                    return Err(error::outside_roots(asked, std::slice::from_ref(root)));
                }
                Some(Component::Normal(name)) => relative.push(name),
                _ => {}
            }
            let Some(MemoryNode { body: NodeContent::Link(target), .. }) = self.nodes.get(&relative) else {
                if let Some((at, target, left)) = &inside
                    && pending.len() >= *left
                    && !(self.nodes.contains_key(&relative) || self.is_folder(&relative))
                {
                    return Err(error::refused_link(asked, at, target, "is broken: nothing is there"));
                }
                continue;
            };
            if pending.is_empty() && !follow {
                break;
            }
            let at = root.canonical.join(&relative);
            links_followed += 1;
            if links_followed > LINKS_MAX {
                return Err(error::refused_link(asked, &at, Path::new(target), "loops: 40 links were followed"));
            }
            relative.pop();
            let target = Path::new(target);
            let rest = match target.strip_prefix(&root.canonical) {
                Ok(rest) => {
                    relative.clear();
                    rest
                }
                Err(_) if target.is_absolute() => {
                    return Err(error::refused_link(asked, &at, target, "leaves the roots"));
                }
                Err(_) => target,
            };
            if inside.as_ref().is_none_or(|(_, _, left)| pending.len() < *left) {
                inside = Some((at.clone(), target.to_owned(), pending.len()));
            }
            pending.extend(reversed_components(rest));
            via.get_or_insert(at);
        }
        Ok((relative, via))
    }
}

/// Returns the components of a path, the last one first.
fn reversed_components(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>()
}

impl MemoryStore {
    /// Creates an empty store with one root, an absolute path that need not exist.
    pub fn new(root: &Path) -> MemoryStore {
        let info = RootInfo { given: root.to_owned(), canonical: root.components().collect() };
        MemoryStore { infos: vec![info], state: Arc::default() }
    }

    /// Writes a file like another program that overwrites it in place: an existing one keeps its inode and mode. `path`
    /// is absolute beneath the root, or relative to it; anything else is ignored.
    pub fn put(&self, path: impl AsRef<Path>, bytes: impl Into<Vec<u8>>) {
        if let Some(relative) = self.relative(path.as_ref()) {
            let mut state = self.state();
            let mode = state.nodes.get(relative).map_or(DEFAULT_MODE, |node| node.meta.mode);
            state.put(relative, NodeContent::File(bytes.into()), mode, false);
        }
    }

    /// Returns the content of a file; `path` as in [`MemoryStore::put`].
    pub fn get(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let relative = self.relative(path.as_ref())?;
        match &self.state().nodes.get(relative)?.body {
            NodeContent::File(bytes) => Some(bytes.clone()),
            NodeContent::Link(_) => None,
        }
    }

    /// Returns every file with its content, by absolute path; links are omitted.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let root = &self.infos[0].canonical;
        let state = self.state();
        let files = state.nodes.iter().filter_map(|(path, node)| match &node.body {
            NodeContent::File(bytes) => Some((root.join(path), bytes.clone())),
            NodeContent::Link(_) => None,
        });
        files.collect()
    }

    /// Removes a file or link if it exists, but no directory; `path` as in [`MemoryStore::put`].
    pub fn remove(&self, path: impl AsRef<Path>) {
        if let Some(relative) = self.relative(path.as_ref()) {
            self.state().nodes.remove(relative);
        }
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        // Every change is made after the last step that can fail, so the state is consistent even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn root(&self) -> &RootInfo {
        // `new` adds exactly one root.
        &self.infos[0]
    }

    fn resolve(&self, path: &Path, follow: bool) -> Result<SafePath> {
        error::check_path_syntax(path, &self.infos)?;
        let canonical = &self.root().canonical;
        let Ok(inside) = path.strip_prefix(canonical) else {
            return Err(error::outside_roots(path, &self.infos));
        };
        let state = self.state();
        let (relative, via) = state.resolve(path, self.root(), inside, follow)?;
        if let Some(file) = state.blocking_file(&relative) {
            let file = error::show(canonical.join(file));
            return Err(error::invalid_path(
                path,
                &format!("goes through {file}, which is not a directory"),
                "Check the path.",
            ));
        }
        if path.as_os_str().as_bytes().ends_with(b"/") && !state.is_folder(&relative) {
            return Err(error::invalid_path(path, "ends in `/`, but is not a directory", "Remove the `/` at the end."));
        }
        Ok(SafePath::new(0, canonical, relative, path, via))
    }

    /// Looks up a path below a root; see [`Store::lookup_names`].
    fn look_up(&self, root: usize, path: &Path) -> Option<NameInfo> {
        let meta = self.state().nodes.get(path).map(|node| node.meta)?;
        let target = meta.is_link().then(|| self.resolve_path(&self.infos[root].canonical.join(path)));
        let target = target.and_then(Result::ok).and_then(|safe_path| self.metadata(&safe_path).ok().flatten());
        Some(NameInfo { meta, target })
    }

    fn relative<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let relative = if path.is_absolute() { path.strip_prefix(&self.root().canonical).ok()? } else { path };
        let plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
        (plain && relative.file_name().is_some()).then_some(relative)
    }
}

impl Store for MemoryStore {
    fn roots(&self) -> &[RootInfo] {
        &self.infos
    }

    fn resolve_path(&self, path: &Path) -> Result<SafePath> {
        self.resolve(path, true)
    }

    fn resolve_no_follow(&self, path: &Path) -> Result<SafePath> {
        self.resolve(path, false)
    }

    fn read_link(&self, path: &SafePath) -> Result<Option<OsString>> {
        Ok(match self.state().nodes.get(path.relative()) {
            Some(MemoryNode { body: NodeContent::Link(target), .. }) => Some(target.clone()),
            _ => None,
        })
    }

    fn metadata(&self, path: &SafePath) -> Result<Option<FileMeta>> {
        Ok(self.state().file(path)?.map(|(_, meta)| meta))
    }

    fn read(&self, path: &SafePath, limit: u64, mut buffer: Vec<u8>) -> Result<Option<FileVersion>> {
        let state = self.state();
        let Some((bytes, meta)) = state.file(path)? else {
            return Ok(None);
        };
        if meta.size > limit {
            return Err(error::too_large(path.absolute(), Some(meta.size), limit));
        }
        buffer.clear();
        buffer.extend_from_slice(bytes);
        Ok(Some(FileVersion { bytes: buffer, meta, racy: false }))
    }

    fn source(&self, path: &SafePath) -> Result<Option<FileSource>> {
        let state = self.state();
        let Some((bytes, meta)) = state.file(path)? else { return Ok(None) };
        Ok(Some(FileSource::memory(path.absolute(), meta, bytes.to_vec())))
    }

    fn siblings(&self, safe_path: &SafePath) -> Result<Vec<OsString>> {
        let parent = safe_path.relative().parent().unwrap_or(Path::new(""));
        let state = self.state();
        let here = state.nodes.keys().chain(&state.folders).filter(|path| path.parent() == Some(parent));
        let names: BTreeSet<&OsStr> = here.filter_map(|path| path.file_name()).collect();
        Ok(names.into_iter().take(crate::SIBLINGS_MAX).map(OsString::from).collect())
    }

    fn attributes(&self, path: &SafePath) -> Result<Option<FileAttributes>> {
        Ok(self.state().file(path)?.map(|_| FileAttributes::default()))
    }

    fn remove_dir(&self, safe_path: &SafePath) -> Result<bool> {
        let mut state = self.state();
        let empty = !state.nodes.keys().chain(&state.folders).any(|path| path.parent() == Some(safe_path.relative()));
        Ok(empty && state.folders.remove(safe_path.relative()))
    }

    fn list(&self, safe_path: &SafePath) -> Result<Option<Vec<DirEntry>>> {
        let state = self.state();
        if !state.is_folder(safe_path.relative()) {
            return Ok(None);
        }
        let nodes = state.nodes.iter().map(|(path, node)| (path, entry_kind(node)));
        let here = nodes.chain(state.folders.iter().map(|path| (path, EntryKind::Directory)));
        let here = here.filter(|(path, _)| path.parent() == Some(safe_path.relative()));
        let mut entries: Vec<DirEntry> = here
            .filter_map(|(path, kind)| Some(DirEntry { name: path.file_name()?.to_owned(), kind }))
            .take(crate::DIR_ENTRIES_MAX + 1)
            .collect();
        entries.sort_unstable();
        error::check_listing(safe_path, Some(entries))
    }

    fn lookup_names(&self, root: usize, folder: &Path, names: &[&OsStr]) -> Result<Vec<Option<NameInfo>>> {
        // A directory has only one name here, so aliases need no handling.
        Ok(names.iter().map(|name| self.look_up(root, &folder.join(name))).collect())
    }

    fn stage<'a>(&'a self, writes: &'a [FileWrite<'a>], durability: Durability) -> Result<Staged<'a>> {
        let mut seen = BTreeSet::new();
        let state = self.state();
        for write in writes {
            if write.path.relative().as_os_str().is_empty() {
                return Err(error::not_regular(write.path.absolute(), "a directory"));
            }
            if !seen.insert(write.path.relative()) {
                return Err(error::duplicate_targets(write.path.absolute()));
            }
            state.new_content(write)?;
        }
        state.all_expected(writes)?;
        Ok(Staged::new(MemoryTransaction { memory: self, writes, durability }))
    }
}

/// Returns the kind of a stored entry.
fn entry_kind(node: &MemoryNode) -> EntryKind {
    if matches!(node.body, NodeContent::File(_)) { EntryKind::File } else { EntryKind::Link }
}
