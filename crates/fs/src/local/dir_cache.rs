//! Lookup of many names in one directory. Asking for each name is expensive, and most are missing; listing a small
//! directory takes one call, after which only names that may exist have to be looked up.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

use emendate_core::Result;
use rustix::fs::{OFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use super::probe::FINE_STAMP_NS;
use super::{LocalStore, read, sys};
use crate::{FileMeta, NameInfo, NameSet, PathComponent, components, error};

/// Up to this many names are stat'ed one by one instead of listing the directory.
const STAT_EACH_MAX: usize = 8;

/// Maximum size of a directory inode, in bytes, for a listing that is used once; below a hundred names on most file
/// systems.
const LISTED_DIR_BYTES_MAX: u64 = 8 << 10;

/// The same for a listing that can be cached. A directory does not shrink when names are removed, so one that once
/// contained the temporary files of a large batch is bigger than its content.
const CACHED_DIR_BYTES_MAX: u64 = 64 << 10;

/// Buffer size for listing a small directory, and for a large one. Only one call is made: between two calls a name may
/// move from the unread part to the part already read.
const LIST_BUFFER_BYTES: usize = 16 << 10;
const LARGE_LIST_BUFFER_BYTES: usize = 256 << 10;

/// Maximum number of directories in the cache.
const CACHED_DIRS_MAX: usize = 512;

/// See [`Store::named`](crate::Store::named).
pub(super) fn lookup_names(
    local: &LocalStore,
    root: usize,
    folder: &Path,
    names: &[&OsStr],
) -> Result<Vec<Option<NameInfo>>> {
    let many = names.len() > STAT_EACH_MAX && local.roots[root].trusted;
    let open = |flags| local.open_beneath(root, folder, flags | OFlags::DIRECTORY);
    let opened = match if many { open(OFlags::RDONLY) } else { open(OFlags::PATH) } {
        // Search permission without read permission.
        Err(Errno::ACCESS) if many => open(OFlags::PATH),
        other => other,
    };
    let fd = match opened {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(vec![None; names.len()]),
        other => {
            other.map_err(|errno| error::os_error("look into", &local.infos[root].canonical.join(folder), errno))?
        }
    };
    let may_be = if many { candidates(local, root, &fd, names) } else { None };
    let found = names
        .iter()
        .enumerate()
        .map(|(at, name)| may_be.as_ref().is_none_or(|may_be| may_be[at]).then(|| name_info(&fd, name)).flatten());
    Ok(found.collect())
}

/// Looks up one name in a directory.
fn name_info(folder: &OwnedFd, name: impl AsRef<OsStr>) -> Option<NameInfo> {
    let stamp = read::file_meta(&sys::statat(folder, &name).ok()?);
    let leads_to = stamp.is_link().then(|| sys::statat_followed(folder, &name).ok()).flatten();
    Some(NameInfo { meta: stamp, target: leads_to.map(|stat| read::file_meta(&stat)) })
}

/// Implements [`Store::walk_components`](crate::Store::walk_components). An unchanged directory in the cache is not
/// listed again: then each component costs one `stat`, which also shows whether it is a directory.
pub(super) fn walk_components(
    local: &LocalStore,
    root: usize,
    path: &Path,
    wanted: &NameSet,
) -> Result<Vec<PathComponent>> {
    let top = &local.roots[root].fd;
    let Ok(mut here) = sys::fstat(top).map(|stat| read::file_meta(&stat)) else {
        return components::one_by_one(local, root, path, wanted);
    };
    let (mut met, mut folder) = (Vec::new(), PathBuf::new());
    for part in path {
        if !here.is_dir() {
            break;
        }
        let below = folder.join(part);
        let Ok(stat) = sys::statat(top, &below) else { break };
        let beside = match cached_candidates(local, &here, wanted) {
            Some(may_be) => may_be
                .into_iter()
                .filter_map(|at| Some((at, name_info(top, folder.join(&wanted.names()[at]))?)))
                .collect(),
            None => components::names_in_dir(local, root, &folder, wanted)?,
        };
        (folder, here) = (below, read::file_meta(&stat));
        met.push(PathComponent { meta: here, siblings: beside });
    }
    Ok(met)
}

/// Returns the names that may be in the directory with this metadata, if its listing is cached and current.
fn cached_candidates(local: &LocalStore, folder: &FileMeta, wanted: &NameSet) -> Option<Vec<usize>> {
    let kept = local.dir_cache.lock().unwrap_or_else(PoisonError::into_inner);
    let known = kept.get(&(folder.dev, folder.ino)).filter(|known| known.ctime_ns == Some(folder.ctime_ns))?;
    // Only the kernel knows which non-ASCII names are equal in a case-insensitive directory.
    if !wanted.is_ascii() {
        return None;
    }
    known.names.as_ref().map(|there| wanted.candidates(there))
}

/// A cached directory listing.
#[derive(Debug)]
pub(super) struct DirListing {
    /// Time of the directory's last change, if that is long enough ago that a later change must have another stamp.
    ctime_ns: Option<i64>,
    /// Hashes of the lower-case names, sorted; a hash collision only costs one extra lookup. `None` if the listing is
    /// incomplete or not ASCII.
    names: Option<Vec<u64>>,
    /// The directory, kept open so that the kernel remembers that its fresh stamp was read; see [`refresh_listing`].
    open: Option<OwnedFd>,
}

/// Maximum number of directories refreshed after a commit.
pub(super) const REFRESHED_DIRS_MAX: usize = 8;

/// Returns which names may be in the directory at one moment. `None` if that is unknown and every name has to be looked
/// up: the directory is large, its file system may treat different names as equal, or one of its names is not ASCII, so
/// that only the kernel knows what it equals in a case-insensitive directory.
fn candidates(local: &LocalStore, root: usize, folder: &OwnedFd, names: &[&OsStr]) -> Option<Vec<bool>> {
    let now = read::now_ns();
    let stamp = read::file_meta(&sys::fstat(folder).ok()?);
    // The kernel may give two changes in quick succession the same stamp.
    let stands = now.saturating_sub(stamp.ctime_ns) > local.grain_ns(root, &stamp);
    let most = if stands { CACHED_DIR_BYTES_MAX } else { LISTED_DIR_BYTES_MAX };
    if stamp.size > most || !local.is_trusted(root, &stamp) || names.iter().any(|name| !name.is_ascii()) {
        return None;
    }
    // A name of several components may exist if its first component does.
    let may_be = |there: &Vec<u64>| {
        names.iter().map(|name| there.binary_search(&components::hash_of_first_component(name)).is_ok()).collect()
    };
    let id = (stamp.dev, stamp.ino);
    match lock_cache(local).get(&id) {
        Some(known) if known.ctime_ns == Some(stamp.ctime_ns) => return known.names.as_ref().map(may_be),
        // The listing could not be cached, and would cost more than the lookups.
        Some(known) if !stands && known.names.as_ref().is_none_or(|there| there.len() > names.len()) => return None,
        _ => {}
    }
    let there = list_name_hashes(folder, stamp.size);
    let stands = stands && !is_encrypted(folder);
    let answer = there.as_ref().map(may_be);
    let mut kept = lock_cache(local);
    if kept.len() >= CACHED_DIRS_MAX {
        kept.clear();
    }
    kept.insert(id, DirListing { ctime_ns: stands.then_some(stamp.ctime_ns), names: there, open: None });
    answer
}

/// Locks the cache; a thread that panicked left it usable.
fn lock_cache(local: &LocalStore) -> MutexGuard<'_, HashMap<(u64, u64), DirListing>> {
    local.dir_cache.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lists a directory in which names changed, so that the next lookup finds it in the cache. An optimization for idle
/// time; nothing depends on it.
///
/// The stamp is recent. A kernel with fine-grained stamps gives the first change after a read of the stamp another
/// stamp, as long as it keeps the inode in memory, which an open descriptor guarantees.
pub(super) fn refresh_listing(local: &LocalStore, root: usize, folder: &Path) {
    let Ok(fd) = local.open_beneath(root, folder, OFlags::RDONLY | OFlags::DIRECTORY) else { return };
    let Ok(stamp) = sys::fstat(&fd).map(|stat| read::file_meta(&stat)) else { return };
    let id = (stamp.dev, stamp.ino);
    let stale =
        lock_cache(local).get(&id).is_none_or(|known| known.names.is_some() && known.ctime_ns != Some(stamp.ctime_ns));
    let fine = local.grain_ns(root, &stamp) == FINE_STAMP_NS;
    if !stale || !fine || stamp.size > CACHED_DIR_BYTES_MAX || is_encrypted(&fd) {
        return;
    }
    let there = list_name_hashes(&fd, stamp.size);
    let old = read::now_ns().saturating_sub(FINE_STAMP_NS);
    let mut kept = lock_cache(local);
    if kept.len() >= CACHED_DIRS_MAX {
        kept.clear();
    }
    // Old stamps are reliable without an open descriptor.
    kept.values_mut()
        .filter(|known| known.ctime_ns.is_none_or(|ctime| ctime < old))
        .for_each(|known| known.open = None);
    kept.insert(id, DirListing { ctime_ns: Some(stamp.ctime_ns), names: there, open: Some(fd) });
}

/// True if the directory is encrypted (its names then change with the key, without a new stamp) or if that is unknown.
fn is_encrypted(folder: &OwnedFd) -> bool {
    let found = sys::statx(folder, StatxFlags::INO);
    found.map_or(true, |found| found.stx_attributes.contains(StatxAttributes::ENCRYPTED))
}

/// Returns [`DirListing::names`]; `None` if the listing is incomplete or not ASCII.
fn list_name_hashes(folder: &OwnedFd, size: u64) -> Option<Vec<u64>> {
    let (mut there, mut plain) = (Vec::new(), true);
    let each = |name: &[u8]| {
        plain &= name.is_ascii();
        there.push(components::hash_ignoring_case(name));
    };
    let whole = if size <= LISTED_DIR_BYTES_MAX {
        sys::list_in_one_call(folder, &mut [MaybeUninit::uninit(); LIST_BUFFER_BYTES], each)
    } else {
        let mut room: Vec<u8> = Vec::with_capacity(LARGE_LIST_BUFFER_BYTES);
        sys::list_in_one_call(folder, room.spare_capacity_mut(), each)
    };
    there.sort_unstable();
    (whole.ok()? && plain).then_some(there)
}

#[cfg(test)]
mod tests {
    use crate::{LocalStore, NameSet, Store};
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    /// Looks up all names at once, checks that one by one gives the same answers, and returns the names found.
    fn alike(local: &LocalStore, folder: &str, names: &[&str]) -> Vec<String> {
        let names: Vec<&OsStr> = names.iter().map(OsStr::new).collect();
        let folder = Path::new(folder);
        let at_once = local.lookup_names(0, folder, &names).unwrap();
        let alone: Vec<_> = names.iter().flat_map(|name| local.lookup_names(0, folder, &[*name]).unwrap()).collect();
        assert_eq!(at_once, alone);
        let there = names.iter().zip(&at_once).filter(|(_, found)| found.is_some());
        there.map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    const ASKED: [&str; 12] = [
        ".env",
        ".git",
        ".vscode",
        ".aws/credentials",
        ".none",
        "id_rsa",
        "x",
        ".ENV",
        "dangling",
        "fifo",
        ".jj",
        "caf\u{e9}",
    ];

    #[test]
    fn batch_lookup_agrees_with_single_lookups() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let local = LocalStore::open(&[root.to_owned()]).unwrap();
        assert!(alike(&local, "", &ASKED[..11]).is_empty());
        assert!(alike(&local, "missing", &ASKED[..11]).is_empty());
        fs::create_dir_all(root.join(".aws")).unwrap();
        fs::write(root.join(".aws/credentials"), "key").unwrap();
        fs::write(root.join(".env"), "key").unwrap();
        fs::create_dir(root.join("config")).unwrap();
        symlink("config", root.join(".vscode")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        assert_eq!(alike(&local, "", &ASKED[..11]), [".env", ".vscode", ".aws/credentials", "dangling"]);
        let leads = local.lookup_names(0, Path::new(""), &ASKED.map(OsStr::new)).unwrap()[2].unwrap().target.unwrap();
        let held = local.lookup_names(0, Path::new(""), &[OsStr::new("config")]).unwrap()[0].unwrap().meta;
        assert!(leads.same_file(&held));
        // One moment later.
        fs::rename(root.join(".env"), root.join(".git")).unwrap();
        fs::hard_link(root.join(".git"), root.join("id_rsa")).unwrap();
        assert_eq!(alike(&local, "", &ASKED[..11]), [".git", ".vscode", ".aws/credentials", "id_rsa", "dangling"]);
        // A directory with a name that is not ASCII.
        fs::write(root.join("caf\u{e9}"), "").unwrap();
        assert_eq!(alike(&local, "", &ASKED).len(), 6);
        assert_eq!(alike(&local, ".vscode", &ASKED[..11]), <[&str; 0]>::default(), "a link is not a directory");
        assert_eq!(alike(&local, ".aws", &["credentials"; 10]).len(), 10);
    }

    #[test]
    fn names_in_a_large_directory_are_found_at_any_position() {
        let folder = tempfile::tempdir().unwrap();
        let local = LocalStore::open(&[folder.path().to_owned()]).unwrap();
        for nth in 0..1500 {
            fs::write(folder.path().join(format!("file-with-a-name-that-fills-the-list-{nth}")), "").unwrap();
            if nth % 150 == 0 {
                fs::write(folder.path().join(format!("wanted{}", nth / 150)), "").unwrap();
                let asked: Vec<String> = (0..10).map(|nth| format!("wanted{nth}")).collect();
                let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
                assert_eq!(alike(&local, "", &asked), asked[..=nth / 150]);
            }
        }
    }

    #[test]
    fn cached_listing_is_invalidated_by_the_first_change() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let local = LocalStore::open(&[root.to_owned()]).unwrap();
        let changes: [(&dyn Fn(), &[&str]); 5] = [
            (&|| fs::write(root.join("other"), "").unwrap(), &[]),
            (&|| fs::rename(root.join("other"), root.join(".env")).unwrap(), &[".env"]),
            (&|| symlink("nowhere", root.join(".git")).unwrap(), &[".env", ".git"]),
            (&|| fs::remove_file(root.join(".env")).unwrap(), &[".git"]),
            // Setting the modification time back does not set the change time back.
            (
                &|| {
                    let before = fs::metadata(root).unwrap().modified().unwrap();
                    fs::write(root.join(".env"), "").unwrap();
                    fs::File::open(root).unwrap().set_modified(before).unwrap();
                },
                &[".env", ".git"],
            ),
        ];
        for (change, there) in changes {
            // Until the directory has been unchanged long enough to be cached.
            while !kept(&local, root) {
                alike(&local, "", &ASKED[..11]);
            }
            change();
            assert_eq!(alike(&local, "", &ASKED[..11]), there);
        }
    }

    /// Returns the wanted names found along a path.
    fn beside(local: &LocalStore, path: &str) -> Vec<Vec<String>> {
        let wanted = NameSet::new(ASKED);
        let at_once = local.walk_components(0, Path::new(path), &wanted).unwrap();
        let one_by_one = crate::components::one_by_one(local, 0, Path::new(path), &wanted).unwrap();
        assert_eq!(at_once, one_by_one);
        let name = |at: usize| wanted.names()[at].to_string_lossy().into_owned();
        at_once.into_iter().map(|met| met.siblings.into_iter().map(|(at, _)| name(at)).collect()).collect()
    }

    #[test]
    fn directory_that_once_was_large_is_cached() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let local = LocalStore::open(&[root.to_owned()]).unwrap();
        let name = |nth: usize| root.join(format!("file-with-a-name-that-fills-the-list-{nth}"));
        (0..500).for_each(|nth| fs::write(name(nth), "").unwrap());
        for count in [500, 100] {
            fs::create_dir(root.join(".git")).unwrap();
            let started = std::time::Instant::now();
            // On other file systems it takes two seconds, and on some the listing is never cached.
            while !kept(&local, root) && started.elapsed().as_secs() < 4 {
                assert_eq!(alike(&local, "", &ASKED[..11]), [".git"]);
            }
            assert_eq!(beside(&local, name(7).file_name().unwrap().to_str().unwrap()), [[".git"]]);
            fs::remove_dir(root.join(".git")).unwrap();
            assert_eq!(beside(&local, name(7).file_name().unwrap().to_str().unwrap()), [Vec::<String>::new()]);
            (100..count).for_each(|nth| fs::remove_file(name(nth)).unwrap());
        }
    }

    #[test]
    fn lookup_along_a_path_agrees_with_single_lookups() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/.vscode")).unwrap();
        fs::write(root.join("a/f"), "").unwrap();
        symlink("a", root.join("link")).unwrap();
        let local = LocalStore::open(&[root.to_owned()]).unwrap();
        for _ in 0..3 {
            assert_eq!(beside(&local, "a/f"), [vec![], vec![".vscode".to_owned()]]);
            assert_eq!(beside(&local, "a/f/g").len(), 2);
            assert_eq!(beside(&local, "a/missing/g").len(), 1);
            assert_eq!(beside(&local, "link/f").len(), 1, "names below a link are not found");
            // Cached from here on where stamps are fine-grained.
            local.changed_dirs.lock().unwrap().extend([(0, "".into()), (0, "a".into())]);
            local.run_deferred();
        }
    }

    #[test]
    fn listing_cached_with_a_recent_stamp_is_invalidated_by_the_first_change() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let local = LocalStore::open(&[root.to_owned()]).unwrap();
        fs::write(root.join("f"), "").unwrap();
        let env = [vec![".env".to_owned()]];
        for _ in 0..50 {
            assert_eq!(beside(&local, "f"), [Vec::<String>::new()]);
            local.changed_dirs.lock().unwrap().push((0, "".into()));
            local.run_deferred();
            fs::write(root.join(".env"), "").unwrap();
            assert_eq!(beside(&local, "f"), env);
            fs::remove_file(root.join(".env")).unwrap();
        }
    }

    fn kept(local: &LocalStore, folder: &Path) -> bool {
        let stamp = crate::local::read::file_meta(&rustix::fs::stat(folder).unwrap());
        let known = local.dir_cache.lock().unwrap();
        known.get(&(stamp.dev, stamp.ino)).is_some_and(|known| known.ctime_ns == Some(stamp.ctime_ns))
    }
}
