//! What has some names in a folder. Asking for many names one by one is dear, and most of them are nowhere; what is in a
//! small folder is told by one call, after which only names that may be there have to be asked for.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use emendate_core::Result;
use rustix::fs::{OFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use super::probe::FINE_GRAIN_NS;
use super::{Local, look, sys};
use crate::{Met, Named, Stamp, Wanted, along, fault};

/// So few names are asked for as they are.
const FEW: usize = 8;

/// Bytes that a folder's inode may say it has to be listed; below a hundred names on most file systems.
const SMALL: u64 = 8 << 10;

/// The same where the list is of use later. It does not become less when names go, so a folder that once held the temporary
/// files of a call for many is larger than it looks.
const LARGE: u64 = 64 << 10;

/// Room for what one call says of a small folder, and most room for a large one. What does not fit is not looked at in a second
/// one: between two calls a name may move from what is still to be told to what was.
const ROOM: usize = 16 << 10;
const MOST_ROOM: usize = 256 << 10;

/// Folders of which is kept what is in them.
const KEPT: usize = 512;

/// See [`Store::named`](crate::Store::named).
pub(super) fn named(local: &Local, root: usize, folder: &Path, names: &[&OsStr]) -> Result<Vec<Option<Named>>> {
    let many = names.len() > FEW && local.roots[root].plain;
    let open = |flags| local.open_beneath(root, folder, flags | OFlags::DIRECTORY);
    let opened = match if many { open(OFlags::RDONLY) } else { open(OFlags::PATH) } {
        // It may be entered but not listed.
        Err(Errno::ACCESS) if many => open(OFlags::PATH),
        other => other,
    };
    let fd = match opened {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(vec![None; names.len()]),
        other => other.map_err(|errno| fault::os("look into", &local.infos[root].canonical.join(folder), errno))?,
    };
    let may_be = if many { listed(local, root, &fd, names) } else { None };
    let answer = |(at, name): (usize, &&OsStr)| {
        if may_be.as_ref().is_none_or(|may_be| may_be[at]) { what_has(&fd, name) } else { None }
    };
    Ok(names.iter().enumerate().map(answer).collect())
}

/// What has a name in a folder.
fn what_has(folder: &OwnedFd, name: impl AsRef<OsStr>) -> Option<Named> {
    let stamp = look::stamp_of(&sys::statat(folder, &name).ok()?);
    let leads_to = stamp.is_link().then(|| sys::statat_followed(folder, &name).ok()).flatten();
    Some(Named { stamp, leads_to: leads_to.map(|stat| look::stamp_of(&stat)) })
}

/// See [`Store::along`](crate::Store::along). What is known of a folder that did not change since is not asked for again: then
/// each part costs one question, which tells of the folder that it is as well.
pub(super) fn along(local: &Local, root: usize, path: &Path, wanted: &Wanted) -> Result<Vec<Met>> {
    let top = &local.roots[root].fd;
    let Ok(mut here) = sys::fstat(top).map(|stat| look::stamp_of(&stat)) else {
        return along::one_by_one(local, root, path, wanted);
    };
    let (mut met, mut folder) = (Vec::new(), PathBuf::new());
    for part in path {
        if !here.is_folder() {
            break;
        }
        let below = folder.join(part);
        let Ok(stat) = sys::statat(top, &below) else { break };
        let beside = match known(local, &here, wanted) {
            Some(may_be) => {
                let one = |at: usize| Some((at, what_has(top, folder.join(&wanted.names()[at]))?));
                may_be.into_iter().filter_map(one).collect()
            }
            None => along::beside(local, root, &folder, wanted)?,
        };
        (folder, here) = (below, look::stamp_of(&stat));
        met.push(Met { stamp: here, beside });
    }
    Ok(met)
}

/// Which of the names may be in a folder with this stamp, where it is known what is in it.
fn known(local: &Local, folder: &Stamp, wanted: &Wanted) -> Option<Vec<usize>> {
    let kept = local.listed.lock().unwrap_or_else(PoisonError::into_inner);
    let known = kept.get(&(folder.dev, folder.ino)).filter(|known| known.ctime_ns == Some(folder.ctime_ns))?;
    // What other names equal in a folder that ignores case only the kernel knows.
    if !wanted.is_plain() {
        return None;
    }
    known.names.as_ref().map(|there| wanted.among(there))
}

/// What was in a folder.
#[derive(Debug)]
pub(super) struct Listed {
    /// The stamp of its last change, if that was so long ago that a change since would have given it another one.
    ctime_ns: Option<i64>,
    /// Hashes of the names in small letters, sorted; two names with one hash cost a question, nothing else. `None` where
    /// they do not tell all.
    names: Option<Vec<u64>>,
    /// The folder, where it was looked at so early that the kernel must not forget that somebody did: see [`look_again`].
    open: Option<OwnedFd>,
}

/// So many folders are looked at again.
pub(super) const AGAIN: usize = 8;

/// Which of the names may be in the folder, as it is at one moment; `None` where that is not known, so that all have to be
/// asked for: the folder is large, or is of a file system that may take any name for any other, or one of its names is not
/// plain ASCII, of which only the kernel knows what it equals in a folder that ignores case.
fn listed(local: &Local, root: usize, folder: &OwnedFd, names: &[&OsStr]) -> Option<Vec<bool>> {
    let now = look::now_ns();
    let stamp = look::stamp_of(&sys::fstat(folder).ok()?);
    // The kernel may give the stamp of a change to another one right behind it.
    let stands = now.saturating_sub(stamp.ctime_ns) > local.grain_ns(root, &stamp);
    let most = if stands { LARGE } else { SMALL };
    if stamp.size > most || !local.is_plain(root, &stamp) || names.iter().any(|name| !name.is_ascii()) {
        return None;
    }
    // A name of several parts may be there if its first one is.
    let may_be = |there: &Vec<u64>| names.iter().map(|name| there.binary_search(&along::first(name)).is_ok()).collect();
    let kept = || local.listed.lock().unwrap_or_else(PoisonError::into_inner);
    let id = (stamp.dev, stamp.ino);
    match kept().get(&id) {
        Some(known) if known.ctime_ns == Some(stamp.ctime_ns) => return known.names.as_ref().map(may_be),
        // A list would be of no use later, and dearer than the questions.
        Some(known) if !stands && known.names.as_ref().is_none_or(|there| there.len() > names.len()) => return None,
        _ => {}
    }
    let there = list(folder, stamp.size);
    let stands = stands && !is_encrypted(folder);
    let answer = there.as_ref().map(may_be);
    let mut kept = kept();
    if kept.len() >= KEPT {
        kept.clear();
    }
    kept.insert(id, Listed { ctime_ns: stands.then_some(stamp.ctime_ns), names: there, open: None });
    answer
}

/// Looks into a folder in which names were changed, so that the next question finds it known. For when there is time: nothing
/// depends on it.
///
/// The stamp is young. Where the kernel gives fine stamps it gives another one to the first change after somebody has looked,
/// as long as it has the folder in memory, and that it has while the folder is open.
pub(super) fn look_again(local: &Local, root: usize, folder: &Path) {
    let Ok(fd) = local.open_beneath(root, folder, OFlags::RDONLY | OFlags::DIRECTORY) else { return };
    let Ok(stamp) = sys::fstat(&fd).map(|stat| look::stamp_of(&stat)) else { return };
    let kept = || local.listed.lock().unwrap_or_else(PoisonError::into_inner);
    let id = (stamp.dev, stamp.ino);
    let stale = kept().get(&id).is_none_or(|known| known.names.is_some() && known.ctime_ns != Some(stamp.ctime_ns));
    let fine = local.grain_ns(root, &stamp) == FINE_GRAIN_NS;
    if !stale || !fine || stamp.size > LARGE || is_encrypted(&fd) {
        return;
    }
    let there = list(&fd, stamp.size);
    let old = look::now_ns().saturating_sub(FINE_GRAIN_NS);
    let mut kept = kept();
    if kept.len() >= KEPT {
        kept.clear();
    }
    // What is old by now tells itself.
    kept.values_mut()
        .filter(|known| known.ctime_ns.is_none_or(|ctime| ctime < old))
        .for_each(|known| known.open = None);
    kept.insert(id, Listed { ctime_ns: Some(stamp.ctime_ns), names: there, open: Some(fd) });
}

/// True where the names change with a key and not with a stamp, or where it cannot be told.
fn is_encrypted(folder: &OwnedFd) -> bool {
    let found = sys::statx(folder, StatxFlags::INO);
    found.map_or(true, |found| found.stx_attributes.contains(StatxAttributes::ENCRYPTED))
}

/// See [`Listed::names`]; `None` where that would not tell all.
fn list(folder: &OwnedFd, size: u64) -> Option<Vec<u64>> {
    let (mut there, mut plain) = (Vec::new(), true);
    let each = |name: &[u8]| {
        plain &= name.is_ascii();
        there.push(along::hash(name));
    };
    let whole = if size <= SMALL {
        sys::list_at_once(folder, &mut [MaybeUninit::uninit(); ROOM], each)
    } else {
        let mut room: Vec<u8> = Vec::with_capacity(MOST_ROOM);
        sys::list_at_once(folder, room.spare_capacity_mut(), each)
    };
    there.sort_unstable();
    (whole.ok()? && plain).then_some(there)
}

#[cfg(test)]
mod tests {
    use crate::{Local, Store, Wanted};
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    /// Asks for all names at once, and says whether that gave the answers that one by one gives; with what was there.
    fn alike(local: &Local, folder: &str, names: &[&str]) -> Vec<String> {
        let names: Vec<&OsStr> = names.iter().map(OsStr::new).collect();
        let folder = Path::new(folder);
        let at_once = local.named(0, folder, &names).unwrap();
        let alone: Vec<_> = names.iter().flat_map(|name| local.named(0, folder, &[*name]).unwrap()).collect();
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
    fn many_names_at_once_are_found_as_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let local = Local::open(&[root.to_owned()]).unwrap();
        assert!(alike(&local, "", &ASKED[..11]).is_empty());
        assert!(alike(&local, "missing", &ASKED[..11]).is_empty());
        fs::create_dir_all(root.join(".aws")).unwrap();
        fs::write(root.join(".aws/credentials"), "key").unwrap();
        fs::write(root.join(".env"), "key").unwrap();
        fs::create_dir(root.join("config")).unwrap();
        symlink("config", root.join(".vscode")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        assert_eq!(alike(&local, "", &ASKED[..11]), [".env", ".vscode", ".aws/credentials", "dangling"]);
        let leads = local.named(0, Path::new(""), &ASKED.map(OsStr::new)).unwrap()[2].unwrap().leads_to.unwrap();
        let held = local.named(0, Path::new(""), &[OsStr::new("config")]).unwrap()[0].unwrap().stamp;
        assert!(leads.same_file(&held));
        // A moment later.
        fs::rename(root.join(".env"), root.join(".git")).unwrap();
        fs::hard_link(root.join(".git"), root.join("id_rsa")).unwrap();
        assert_eq!(alike(&local, "", &ASKED[..11]), [".git", ".vscode", ".aws/credentials", "id_rsa", "dangling"]);
        // In the folder of it, asked by more than a list can be asked for.
        fs::write(root.join("caf\u{e9}"), "").unwrap();
        assert_eq!(alike(&local, "", &ASKED).len(), 6);
        assert_eq!(alike(&local, ".vscode", &ASKED[..11]), <[&str; 0]>::default(), "a link is no folder");
        assert_eq!(alike(&local, ".aws", &["credentials"; 10]).len(), 10);
    }

    #[test]
    fn names_in_a_large_folder_are_found_wherever_they_stand() {
        let folder = tempfile::tempdir().unwrap();
        let local = Local::open(&[folder.path().to_owned()]).unwrap();
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
    fn what_is_kept_of_a_folder_ends_with_its_first_change() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let local = Local::open(&[root.to_owned()]).unwrap();
        let changes: [(&dyn Fn(), &[&str]); 5] = [
            (&|| fs::write(root.join("other"), "").unwrap(), &[]),
            (&|| fs::rename(root.join("other"), root.join(".env")).unwrap(), &[".env"]),
            (&|| symlink("nowhere", root.join(".git")).unwrap(), &[".env", ".git"]),
            (&|| fs::remove_file(root.join(".env")).unwrap(), &[".git"]),
            // Whoever sets the times back cannot set back the stamp of the change.
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
            // Until the folder has stood still for long enough to be kept.
            while !kept(&local, root) {
                alike(&local, "", &ASKED[..11]);
            }
            change();
            assert_eq!(alike(&local, "", &ASKED[..11]), there);
        }
    }

    /// The names of a list, along a path.
    fn beside(local: &Local, path: &str) -> Vec<Vec<String>> {
        let wanted = Wanted::new(ASKED);
        let at_once = local.along(0, Path::new(path), &wanted).unwrap();
        let one_by_one = crate::along::one_by_one(local, 0, Path::new(path), &wanted).unwrap();
        assert_eq!(at_once, one_by_one);
        let name = |at: usize| wanted.names()[at].to_string_lossy().into_owned();
        at_once.into_iter().map(|met| met.beside.into_iter().map(|(at, _)| name(at)).collect()).collect()
    }

    #[test]
    fn a_folder_that_was_large_once_is_known_like_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let local = Local::open(&[root.to_owned()]).unwrap();
        let name = |nth: usize| root.join(format!("file-with-a-name-that-fills-the-list-{nth}"));
        (0..500).for_each(|nth| fs::write(name(nth), "").unwrap());
        for count in [500, 100] {
            fs::create_dir(root.join(".git")).unwrap();
            let started = std::time::Instant::now();
            // On other file systems it takes two seconds, and on some it is never known.
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
    fn what_is_met_along_a_path_is_what_is_found_by_asking_for_each() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/.vscode")).unwrap();
        fs::write(root.join("a/f"), "").unwrap();
        symlink("a", root.join("link")).unwrap();
        let local = Local::open(&[root.to_owned()]).unwrap();
        for _ in 0..3 {
            assert_eq!(beside(&local, "a/f"), [vec![], vec![".vscode".to_owned()]]);
            assert_eq!(beside(&local, "a/f/g").len(), 2);
            assert_eq!(beside(&local, "a/missing/g").len(), 1);
            assert_eq!(beside(&local, "link/f").len(), 1, "what is behind a link is not there");
            // Known now, where the stamps are fine.
            local.touched.lock().unwrap().extend([(0, "".into()), (0, "a".into())]);
            local.settle();
        }
    }

    #[test]
    fn a_folder_that_was_looked_into_early_is_asked_again_after_its_first_change() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let local = Local::open(&[root.to_owned()]).unwrap();
        fs::write(root.join("f"), "").unwrap();
        let env = [vec![".env".to_owned()]];
        for _ in 0..50 {
            assert_eq!(beside(&local, "f"), [Vec::<String>::new()]);
            local.touched.lock().unwrap().push((0, "".into()));
            local.settle();
            fs::write(root.join(".env"), "").unwrap();
            assert_eq!(beside(&local, "f"), env);
            fs::remove_file(root.join(".env")).unwrap();
        }
    }

    fn kept(local: &Local, folder: &Path) -> bool {
        let stamp = crate::local::look::stamp_of(&rustix::fs::stat(folder).unwrap());
        let known = local.listed.lock().unwrap();
        known.get(&(stamp.dev, stamp.ino)).is_some_and(|known| known.ctime_ns == Some(stamp.ctime_ns))
    }
}
