//! Transactions in memory: what drafts expect of the files, and what they write.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use emendate_core::{ContentId, Result};
use emendate_os::io::Errno;

use super::{DEFAULT_MODE, LINK_MODE, MemoryNode, MemoryState, MemoryStore, NodeContent};
use crate::tree_change::{self, TreeChange};
use crate::{
    CommitPreview, Durability, FileMeta, FileSource, FileWrite, NewState, Precondition, SpliceChunk, Transaction,
    WriteMethod, WriteReport, error,
};

impl MemoryState {
    /// Checks what every draft expects. A path that changes between file and directory is expected to hold only what the
    /// drafts remove.
    pub(super) fn all_expected(&self, drafts: &[FileWrite<'_>]) -> Result<Vec<TreeChange>> {
        let changes = tree_change::find(drafts)?;
        let made: BTreeSet<usize> = changes
            .iter()
            .flat_map(|it| if it.to_directory { &it.below[..] } else { std::slice::from_ref(&it.top) })
            .copied()
            .collect();
        drafts
            .iter()
            .enumerate()
            .filter(|(at, _)| !made.contains(at))
            .try_for_each(|(_, draft)| self.still_expected(draft))?;
        for change in changes.iter().filter(|change| !change.to_directory) {
            let top = drafts[change.top].path;
            let removed = |path: &Path| change.below.iter().any(|&at| drafts[at].path.relative() == path);
            let other = self.nodes.keys().find(|path| path.starts_with(top.relative()) && !removed(path));
            if let Some(other) = other {
                let inside = other.strip_prefix(top.relative()).unwrap_or(other);
                return Err(error::holds_more(top.absolute(), &[error::show(top.absolute().join(inside))]));
            }
        }
        Ok(changes)
    }

    pub(super) fn still_expected(&self, draft: &FileWrite<'_>) -> Result<()> {
        let (path, relative) = (draft.path.absolute(), draft.path.relative());
        match (draft.precondition, self.nodes.get(relative)) {
            (Precondition::Missing, None) if self.blocking_file(relative).is_some() => {
                Err(error::raced(path, "is no longer there: its directory was moved or removed"))
            }
            (Precondition::Missing, None) if !self.is_folder(relative) => Ok(()),
            (Precondition::Missing, _) => Err(error::raced(path, "was created meanwhile")),
            (Precondition::Version { .. } | Precondition::Content { .. }, None) => {
                Err(error::raced(path, "was removed"))
            }
            (Precondition::Version { meta: stamp, .. }, Some(node)) if !node.stamp.same_file(stamp) => {
                Err(error::raced(path, "was replaced by another file"))
            }
            (Precondition::Version { bytes, .. }, Some(MemoryNode { body: NodeContent::File(now), .. }))
                if now == bytes =>
            {
                Ok(())
            }
            (Precondition::Content { source, .. }, Some(node)) if !node.stamp.same_file(source.meta()) => {
                Err(error::raced(path, "was replaced by another file"))
            }
            (Precondition::Content { source, .. }, Some(MemoryNode { body: NodeContent::File(now), .. }))
                if source.bytes() == Some(now) =>
            {
                Ok(())
            }
            (Precondition::Version { .. } | Precondition::Content { .. }, Some(_)) => {
                Err(error::raced(path, "was changed"))
            }
            (Precondition::Link { target }, Some(MemoryNode { body: NodeContent::Link(now), .. })) if now == target => {
                Ok(())
            }
            (Precondition::Link { .. }, _) => Err(error::raced(path, "is no longer the same link")),
        }
    }

    /// Returns the content and mode that a draft writes; `None` for a removal.
    pub(super) fn new_content(&self, draft: &FileWrite<'_>) -> Result<Option<(NodeContent, u32)>> {
        let kept = match draft.new_state {
            NewState::Absent if matches!(draft.precondition, Precondition::Missing) => {
                return Err(error::nothing_to_remove(draft.path.absolute()));
            }
            NewState::Absent => return Ok(None),
            NewState::Link { target } => return Ok(Some((NodeContent::Link(target.to_owned()), LINK_MODE))),
            NewState::File { like: Some(like), .. } => {
                let (_, stamp) =
                    self.file(like)?.ok_or_else(|| error::os_error("open", like.absolute(), Errno::NOENT))?;
                stamp.mode
            }
            NewState::File { .. } | NewState::Spliced { .. } => match self.nodes.get(draft.path.relative()) {
                Some(MemoryNode { body: NodeContent::File(_), stamp }) => stamp.mode,
                _ => DEFAULT_MODE,
            },
        };
        let mode = kept & !0o7777 | draft.new_state.mode(kept);
        let bytes = match draft.new_state {
            NewState::Spliced { source, chunks: pieces } => spliced(source, pieces)?,
            goal => goal.chunks().concat(),
        };
        Ok(Some((NodeContent::File(bytes), mode)))
    }

    /// Predicts the metadata of a draft's file after the commit.
    fn predicted(&self, draft: &FileWrite<'_>) -> FileMeta {
        let before = self.nodes.get(draft.path.relative()).map(|node| node.stamp).unwrap_or_default();
        match self.new_content(draft) {
            Ok(Some((_, mode))) => FileMeta { mode, size: draft.new_state.length(), ..before },
            _ => before,
        }
    }

    /// Publishes a draft with the result of [`MemoryState::new_content`].
    fn publish(&mut self, draft: &FileWrite<'_>, made: Option<(NodeContent, u32)>, syncs: bool) -> Result<WriteReport> {
        let relative = draft.path.relative();
        let method = match (draft.precondition, syncs) {
            (Precondition::Missing, _) => WriteMethod::Created,
            (_, _) if made.is_none() => WriteMethod::Removed,
            (_, false) => WriteMethod::Renamed,
            (_, true) => WriteMethod::Exchanged,
        };
        let stamp = if let Some((body, mode)) = made {
            self.put(relative, body, mode, true)
        } else {
            let gone = self.nodes.remove(relative).map(|node| node.stamp);
            gone.ok_or_else(|| error::raced(draft.path.absolute(), "was removed"))?
        };
        Ok(WriteReport { meta: stamp, method, notes: Vec::new() })
    }
}

/// Returns the bytes of a spliced file.
fn spliced(source: &FileSource, pieces: &[SpliceChunk<'_>]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for piece in pieces {
        match *piece {
            SpliceChunk::New(bytes) => out.extend_from_slice(bytes),
            SpliceChunk::Copied { at, len } => {
                let from = out.len();
                out.resize(from + usize::try_from(len).unwrap_or(usize::MAX), 0);
                source.read(at, &mut out[from..])?;
            }
        }
    }
    Ok(out)
}

/// Drafts that were checked, up to their commit.
pub(super) struct MemoryTransaction<'a> {
    pub(super) memory: &'a MemoryStore,
    pub(super) drafts: &'a [FileWrite<'a>],
    pub(super) durability: Durability,
}

