//! Power cuts: from the log of an operation, every state of the disk that a cut at any call may leave is built and
//! recovered.
//!
//! The simulated disk is worse than any real one: unsynced changes may be lost individually, names without their data
//! and data without its name, and a write may end in its middle. Synced changes are never lost.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{JournaledRoot, OPERATIONS, Operation, Prepared, course, files};
use crate::Durability;
use crate::local::fault_injection::{DiskEvent, run};

/// The data of one file.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Inode {
    bytes: Vec<u8>,
    mode: u32,
    modified: SystemTime,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Name {
    Inode(u64),
    Link(OsString),
    Folder,
}

/// A disk: names, and the files they refer to.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Disk {
    names: BTreeMap<PathBuf, Name>,
    inodes: BTreeMap<u64, Inode>,
}

impl Disk {
    /// Reads the tree below a directory.
    fn of(outer: &Path) -> Disk {
        let mut disk = Disk::default();
        let mut folders = vec![outer.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let meta = path.symlink_metadata().unwrap();
                let name = if meta.is_dir() {
                    folders.push(path.clone());
                    Name::Folder
                } else if meta.is_symlink() {
                    Name::Link(std::fs::read_link(&path).unwrap().into_os_string())
                } else {
                    let bytes = std::fs::read(&path).unwrap();
                    let inode = Inode { bytes, mode: meta.mode() & 0o7777, modified: meta.modified().unwrap() };
                    disk.inodes.insert(meta.ino(), inode);
                    Name::Inode(meta.ino())
                };
                disk.names.insert(path, name);
            }
        }
        disk
    }

    /// Applies the change of one call, as far as its target still exists.
    fn apply(&mut self, event: &DiskEvent) {
        match event {
            DiskEvent::Create(path, inode, mode) => {
                self.names.insert(path.clone(), Name::Inode(*inode));
                self.inode(*inode).mode = *mode;
            }
            DiskEvent::Folder(path) => {
                self.names.insert(path.clone(), Name::Folder);
            }
            DiskEvent::Symlink(path, target) => {
                self.names.insert(path.clone(), Name::Link(target.clone()));
            }
            DiskEvent::HardLink(from, to) => {
                if let Some(name) = self.names.get(from).cloned() {
                    self.names.insert(to.clone(), name);
                }
            }
            DiskEvent::Remove(path) => {
                self.names.remove(path);
            }
            DiskEvent::Rename(from, to, exchange) => {
                let moved = self.take(from);
                if moved.is_empty() {
                    return;
                }
                let other = self.take(to);
                self.names.extend(moved.into_iter().map(|(path, name)| (below(to, &path), name)));
                if *exchange {
                    self.names.extend(other.into_iter().map(|(path, name)| (below(from, &path), name)));
                }
            }
            DiskEvent::Write(inode, at, bytes) => {
                let (at, file) = (usize::try_from(*at).unwrap(), self.inode(*inode));
                file.bytes.resize(file.bytes.len().max(at + bytes.len()), 0);
                file.bytes[at..at + bytes.len()].copy_from_slice(bytes);
                file.modified = SystemTime::UNIX_EPOCH + Duration::from_secs(99);
            }
            DiskEvent::Cut(inode, length) => self.inode(*inode).bytes.resize(usize::try_from(*length).unwrap(), 0),
            DiskEvent::Mode(inode, mode) => self.inode(*inode).mode = mode & 0o7777,
            DiskEvent::Sync(_) | DiskEvent::SyncFolder(_) => {}
        }
    }

    /// Takes a name with everything below it; paths are relative to it.
    fn take(&mut self, path: &Path) -> Vec<(PathBuf, Name)> {
        let all: Vec<PathBuf> = self.names.keys().filter(|name| name.starts_with(path)).cloned().collect();
        if !self.names.contains_key(path) {
            return Vec::new();
        }
        let one = |name: PathBuf| Some((name.strip_prefix(path).unwrap().to_owned(), self.names.remove(&name)?));
        all.into_iter().filter_map(one).collect()
    }

    fn inode(&mut self, inode: u64) -> &mut Inode {
        let empty = || Inode { bytes: Vec::new(), mode: 0o600, modified: SystemTime::UNIX_EPOCH };
        self.inodes.entry(inode).or_insert_with(empty)
    }

    /// Writes this state to a directory. Names in a lost directory are lost.
    fn build(&self, outer: &Path) {
        for entry in std::fs::read_dir(outer).unwrap() {
            std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
        }
        let mut made: BTreeMap<u64, &Path> = BTreeMap::new();
        for (path, name) in &self.names {
            if !path.parent().is_some_and(Path::is_dir) {
                continue;
            }
            match name {
                Name::Folder => std::fs::create_dir(path).unwrap(),
                Name::Link(target) => std::os::unix::fs::symlink(target, path).unwrap(),
                Name::Inode(inode) if made.contains_key(inode) => std::fs::hard_link(made[inode], path).unwrap(),
                Name::Inode(inode) => {
                    let Inode { bytes, mode, modified } = &self.inodes[inode];
                    std::fs::write(path, bytes).unwrap();
                    std::fs::set_permissions(path, std::fs::Permissions::from_mode(*mode)).unwrap();
                    std::fs::File::options().write(true).open(path).unwrap().set_modified(*modified).unwrap();
                    made.insert(*inode, path);
                }
            }
        }
    }
}

