//! The plan for one file. Nothing is written yet.

use crate::edit::{settings, whole};
use crate::engine::Opened;
use crate::options::Options;
use crate::policy::Hit;
use crate::rows::twice;
use crate::seen;
use crate::worded::named_twice;
use emendate_core::explain;
use emendate_core::marks::Marks;
use emendate_core::rows::{self, Replaced};
use emendate_core::words;
use emendate_core::{
    ChangeSet, ContentId, Error, Header, Op, Order, Outcome, Resolved, Result, ShortHash, ShortTag, Snapshot, Span,
    Splice, resolve,
};
use emendate_fs::{Attributes, Draft, Expect, Goal, Piece, Place, Source};
use emendate_history::Lines;
use std::ffi::OsString;
use std::sync::Arc;

/// The current entry at the path.
#[derive(Clone)]
pub(crate) enum Now {
    Nothing,
    File(Opened),
    Link(OsString),
}

impl Now {
    /// Permission bits of a regular file.
    pub(crate) fn mode(&self) -> Option<u32> {
        match self {
            Now::File(now) => Some(now.stamp.mode & 0o7777),
            Now::Nothing | Now::Link(_) => None,
        }
    }
}

/// The entry that the plan leaves at the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Becomes {
    /// The text before, with the changes.
    File,
    /// A symbolic link.
    Link(OsString),
    Nothing,
}

/// The source of the text before, if it is another path.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) place: Place,
    /// The source file is kept.
    pub(crate) copied: bool,
}

/// The planned change of one file.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) place: Place,
    pub(crate) now: Now,
    pub(crate) becomes: Becomes,
    /// The text that the changes apply to: of the file itself, of its source, or the empty text of a new file.
    pub(crate) before: Snapshot,
    pub(crate) changes: ChangeSet,
    pub(crate) origin: Option<Origin>,
    /// The content moves to another path, whose plan reports it.
    pub(crate) moved_on: bool,
    /// Sets or clears the execute bits.
    pub(crate) executable: Option<bool>,
    /// Sets exactly these permission bits.
    pub(crate) mode: Option<u32>,
    /// Owner and attributes of a created file.
    pub(crate) attributes: Option<Attributes>,
    /// Those of the current file, if they are lost otherwise.
    pub(crate) lost_attributes: Option<Attributes>,
    /// The outcome of each operation; empty for a whole-file write.
    pub(crate) ops: Vec<Outcome>,
    /// The file had changed since it was read, and the edit was rebased.
    pub(crate) merged: bool,
    /// The rule of a hook that requires approval.
    pub(crate) asked: Option<Hit>,
    /// Both sides of a conflict are in the text, as the caller requested.
    pub(crate) marked: bool,
    /// A person changed the text before it was written.
    pub(crate) user_modified: bool,
    /// Operations of the call, if a person changed the text.
    pub(crate) corrected: Vec<Outcome>,
    /// Lines that the caller knows after the write.
    pub(crate) lines: Lines,
    pub(crate) notes: Vec<String>,
    /// The header above the rows of the reply, if changes are shown as rows.
    pub(crate) header: Option<Header>,
    /// The name in that header.
    pub(crate) name: String,
    /// The line format of changed lines in the reply, if they are shown with anchors.
    pub(crate) worded: Option<&'static Marks>,
    /// The replaced ranges of lines, quoted.
    pub(crate) replaced: Vec<Replaced>,
    /// The caller has not seen the file, and the reply does not show it: the session does not know it afterwards.
    pub(crate) unseen: bool,
    /// Errors of edits that were left out, if the call accepts that.
    pub(crate) failed: Vec<Error>,
    /// The edits that were left out, as text.
    pub(crate) rejected: String,
    /// The open file, if it is so large that `before` is a sparse snapshot.
    pub(crate) source: Option<Arc<Source>>,
    /// The length of a prefix of a large file and the short-tag hash of that prefix, if it was scanned for that.
    pub(crate) hashed: Option<(usize, ShortHash)>,
    /// The short tag of a large file after this plan, if the reply shows it.
    pub(crate) short: Option<ShortTag>,
    /// The expected content of a large file after the write, if it is known beforehand.
    pub(crate) promised: Option<ContentId>,
}

