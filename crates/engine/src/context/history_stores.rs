//! The histories of all roots, opened on first use.

use emendate_core::Result;
use emendate_fs::{RootInfo, SafePath};
use emendate_history::{Database, History, HistoryLimits, LogEntry, MemoryHistory, OperationFilter, root_key};
use emendate_os::ffi::OsStrExt as _;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The location of session state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateLocation {
    /// The state is in memory, for this process only.
    Memory,
    /// The state is in memory, and consists only of the versions that were seen: nothing can be undone. For a process
    /// that makes one call.
    Nowhere,
    /// A database below this directory, shared by all processes; keyed by root.
    Directory(PathBuf),
    /// A copy of this directory's databases, made when it is needed and lost with the process. The directory stays as it
    /// is: for calls that must not write anything.
    Throwaway(PathBuf),
}

impl StateLocation {
    /// The state directory, if there is one.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            StateLocation::Directory(directory) | StateLocation::Throwaway(directory) => Some(directory),
            StateLocation::Memory | StateLocation::Nowhere => None,
        }
    }
}

/// The histories of all roots.
pub(crate) struct HistoryStores {
    state: StateLocation,
    limits: HistoryLimits,
    stores: Vec<OnceLock<Box<dyn History>>>,
    /// For each root, the reason why its database cannot be used.
    open_errors: Vec<OnceLock<String>>,
    /// The process ends after one call.
    pub(crate) one_call: bool,
    notices: Mutex<Vec<String>>,
}

impl HistoryStores {
    pub(crate) fn new(state: StateLocation, roots: usize, limits: HistoryLimits) -> HistoryStores {
        let stores = (0..roots).map(|_| OnceLock::new()).collect();
        let open_errors = (0..roots).map(|_| OnceLock::new()).collect();
        HistoryStores { state, limits, stores, open_errors, one_call: false, notices: Mutex::new(Vec::new()) }
    }

    /// Returns the history of a root. A database that cannot be opened is replaced by one in memory, with a notice.
    pub(crate) fn of(&self, roots: &[RootInfo], root: usize) -> &dyn History {
        static NOWHERE: OnceLock<MemoryHistory> = OnceLock::new();
        let (Some(store), Some(failed), Some(root)) =
            (self.stores.get(root), self.open_errors.get(root), roots.get(root))
        else {
            return NOWHERE.get_or_init(|| MemoryHistory::new(HistoryLimits::default()));
        };
        &**store.get_or_init(|| match &self.state {
            StateLocation::Memory => Box::new(MemoryHistory::new(self.limits)),
            StateLocation::Nowhere => Box::new(MemoryHistory::new(HistoryLimits { blob: 0, ..self.limits })),
            StateLocation::Directory(directory) | StateLocation::Throwaway(directory) => {
                let directory = directory.join(root_key(&root.canonical));
                let opened = match &self.state {
                    StateLocation::Throwaway(_) => Database::open_throwaway(&directory, self.limits),
                    _ => Database::open(&directory, self.limits),
                };
                match opened {
                    Ok(database) => Box::new(database),
                    Err(error) => {
                        let _ = failed.set(error.message().to_owned());
                        self.notice(format!(
                            "What was read cannot be remembered across processes: {} It is kept in memory for now.",
                            error.message()
                        ));
                        Box::new(MemoryHistory::new(self.limits))
                    }
                }
            }
        })
    }

    /// Returns the history of a root if it was used already.
    pub(crate) fn opened(&self, root: usize) -> Option<&dyn History> {
        self.stores.get(root)?.get().map(|history| &**history)
    }

    /// Returns the directory of a root in the state directory. For a throwaway state, this is the original directory.
    pub(crate) fn directory(&self, roots: &[RootInfo], root: usize) -> Option<PathBuf> {
        Some(self.state.directory()?.join(root_key(&roots.get(root)?.canonical)))
    }

    /// Returns the reason why the history of a root will be lost; `None` if it will not, or if the process does not end
    /// after this call.
    pub(crate) fn why_lost_with_process(&self, root: usize) -> Option<&str> {
        self.open_errors.get(root).filter(|_| self.one_call)?.get().map(String::as_str)
    }

    /// True when changes can be undone at all.
    pub(crate) fn keeps_history(&self) -> bool {
        self.state != StateLocation::Nowhere
    }

    fn notice(&self, text: String) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Takes the messages to show once.
    pub(crate) fn notices(&self) -> Vec<String> {
        let mut all = std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        all.extend(self.stores.iter().filter_map(OnceLock::get).flat_map(|store| store.notices()));
        all
    }
}

/// Operations that are read together.
pub(crate) const OPERATIONS_PER_PAGE: usize = 50;

/// Returns the operations of a history that match, the newest first. They are read by pages when they are needed,
/// whatever the limit of the filter is.
pub(crate) fn logged_operations<'a>(
    history: &'a dyn History,
    filter: OperationFilter<'a>,
) -> impl Iterator<Item = Result<LogEntry>> {
    let mut page = Vec::new().into_iter();
    let mut next = Some(OperationFilter { limit: OPERATIONS_PER_PAGE, ..filter });
    std::iter::from_fn(move || {
        if let Some(logged) = page.next() {
            return Some(Ok(logged));
        }
        let filter = next.take()?;
        let read = match history.operations(&filter) {
            Ok(read) => read,
            Err(error) => return Some(Err(error)),
        };
        let last = read.last().filter(|_| read.len() == OPERATIONS_PER_PAGE);
        next = last.map(|last| OperationFilter { below: Some(last.id.number), ..filter });
        page = read.into_iter();
        page.next().map(Ok)
    })
}

/// The key of a file within its root's history: its canonical absolute path.
pub(crate) fn key(path: &SafePath) -> &[u8] {
    path.absolute().as_os_str().as_bytes()
}

/// The path of a file from its [`key`].
pub(crate) fn log_path(key: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(key))
}