impl Transaction for MemoryTransaction<'_> {
    fn preview(&self) -> CommitPreview {
        let state = self.memory.state();
        let mut made: Vec<PathBuf> = Vec::new();
        for folder in self.drafts.iter().flat_map(|draft| draft.path.relative().ancestors().skip(1)) {
            // A directory that was a file belongs to the change of that file.
            if !state.is_folder(folder) && !folder.ancestors().any(|above| state.nodes.contains_key(above)) {
                made.push(self.memory.root().canonical.join(folder));
            }
        }
        made.sort_unstable();
        made.dedup();
        let spliced = self.drafts.first().and_then(|draft| match draft.new_state {
            NewState::Spliced { source, chunks: pieces } => Some(ContentId::of(&spliced(source, pieces).ok()?)),
            _ => None,
        });
        CommitPreview {
            metadata: self.drafts.iter().map(|draft| state.predicted(draft)).collect(),
            created_dirs: made,
            spliced_content: spliced,
        }
    }

    fn commit(self: Box<Self>) -> Result<Vec<WriteReport>> {
        let mut state = self.memory.state();
        let changes = state.all_expected(self.drafts)?;
        // Everything that may fail, or reads the old state, happens before the first change.
        let made = self.drafts.iter().map(|draft| state.new_content(draft)).collect::<Result<Vec<_>>>()?;
        let syncs = self.durability.syncs();
        // Removals come first: what they remove may be in the way of what is created.
        let mut reports: Vec<(usize, WriteReport)> = Vec::with_capacity(made.len());
        let mut all: Vec<_> = self.drafts.iter().zip(made).enumerate().collect();
        all.sort_by_key(|(_, (_, made))| made.is_some());
        let tops: Vec<&Path> =
            changes.iter().filter(|it| !it.to_directory).map(|it| self.drafts[it.top].path.relative()).collect();
        for (at, (draft, made)) in all {
            if tops.contains(&draft.path.relative()) {
                state.folders.retain(|folder| !folder.starts_with(draft.path.relative()));
            }
            reports.push((at, state.publish(draft, made, syncs)?));
        }
        reports.sort_by_key(|(at, _)| *at);
        Ok(reports.into_iter().map(|(_, report)| report).collect())
    }
}