impl Plan {
    /// Creates the plan for a changed file.
    pub(crate) fn edit(place: Place, now: Opened, resolved: Resolved, lines: Lines) -> Plan {
        let before = now.snapshot.clone();
        Plan::new(place, Now::File(now), before, resolved, lines)
    }

    /// Creates the plan for a new file.
    pub(crate) fn create(place: Place, before: Snapshot, resolved: Resolved) -> Plan {
        Plan::new(place, Now::Nothing, before, resolved, Lines::all())
    }

    /// Creates the plan for an unchanged file, to be modified further.
    pub(crate) fn kept(place: Place, now: Opened, lines: Lines) -> Plan {
        let changes = ChangeSet::none(&now.snapshot);
        Plan::edit(place, now, written_over(changes), lines)
    }

    /// Creates a plan for any other result, given by `becomes`.
    pub(crate) fn other(place: Place, now: Now, becomes: Becomes) -> Plan {
        let before = match &now {
            Now::File(now) => now.snapshot.clone(),
            _ => Snapshot::from_text(""),
        };
        let changes = ChangeSet::none(&before);
        Plan { becomes, ..Plan::new(place, now, before, written_over(changes), Lines::all()) }
    }

    /// Creates the plan for a file that is `before` with the changes made.
    pub(crate) fn new(place: Place, now: Now, before: Snapshot, resolved: Resolved, lines: Lines) -> Plan {
        let Resolved { changes, ops, failed, notes } = resolved;
        Plan {
            place,
            now,
            becomes: Becomes::File,
            before,
            changes,
            origin: None,
            moved_on: false,
            executable: None,
            mode: None,
            attributes: None,
            lost_attributes: None,
            ops,
            merged: false,
            asked: None,
            marked: false,
            user_modified: false,
            corrected: Vec::new(),
            lines,
            notes,
            header: None,
            name: String::new(),
            worded: None,
            replaced: Vec::new(),
            unseen: false,
            failed,
            rejected: String::new(),
            source: None,
            hashed: None,
            short: None,
            promised: None,
        }
    }

    /// Returns the text after this plan.
    ///
    /// Errors: as [`Snapshot::open`].
    pub(crate) fn after(&self) -> Result<Snapshot> {
        if self.changes.is_empty() {
            return Ok(self.before.clone());
        }
        let bytes = self.changes.apply(&self.before);
        if self.before.is_opaque() { Ok(Snapshot::opaque(bytes)) } else { self.before.reopen(bytes) }
    }

    /// Replaces the new text by one from somebody other than the caller, as its own step in the reply. Binary content
    /// is not replaced.
    ///
    /// Errors: a text that the encoding cannot represent.
    pub(crate) fn becomes_text(&mut self, by: &str, text: &str) -> Result<()> {
        if self.becomes != Becomes::File || self.before.is_opaque() {
            return Ok(());
        }
        let after = self.after()?;
        let changes = whole(&after, text)?;
        if changes.is_empty() {
            return Ok(());
        }
        let stat = explain::stat(&explain::hunks(&after, &changes, 0));
        let (added, removed) = (stat.added, stat.removed);
        self.notes.push(format!("{by} changed the new text: +{added} -{removed} lines beside what was sent."));
        self.lines = seen::after_writing(&self.lines, &after, &changes);
        self.changes = self.changes.then(&self.before, &changes);
        Ok(())
    }

    /// True when nothing exists at the path now.
    pub(crate) fn creates(&self) -> bool {
        matches!(self.now, Now::Nothing)
    }

    /// True when there is something to write: a difference, or a new file.
    pub(crate) fn writes(&self) -> bool {
        match (&self.now, &self.becomes) {
            (Now::Nothing, Becomes::Nothing) => false,
            (Now::Link(now), Becomes::Link(then)) => now != then,
            (Now::File(now), Becomes::File) => {
                self.origin.is_some()
                    || self.attributes.is_some()
                    || !self.changes.is_empty()
                    || self.executable.is_some_and(|to| to != (now.stamp.mode & 0o111 != 0))
                    || self.mode.is_some_and(|to| to != now.stamp.mode & 0o7777)
            }
            _ => true,
        }
    }

    /// True when the current file is removed, with all its attributes.
    pub(crate) fn loses_file(&self) -> bool {
        let stays = self.becomes == Becomes::File && self.origin.is_none() && self.attributes.is_none();
        matches!(self.now, Now::File(_)) && !self.moved_on && !stays
    }

