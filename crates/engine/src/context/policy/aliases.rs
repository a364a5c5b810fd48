//! Other names of one file or directory, found by device and inode: since no list of tricks can be complete, the target
//! of a guarded name is compared with the target of the path.

use crate::context::policy::names::fold_path;
use crate::context::policy::{Access, guarded, spelled_out, split};
use emendate_core::Result;
use emendate_fs::{FileMeta, SafePath, Store};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Names examined below one guarded directory, for a file with several hard links.
const EXAMINED_NAMES_MAX: usize = 2_000;

/// Directories that are too large for that: git's objects, and installed packages.
const SKIPPED_DIRECTORIES: &[&str] = &["objects", "node_modules"];

/// Returns guarded paths below the root that are the same entry, or one of its ancestors, under another name. Examines
/// the guarded names next to each component of the path; for a file with several hard links, also the content of
/// guarded directories.
///
/// Errors: `io.*` if a directory on the way cannot be read.
pub(super) fn guarded_aliases(store: &dyn Store, safe_path: &SafePath, access: Access) -> Result<Vec<PathBuf>> {
    let (wanted, parts) = (spelled_out(access), safe_path.relative());
    let mut known: Vec<(FileMeta, PathBuf)> = Vec::new();
    let mut found = Vec::new();
    let mut last = None;
    let (mut folder, mut rest) = (PathBuf::new(), parts.iter());
    for met in store.walk_components(safe_path.root(), parts, wanted)? {
        let Some(part) = rest.next() else { break };
        let beside =
            met.siblings.into_iter().map(|(nth, it)| (&wanted.names()[nth], it)).filter(|(name, _)| *name != part);
        known.extend(beside.map(|(name, it)| (leads_to(it), folder.join(name))));
        let below = rest.as_path();
        let same = known.iter().filter(|(meta, _)| meta.same_file(&met.meta));
        found.extend(same.map(|(_, path)| if below.as_os_str().is_empty() { path.clone() } else { path.join(below) }));
        last = Some(met.meta);
        folder.push(part);
    }
    // A missing entry has no other name.
    let last = last.filter(|_| folder == *parts);
    if let Some(file) = last.filter(|it| it.links > 1 && !it.is_dir()) {
        found.extend(hard_links(store, safe_path, &file, access)?);
    }
    Ok(found)
}

fn leads_to(named: emendate_fs::NameInfo) -> FileMeta {
    named.target.unwrap_or(named.meta)
}

/// Returns guarded names of a file with several: next to it, in its ancestors, and in guarded directories there.
fn hard_links(store: &dyn Store, safe_path: &SafePath, file: &FileMeta, access: Access) -> Result<Option<PathBuf>> {
    let mut folders: VecDeque<PathBuf> = VecDeque::new();
    for above in safe_path.relative().ancestors().skip(1) {
        let (same, inner) = scan_directory(store, safe_path.root(), above, file, |path| {
            guarded(&split(&fold_path(path)), access).is_some()
        })?;
        if let Some(same) = same.filter(|same| same != safe_path.relative()) {
            return Ok(Some(same));
        }
        folders.extend(inner);
    }
    let mut left = EXAMINED_NAMES_MAX;
    while let Some(folder) = folders.pop_front() {
        let (same, inner) = scan_directory(store, safe_path.root(), &folder, file, |_| {
            left = left.saturating_sub(1);
            left > 0
        })?;
        if same.is_some() || left == 0 {
            return Ok(same);
        }
        folders.extend(inner);
    }
    Ok(None)
}

/// Finds this file in a directory among the paths that are `wanted`; collects the directories among them.
fn scan_directory(
    store: &dyn Store,
    root: usize,
    folder: &Path,
    file: &FileMeta,
    mut wanted: impl FnMut(&Path) -> bool,
) -> Result<(Option<PathBuf>, Vec<PathBuf>)> {
    // Any name in it serves to resolve the directory.
    let Ok(inside) = store.resolve_no_follow(&store.roots()[root].canonical.join(folder).join("x")) else {
        return Ok((None, Vec::new()));
    };
    let names = store.siblings(&inside)?;
    let names: Vec<&OsStr> = names
        .iter()
        .map(|name| &**name)
        .filter(|name| !SKIPPED_DIRECTORIES.iter().any(|left_out| name == left_out) && wanted(&folder.join(name)))
        .collect();
    let (mut same, mut folders) = (None, Vec::new());
    for (name, it) in names.iter().zip(store.lookup_names(root, folder, &names)?) {
        let Some(it) = it else { continue };
        if leads_to(it).same_file(file) {
            same = Some(folder.join(name));
        } else if it.meta.is_dir() {
            folders.push(folder.join(name));
        }
    }
    Ok((same, folders))
}
