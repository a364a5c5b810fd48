//! Every operation under every fault, with the invariants that must hold.

mod calls;
mod deaths;
mod faults;
mod meanwhile;
mod states;
mod steps;
mod unfinished;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use emendate_core::{ContentId, Result};

use super::{DiskEvent, run};
use crate::{
    Durability, FileSource, FileVersion, FileWrite, LocalStore, NewState, Precondition, SafePath, SpliceChunk, Store,
    WriteReport,
};

/// A directory with a root and a journal in it.
struct JournaledRoot {
    root: PathBuf,
    /// Removes everything when dropped.
    _outer: tempfile::TempDir,
}

/// Content of a path: mode and bytes of a file, target of a link, nothing for a directory.
#[derive(Clone, PartialEq, Eq)]
enum Thing {
    File(u32, Vec<u8>),
    Link(PathBuf),
    Folder,
}

impl std::fmt::Debug for Thing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Thing::File(mode, bytes) => write!(f, "{mode:o} {:?}", String::from_utf8_lossy(bytes)),
            Thing::Link(target) => write!(f, "-> {}", target.display()),
            Thing::Folder => f.write_str("folder"),
        }
    }
}

type Tree = BTreeMap<PathBuf, Thing>;

/// A change of one path of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    Text(&'static str),
    Spliced,
    Like(&'static str, &'static str),
    Mode(bool),
    Link(&'static str),
    Gone,
}

