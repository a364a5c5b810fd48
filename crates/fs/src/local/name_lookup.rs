//! Lookup of many names in one directory. Asking for each name is expensive, and most are missing; listing a small
//! directory takes one call, after which only names that may exist have to be looked up.

use emendate_os::fd::OwnedFd;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::path::Path;

use emendate_core::Result;
use emendate_os::fs::OFlags;
use emendate_os::io::Errno;

use super::{LocalStore, read, sys};
use crate::{NameInfo, components, error};

/// Up to this many names are stat'ed one by one instead of listing the directory.
const STAT_EACH_MAX: usize = 8;

/// Maximum size of a directory inode, in bytes, for a listing; below a hundred names on most file systems.
const LISTED_DIR_BYTES_MAX: u64 = 8 << 10;

/// Buffer size for a listing. Only one call is made: between two calls a name may move from the unread part to the part
/// already read.
const LIST_BUFFER_BYTES: usize = 16 << 10;

/// Implements [`Store::lookup_names`](crate::Store::lookup_names).
pub(super) fn lookup_names(
    local: &LocalStore,
    root: usize,
    folder: &Path,
    names: &[&OsStr],
) -> Result<Vec<Option<NameInfo>>> {
    let many = names.len() > STAT_EACH_MAX && local.root(root).trusted;
    let open = |flags| local.open_beneath(root, folder, flags | OFlags::DIRECTORY);
    let opened = match if many { open(OFlags::RDONLY) } else { open(sys::PATH) } {
        // Search permission without read permission.
        Err(Errno::ACCESS) if many => open(sys::PATH),
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
    let meta = read::file_meta(&sys::statat(folder, &name).ok()?);
    let target_meta = meta.is_link().then(|| sys::statat_followed(folder, &name).ok()).flatten();
    Some(NameInfo { meta, target: target_meta.map(|stat| read::file_meta(&stat)) })
}

/// Returns which names may be in the directory at one moment. `None` if that is unknown and every name has to be looked
/// up: the directory is large, its file system may treat different names as equal, or one of its names is not ASCII, so
/// that only the kernel knows what it equals in a case-insensitive directory.
fn candidates(local: &LocalStore, root: usize, folder: &OwnedFd, names: &[&OsStr]) -> Option<Vec<bool>> {
    let meta = read::file_meta(&sys::fstat(folder).ok()?);
    if meta.size > LISTED_DIR_BYTES_MAX || !local.is_trusted(root, &meta) || names.iter().any(|name| !name.is_ascii()) {
        return None;
    }
    let there = list_name_hashes(folder)?;
    // A name of several components may exist if its first component does.
    let may_be = names.iter().map(|name| there.binary_search(&components::hash_of_first_component(name)).is_ok());
    Some(may_be.collect())
}

/// Returns hashes of the lower-case names in a directory, sorted; a hash collision only costs one extra lookup. `None`
/// if the listing is incomplete or not ASCII.
fn list_name_hashes(folder: &OwnedFd) -> Option<Vec<u64>> {
    let (mut there, mut plain) = (Vec::new(), true);
    let whole = sys::list_in_one_call(folder, &mut [MaybeUninit::uninit(); LIST_BUFFER_BYTES], |name| {
        plain &= name.is_ascii();
        there.push(components::hash_ignoring_case(name));
    });
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
        ".env", ".git", ".vscode", ".aws/credentials", ".none", "id_rsa", "x", ".ENV", "dangling", "fifo", ".jj",
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

    /// Returns the wanted names found along a path.
    fn beside(local: &LocalStore, path: &str) -> Vec<Vec<String>> {
        let wanted = NameSet::new(ASKED);
        let name = |at: usize| wanted.names()[at].to_string_lossy().into_owned();
        let components = local.walk_components(0, Path::new(path), &wanted).unwrap();
        components.into_iter().map(|met| met.siblings.into_iter().map(|(at, _)| name(at)).collect()).collect()
    }

    #[test]
    fn lookup_along_a_path_agrees_with_single_lookups() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/.vscode")).unwrap();
        fs::write(root.join("a/f"), "").unwrap();
        symlink("a", root.join("link")).unwrap();
        let local = LocalStore::open(&[root.to_owned()]).unwrap();
        assert_eq!(beside(&local, "a/f"), [vec![], vec![".vscode".to_owned()]]);
        assert_eq!(beside(&local, "a/f/g").len(), 2);
        assert_eq!(beside(&local, "a/missing/g").len(), 1);
        assert_eq!(beside(&local, "link/f").len(), 1, "names below a link are not found");
        // A name that appears is found at once.
        fs::write(root.join("a/.env"), "").unwrap();
        assert_eq!(beside(&local, "a/f"), [vec![], vec![".env".to_owned(), ".vscode".to_owned()]]);
    }
}
