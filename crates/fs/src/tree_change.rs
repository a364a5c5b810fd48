//! Files that become directories, and directories that become files, in one transaction.

use std::collections::HashMap;
use std::path::Path;

use emendate_core::{Code, Error, Result};

use crate::{FileWrite, NewState, Precondition, error};

/// A path that changes between file and directory, with everything below it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TreeChange {
    /// Index of the write of the path itself.
    pub(crate) top: usize,
    /// Indices of the writes below it.
    pub(crate) below: Vec<usize>,
    /// The file becomes a directory; otherwise the directory becomes a file.
    pub(crate) to_directory: bool,
}

/// Finds the writes that lie below others.
///
/// Errors: `path.invalid` where such writes are not a removal above creations, or a creation above removals.
pub(crate) fn find(writes: &[FileWrite<'_>]) -> Result<Vec<TreeChange>> {
    if !writes.iter().any(removes) || !writes.iter().any(creates) {
        return below_others(writes).map(|_| Vec::new());
    }
    let tops = below_others(writes)?;
    let mut changes: Vec<TreeChange> = Vec::new();
    for (index, top) in tops.into_iter().enumerate() {
        let Some(top) = top else { continue };
        let to_directory = removes(&writes[top]);
        match changes.iter_mut().find(|change| change.top == top) {
            Some(change) => change.below.push(index),
            None => changes.push(TreeChange { top, below: vec![index], to_directory }),
        }
    }
    for change in &changes {
        for &index in &change.below {
            let nested = change.below.iter().any(|&other| {
                other != index && writes[index].path.relative().starts_with(writes[other].path.relative())
            });
            if nested {
                return Err(below_a_file(&writes[index]));
            }
        }
    }
    Ok(changes)
}

/// Returns for each write the write of the highest path above it.
fn below_others(writes: &[FileWrite<'_>]) -> Result<Vec<Option<usize>>> {
    if writes.len() < 2 {
        return Ok(vec![None; writes.len()]);
    }
    let places: HashMap<(usize, &Path), usize> =
        writes.iter().enumerate().map(|(index, write)| ((write.path.root(), write.path.relative()), index)).collect();
    writes
        .iter()
        .map(|write| {
            let above = write.path.relative().ancestors().skip(1);
            let tops = above.filter_map(|path| places.get(&(write.path.root(), path)).copied());
            let Some(top) = tops.last() else { return Ok(None) };
            let fits = removes(&writes[top]) && creates(write) || creates(&writes[top]) && removes(write);
            if fits { Ok(Some(top)) } else { Err(below_a_file(write)) }
        })
        .collect()
}

fn below_a_file(write: &FileWrite<'_>) -> Error {
    let path = error::show(write.path.absolute());
    Error::new(Code::PathInvalid, format!("{path} is below another file of this call."))
        .next("Name each of them differently.")
}

fn removes(write: &FileWrite<'_>) -> bool {
    matches!(write.new_state, NewState::Absent)
}

fn creates(write: &FileWrite<'_>) -> bool {
    matches!(write.precondition, Precondition::Missing) && !removes(write)
}