fn below(folder: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { folder.to_owned() } else { folder.join(rest) }
}

/// Returns which of the events before a cut are certainly on disk.
fn durable(events: &[DiskEvent]) -> Vec<bool> {
    let mut out = vec![false; events.len()];
    for (at, sync) in events.iter().enumerate() {
        for (before, reached) in events[..at].iter().zip(&mut out) {
            let within = |path: &Path, folder: &Path| path.parent() == Some(folder);
            *reached |= match (before, sync) {
                (
                    DiskEvent::Write(inode, ..) | DiskEvent::Cut(inode, _) | DiskEvent::Mode(inode, _),
                    DiskEvent::Sync(synced),
                ) => inode == synced,
                (
                    DiskEvent::Create(path, ..)
                    | DiskEvent::Folder(path)
                    | DiskEvent::Symlink(path, _)
                    | DiskEvent::HardLink(_, path)
                    | DiskEvent::Remove(path)
                    | DiskEvent::Rename(path, ..),
                    DiskEvent::SyncFolder(folder),
                ) => within(path, folder),
                _ => false,
            };
        }
    }
    out
}

fn is_name(event: &DiskEvent) -> bool {
    !matches!(event, DiskEvent::Write(..) | DiskEvent::Cut(..) | DiskEvent::Mode(..))
}

/// Returns every state that a cut after these events may leave.
fn states(base: &Disk, events: &[DiskEvent]) -> HashSet<Disk> {
    let durable = durable(events);
    let build = |kept: &dyn Fn(usize) -> bool, half: Option<usize>| {
        let mut disk = base.clone();
        for (at, event) in events.iter().enumerate().filter(|&(at, _)| durable[at] || kept(at)) {
            match event {
                DiskEvent::Write(inode, from, bytes) if half == Some(at) => {
                    disk.apply(&DiskEvent::Write(*inode, *from, bytes[..bytes.len() / 2].to_vec()));
                }
                _ => disk.apply(event),
            }
        }
        disk
    };
    let mut out = HashSet::from([
        build(&|_| true, None),
        build(&|_| false, None),
        build(&|at| is_name(&events[at]), None),
        build(&|at| !is_name(&events[at]), None),
    ]);
    for odd in (0..events.len()).filter(|&at| !durable[at]) {
        out.insert(build(&|at| at != odd, None));
        out.insert(build(&|at| at == odd, None));
        if matches!(events[odd], DiskEvent::Write(..)) {
            out.insert(build(&|_| true, Some(odd)));
        }
    }
    out
}

