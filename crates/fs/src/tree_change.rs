//! Files that become directories, and directories that become files, in one transaction.

use std::collections::HashMap;
use std::path::Path;

use emendate_core::{Code, Error, Result};

use crate::{FileWrite, NewState, Precondition, error};

/// A path that changes between file and directory, with everything below it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TreeChange {
    /// Index of the draft of the path itself.
    pub(crate) top: usize,
    /// Indices of the drafts below it.
    pub(crate) below: Vec<usize>,
    /// The file becomes a directory; otherwise the directory becomes a file.
    pub(crate) to_directory: bool,
}

/// Finds the drafts that lie below others.
///
/// Errors: `path.invalid` where such drafts are not a removal above creations, or a creation above removals.
pub(crate) fn find(drafts: &[FileWrite<'_>]) -> Result<Vec<TreeChange>> {
    if !drafts.iter().any(removes) || !drafts.iter().any(creates) {
        return below_others(drafts).map(|_| Vec::new());
    }
    let tops = below_others(drafts)?;
    let mut changes: Vec<TreeChange> = Vec::new();
    for (index, top) in tops.into_iter().enumerate() {
        let Some(top) = top else { continue };
        let to_directory = removes(&drafts[top]);
        match changes.iter_mut().find(|change| change.top == top) {
            Some(change) => change.below.push(index),
            None => changes.push(TreeChange { top, below: vec![index], to_directory }),
        }
    }
    for change in &changes {
        for &index in &change.below {
            let nested = change.below.iter().any(|&other| {
                other != index && drafts[index].path.relative().starts_with(drafts[other].path.relative())
            });
            if nested {
                return Err(below_a_file(&drafts[index]));
            }
        }
    }
    Ok(changes)
}

/// Returns for each draft the draft of the highest path above it.
fn below_others(drafts: &[FileWrite<'_>]) -> Result<Vec<Option<usize>>> {
    if drafts.len() < 2 {
        return Ok(vec![None; drafts.len()]);
    }
    let places: HashMap<(usize, &Path), usize> =
        drafts.iter().enumerate().map(|(index, draft)| ((draft.path.root(), draft.path.relative()), index)).collect();
    drafts
        .iter()
        .map(|draft| {
            let above = draft.path.relative().ancestors().skip(1);
            let tops = above.filter_map(|path| places.get(&(draft.path.root(), path)).copied());
            let Some(top) = tops.last() else { return Ok(None) };
            let fits = removes(&drafts[top]) && creates(draft) || creates(&drafts[top]) && removes(draft);
            if fits { Ok(Some(top)) } else { Err(below_a_file(draft)) }
        })
        .collect()
}

fn below_a_file(draft: &FileWrite<'_>) -> Error {
    let path = error::show(draft.path.absolute());
    Error::new(Code::PathInvalid, format!("{path} is below another file of this call."))
        .next("Name each of them differently.")
}

fn removes(draft: &FileWrite<'_>) -> bool {
    matches!(draft.new_state, NewState::Absent)
}

fn creates(draft: &FileWrite<'_>) -> bool {
    matches!(draft.precondition, Precondition::Missing) && !removes(draft)
}
