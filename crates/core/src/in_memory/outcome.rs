//! Outcomes of the functions on text in memory.

use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::find::Tier;
use crate::note::Notes;
use crate::text::change::ChangeSet;
use crate::text::snapshot::Snapshot;
use core::ops::Range;
use std::collections::BTreeMap;

/// A replacement: these bytes of the text before became these bytes of the new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedSpan {
    /// The replaced bytes of the text before; empty for an insertion.
    pub before: Range<usize>,
    /// The bytes of the new text; empty for a deletion.
    pub after: Range<usize>,
}

impl ChangedSpan {
    /// Returns the spans of a change: sorted, disjoint, and without bytes that both texts share at the ends. They are
    /// offsets in the file even if only parts of it were loaded.
    pub fn all_of(before: &Snapshot, changes: &ChangeSet) -> Vec<ChangedSpan> {
        let mut shift = 0isize;
        let mut out = Vec::with_capacity(changes.splices().len());
        for splice in changes.splices() {
            let Some(at) = before.to_file_offset(splice.span) else { continue };
            let start = at.saturating_add_signed(shift);
            out.push(ChangedSpan { before: at..at + splice.span.len(), after: start..start + splice.text.len() });
            shift += splice.text.len().cast_signed() - splice.span.len().cast_signed();
        }
        out
    }
}

/// A new text in parts: those of the text before that remain, and those that replace others. Its creation checks that
/// all of them are UTF-8.
#[derive(Clone, Debug)]
pub struct NewText {
    before: Snapshot,
    changes: ChangeSet,
}

impl NewText {
    /// Errors: [`Code::InternalBug`] if a part is not UTF-8.
    pub(super) fn new(before: Snapshot, changes: ChangeSet) -> Result<NewText> {
        let is_text = before.raw_text().is_some_and(|raw| changes.text_parts(raw).all(|part| part.is_some()));
        if is_text { Ok(NewText { before, changes }) } else { Err(not_utf8()) }
    }

    /// Returns the parts in their order.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.changes.text_parts(self.before.raw_text().unwrap_or_default()).flatten()
    }

    /// Returns the whole text.
    pub fn joined(&self) -> String {
        self.changes.apply_to_text(&self.before).unwrap_or_default()
    }
}

/// Creates the error for a new text that is not UTF-8, which edits of UTF-8 cannot make.
pub(super) fn not_utf8() -> Error {
    Error::new(Code::InternalBug, "The edited text is not UTF-8; nothing was changed.")
}

/// The outcome of an edit of one text. Bytes outside of [`spans`](AppliedText::spans) are those of the text before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppliedText<T = String> {
    /// The new text: a string, or a [`NewText`] if it is left in parts.
    pub text: T,
    /// The format of the patch: the one that was named, or the detected one.
    pub format: &'static str,
    /// The largest tolerance that an edit needed.
    pub tier: Tier,
    /// Every tolerance of the parser and of the matching cascade, and warnings, as sentences. Empty for an exact edit.
    pub notes: Notes,
    /// The changed bytes, sorted.
    pub spans: Vec<ChangedSpan>,
    /// Number of edits, blocks or hunks that were applied.
    pub edits: usize,
    /// Number of places that they changed; higher than `edits` if an edit replaces every occurrence.
    pub places: usize,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// The new path, if the patch moves the file.
    pub new_path: Option<String>,
}

impl AppliedText<NewText> {
    /// Returns the outcome with the parts of the new text joined.
    pub fn joined(self) -> AppliedText {
        let AppliedText { text, format, tier, notes, spans, edits, places, added, removed, new_path } = self;
        AppliedText { text: text.joined(), format, tier, notes, spans, edits, places, added, removed, new_path }
    }
}

/// The kind of the change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileChangeKind {
    /// The file is new.
    Created,
    /// The text of the file, or its permission, changed.
    Updated,
    /// The file is removed.
    Deleted,
    /// The file was at another path, and may be edited as well.
    Renamed {
        /// The former path.
        from: String,
    },
    /// The file is a copy of another one, and may be edited as well.
    Copied {
        /// The path of the original.
        from: String,
    },
}

/// The change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedFile {
    /// The kind of the change.
    pub kind: FileChangeKind,
    /// The new text; `None` for a deleted file.
    pub text: Option<String>,
    /// The largest tolerance that an edit needed.
    pub tier: Tier,
    /// Every tolerance, as sentences.
    pub notes: Notes,
    /// The changed bytes, sorted; relative to the file before, to the file at the former path, or to the empty text of
    /// a new file. Empty for a deleted file.
    pub spans: Vec<ChangedSpan>,
    /// Number of edits, blocks or hunks that were applied.
    pub edits: usize,
    /// Number of places that they changed.
    pub places: usize,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// True or false if the patch makes the file executable or not; `None` if it does not say.
    pub executable: Option<bool>,
}

/// The outcome of edits of several files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppliedFiles {
    /// The format of the patch: the one that was named, or the detected one.
    pub format: &'static str,
    /// Every changed file, by its path after the change; a deleted one by its former path.
    pub files: BTreeMap<String, ChangedFile>,
    /// Tolerances of the parser and of names, which belong to no single file.
    pub notes: Notes,
}

impl AppliedFiles {
    /// Performs the changes in a map of files.
    ///
    /// ```
    /// use emendate_core::{ApplyOptions, apply_files};
    /// use std::collections::BTreeMap;
    ///
    /// let mut files = BTreeMap::from([("a.txt".to_owned(), "one\n".to_owned())]);
    /// let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+two\n*** End Patch\n";
    /// apply_files(&files, patch, &ApplyOptions::new())?.write_to(&mut files);
    /// assert_eq!(files, BTreeMap::from([("b.txt".to_owned(), "two\n".to_owned())]));
    /// # Ok::<(), emendate_core::Error>(())
    /// ```
    pub fn write_to(&self, files: &mut BTreeMap<String, String>) {
        // All former paths are freed first, because files may swap their paths.
        for (path, file) in &self.files {
            match &file.kind {
                FileChangeKind::Deleted => files.remove(path),
                FileChangeKind::Renamed { from } => files.remove(from),
                _ => None,
            };
        }
        for (path, file) in &self.files {
            if let Some(text) = &file.text {
                files.insert(path.clone(), text.clone());
            }
        }
    }
}
