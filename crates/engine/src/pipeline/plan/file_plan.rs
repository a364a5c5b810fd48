//! The plan for one file. Nothing is written yet.

use crate::context::policy::BlockingRule;
use crate::context::{Context, LoadedFile};
use crate::model::change_kind::ChangeKind;
use crate::session::base;
use emendate_core::line_edits::ReplacedLines;
use emendate_core::line_format::LineFormat;
use emendate_core::whole_text::whole_change;
use emendate_core::{
    ChangeSet, ContentId, Error, FileMode, HeaderStyle, Note, Notes, OpOutcome, OverlayEntry, ResolvedEdit, Result,
    ShortHash, ShortTag, Snapshot, Span, Splice, explain,
};
use emendate_fs::{FileAttributes, FileSource, FileWrite, NewState, Precondition, SafePath, SpliceChunk};
use emendate_history::LineSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// The current entry at the path.
#[derive(Clone)]
pub(crate) enum CurrentState {
    Nothing,
    File(LoadedFile),
    Link(OsString),
}

impl CurrentState {
    /// The regular file, if there is one.
    pub(crate) fn file(&self) -> Option<&LoadedFile> {
        match self {
            CurrentState::File(now) => Some(now),
            CurrentState::Nothing | CurrentState::Link(_) => None,
        }
    }

    /// Permission bits of a regular file.
    pub(crate) fn mode(&self) -> Option<u32> {
        self.file().map(|now| now.meta.mode & 0o7777)
    }
}

/// The entry that the plan leaves at the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TargetState {
    /// The text before, with the changes.
    File,
    /// A symbolic link.
    Link(OsString),
    Nothing,
}

/// The source of the text before, if it is another path.
#[derive(Clone)]
pub(crate) struct SourceFile {
    pub(crate) path: SafePath,
    /// The source file is kept.
    pub(crate) copied: bool,
}

/// The outcome of the edits of a file.
#[derive(Clone, Default)]
pub(crate) struct PlanOutcome {
    /// The outcome of each operation; empty for a whole-file write.
    pub(crate) ops: Vec<OpOutcome>,
    /// The file had changed since it was read, and the edit was rebased.
    pub(crate) merged: bool,
    /// Both sides of a conflict are in the text, as the caller requested.
    pub(crate) has_conflict_markers: bool,
    /// The rule of a hook that requires approval.
    pub(crate) asking_rule: Option<BlockingRule>,
    /// A person changed the text before it was written.
    pub(crate) user_modified: bool,
    /// Operations of the call, if a person changed the text.
    pub(crate) corrected: Vec<OpOutcome>,
    pub(crate) notes: Notes,
    /// Errors of edits that were skipped, if the call accepts that.
    pub(crate) failed: Vec<Error>,
    /// The edits that were skipped, as text.
    pub(crate) rejected: String,
}

/// Presentation of a file's change in the reply.
#[derive(Clone, Default)]
pub(crate) struct PlanDisplay {
    /// The header above the rows of the reply, if changes are shown as rows.
    pub(crate) header: Option<HeaderStyle>,
    /// The name in that header.
    pub(crate) name: String,
    /// The line format of changed lines in the reply, if they are shown with anchors.
    pub(crate) anchor_format: Option<&'static LineFormat>,
    /// The replaced ranges of lines, quoted.
    pub(crate) replaced: Vec<ReplacedLines>,
    /// The short tag of a large file after the plan, if the reply shows it.
    pub(crate) short_tag: Option<ShortTag>,
}

/// The knowledge of a file that the session gains.
#[derive(Clone)]
pub(crate) struct SeenUpdate {
    /// Lines that the caller knows after the write.
    pub(crate) lines: LineSet,
    /// The caller has not seen the file, and the reply does not show it: the session does not know it afterwards.
    pub(crate) unseen: bool,
}

impl SeenUpdate {
    /// Creates the update for a caller that knows these lines after the write.
    pub(crate) fn of(lines: LineSet) -> SeenUpdate {
        SeenUpdate { lines, unseen: false }
    }
}

