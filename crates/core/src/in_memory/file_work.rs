//! The pending work on one file: the text before, and everything that the steps so far change in it.

use super::options::ApplyOptions;
use super::outcome::{AppliedText, ChangedFile, ChangedSpan, FileChangeKind, NewText, not_utf8};
use crate::error::Result;
use crate::formats::whole_text::{WholeText, new_file_change, whole_change};
use crate::locate::find::Tier;
use crate::locate::op::FileMode;
use crate::locate::resolve::ResolvedEdit;
use crate::note::Notes;
use crate::text::change::ChangeSet;
use crate::text::explain;
use crate::text::snapshot::Snapshot;

/// The path that a text comes from, if it differs from the current path.
#[derive(Clone, Debug)]
struct FileOrigin {
    path: String,
    /// True if the file remains at that path.
    is_copied: bool,
}

/// The change of one file so far.
#[derive(Clone, Debug)]
pub(super) struct FileWork {
    /// The text that the changes apply to: that of the file, of its origin, or the empty text of a new file.
    pub(super) before: Snapshot,
    changes: ChangeSet,
    origin: Option<FileOrigin>,
    /// True if there was nothing at the path before the call.
    is_new: bool,
    executable: Option<bool>,
    pub(super) notes: Notes,
    tier: Tier,
    edits: usize,
    places: usize,
}

impl FileWork {
    /// Creates the work on an existing file.
    pub(super) fn unchanged(before: Snapshot) -> FileWork {
        let changes = ChangeSet::none(&before);
        FileWork {
            before,
            changes,
            origin: None,
            is_new: false,
            executable: None,
            notes: Notes::new(),
            tier: Tier::Exact,
            edits: 0,
            places: 0,
        }
    }

    /// Creates the work on a file that does not exist, with an empty text.
    pub(super) fn of_new_file() -> FileWork {
        FileWork { is_new: true, ..FileWork::unchanged(Snapshot::from_text("")) }
    }

    /// Creates the work that writes a new file with this text.
    pub(super) fn of_new_text(extension: Option<&str>, content: &str, options: &ApplyOptions) -> Result<FileWork> {
        let ApplyOptions { matching, placeholders_meant, .. } = *options;
        let mut work = FileWork::of_new_file();
        work.add_whole(&new_file_change(&work.before, content)?);
        work.notes.extend(WholeText::of_new_file(extension, content, matching, placeholders_meant)?.notes);
        Ok(work)
    }

    /// Creates the work that replaces the whole content of an existing file.
    pub(super) fn of_whole_text(before: Snapshot, content: &str) -> Result<FileWork> {
        let mut work = FileWork::unchanged(before);
        work.add_whole(&whole_change(&work.before, content)?);
        Ok(work)
    }

    /// Creates the work on a copy of another file.
    pub(super) fn of_copy(path: &str, before: Snapshot) -> FileWork {
        let origin = Some(FileOrigin { path: path.to_owned(), is_copied: true });
        FileWork { origin, ..FileWork::unchanged(before) }
    }

    /// Takes the text from its path, to place it at another one. A file created by the same call has no origin.
    pub(super) fn lift(&mut self, path: &str) -> FileWork {
        let own = || FileOrigin { path: path.to_owned(), is_copied: false };
        let earlier = self.origin.take();
        FileWork { origin: earlier.or_else(|| (!self.is_new).then(own)), ..self.clone() }
    }

    /// Adds edits that apply to the text after the changes so far.
    pub(super) fn add(&mut self, resolved: ResolvedEdit) {
        self.edits += resolved.ops.len();
        self.places += resolved.places();
        self.changes = self.changes.then(&self.before, &resolved.changes);
        self.notes.extend(resolved.notes);
        for op in resolved.ops {
            self.tier = self.tier.max(op.tier);
            self.notes.extend(op.notes);
        }
    }

