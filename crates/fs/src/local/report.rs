//! Reports of a transaction about its files, before the commit and after it.

use emendate_core::Result;

use super::read::current_meta;
use super::transaction::{LocalTransaction, TreeSwap};
use super::{read, sys, temp, tree_swap};
use crate::{CommitPreview, FileMeta, WriteMethod, WriteReport, error};

impl LocalTransaction<'_> {
    /// Predicts the result; see [`crate::Staged::preview`].
    pub(super) fn preview_files(&self) -> CommitPreview {
        let metas = self.entries.iter().map(|entry| {
            if let Some(before) = entry.before.filter(|_| entry.tree.is_some()) {
                return before;
            }
            let before = entry.before.unwrap_or_default();
            let Some(temp) = &entry.temp else {
                let size = temp::length(entry.write.new_state.chunks());
                return FileMeta {
                    mode: before.mode & !0o7777 | entry.write.new_state.mode(before.mode),
                    size,
                    ..before
                };
            };
            let now = temp.fd.as_ref().and_then(|fd| current_meta(fd).ok());
            now.unwrap_or(temp.meta)
        });
        let made = self.created_dirs.iter().map(|made| made.path.clone()).collect();
        CommitPreview {
            metadata: self.in_order(metas.collect(), tree_swap::metadata),
            created_dirs: made,
            spliced_content: self.entries.first().and_then(|entry| entry.spliced),
        }
    }

    /// Reports every file, in the order of the writes.
    pub(super) fn reports(&mut self) -> Result<Vec<WriteReport>> {
        let reports = (0..self.entries.len()).map(|index| self.report(index)).collect::<Result<Vec<_>>>()?;
        Ok(self.in_order(reports, tree_swap::reports))
    }

    /// Sorts one value for each entry into the order of the writes. `below` returns the values for the files below a
    /// path that changes between file and directory.
    fn in_order<T>(&self, of_entries: Vec<T>, below: impl Fn(&TreeSwap<'_>) -> Vec<T>) -> Vec<T> {
        if self.tree_changes.is_empty() {
            return of_entries;
        }
        let first_tree = of_entries.len() - self.tree_changes.len();
        let mut slots: Vec<Option<T>> = (0..self.writes).map(|_| None).collect();
        let mut plain = Vec::new();
        for (index, it) in of_entries.into_iter().enumerate() {
            let Some(change) = index.checked_sub(first_tree).map(|nth| &self.tree_changes[nth]) else {
                plain.push(it);
                continue;
            };
            slots[change.top] = Some(it);
            let inner = self.entries[index].tree.as_deref().map(&below).unwrap_or_default();
            for (&at, it) in change.below.iter().zip(inner) {
                slots[at] = Some(it);
            }
        }
        let mut plain = plain.into_iter();
        slots.into_iter().filter_map(|slot| slot.or_else(|| plain.next())).collect()
    }

    /// Reports one entry.
    fn report(&mut self, index: usize) -> Result<WriteReport> {
        let folder = self.folder_of(index);
        let entry = &self.entries[index];
        let ours = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref());
        let removed =
            entry.published_by == Some(WriteMethod::Removed) || entry.tree.as_ref().is_some_and(|it| it.to_directory);
        let known = if removed { entry.before } else { entry.meta };
        let meta = match (known, ours) {
            (Some(meta), _) => Ok(meta),
            (None, Some(fd)) => current_meta(fd),
            (None, None) => sys::statat(folder, entry.name).map(|stat| read::file_meta(&stat)),
        };
        let meta = meta.map_err(|errno| {
            error::partial(&error::os_error("look at", entry.path(), errno), "Everything is written and in place.")
        })?;
        let entry = &mut self.entries[index];
        let method = match &entry.tree {
            Some(swap) if swap.to_directory => WriteMethod::Removed,
            Some(_) => WriteMethod::Created,
            None => entry.published_by.unwrap_or(WriteMethod::Renamed),
        };
        Ok(WriteReport { meta, method, notes: std::mem::take(&mut entry.notes) })
    }
}