/// The new content of a file in parts.
pub(crate) enum NewContent<'a> {
    Whole(Vec<&'a [u8]>),
    /// Parts of a large file and new ones.
    Spliced(&'a FileSource, Vec<SpliceChunk<'a>>),
}

/// The planned change of one file: what is written, and in three parts of its own what happened, how it is presented,
/// and what the session learns.
#[derive(Clone)]
pub(crate) struct FilePlan {
    pub(crate) path: SafePath,
    pub(crate) current: CurrentState,
    pub(crate) target: TargetState,
    /// The text that the changes apply to: of the file itself, of its source, or the empty text of a new file.
    pub(crate) before: Snapshot,
    pub(crate) changes: ChangeSet,
    pub(crate) source_file: Option<SourceFile>,
    /// The content moves to another path, whose plan reports it.
    pub(crate) is_move_source: bool,
    /// The call moves the current file away, and the target is a new file that has nothing of it.
    pub(crate) is_new_after_move: bool,
    /// Sets or clears the execute bits.
    pub(crate) executable: Option<bool>,
    /// Sets exactly these permission bits.
    pub(crate) mode: Option<u32>,
    /// Owner and attributes of a created file.
    pub(crate) attributes: Option<FileAttributes>,
    /// Owner and attributes of the current file, if they are lost otherwise.
    pub(crate) lost_attributes: Option<FileAttributes>,
    /// The outcome of the edits.
    pub(crate) outcome: PlanOutcome,
    /// Presentation in the reply.
    pub(crate) display: PlanDisplay,
    /// The knowledge that the session gains.
    pub(crate) seen: SeenUpdate,
    /// The open file, if it is so large that `before` is a sparse snapshot.
    pub(crate) source: Option<Arc<FileSource>>,
    /// The length of a prefix of a large file and the short-tag hash of that prefix, if it was scanned for that.
    pub(crate) prefix_hash: Option<(usize, ShortHash)>,
    /// The expected content of a large file after the write, if it is known beforehand.
    pub(crate) expected_content: Option<ContentId>,
}

impl FilePlan {
    /// Creates the plan for a changed file.
    pub(crate) fn edit(path: SafePath, now: LoadedFile, resolved: ResolvedEdit, lines: LineSet) -> FilePlan {
        let before = now.snapshot.clone();
        FilePlan::new(path, CurrentState::File(now), before, resolved, lines)
    }

    /// Creates the plan for a new file.
    pub(crate) fn create(path: SafePath, before: Snapshot, resolved: ResolvedEdit) -> FilePlan {
        FilePlan::new(path, CurrentState::Nothing, before, resolved, LineSet::all())
    }

    /// Creates the plan for an unchanged file, to be modified further.
    pub(crate) fn unchanged(path: SafePath, now: LoadedFile, lines: LineSet) -> FilePlan {
        let changes = ChangeSet::none(&now.snapshot);
        FilePlan::edit(path, now, without_ops(changes), lines)
    }

    /// Creates a plan that leaves any other `target` at the path.
    pub(crate) fn replace_entry(path: SafePath, now: CurrentState, target: TargetState) -> FilePlan {
        let before = match &now {
            CurrentState::File(now) => now.snapshot.clone(),
            _ => Snapshot::from_text(""),
        };
        let changes = ChangeSet::none(&before);
        FilePlan { target, ..FilePlan::new(path, now, before, without_ops(changes), LineSet::all()) }
    }

    /// Creates the plan for a file that is `before` with the changes made.
    pub(crate) fn new(
        path: SafePath,
        current: CurrentState,
        before: Snapshot,
        resolved: ResolvedEdit,
        lines_seen: LineSet,
    ) -> FilePlan {
        let ResolvedEdit { changes, ops, failed, notes } = resolved;
        FilePlan {
            path,
            current,
            target: TargetState::File,
            before,
            changes,
            source_file: None,
            is_move_source: false,
            is_new_after_move: false,
            executable: None,
            mode: None,
            attributes: None,
            lost_attributes: None,
            outcome: PlanOutcome { ops, notes, failed, ..PlanOutcome::default() },
            display: PlanDisplay::default(),
            seen: SeenUpdate::of(lines_seen),
            source: None,
            prefix_hash: None,
            expected_content: None,
        }
    }