    /// Adds a change that applies to the text after the changes so far.
    fn add_whole(&mut self, changes: &ChangeSet) {
        self.changes = self.changes.then(&self.before, changes);
        self.edits += 1;
        self.places += 1;
    }

    /// Sets the permission, if the request states one.
    pub(super) fn set_mode(&mut self, mode: Option<FileMode>) {
        self.executable = mode.map(FileMode::is_executable).or(self.executable);
    }

    /// Forgets the origin of a text that returns to its path.
    pub(super) fn arrive_at(&mut self, path: &str) {
        if self.moved_from() == Some(path) {
            self.origin = None;
        }
    }

    /// The path that the text was moved from, if any.
    pub(super) fn moved_from(&self) -> Option<&str> {
        self.origin.as_ref().filter(|origin| !origin.is_copied).map(|origin| &*origin.path)
    }

    /// Returns the text after the changes.
    ///
    /// Errors: as [`Snapshot::open`].
    pub(super) fn after(&self) -> Result<Snapshot> {
        if self.changes.is_empty() { Ok(self.before.clone()) } else { self.before.after(&self.changes) }
    }

    /// Checks the text after the changes.
    ///
    /// Errors: as [`Snapshot::open`].
    pub(super) fn check_after(&self) -> Result<()> {
        self.before.check_after(&self.changes)
    }

    /// True if the file differs from the one before.
    pub(super) fn changes_anything(&self) -> bool {
        self.is_new || self.origin.is_some() || !self.changes.is_empty() || self.executable.is_some()
    }

    /// Returns the outcome of the only text of a call, with the notes of its patch.
    ///
    /// Errors: as [`NewText::new`].
    pub(super) fn into_applied_text(self, format: &'static str, mut notes: Notes) -> Result<AppliedText<NewText>> {
        let stat = explain::count_changes(&self.before, &self.changes);
        notes.extend(self.notes);
        Ok(AppliedText {
            format,
            tier: self.tier,
            notes,
            spans: ChangedSpan::all_of(&self.before, &self.changes),
            edits: self.edits,
            places: self.places,
            added: stat.added,
            removed: stat.removed,
            new_path: None,
            text: NewText::new(self.before, self.changes)?,
        })
    }

    /// Returns the outcome of a file that exists afterwards.
    ///
    /// Errors: [`Code::InternalBug`](crate::Code::InternalBug) if the new bytes are not UTF-8.
    pub(super) fn into_changed_file(self) -> Result<ChangedFile> {
        let kind = match self.origin {
            Some(FileOrigin { path, is_copied: true }) => FileChangeKind::Copied { from: path },
            Some(FileOrigin { path, is_copied: false }) => FileChangeKind::Renamed { from: path },
            None if self.is_new => FileChangeKind::Created,
            None => FileChangeKind::Updated,
        };
        let stat = explain::count_changes(&self.before, &self.changes);
        Ok(ChangedFile {
            kind,
            text: Some(text_after(&self.before, &self.changes)?),
            tier: self.tier,
            notes: self.notes,
            spans: ChangedSpan::all_of(&self.before, &self.changes),
            edits: self.edits,
            places: self.places,
            added: stat.added,
            removed: stat.removed,
            executable: self.executable,
        })
    }

    /// Returns the outcome of a file that is removed.
    pub(super) fn into_deleted_file(self) -> ChangedFile {
        ChangedFile {
            kind: FileChangeKind::Deleted,
            text: None,
            tier: self.tier,
            notes: self.notes,
            spans: Vec::new(),
            edits: self.edits + 1,
            places: self.places,
            added: 0,
            removed: self.before.text().split_inclusive('\n').count(),
            executable: None,
        }
    }
}

/// Returns the new text.
///
/// Errors: [`Code::InternalBug`](crate::Code::InternalBug) if it is not UTF-8.
pub(super) fn text_after(before: &Snapshot, changes: &ChangeSet) -> Result<String> {
    changes.apply_to_text(before).ok_or_else(not_utf8)
}