    /// Sets the open source of a sparse snapshot, with the hash of its prefix if known.
    pub(crate) fn of_parts(self, source: Source, hashed: Option<(usize, ShortHash)>) -> Plan {
        Plan { source: Some(Arc::new(source)), hashed, ..self }
    }

    /// Returns the new content of a large file as parts of the old one; empty for any other.
    pub(crate) fn parts(&self) -> Vec<Piece<'_>> {
        if self.source.is_none() {
            return Vec::new();
        }
        let (mut parts, mut at) = (Vec::new(), 0);
        for splice in self.changes.splices() {
            let Some(start) = self.before.in_file(splice.span) else { continue };
            parts.push(Piece::Kept { at: at as u64, len: (start - at) as u64 });
            parts.push(Piece::New(&splice.text));
            at = start + splice.span.len();
        }
        parts.push(Piece::Kept { at: at as u64, len: (self.before.size() - at) as u64 });
        parts
    }

    /// Creates the request to the store; `pieces` are those of the new content, or `parts`.
    pub(crate) fn draft<'a>(&'a self, pieces: &'a [&'a [u8]], parts: &'a [Piece<'a>]) -> Draft<'a> {
        if let Some(source) = self.source.as_deref() {
            let expect = Expect::Content { source, content: self.before.id() };
            return Draft { place: &self.place, expect, goal: Goal::Spliced { source, pieces: parts } };
        }
        let expect = match &self.now {
            Now::Nothing => Expect::Missing,
            Now::File(now) => Expect::Version { bytes: now.snapshot.raw(), stamp: &now.stamp },
            Now::Link(target) => Expect::Link { target },
        };
        let like = self.origin.as_ref().map(|origin| &origin.place);
        let goal = match &self.becomes {
            Becomes::File => {
                let attributes = self.attributes.as_ref();
                Goal::File { pieces, executable: self.executable, mode: self.mode, like, attributes }
            }
            Becomes::Link(target) => Goal::Link { target },
            Becomes::Nothing => Goal::Gone,
        };
        Draft { place: &self.place, expect, goal }
    }
}

/// Wraps a change without operations: of a whole text.
pub(crate) fn written_over(changes: ChangeSet) -> Resolved {
    Resolved { changes, ops: Vec::new(), failed: Vec::new(), notes: Vec::new() }
}

/// Returns the change that replaces all bytes.
pub(crate) fn all_bytes(before: &Snapshot, bytes: Vec<u8>) -> ChangeSet {
    let whole = Splice::new(Span::new(before.codec().mark.min(before.raw().len()), before.raw().len()), bytes, 0);
    ChangeSet::new(before, [whole]).unwrap_or_else(|_| ChangeSet::none(before))
}

/// Creates a plan for the same content at another path.
pub(crate) fn copy_of(plan: &Plan) -> Plan {
    Plan {
        before: plan.before.clone(),
        changes: plan.changes.clone(),
        ops: plan.ops.clone(),
        merged: plan.merged,
        lines: plan.lines.clone(),
        notes: plan.notes.clone(),
        header: plan.header,
        worded: plan.worded,
        replaced: plan.replaced.clone(),
        ..Plan::other(plan.place.clone(), Now::Nothing, Becomes::File)
    }
}

/// Adds edits to the result of a plan.
pub(crate) fn edit_more(plan: &mut Plan, ops: &[Op], order: Order, options: &Options) -> Result<()> {
    if ops.is_empty() {
        return Ok(());
    }
    if rows::are(ops) {
        return Err(twice(&plan.place, ops));
    }
    if words::are(ops) {
        return Err(named_twice(&plan.place));
    }
    let current = plan.after()?;
    let resolved = resolve(&current, ops, order, settings(options, plan.merged))?;
    plan.lines = seen::after_writing(&plan.lines, &current, &resolved.changes);
    plan.changes = plan.changes.then(&plan.before, &resolved.changes);
    let before = plan.ops.len();
    plan.ops.extend(resolved.ops.into_iter().map(|mut op| {
        op.op += before;
        op
    }));
    plan.failed.extend(resolved.failed);
    plan.notes.extend(resolved.notes);
    Ok(())
}