    /// Sets the permission, if the request states one.
    pub(crate) fn set_mode(&mut self, mode: Option<FileMode>) {
        self.executable = mode.map(FileMode::is_executable).or(self.executable);
    }

    /// Returns the text after this plan.
    ///
    /// Errors: as [`Snapshot::open`].
    pub(crate) fn after(&self) -> Result<Snapshot> {
        if self.changes.is_empty() {
            return Ok(self.before.clone());
        }
        let bytes = self.changes.apply(&self.before);
        if self.before.is_binary() { Ok(Snapshot::binary(bytes)) } else { self.before.reopen(bytes) }
    }

    /// Replaces the new text by one from somebody other than the caller, as its own step in the reply. Binary content
    /// is not replaced.
    ///
    /// Errors: a text that the encoding cannot represent.
    pub(crate) fn replace_text(&mut self, by: &str, text: &str) -> Result<()> {
        if self.target != TargetState::File || self.before.is_binary() {
            return Ok(());
        }
        let after = self.after()?;
        let changes = whole_change(&after, text)?;
        if changes.is_empty() {
            return Ok(());
        }
        let stat = explain::stat(&explain::hunk_headers(&after, &changes));
        let (added, removed) = (stat.added, stat.removed);
        self.outcome.notes.push(Note::NewTextChanged { by: by.to_owned(), added, removed });
        self.seen.lines = base::after_writing(&self.seen.lines, &after, &changes);
        self.changes = self.changes.then(&self.before, &changes);
        Ok(())
    }

    /// The larger of the sizes of the file before and after, of a large one as well.
    pub(crate) fn size_max(&self) -> usize {
        self.before.size().max(self.changes.len_after(&self.before))
    }

    /// True when nothing exists at the path now.
    pub(crate) fn creates(&self) -> bool {
        matches!(self.current, CurrentState::Nothing)
    }

    /// The kind of the change.
    pub(crate) fn kind(&self) -> ChangeKind {
        match (&self.current, &self.target, &self.source_file) {
            (_, TargetState::Nothing, _) => ChangeKind::Delete,
            (_, _, Some(origin)) if origin.copied => ChangeKind::Copy,
            (_, _, Some(_)) => ChangeKind::Move,
            (_, TargetState::Link(_), _) => ChangeKind::Link,
            (CurrentState::Nothing, ..) => ChangeKind::Create,
            _ if self.is_new_after_move => ChangeKind::Create,
            _ => ChangeKind::Update,
        }
    }

    /// The former path of a moved file.
    pub(crate) fn move_source(&self) -> Option<&SafePath> {
        self.source_file.as_ref().filter(|origin| !origin.copied).map(|origin| &origin.path)
    }

    /// True when there is something to write: a difference, or a new file.
    pub(crate) fn writes(&self) -> bool {
        match (&self.current, &self.target) {
            (CurrentState::Nothing, TargetState::Nothing) => false,
            (CurrentState::Link(now), TargetState::Link(then)) => now != then,
            (CurrentState::File(now), TargetState::File) => {
                self.source_file.is_some()
                    || self.is_new_after_move
                    || self.attributes.is_some()
                    || !self.changes.is_empty()
                    || self.executable.is_some_and(|to| to != (now.meta.mode & 0o111 != 0))
                    || self.mode.is_some_and(|to| to != now.meta.mode & 0o7777)
            }
            _ => true,
        }
    }

    /// True when the current file is removed, with all its attributes.
    pub(crate) fn removes_file(&self) -> bool {
        let stays = self.target == TargetState::File && self.source_file.is_none() && self.attributes.is_none();
        matches!(self.current, CurrentState::File(_)) && !self.is_move_source && !stays
    }

    /// Sets the open source of a sparse snapshot, with the hash of its prefix if known.
    pub(crate) fn sparse(self, source: FileSource, hashed: Option<(usize, ShortHash)>) -> FilePlan {
        FilePlan { source: Some(Arc::new(source)), prefix_hash: hashed, ..self }
    }

