//! Path resolution by descriptors, one component at a time: for paths with links, `..` or missing components, and for
//! kernels without `openat2`. Nothing is opened by a path of several components, so none can be swapped underneath.

use emendate_os::fd::{AsFd, BorrowedFd, OwnedFd};
use emendate_os::ffi::OsStringExt;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use emendate_core::Result;
use emendate_os::fs::{FileType, Mode, OFlags};
use emendate_os::io::Errno;
use emendate_os::paths;

use super::LocalStore;
use super::sys;
use crate::{LINKS_MAX, SafePath, error};

/// A link whose target is being walked.
struct FollowedLink {
    at: PathBuf,
    target: PathBuf,
    /// Number of pending components left when the target has been walked.
    rest: usize,
}

/// The kind of file that has a name.
enum Found {
    Directory(OwnedFd),
    /// A symbolic link, with its target.
    Link(PathBuf),
    Other,
}

/// Retries of the look-up of a name that changes meanwhile.
const LOOK_RETRIES: u32 = 64;

struct PathWalk<'a> {
    local: &'a LocalStore,
    requested: &'a Path,
    root: usize,
    /// One descriptor per existing directory in `names`.
    folders: Vec<OwnedFd>,
    /// Resolved components.
    names: Vec<OsString>,
    /// Components still to be resolved, the next one last.
    pending: Vec<OsString>,
    /// Follow a link that is the last component.
    follow_last: bool,
    links_followed: u32,
    link: Option<FollowedLink>,
    via_link: Option<PathBuf>,
    /// The last of `names` does not exist, nor does anything below it.
    missing: bool,
}

/// Resolves a path beneath a root, following links that stay inside the roots; the last component only with `follow`.
pub(super) fn resolve(
    local: &LocalStore,
    asked: &Path,
    root: usize,
    relative: &Path,
    follow: bool,
) -> Result<SafePath> {
    let mut walk = PathWalk {
        local,
        requested: asked,
        root,
        folders: Vec::new(),
        names: Vec::new(),
        pending: parts(relative),
        follow_last: follow,
        links_followed: 0,
        link: None,
        via_link: None,
        missing: false,
    };
    while let Some(part) = walk.pending.pop() {
        walk.step(part)?;
    }
    // A trailing slash means a directory; dropping it silently would edit another file than was named.
    if asked.as_os_str().as_encoded_bytes().last().is_some_and(|byte| paths::is_separator(*byte))
        && walk.folders.len() < walk.names.len()
    {
        return Err(error::invalid_path(asked, "ends in `/`, but is not a directory", "Remove the `/` at the end."));
    }
    let relative: PathBuf = walk.names.iter().collect();
    Ok(SafePath::new(walk.root, &local.infos[walk.root].canonical, relative, asked, walk.via_link))
}

