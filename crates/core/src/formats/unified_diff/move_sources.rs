//! The version of a file that a rename takes, if another part of the patch edits the same file. git's diffs refer to the
//! files as they were before the patch, and people write parts that build on each other.

use super::both_sides::BothSides;
use super::mistakes::broken;
use super::patch::FilePatch;
use crate::error::Result;
use crate::locate::op::{FileAction, FileRequest};
use std::collections::HashMap;

/// The part of a patch from which a request was made, with what it says about its versions of the file.
#[derive(Clone, Default)]
pub(super) struct RequestOrigin {
    line: usize,
    ids: BothSides<Option<String>>,
    dissimilar: bool,
    commit: usize,
}

/// The version that a rename takes.
enum SourceVersion {
    BeforeThePatch,
    Edited,
    Unknown,
}

impl RequestOrigin {
    pub(super) fn of(file: &FilePatch) -> RequestOrigin {
        RequestOrigin { line: file.lines.0, ids: file.ids.clone(), dissimilar: file.dissimilar, commit: file.commit }
    }

    /// Returns the version that this rename takes of a file that another part edits.
    fn source(&self, edit: &RequestOrigin) -> SourceVersion {
        let are_same = |one: &Option<String>, other: &Option<String>| match (one, other) {
            (Some(one), Some(other)) => one.starts_with(&**other) || other.starts_with(&**one),
            _ => false,
        };
        if edit.dissimilar || are_same(&self.ids.old, &edit.ids.old) {
            SourceVersion::BeforeThePatch
        } else if self.commit != edit.commit || are_same(&self.ids.old, &edit.ids.new) {
            SourceVersion::Edited
        } else {
            SourceVersion::Unknown
        }
    }
}

/// Turns renames of files that another part edits at their old path into copies, which take a file as it was before the
/// request.
///
/// Errors: [`Code::EditUnparsable`](crate::code::Code::EditUnparsable) if the patch does not say which version is renamed.
pub(super) fn settle(files: &mut [FileRequest], origins: &[RequestOrigin]) -> Result<()> {
    if !files.iter().any(|file| matches!(file.action, FileAction::Move { .. })) {
        return Ok(());
    }
    let mut edits: HashMap<String, usize> = HashMap::new();
    for (nth, file) in files.iter().enumerate() {
        // An edit below the rename is one of a file that is no longer there, unless its header says what it is.
        if matches!(file.action, FileAction::Edit { .. } | FileAction::Binary(_)) && origins[nth].dissimilar {
            edits.insert(file.path.clone(), nth);
        }
    }
    for nth in 0..files.len() {
        let file = &mut files[nth];
        match &mut file.action {
            FileAction::Edit { .. } | FileAction::Binary(_) => {
                edits.insert(file.path.clone(), nth);
            }
            FileAction::Move { to, ops } => {
                let Some(edit) = edits.get(&file.path).filter(|_| file.path != *to) else { continue };
                match origins[nth].source(&origins[*edit]) {
                    SourceVersion::BeforeThePatch => {
                        let (to, ops) = (std::mem::take(to), std::mem::take(ops));
                        file.action = FileAction::Copy { to, ops };
                    }
                    SourceVersion::Edited => {}
                    SourceVersion::Unknown => return Err(unknown(&file.path, to, &origins[nth], &origins[*edit])),
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn unknown(from: &str, to: &str, rename: &RequestOrigin, edit: &RequestOrigin) -> crate::error::Error {
    let what = format!(
        "{from} is edited (line {}) and renamed to {to}; that can mean that {to} gets the edited text, or the text that {from} had before the patch.",
        edit.line
    );
    broken(rename.line, &what).next(format!(
        "To rename the edited file, put its hunks below `rename to {to}`. To edit {from} and have its old text in {to}, write `copy from {from}` and `copy to {to}`."
    ))
}
