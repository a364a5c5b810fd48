//! Transactions in memory: what writes expect of the files, and what they produce.

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
    /// Checks what every write expects. A path that changes between file and directory is expected to hold only what the
    /// writes remove.
    pub(super) fn all_expected(&self, writes: &[FileWrite<'_>]) -> Result<Vec<TreeChange>> {
        let changes = tree_change::find(writes)?;
        let made: BTreeSet<usize> = changes
            .iter()
            .flat_map(|it| if it.to_directory { &it.below[..] } else { std::slice::from_ref(&it.top) })
            .copied()
            .collect();
        writes
            .iter()
            .enumerate()
            .filter(|(at, _)| !made.contains(at))
            .try_for_each(|(_, write)| self.still_expected(write))?;
        for change in changes.iter().filter(|change| !change.to_directory) {
            let top = writes[change.top].path;
            let removed = |path: &Path| change.below.iter().any(|&at| writes[at].path.relative() == path);
            let other = self.nodes.keys().find(|path| path.starts_with(top.relative()) && !removed(path));
            if let Some(other) = other {
                let inside = other.strip_prefix(top.relative()).unwrap_or(other);
                return Err(error::holds_more(top.absolute(), &[error::show(top.absolute().join(inside))]));
            }
        }
        Ok(changes)
    }

    pub(super) fn still_expected(&self, write: &FileWrite<'_>) -> Result<()> {
        let (path, relative) = (write.path.absolute(), write.path.relative());
        match (write.precondition, self.nodes.get(relative)) {
            (Precondition::Missing, None) if self.blocking_file(relative).is_some() => {
                Err(error::raced(path, "is no longer there: its directory was moved or removed"))
            }
            (Precondition::Missing, None) if !self.is_folder(relative) => Ok(()),
            (Precondition::Missing, _) => Err(error::raced(path, "was created meanwhile")),
            (Precondition::Version { .. } | Precondition::Content { .. }, None) => {
                Err(error::raced(path, "was removed"))
            }
            (Precondition::Version { meta, .. }, Some(node)) if !node.meta.same_file(meta) => {
                Err(error::raced(path, "was replaced by another file"))
            }
            (Precondition::Version { bytes, .. }, Some(MemoryNode { body: NodeContent::File(now), .. }))
                if now == bytes =>
            {
                Ok(())
            }
            (Precondition::Content { source, .. }, Some(node)) if !node.meta.same_file(source.meta()) => {
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

    /// Returns the content and mode that a write produces; `None` for a removal.
    pub(super) fn new_content(&self, write: &FileWrite<'_>) -> Result<Option<(NodeContent, u32)>> {
        let kept = match write.new_state {
            NewState::Absent if matches!(write.precondition, Precondition::Missing) => {
                return Err(error::nothing_to_remove(write.path.absolute()));
            }
            NewState::Absent => return Ok(None),
            NewState::Link { target } => return Ok(Some((NodeContent::Link(target.to_owned()), LINK_MODE))),
            NewState::File { like: Some(like), .. } => {
                let (_, meta) =
                    self.file(like)?.ok_or_else(|| error::os_error("open", like.absolute(), Errno::NOENT))?;
                meta.mode
            }
            NewState::File { .. } | NewState::Spliced { .. } => match self.nodes.get(write.path.relative()) {
                Some(MemoryNode { body: NodeContent::File(_), meta }) => meta.mode,
                _ => DEFAULT_MODE,
            },
        };
        let mode = kept & !0o7777 | write.new_state.mode(kept);
        let bytes = match write.new_state {
            NewState::Spliced { source, chunks: pieces } => spliced(source, pieces)?,
            new_state => new_state.chunks().concat(),
        };
        Ok(Some((NodeContent::File(bytes), mode)))
    }

    /// Predicts the metadata of a write's file after the commit.
    fn predicted(&self, write: &FileWrite<'_>) -> FileMeta {
        let before = self.nodes.get(write.path.relative()).map(|node| node.meta).unwrap_or_default();
        match self.new_content(write) {
            Ok(Some((_, mode))) => FileMeta { mode, size: write.new_state.length(), ..before },
            _ => before,
        }
    }

    /// Publishes a write with the result of [`MemoryState::new_content`].
    fn publish(&mut self, write: &FileWrite<'_>, made: Option<(NodeContent, u32)>, syncs: bool) -> Result<WriteReport> {
        let relative = write.path.relative();
        let method = match (write.precondition, syncs) {
            (Precondition::Missing, _) => WriteMethod::Created,
            (_, _) if made.is_none() => WriteMethod::Removed,
            (_, false) => WriteMethod::Renamed,
            (_, true) => WriteMethod::Exchanged,
        };
        let meta = if let Some((body, mode)) = made {
            self.put(relative, body, mode, true)
        } else {
            let gone = self.nodes.remove(relative).map(|node| node.meta);
            gone.ok_or_else(|| error::raced(write.path.absolute(), "was removed"))?
        };
        Ok(WriteReport { meta, method, notes: Vec::new() })
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

/// Writes that were checked, up to their commit.
pub(super) struct MemoryTransaction<'a> {
    pub(super) memory: &'a MemoryStore,
    pub(super) writes: &'a [FileWrite<'a>],
    pub(super) durability: Durability,
}

impl Transaction for MemoryTransaction<'_> {
    fn preview(&self) -> CommitPreview {
        let state = self.memory.state();
        let mut made: Vec<PathBuf> = Vec::new();
        for folder in self.writes.iter().flat_map(|write| write.path.relative().ancestors().skip(1)) {
            // A directory that was a file belongs to the change of that file.
            if !state.is_folder(folder) && !folder.ancestors().any(|above| state.nodes.contains_key(above)) {
                made.push(self.memory.root().canonical.join(folder));
            }
        }
        made.sort_unstable();
        made.dedup();
        let spliced = self.writes.first().and_then(|write| match write.new_state {
            NewState::Spliced { source, chunks: pieces } => Some(ContentId::of(&spliced(source, pieces).ok()?)),
            _ => None,
        });
        CommitPreview {
            metadata: self.writes.iter().map(|write| state.predicted(write)).collect(),
            created_dirs: made,
            spliced_content: spliced,
        }
    }

    fn commit(self: Box<Self>) -> Result<Vec<WriteReport>> {
        let mut state = self.memory.state();
        let changes = state.all_expected(self.writes)?;
        // Everything that may fail, or reads the old state, happens before the first change.
        let made = self.writes.iter().map(|write| state.new_content(write)).collect::<Result<Vec<_>>>()?;
        let syncs = self.durability.syncs();
        // Removals come first: what they remove may be in the way of what is created.
        let mut reports: Vec<(usize, WriteReport)> = Vec::with_capacity(made.len());
        let mut all: Vec<_> = self.writes.iter().zip(made).enumerate().collect();
        all.sort_by_key(|(_, (_, made))| made.is_some());
        let tops: Vec<&Path> =
            changes.iter().filter(|it| !it.to_directory).map(|it| self.writes[it.top].path.relative()).collect();
        for (at, (write, made)) in all {
            if tops.contains(&write.path.relative()) {
                state.folders.retain(|folder| !folder.starts_with(write.path.relative()));
            }
            reports.push((at, state.publish(write, made, syncs)?));
        }
        reports.sort_by_key(|(at, _)| *at);
        Ok(reports.into_iter().map(|(_, report)| report).collect())
    }
}