/// Splits a path into its components without `/` and `.`, the first one last.
fn parts(path: &Path) -> Vec<OsString> {
    path.components()
        .rev()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

impl PathWalk<'_> {
    fn here(&self) -> BorrowedFd<'_> {
        self.folders.last().map_or_else(|| self.local.root(self.root).fd.as_fd(), AsFd::as_fd)
    }

    /// Absolute path of `name` in the directory reached so far.
    fn absolute(&self, name: &OsStr) -> PathBuf {
        let mut path = self.local.infos[self.root].canonical.clone();
        path.extend(&self.names);
        path.push(name);
        path
    }

    /// Returns the link whose target the component just popped belongs to.
    fn inside_link(&self) -> Option<&FollowedLink> {
        self.link.as_ref().filter(|link| self.pending.len() >= link.rest)
    }

    fn step(&mut self, part: OsString) -> Result<()> {
        if part == ".." {
            return self.up();
        }
        if self.missing {
            self.names.push(part);
            return Ok(());
        }
        let part = paths::stored_name(self.here(), part);
        match self.look(&part) {
            Ok(Found::Link(_)) if !self.follow_last && self.pending.is_empty() => {
                self.names.push(part);
                Ok(())
            }
            Ok(Found::Link(target)) => self.follow(&part, &target),
            Ok(Found::Directory(fd)) => {
                self.folders.push(fd);
                self.names.push(part);
                Ok(())
            }
            Ok(Found::Other) if !self.pending.is_empty() => {
                let file = error::show(self.absolute(&part));
                Err(error::invalid_path(
                    self.requested,
                    &format!("goes through {file}, which is not a directory"),
                    "Check the path.",
                ))
            }
            Ok(Found::Other) => {
                self.names.push(part);
                Ok(())
            }
            Err(Errno::NOENT) => {
                if let Some(link) = self.inside_link() {
                    return Err(error::refused_link(
                        self.requested, &link.at, &link.target, "is broken: nothing is there",
                    ));
                }
                self.missing = true;
                self.names.push(part);
                Ok(())
            }
            Err(errno) => Err(error::os_error("look up", &self.absolute(&part), errno)),
        }
    }

    /// Looks up a name in the directory reached so far; opens it if it is a directory.
    fn look(&self, part: &OsStr) -> emendate_os::io::Result<Found> {
        let flags = sys::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut left = LOOK_RETRIES;
        loop {
            let stat = sys::statat(self.here(), part)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => match sys::readlinkat(self.here(), part) {
                    // Something else has the name by now.
                    Err(Errno::INVAL | Errno::NOENT) if left > 0 => {
                        left -= 1;
                        continue;
                    }
                    target => return target.map(|target| Found::Link(OsString::from_vec(target.into_bytes()).into())),
                },
                FileType::Directory => {}
                _ => return Ok(Found::Other),
            }
            match sys::openat(self.here(), part, flags, Mode::empty()) {
                // Something else has the name by now.
                Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) if left > 0 => left -= 1,
                opened => return opened.map(Found::Directory),
            }
        }
    }

    fn up(&mut self) -> Result<()> {
        if self.missing {
            return Err(error::invalid_path(
                self.requested,
                "has a `..` after a directory that does not exist",
                "Remove the `..`.",
            ));
        }
        if self.names.pop().is_some() {
            self.folders.pop();
            return Ok(());
        }
        // Another root may be above this one; a canonical root has no links above it, so components can be dropped.
        let root = &self.local.infos[self.root].canonical;
        let mut above = root.parent().unwrap_or(root).to_owned();
        while self.pending.last().is_some_and(|next| next == "..") {
            self.pending.pop();
            above.pop();
        }
        self.enter(&above)
    }

    /// Continues at an absolute path followed by the pending components, if that is beneath a root.
    fn enter(&mut self, absolute: &Path) -> Result<()> {
        let mut whole = absolute.to_owned();
        whole.extend(self.pending.iter().rev());
        let Some((root, relative)) = self.local.find_root(&whole) else {
            return Err(match &self.link {
                Some(link) => error::refused_link(self.requested, &link.at, &link.target, "leaves the roots"),
                None => error::outside_roots(self.requested, &self.local.infos),
            });
        };
        self.pending = parts(relative);
        self.root = root;
        self.folders.clear();
        self.names.clear();
        Ok(())
    }

    fn follow(&mut self, name: &OsStr, target: &Path) -> Result<()> {
        let at = self.absolute(name);
        let magic = sys::has_kernel_links(self.here()).map_err(|errno| error::os_error("read the link", &at, errno))?;
        self.links_followed += 1;
        if magic || self.links_followed > LINKS_MAX {
            let why =
                if magic { "belongs to the kernel and is never followed" } else { "loops: 40 links were followed" };
            return Err(error::refused_link(self.requested, &at, target, why));
        }
        self.via_link.get_or_insert_with(|| at.clone());
        if self.inside_link().is_none() {
            self.link = Some(FollowedLink { at, target: target.to_owned(), rest: self.pending.len() });
        }
        if target.is_absolute() {
            return self.enter(target);
        }
        self.pending.extend(parts(target));
        Ok(())
    }
}

/// Emulates `openat2`: opens every directory on the way by its name alone, and refuses links.
pub(super) fn open_beneath(root: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> emendate_os::io::Result<OwnedFd> {
    let step = sys::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder: Option<OwnedFd> = None;
    let mut parts = relative.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(Errno::XDEV);
        };
        let flags = if parts.peek().is_some() { step } else { flags | OFlags::NOFOLLOW | OFlags::CLOEXEC };
        let here = folder.as_ref().map_or(root, AsFd::as_fd);
        folder = Some(sys::openat(here, name, flags, Mode::empty())?);
    }
    folder.ok_or(Errno::NOENT)
}

#[cfg(test)]
mod tests {
    use crate::{Durability, FileWrite, LocalStore, NewState, Precondition, Store};
    use emendate_core::Code;
    use std::sync::atomic::Ordering;

    #[test]
    fn works_without_openat2() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/f");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "old").unwrap();
        let local = LocalStore::open(&[folder.path().to_owned()]).unwrap();
        local.openat2.store(false, Ordering::Relaxed);
        let safe_path = local.resolve_path(&path).unwrap();
        assert_eq!(safe_path.absolute(), path.canonicalize().unwrap());
        let old = local.read(&safe_path, 100, Vec::new()).unwrap().unwrap();
        assert_eq!(local.metadata(&safe_path).unwrap(), Some(old.meta));
        let expect = Precondition::Version { bytes: &old.bytes, meta: &old.meta };
        let new = local.resolve_path(&folder.path().join("c/d/new")).unwrap();
        let writes = [
            FileWrite { path: &safe_path, precondition: expect, new_state: NewState::content(&[b"new"]) },
            FileWrite { path: &new, precondition: Precondition::Missing, new_state: NewState::content(&[b"new"]) },
        ];
        local.stage(&writes, Durability::Power).unwrap().commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(local.siblings(&safe_path).unwrap(), ["f"]);
        assert!(!local.probe(0).unwrap().openat2);
        // A link that replaces a directory after the path was resolved is not followed.
        std::fs::rename(folder.path().join("a"), folder.path().join("z")).unwrap();
        std::os::unix::fs::symlink("z", folder.path().join("a")).unwrap();
        assert!(local.read(&safe_path, 100, Vec::new()).is_err());
        std::fs::remove_file(folder.path().join("z/b/f")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("z/b/f")).unwrap();
        let safe_path = local.resolve_path(&folder.path().join("z/b/f"));
        assert_eq!(safe_path.unwrap_err().code(), Code::PathSymlink);
    }
}
