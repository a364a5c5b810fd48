//! A session's record of one version of a file.

use core::ops::Range;

use emendate_core::ContentId;
use emendate_fs::FileMeta;

use crate::{FileKind, FileState, LineSet};

/// The way in which a session learned of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordOrigin {
    /// The session read the file.
    Read,
    /// The session wrote the file.
    Write,
    /// The session was shown the text in an error message.
    Shown,
}

/// A session's record of one version of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The version, by its raw bytes.
    pub content: ContentId,
    /// Metadata of the file at that time.
    pub meta: FileMeta,
    /// The metadata was too recent to prove anything when it was read.
    pub racy: bool,
    /// The lines that the session was shown.
    pub lines: LineSet,
    /// The way in which the session learned of them.
    pub origin: RecordOrigin,
    /// The first requested line, if the read named one.
    pub offset: Option<u64>,
    /// The number of requested lines, if the read named one.
    pub limit: Option<u64>,
}

impl Record {
    /// The state of the file at that time.
    pub fn state(&self) -> FileState {
        let kind = if self.meta.is_link() { FileKind::Link } else { FileKind::Regular };
        FileState { content: self.content, mode: self.meta.mode & 0o7777, kind }
    }
}

/// Data from which the version's bytes can be restored later.
#[derive(Clone, Copy)]
pub enum VersionBody<'a> {
    /// The raw bytes.
    Bytes(&'a [u8]),
    /// Another version with some ranges replaced.
    Change {
        /// The base version.
        base: ContentId,
        /// Ranges of its bytes, sorted and disjoint, each with its replacement.
        splices: &'a [(Range<usize>, &'a [u8])],
        /// Returns the new bytes. Called only if the change cannot be stored as such; without it, only the identity is
        /// remembered then. Called while the store is locked, so it must not use the store.
        full: Option<&'a dyn Fn() -> Vec<u8>>,
    },
    /// Nothing: only the identity is remembered.
    None,
}