/// One transaction: its name, and the change of each path.
type Operation = (&'static str, &'static [(&'static str, Ask)]);

const OPERATIONS: [Operation; 11] = [
    ("edit", &[("a", Ask::Text("the new text of a, longer than before"))]),
    ("create", &[("n/m/new", Ask::Text("new"))]),
    ("remove", &[("a", Ask::Gone)]),
    ("in place", &[("h", Ask::Text("new text of both names"))]),
    ("swap", &[("a", Ask::Like("text of b", "d/b")), ("d/b", Ask::Like("text of a", "a"))]),
    (
        "batch",
        &[
            ("n/m/new", Ask::Text("new")),
            ("n/link", Ask::Link("../a")),
            ("a", Ask::Text("the new text of a, longer than before")),
            ("moved", Ask::Gone),
            ("d/target", Ask::Like("text to move", "moved")),
            ("h", Ask::Text("new text of both names")),
            ("mode", Ask::Mode(true)),
            ("d/gone", Ask::Gone),
            ("l", Ask::Link("d/b")),
        ],
    ),
    ("splice", &[("a", Ask::Spliced)]),
    (
        "file to directory",
        &[
            ("a", Ask::Gone),
            ("a/x/new", Ask::Text("new")),
            ("a/same", Ask::Like("text of a", "a")),
            ("a/l", Ask::Link("../h")),
        ],
    ),
    ("directory to file", &[("d", Ask::Like("text of b", "d/b")), ("d/b", Ask::Gone), ("d/gone", Ask::Gone)]),
    (
        "both ways",
        &[
            ("d", Ask::Text("text of d")),
            ("d/b", Ask::Gone),
            ("moved/in/it", Ask::Text("text in a directory")),
            ("mode", Ask::Text("an edit beside them")),
            ("moved", Ask::Gone),
            ("d/gone", Ask::Gone),
        ],
    ),
    (
        "move a name",
        &[
            ("h", Ask::Gone),
            ("d/h", Ask::Like("text of two names, and a long one too", "h")),
            ("a", Ask::Text("the new text of a, longer than before")),
        ],
    ),
];

/// Chunks of a spliced file; its source has nine bytes.
const SPLICED: [SpliceChunk<'static>; 4] = [
    SpliceChunk::Copied { at: 0, len: 5 },
    SpliceChunk::New(b"new of "),
    SpliceChunk::Copied { at: 5, len: 4 },
    SpliceChunk::New(b", and longer"),
];

impl JournaledRoot {
    fn new() -> JournaledRoot {
        // The directory is in memory if possible, because thousands of them are created.
        let outer = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let fixture = JournaledRoot { root: outer.path().canonicalize().unwrap().join("root"), _outer: outer };
        fixture.fill();
        fixture
    }

    fn fill(&self) {
        std::fs::create_dir_all(self.root.join("d")).unwrap();
        std::fs::create_dir_all(self.journal()).unwrap();
        for (name, text) in [
            ("a", "text of a"),
            ("d/b", "text of b"),
            ("d/gone", "text to remove"),
            ("moved", "text to move"),
            ("mode", "text with a mode"),
            ("h", "text of two names, and a long one too"),
        ] {
            std::fs::write(self.root.join(name), text).unwrap();
        }
        std::fs::set_permissions(self.root.join("moved"), std::fs::Permissions::from_mode(0o750)).unwrap();
        std::fs::hard_link(self.root.join("h"), self.root.join("h2")).unwrap();
        std::os::unix::fs::symlink("a", self.root.join("l")).unwrap();
    }

    fn journal(&self) -> PathBuf {
        self.root.with_file_name("journal")
    }

    fn open(&self) -> LocalStore {
        LocalStore::open(std::slice::from_ref(&self.root)).unwrap().with_journal(&self.journal()).unwrap()
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        walk(&self.root, &mut tree);
        tree
    }

    /// Checks that after recovery the journal is empty, and that directories which were written to again contain no
    /// temporary files.
    #[track_caller]
    fn clean(&self, local: &LocalStore, why: &str) {
        assert_eq!(std::fs::read_dir(self.journal()).unwrap().count(), 0, "{why}: the journal is not empty");
        let folders: Vec<PathBuf> =
            self.tree().into_iter().filter_map(|(path, thing)| (thing == Thing::Folder).then_some(path)).collect();
        for folder in std::iter::once(self.root.clone()).chain(folders.iter().map(|it| self.root.join(it))) {
            let safe_path = local.resolve_path(&folder.join("probe")).unwrap();
            drop(local.stage(&[file_write(&safe_path)], Durability::None).unwrap());
        }
        let left: Vec<PathBuf> = self.tree().into_keys().filter(|path| path.to_string_lossy().contains('~')).collect();
        assert!(left.is_empty(), "{why}: left behind {left:?}");
    }
}

fn file_write(path: &SafePath) -> FileWrite<'_> {
    FileWrite { path, precondition: Precondition::Missing, new_state: NewState::content(&[b"x"]) }
}

fn walk(root: &Path, tree: &mut Tree) {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let thing = if meta.is_symlink() {
                Thing::Link(std::fs::read_link(&path).unwrap())
            } else if meta.is_dir() {
                folders.push(path.clone());
                Thing::Folder
            } else {
                Thing::File(meta.mode() & 0o7777, std::fs::read(&path).unwrap())
            };
            tree.insert(path.strip_prefix(root).unwrap().to_owned(), thing);
        }
    }
}

