//! Shared by the tests: a store in a fresh directory, one-line edits, and a check for leftovers.
#![allow(dead_code, reason = "every test program uses a part of it")]

use emendate_core::{Code, Result};
use emendate_fs::{
    Durability, FileVersion, FileWrite, LocalStore, NewState, Precondition, SafePath, Store, WriteReport,
};
use std::path::{Path, PathBuf};

pub const LIMIT: u64 = 1 << 20;
pub const LEVELS: [Durability; 3] = Durability::ALL;

/// A directory `root` in a fresh one, and a store on it.
pub struct Rig {
    pub outer: tempfile::TempDir,
    pub root: PathBuf,
    pub store: LocalStore,
}

impl Rig {
    pub fn new() -> Rig {
        // Modes are compared, and this umask is the most common one.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap().join("root");
        std::fs::create_dir(&root).unwrap();
        let store = LocalStore::open(std::slice::from_ref(&root)).unwrap();
        Rig { outer, root, store }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn mode(&self, name: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn place(&self, name: &str) -> SafePath {
        self.store.resolve_path(&self.path(name)).unwrap()
    }

    pub fn version(&self, name: &str) -> FileVersion {
        self.store.read(&self.place(name), LIMIT, Vec::new()).unwrap().unwrap()
    }

    pub fn edit(&self, name: &str, new: &str) -> Result<WriteReport> {
        replace(&self.store, &self.path(name), new.as_bytes(), Durability::Power)
    }

    /// Fails if a temporary file is left anywhere.
    pub fn clean(&self) {
        let mut folders = vec![self.outer.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let entry = entry.unwrap();
                let name = entry.file_name();
                let name = name.to_string_lossy();
                assert!(!name.ends_with(".tmp~") && !name.ends_with(".txn~"), "litter: {}", entry.path().display());
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
            }
        }
    }
}

/// Returns a number of rounds, multiplied by `EMEND_TEST_TIMES`, which `cargo xtask torture` sets.
pub fn rounds(short: usize) -> usize {
    short * std::env::var("EMEND_TEST_TIMES").map_or(1, |times| times.parse().unwrap())
}

pub fn expect(version: Option<&FileVersion>) -> Precondition<'_> {
    version
        .map_or(Precondition::Missing, |version| Precondition::Version { bytes: &version.bytes, meta: &version.meta })
}

/// Reads, stages and commits `new` in three pieces.
pub fn replace(store: &dyn Store, path: &Path, new: &[u8], durability: Durability) -> Result<WriteReport> {
    let place = store.resolve_path(path)?;
    let old = store.read(&place, LIMIT, Vec::new())?;
    let (head, tail) = new.split_at(new.len() / 2);
    let pieces = [head, b"", tail];
    let write = [FileWrite { path: &place, precondition: expect(old.as_ref()), new_state: NewState::content(&pieces) }];
    Ok(store.stage(&write, durability)?.commit()?.remove(0))
}

/// Asserts the code and that the error is actionable; returns its message.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T>, code: Code) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert!(!error.message().is_empty() && !error.next_step().is_empty(), "{error}");
    error.to_string()
}

/// Runs `work` with a time limit: a call that hangs fails the test instead of hanging it.
#[track_caller]
pub fn ends(work: impl FnOnce() + Send + 'static) {
    let (done, wait) = std::sync::mpsc::channel();
    let worker = std::thread::spawn(move || {
        work();
        let _ = done.send(());
    });
    // Far more than needed on any machine. A hanging thread is left to the end of the process.
    match wait.recv_timeout(std::time::Duration::from_secs(60)) {
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("a call hangs"),
        _ => worker.join().unwrap(),
    }
}

/// Runs `work` in a thread without root privileges; skips it where they cannot be dropped.
pub fn as_nobody(work: impl FnOnce() + Send) {
    let (uid, gid) = (rustix::fs::Uid::from_raw(1234), rustix::fs::Gid::from_raw(1234));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if rustix::thread::set_thread_groups(&[]).is_ok()
                && rustix::thread::set_thread_res_gid(gid, gid, gid).is_ok()
                && rustix::thread::set_thread_res_uid(uid, uid, uid).is_ok()
            {
                work();
            }
        });
    });
}
