//! The time of the last visit: the newest operation when the page was last open.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Bytes of the file.
const VISIT_BYTES_MAX: usize = 256;

/// The last visit, and where this one is kept.
pub(crate) struct Visits {
    file: Option<PathBuf>,
    last: Option<String>,
    current: Mutex<String>,
}

impl Visits {
    /// Reads the last visit.
    pub(crate) fn open(file: Option<PathBuf>) -> Visits {
        let read = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        let last =
            read.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty() && text.len() < VISIT_BYTES_MAX);
        Visits { file, last, current: Mutex::default() }
    }

    /// The newest operation at the end of the last visit.
    pub(crate) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// Keeps the newest operation that this visit has seen.
    pub(crate) fn record(&self, newest: &str) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if *current == newest || newest.is_empty() {
            return;
        }
        newest.clone_into(&mut current);
        if let Some(file) = &self.file {
            // The next visit then begins earlier, which shows more than is new.
            let _ = fs::write(file, newest);
        }
    }
}