/// Returns the tree without our temporary files, as a user sees it.
fn seen(tree: &Tree) -> Tree {
    tree.iter()
        .filter(|(path, _)| !path.iter().any(|name| name.to_string_lossy().ends_with('~')))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

/// Returns the same tree without directories: one more or less is not a change of a file.
fn files(tree: &Tree) -> Tree {
    seen(tree).into_iter().filter(|(_, thing)| *thing != Thing::Folder).collect()
}

/// The state read before an operation, so that only the operation itself meets the fault.
struct Prepared {
    files: Vec<Found>,
}

/// A place, its old state, the requested change, and a file to imitate.
type Found = (SafePath, Option<FileVersion>, Option<std::ffi::OsString>, Ask, SafePath);

impl Prepared {
    fn new(local: &LocalStore, root: &Path, (_, asks): Operation) -> Prepared {
        let one = |&(name, ask): &(&str, Ask)| {
            let path = root.join(name);
            let safe_path = local.resolve_no_follow(&path).unwrap_or_else(|_| {
                // A directory that this operation makes of a file.
                let (top, rest) = name.split_once('/').unwrap();
                let removed = local.resolve_no_follow(&root.join(top)).unwrap();
                local.resolve_below(&removed, Path::new(rest)).unwrap()
            });
            let exists = path.symlink_metadata().is_ok_and(|meta| !meta.is_dir());
            let link = if exists { local.read_link(&safe_path).unwrap() } else { None };
            let version =
                if link.is_some() || !exists { None } else { local.read(&safe_path, 1 << 20, Vec::new()).unwrap() };
            let like = local.resolve_path(&root.join(if let Ask::Like(_, like) = ask { like } else { "a" })).unwrap();
            (safe_path, version, link, ask, like)
        };
        Prepared { files: asks.iter().map(one).collect() }
    }

    fn go(&self, local: &LocalStore, level: Durability) -> Result<Vec<WriteReport>> {
        let source = |(path, _, _, ask, _): &Found| match ask {
            Ask::Spliced => local.source(path),
            _ => Ok(None),
        };
        let sources: Vec<Option<FileSource>> = self.files.iter().map(source).collect::<Result<_>>()?;
        let texts = self.files.iter().map(|(_, version, _, ask, _)| match ask {
            // The content has two chunks, so that a write may end between them.
            Ask::Text(text) | Ask::Like(text, _) => {
                let (head, tail) = text.as_bytes().split_at(text.len() / 3);
                vec![head, tail]
            }
            _ => vec![version.as_ref().map_or(&[][..], |version| &version.bytes)],
        });
        let texts: Vec<Vec<&[u8]>> = texts.collect();
        let writes: Vec<FileWrite<'_>> = self
            .files
            .iter()
            .zip(texts.iter().zip(&sources))
            .map(|((path, version, link, ask, like), (pieces, source))| {
                if let (Some(source), Some(version)) = (source, version) {
                    let expect = Precondition::Content { source, content: ContentId::of(&version.bytes) };
                    return FileWrite {
                        path,
                        precondition: expect,
                        new_state: NewState::Spliced { source, chunks: &SPLICED },
                    };
                }
                let expect = match (link, version) {
                    (Some(target), _) => Precondition::Link { target },
                    (None, Some(version)) => Precondition::Version { bytes: &version.bytes, meta: &version.meta },
                    (None, None) => Precondition::Missing,
                };
                let new_state = match *ask {
                    Ask::Text(_) => NewState::content(pieces),
                    Ask::Like(..) => NewState::File {
                        chunks: pieces,
                        executable: None,
                        mode: None,
                        like: Some(like),
                        attributes: None,
                    },
                    Ask::Mode(on) => NewState::File {
                        chunks: pieces,
                        executable: Some(on),
                        mode: None,
                        like: None,
                        attributes: None,
                    },
                    Ask::Link(target) => NewState::Link { target: OsStr::new(target) },
                    Ask::Gone | Ask::Spliced => NewState::Absent,
                };
                FileWrite { path, precondition: expect, new_state }
            })
            .collect();
        local.stage(&writes, level)?.commit()
    }
}

/// The effect of an operation without faults.
struct Course {
    before: Tree,
    after: Tree,
    calls: usize,
    log: Vec<(usize, DiskEvent)>,
}

fn course(operation: Operation, level: Durability) -> Course {
    let fixture = JournaledRoot::new();
    let before = fixture.tree();
    let local = fixture.open();
    let prepared = Prepared::new(&local, &fixture.root, operation);
    let ran = run(&[], || prepared.go(&local, level));
    ran.result.unwrap();
    let after = fixture.tree();
    assert_ne!(before, after);
    fixture.clean(&local, operation.0);
    Course { before, after, calls: ran.calls, log: ran.log }
}