    /// Returns the new content of a large file as parts of the old one; empty for any other.
    pub(crate) fn chunks(&self) -> Vec<SpliceChunk<'_>> {
        if self.source.is_none() {
            return Vec::new();
        }
        let (mut parts, mut at) = (Vec::new(), 0);
        for splice in self.changes.splices() {
            let Some(start) = self.before.to_file_offset(splice.span) else { continue };
            parts.push(SpliceChunk::Copied { at: at as u64, len: (start - at) as u64 });
            parts.push(SpliceChunk::New(&splice.text));
            at = start + splice.span.len();
        }
        parts.push(SpliceChunk::Copied { at: at as u64, len: (self.before.size() - at) as u64 });
        parts
    }

    /// Returns the new content in parts that need no copy.
    pub(crate) fn new_content(&self) -> NewContent<'_> {
        match self.source.as_deref() {
            Some(source) => NewContent::Spliced(source, self.chunks()),
            None => NewContent::Whole(self.changes.chunks(self.before.raw()).collect()),
        }
    }

    /// Creates the request to the store.
    pub(crate) fn to_file_write<'a>(&'a self, content: &'a NewContent<'a>) -> FileWrite<'a> {
        let chunks = match content {
            NewContent::Whole(chunks) => chunks,
            NewContent::Spliced(source, chunks) => {
                let precondition = Precondition::Content { source, content: self.before.id() };
                return FileWrite { path: &self.path, precondition, new_state: NewState::Spliced { source, chunks } };
            }
        };
        let precondition = match &self.current {
            CurrentState::Nothing => Precondition::Missing,
            CurrentState::File(now) => Precondition::Version { bytes: now.snapshot.raw(), meta: &now.meta },
            CurrentState::Link(target) => Precondition::Link { target },
        };
        let like = self.source_file.as_ref().map(|origin| &origin.path);
        let new_state = match &self.target {
            TargetState::File => {
                let attributes = self.attributes.as_ref();
                NewState::File { chunks, executable: self.executable, mode: self.mode, like, attributes }
            }
            TargetState::Link(target) => NewState::Link { target },
            TargetState::Nothing => NewState::Absent,
        };
        FileWrite { path: &self.path, precondition, new_state }
    }
}

impl OverlayEntry<Path> for FilePlan {
    fn exists(&self) -> bool {
        self.target != TargetState::Nothing
    }

    fn moved_from(&self) -> Option<&Path> {
        self.move_source().map(SafePath::absolute)
    }
}

/// Wraps a change without operations: of a whole text.
pub(crate) fn without_ops(changes: ChangeSet) -> ResolvedEdit {
    ResolvedEdit { changes, ops: Vec::new(), failed: Vec::new(), notes: Notes::new() }
}

/// Returns the change that replaces all bytes.
pub(crate) fn replace_all_bytes(before: &Snapshot, bytes: Vec<u8>) -> ChangeSet {
    let whole = Splice::new(Span::new(before.codec().mark.min(before.raw().len()), before.raw().len()), bytes, 0);
    ChangeSet::new(before, [whole]).unwrap_or_else(|_| ChangeSet::none(before))
}

/// Creates a plan for the same content at another path.
pub(crate) fn copy_of(plan: &FilePlan) -> FilePlan {
    FilePlan {
        before: plan.before.clone(),
        changes: plan.changes.clone(),
        executable: plan.executable,
        outcome: PlanOutcome {
            ops: plan.outcome.ops.clone(),
            merged: plan.outcome.merged,
            notes: plan.outcome.notes.clone(),
            ..PlanOutcome::default()
        },
        display: PlanDisplay {
            header: plan.display.header,
            anchor_format: plan.display.anchor_format,
            replaced: plan.display.replaced.clone(),
            ..PlanDisplay::default()
        },
        seen: SeenUpdate::of(plan.seen.lines.clone()),
        ..FilePlan::replace_entry(plan.path.clone(), CurrentState::Nothing, TargetState::File)
    }
}

/// Recycles the buffers of a finished plan.
pub(crate) fn recycle(context: &Context, plan: FilePlan) {
    drop(plan.before);
    if let CurrentState::File(now) = plan.current {
        context.recycle(now.snapshot);
    }
}
