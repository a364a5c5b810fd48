//! The outcome of a change as types, for programs. Replies and outcomes are made from the same receipts.

use crate::context::{Context, policy};
use crate::model::change_counts::ChangeCounts;
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, TargetState, recycle};
use crate::pipeline::report::diagnose;
use crate::pipeline::report::receipt::Receipt;
use emendate_core::explain::{self, DiffStat};
use emendate_core::{ChangedSpan, ContentId, Error, Notes, Tag, Tier, Vocabulary};
use emendate_history::OperationId;
use std::path::PathBuf;

/// Lines of context around each hunk of a diff.
const DIFF_CONTEXT_LINES: usize = 3;

/// The outcome of a call that changes files, or of its dry run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChangeOutcome {
    /// The operation in the history, for [`Session::undo`](crate::Session::undo); `None` for a dry run, where nothing
    /// had to be written, and if no history is kept.
    pub operation: Option<OperationId>,
    /// The format of the edit: the one that was named, or the detected one.
    pub format: &'static str,
    /// The files in the order of the call. The former path of a moved file is part of its new one.
    pub files: Vec<FileChangeOutcome>,
    /// Tolerances about the call as a whole: how its text was parsed, and how names were understood.
    pub notes: Notes,
    /// Edits that were skipped as [`EditOptions::partial`](crate::EditOptions::partial) allows, as a patch.
    pub rejected: String,
    /// Nothing was written.
    pub dry_run: bool,
}

/// The change of one file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileChangeOutcome {
    /// The absolute path, after links were resolved.
    pub path: PathBuf,
    /// The kind of the change.
    pub kind: FileOutcomeKind,
    /// The largest tolerance that an edit needed.
    pub tier: Tier,
    /// One entry per edit, block or hunk that was applied; empty for a whole-file write.
    pub edits: Vec<EditPlacement>,
    /// The changed bytes of the file, sorted and disjoint. All other bytes are those of the file before.
    pub spans: Vec<ChangedSpan>,
    /// Added lines.
    pub added: usize,
    /// Removed lines.
    pub removed: usize,
    /// The file had changed since it was read, and the edit was carried over.
    pub merged: bool,
    /// Both sides of a conflict are in the text, between markers.
    pub has_conflict_markers: bool,
    /// Every tolerance and warning about this file, as sentences.
    pub notes: Notes,
    /// Errors of edits that were skipped, if the call allows that.
    pub failed: Vec<Error>,
    /// The content of the file now; `None` for a removed file and in a dry run.
    pub content: Option<ContentId>,
    /// The change as a unified diff, if it was requested.
    pub diff: Option<String>,
}

/// The kind of the change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileOutcomeKind {
    /// The file is new.
    Created,
    /// The text of the file, or its permissions, changed.
    Updated,
    /// The file had exactly this content; nothing was written.
    Unchanged,
    /// The file was removed.
    Deleted,
    /// The file was at another path, and may be edited as well.
    Moved {
        /// The former path.
        from: PathBuf,
    },
    /// The file is a copy of another file, and may be edited as well.
    Copied {
        /// The path of the other file.
        from: PathBuf,
    },
    /// The path is a symbolic link now.
    Linked {
        /// The target of the link.
        target: PathBuf,
    },
}

/// The placement of one edit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditPlacement {
    /// The index of the edit in the call.
    pub edit: usize,
    /// The tolerance that it needed.
    pub tier: Tier,
    /// The number of places that it changed.
    pub places: usize,
    /// Tolerances and warnings, as sentences.
    pub notes: Notes,
}

impl ChangeOutcome {
    /// The largest tolerance that an edit needed.
    pub fn tier(&self) -> Tier {
        self.files.iter().map(|file| file.tier).max().unwrap_or(Tier::Exact)
    }

    /// The number of places that all edits changed.
    pub fn places(&self) -> usize {
        self.files.iter().flat_map(|file| &file.edits).map(|edit| edit.places).sum()
    }

    /// The diffs of all files, if they were requested.
    pub fn diff(&self) -> String {
        self.files.iter().filter_map(|file| file.diff.as_deref()).collect()
    }

    /// Renders the advice of edits that were skipped with the names of a caller.
    pub(crate) fn rendered_for(mut self, names: &dyn Vocabulary) -> ChangeOutcome {
        for failed in self.files.iter_mut().flat_map(|file| &mut file.failed) {
            *failed = failed.clone().rendered_for(names);
        }
        self
    }
}

impl FileChangeOutcome {
    /// The tag of the content, which names this version in later calls.
    pub fn tag(&self) -> Option<Tag> {
        self.content.map(ContentId::tag)
    }

