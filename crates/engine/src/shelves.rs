//! The histories of all roots, opened on first use.

use emendate_fs::{Place, RootInfo};
use emendate_history::{Database, History, Limits, Memory, root_key};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The location of session state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// In memory, for this process only.
    Memory,
    /// Only which versions were seen, in memory: for a process that makes one call.
    Nowhere,
    /// A database below this directory, shared by all processes; keyed by root.
    Directory(PathBuf),
}

/// The histories of all roots.
pub(crate) struct Shelves {
    state: State,
    limits: Limits,
    open: Vec<OnceLock<Box<dyn History>>>,
    /// For each root, the reason why its database cannot be used.
    failed: Vec<OnceLock<String>>,
    /// The process ends after one call.
    pub(crate) one_call: bool,
    notices: Mutex<Vec<String>>,
}

impl Shelves {
    pub(crate) fn new(state: State, roots: usize, limits: Limits) -> Shelves {
        let open = (0..roots).map(|_| OnceLock::new()).collect();
        let failed = (0..roots).map(|_| OnceLock::new()).collect();
        Shelves { state, limits, open, failed, one_call: false, notices: Mutex::new(Vec::new()) }
    }

    /// Returns the history of a root. A database that cannot be opened is replaced by one in memory, with a notice.
    pub(crate) fn of(&self, roots: &[RootInfo], root: usize) -> &dyn History {
        static NOWHERE: OnceLock<Memory> = OnceLock::new();
        let (Some(shelf), Some(failed), Some(root)) = (self.open.get(root), self.failed.get(root), roots.get(root))
        else {
            return NOWHERE.get_or_init(|| Memory::new(Limits::default()));
        };
        &**shelf.get_or_init(|| match &self.state {
            State::Memory => Box::new(Memory::new(self.limits)),
            State::Nowhere => Box::new(Memory::new(Limits { blob: 0, ..self.limits })),
            State::Directory(directory) => {
                match Database::open(&directory.join(root_key(&root.canonical)), self.limits) {
                    Ok(database) => Box::new(database),
                    Err(error) => {
                        let _ = failed.set(error.message().to_owned());
                        self.notice(format!(
                            "What was read cannot be remembered across processes: {} It is kept in memory for now.",
                            error.message()
                        ));
                        Box::new(Memory::new(self.limits))
                    }
                }
            }
        })
    }

    /// Returns why the history of a root is lost when this process ends, if that is after this call.
    pub(crate) fn lost_with_process(&self, root: usize) -> Option<&str> {
        self.failed.get(root).filter(|_| self.one_call)?.get().map(String::as_str)
    }

    /// True when changes can be undone at all.
    pub(crate) fn keep(&self) -> bool {
        self.state != State::Nowhere
    }

    fn notice(&self, text: String) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Takes the messages to show once.
    pub(crate) fn notices(&self) -> Vec<String> {
        let mut all = std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        all.extend(self.open.iter().filter_map(OnceLock::get).flat_map(|shelf| shelf.notices()));
        all
    }
}

/// The key of a file within its root's history: its canonical absolute path.
pub(crate) fn key(place: &Place) -> &[u8] {
    place.absolute().as_os_str().as_bytes()
}
