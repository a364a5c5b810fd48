//! A root with a state directory, and the calls of its sessions.

use crate::fixture::SharedRoot;
use emendate::{CallContext, Config, Engine, Reply, UnreadPolicy};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A root and its history, which several callers use, and which another engine can continue.
pub(crate) struct UndoFixture {
    pub(crate) root: PathBuf,
    shared: SharedRoot,
    config: Config,
    pub(crate) engine: Option<Engine>,
    /// Removed last: on Windows, a directory with open files stays.
    pub(crate) dir: tempfile::TempDir,
}

/// The content of a tree: targets of links, modes and bytes of files.
pub(crate) type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

pub(crate) fn caller(session: &str) -> CallContext {
    CallContext { session: session.to_owned(), ..CallContext::default() }
}

pub(crate) fn person() -> CallContext {
    CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() }
}

impl UndoFixture {
    pub(crate) fn new() -> UndoFixture {
        UndoFixture::with(Config::default())
    }

    pub(crate) fn with(config: Config) -> UndoFixture {
        let dir = tempfile::tempdir().unwrap();
        let shared = SharedRoot::create(dir.path());
        let mut fixture = UndoFixture { root: shared.root(), shared, config, engine: None, dir };
        fixture.reopen();
        fixture
    }

    pub(crate) fn open(&self) -> Engine {
        self.shared.engine(self.config.clone())
    }

    pub(crate) fn reopen(&mut self) {
        self.engine = None;
        self.engine = Some(self.open());
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn call(&self, caller: &CallContext, tool: &str, input: Value) -> Reply {
        self.engine().call(caller, tool, input)
    }

    pub(crate) fn read(&self, caller: &CallContext, name: &str) -> Reply {
        self.call(caller, "read", json!({ "file_path": self.path(name) }))
    }

    pub(crate) fn edit(&self, caller: &CallContext, name: &str, old: &str, new: &str) -> Reply {
        self.call(caller, "edit", json!({ "file_path": self.path(name), "old_string": old, "new_string": new }))
    }

    pub(crate) fn apply(&self, caller: &CallContext, text: &str) -> Reply {
        self.call(caller, "apply", json!({ "input": text }))
    }

    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        collect(&self.root, &mut tree);
        tree
    }
}

pub(crate) fn collect(folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let found = fs::symlink_metadata(&path).unwrap();
        if found.is_dir() {
            collect(&path, tree);
        } else if found.is_symlink() {
            let target = fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
            tree.insert(path, (0, target));
        } else {
            let bytes = fs::read(&path).unwrap();
            tree.insert(path, (emendate_os::files::mode_of(&found) & 0o7777, bytes));
        }
    }
}

pub(crate) fn code(reply: &Reply) -> &'static str {
    reply.result.as_ref().err().map_or("ok", |error| error.code().as_str())
}

pub(crate) fn data(reply: &Reply) -> Value {
    reply.to_json()["data"].clone()
}

/// The reply of a successful call.
pub(crate) fn ok(reply: Reply) -> Reply {
    assert_eq!(code(&reply), "ok", "{}", reply.text());
    reply
}

pub(crate) fn name_of(reply: &Reply) -> String {
    data(reply)["operation"].as_str().unwrap_or_default().to_owned()
}