    fn of(receipt: &Receipt, wants_diff: bool) -> FileChangeOutcome {
        let plan = &receipt.plan;
        let edits: Vec<EditPlacement> = plan.outcome.ops.iter().map(EditPlacement::of).collect();
        let is_text = !plan.before.is_binary();
        let stat = if is_text { explain::count_changes(&plan.before, &plan.changes) } else { DiffStat::default() };
        FileChangeOutcome {
            path: plan.path.absolute().to_owned(),
            kind: FileOutcomeKind::of(plan),
            tier: edits.iter().map(|edit| edit.tier).max().unwrap_or(Tier::Exact),
            spans: ChangedSpan::all_of(&plan.before, &plan.changes),
            edits,
            added: stat.added,
            removed: stat.removed,
            merged: plan.outcome.merged,
            has_conflict_markers: plan.outcome.has_conflict_markers,
            notes: receipt.all_notes(),
            failed: plan.outcome.failed.clone(),
            content: receipt.content_after(),
            diff: (wants_diff && is_text).then(|| diff(plan)),
        }
    }
}

impl EditPlacement {
    fn of(op: &emendate_core::OpOutcome) -> EditPlacement {
        EditPlacement { edit: op.op, tier: op.tier, places: op.places, notes: op.notes.clone() }
    }
}

impl FileOutcomeKind {
    fn of(plan: &FilePlan) -> FileOutcomeKind {
        match (&plan.current, &plan.target, &plan.source_file) {
            _ if !plan.writes() => FileOutcomeKind::Unchanged,
            (_, TargetState::Nothing, _) => FileOutcomeKind::Deleted,
            (_, _, Some(source)) => {
                let from = source.path.absolute().to_owned();
                if source.copied { FileOutcomeKind::Copied { from } } else { FileOutcomeKind::Moved { from } }
            }
            (_, TargetState::Link(target), _) => FileOutcomeKind::Linked { target: target.into() },
            (CurrentState::Nothing, ..) => FileOutcomeKind::Created,
            _ => FileOutcomeKind::Updated,
        }
    }
}

/// Formats the change of a text as a unified diff.
fn diff(plan: &FilePlan) -> String {
    let hunks = explain::hunks(&plan.before, &plan.changes, DIFF_CONTEXT_LINES);
    if hunks.is_empty() {
        return String::new();
    }
    explain::unified(&plan.path.shown(), &hunks, usize::MAX).text
}

/// Counts what a call changed.
pub(crate) fn count_changes(receipts: &[Receipt]) -> ChangeCounts {
    let mut counts = ChangeCounts::default();
    for receipt in receipts.iter().filter(|receipt| !receipt.plan.is_move_source) {
        let plan = &receipt.plan;
        if !plan.before.is_binary() {
            let stat = explain::count_changes(&plan.before, &plan.changes);
            counts.added += stat.added as u64;
            counts.removed += stat.removed as u64;
        }
        counts.tier = counts.tier.max(plan.outcome.ops.iter().map(|op| op.tier.number().into()).max());
        counts.dry_run |= receipt.dry_run;
        if receipt.is_written() {
            counts.files += 1;
            counts.instructions |=
                plan.move_source().into_iter().chain([&plan.path]).any(|path| policy::is_instructions(path.absolute()));
            counts.paths.push(plan.path.absolute().to_owned());
        }
    }
    counts
}

/// The receipts of a call, with what belongs to no single file.
#[derive(Default)]
pub(crate) struct CallReceipts {
    pub(crate) receipts: Vec<Receipt>,
    pub(crate) format: &'static str,
    pub(crate) notes: Notes,
    pub(crate) dry_run: bool,
}

impl CallReceipts {
    /// Converts to the outcome for programs, and recycles the buffers. Language servers are asked first, so no lock
    /// must be held.
    pub(crate) fn into_outcome(mut self, context: &Context, wants_diff: bool) -> ChangeOutcome {
        diagnose::diagnose(context, &mut self.receipts);
        let operation = self.receipts.iter().find_map(|receipt| receipt.operation);
        let rejected = self.receipts.iter().map(|receipt| &*receipt.plan.outcome.rejected).collect();
        let listed = self.receipts.iter().filter(|receipt| !receipt.plan.is_move_source);
        let files = listed.map(|receipt| FileChangeOutcome::of(receipt, wants_diff)).collect();
        for receipt in self.receipts {
            recycle(context, receipt.plan);
        }
        ChangeOutcome { operation, format: self.format, files, notes: self.notes, rejected, dry_run: self.dry_run }
    }
}