fn count(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

/// Runs an operation once, and returns its changes and the disk before.
fn recorded(fixture: &JournaledRoot, operation: Operation) -> (Disk, Vec<DiskEvent>) {
    let local = fixture.open();
    let base = Disk::of(fixture.root.parent().unwrap());
    let prepared = Prepared::new(&local, &fixture.root, operation);
    let ran = run(&[], || prepared.go(&local, Durability::Power));
    ran.result.unwrap();
    (base, ran.log.into_iter().map(|(_, event)| event).collect())
}

/// Builds and recovers every state of every cut; returns how many there were, and the wrong ones.
fn cut(operation: Operation, keep: impl FnMut(&DiskEvent) -> bool) -> (usize, Vec<String>) {
    let course = course(operation, Durability::Power);
    let fixture = JournaledRoot::new();
    let (base, events) = recorded(&fixture, operation);
    let events: Vec<DiskEvent> = events.into_iter().filter(keep).collect();
    let outer = fixture.root.parent().unwrap();
    let (mut known, mut wrong) = (HashSet::new(), BTreeSet::new());
    for end in 0..=events.len() {
        for disk in states(&base, &events[..end]) {
            // After the reply only the new state is correct.
            let answered = end == events.len();
            if !answered && !known.insert(disk.clone()) {
                continue;
            }
            disk.build(outer);
            let done = fixture.open().recover().unwrap();
            let tree = fixture.tree();
            let now = files(&tree);
            let is_new = now == files(&course.after);
            if !(is_new || !answered && now == files(&course.before)) || !done.conflicts.is_empty() {
                wrong.insert(format!("after call {end} of {}: {now:?} {done:?}", events.len()));
            }
            // A temporary name that reappears after its record was removed is swept by the next write in that
            // directory.
            let gone =
                |event: &DiskEvent| matches!(event, DiskEvent::Remove(path) if path.starts_with(fixture.journal()));
            let left = tree.keys().any(|path| path.to_string_lossy().contains(".txn~"));
            if left && !events[..end].iter().any(gone) || count(&fixture.journal()) > 0 {
                wrong.insert(format!("after call {end} of {}: left behind: {:?}", events.len(), tree.keys()));
            }
            if !fixture.open().recover().unwrap().is_empty() {
                wrong.insert(format!("after call {end}: a second recovery found something to do"));
            }
        }
    }
    (known.len(), wrong.into_iter().collect())
}

#[test]
fn power_cut_leaves_old_or_new_state() {
    for operation in OPERATIONS {
        let (states, wrong) = cut(operation, |_| true);
        assert!(states > 2, "{}: {states} states", operation.0);
        assert!(
            wrong.is_empty(),
            "{}: {} of {states} states are wrong:\n{}",
            operation.0,
            wrong.len(),
            wrong.join("\n")
        );
    }
}

/// The model detects every missing sync, so its silence above is meaningful, and no sync is superfluous.
#[test]
fn every_sync_is_needed() {
    for operation in OPERATIONS {
        let (_, events) = recorded(&JournaledRoot::new(), operation);
        for left_out in 0..events.len() {
            let journal = Some(OsStr::new("journal"));
            let name = match &events[left_out] {
                DiskEvent::Sync(_) => None,
                DiskEvent::SyncFolder(folder) => folder.file_name(),
                _ => continue,
            };
            // A record that reappears only harms files that were changed since.
            let seal = name == journal && matches!(&events[left_out - 1], DiskEvent::Remove(_));
            let mut at = 0..;
            let wrong = cut(operation, |_| at.next() != Some(left_out)).1;
            assert_eq!(wrong.is_empty(), seal, "{}: call {left_out} of {}, {name:?}", operation.0, events.len());
        }
    }
}
