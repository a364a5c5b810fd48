//! A test engine over a root of its own, with one caller.

use crate::watched::Watched;
use emendate::fs::LocalStore;
use emendate::{CallContext, Config, Engine, Reply, StateLocation, UnreadPolicy};
use emendate_os::paths::with_slashes;
use proptest::prelude::ProptestConfig;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) struct EngineFixture {
    pub(crate) root: PathBuf,
    pub(crate) engine: Engine,
    pub(crate) caller: CallContext,
    /// Removed last: on Windows, a directory with open files stays.
    _dir: tempfile::TempDir,
}

impl EngineFixture {
    /// A caller who must read before editing, like a model.
    pub(crate) fn new() -> EngineFixture {
        EngineFixture::open(Config::default(), |_| StateLocation::Memory)
    }

    /// A caller who must read before editing, with one file.
    pub(crate) fn with(name: &str, text: &str) -> EngineFixture {
        let fixture = EngineFixture::new();
        fixture.put(name, text);
        fixture
    }

    /// A caller who has read the only file.
    pub(crate) fn with_read(name: &str, text: &str) -> EngineFixture {
        let fixture = EngineFixture::with(name, text);
        fixture.read(name);
        fixture
    }

    /// A caller who may edit unread files, like a person.
    pub(crate) fn trusted(config: Config) -> EngineFixture {
        let mut fixture = EngineFixture::open(config, |_| StateLocation::Memory);
        fixture.caller.unread = UnreadPolicy::Allow;
        fixture
    }

    pub(crate) fn open(config: Config, state: impl FnOnce(&Path) -> StateLocation) -> EngineFixture {
        EngineFixture::in_folder(tempfile::tempdir().unwrap(), config, state)
    }

    /// Creates a fixture over an existing directory.
    pub(crate) fn below(dir: tempfile::TempDir, config: Config) -> EngineFixture {
        EngineFixture::in_folder(dir, config, |_| StateLocation::Memory)
    }

    fn in_folder(dir: tempfile::TempDir, config: Config, state: impl FnOnce(&Path) -> StateLocation) -> EngineFixture {
        let root = emendate_os::paths::canonical(dir.path()).unwrap();
        let engine = Engine::open(std::slice::from_ref(&root), state(&root), config).unwrap();
        EngineFixture { root, engine, caller: CallContext::default(), _dir: dir }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        emendate_os::paths::normal(&self.root.join(name)).into_owned()
    }

    pub(crate) fn put(&self, name: impl AsRef<Path>, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a file, and lets the caller read it.
    pub(crate) fn put_read(&self, name: &str, text: &str) {
        self.put(name, text);
        self.read(name);
    }

    pub(crate) fn get(&self, name: impl AsRef<Path>) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn call(&self, tool: &str, input: Value) -> Reply {
        self.engine.call(&self.caller, tool, input)
    }

    /// Calls a tool on one file of the root.
    pub(crate) fn call_on(&self, name: &str, tool: &str, mut input: Value) -> Reply {
        input["file_path"] = json!(self.path(name));
        self.call(tool, input)
    }

    pub(crate) fn read(&self, name: &str) -> Reply {
        self.call_on(name, "read", json!({}))
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> Reply {
        self.call_on(name, "write", json!({ "content": text }))
    }

    pub(crate) fn edit(&self, name: &str, old: &str, new: &str) -> Reply {
        self.call_on(name, "edit", json!({ "old_string": old, "new_string": new }))
    }

    pub(crate) fn apply(&self, text: &str) -> Reply {
        self.call("apply", json!({ "input": text, "directory": self.root }))
    }
}

/// A directory with a root in it and a state directory next to the root: what several processes of a test share.
pub(crate) struct SharedRoot(pub(crate) PathBuf);

impl SharedRoot {
    /// Creates an empty root in a directory.
    pub(crate) fn create(directory: &Path) -> SharedRoot {
        let shared = SharedRoot(emendate_os::paths::canonical(directory).unwrap());
        fs::create_dir(shared.root()).unwrap();
        shared
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.0.join("root")
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    pub(crate) fn engine(&self, config: Config) -> Engine {
        Engine::open(&[self.root()], StateLocation::Directory(self.state()), config).unwrap()
    }

    /// Opens an engine that reports the points which its calls reach.
    pub(crate) fn watched_engine(&self, config: Config, reached: Box<dyn Fn(&str) + Send + Sync>) -> Engine {
        let local = LocalStore::open(&[self.root()]).unwrap().with_journal(&self.state().join("journal")).unwrap();
        Engine::with_store(Box::new(Watched { local, reached }), StateLocation::Directory(self.state()), config)
            .unwrap()
    }
}

/// Returns the permission bits of a file or directory; where files have none, those of any file.
pub(crate) fn mode_of(path: impl AsRef<Path>) -> u32 {
    emendate_os::files::mode_of(&fs::metadata(path).unwrap()) & 0o7777
}

/// True for a file that only its owner can read. On Windows, its directory decides that.
pub(crate) fn is_private(path: impl AsRef<Path>) -> bool {
    cfg!(windows) || mode_of(path) == 0o600
}

/// Sets the permission bits of a file.
#[cfg(unix)]
pub(crate) fn set_mode(path: impl AsRef<Path>, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The texts of all files below a directory, by their relative paths; those of git are left out.
pub(crate) fn text_tree(root: &Path) -> BTreeMap<String, String> {
    let mut tree = BTreeMap::new();
    let mut open: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.extend((!path.ends_with(".git")).then_some(path));
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                tree.insert(with_slashes(name).into_owned(), fs::read_to_string(&path).unwrap());
            }
        }
    }
    tree
}

/// The configuration of a test whose cases start processes: only a few are run unless more are requested.
pub(crate) fn few_cases(max_shrink_iters: u32) -> ProptestConfig {
    let all = ProptestConfig::default();
    let cases = std::env::var_os("PROPTEST_CASES").map_or(16, |_| all.cases);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters, ..all }
}

/// The code of an error, or `ok`.
pub(crate) fn code(reply: &Reply) -> &'static str {
    reply.result.as_ref().err().map_or("ok", |error| error.code().as_str())
}

/// The text of a successful reply.
#[track_caller]
pub(crate) fn ok(reply: &Reply) -> String {
    assert_eq!(code(reply), "ok", "{}", reply.text());
    reply.text()
}
