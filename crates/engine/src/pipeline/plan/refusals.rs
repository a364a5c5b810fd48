//! Refusals to remove, move or create entries because of the current ones; used by [`crate::pipeline::plan::request_tree`].

use emendate_core::{Code, Error, Result};
use emendate_fs::{SafePath, shown};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// Creates the error for a link with another target than the patch removes.
pub(crate) fn other_link(target: &OsStr, text: &str) -> Error {
    Error::new(Code::MatchNotFound, "The symbolic link to delete has another target than the patch says; it was kept.")
        .evidence(format!(
            "Its target is `{}`; the patch says `{}`.",
            target.to_string_lossy(),
            text.trim_end_matches('\n')
        ))
        .fact("reason", "not_found")
        .next("Look at the link again; to remove it whatever its target, use *** Delete File.")
}

/// Refuses a new symbolic link that leads out of all roots. Links in the directories of the target are not followed: they
/// are resolved, and checked, by whatever uses the link.
///
/// Errors: `path.outside`.
pub(crate) fn check_link(roots: &[&Path], safe_path: &SafePath, target: &str) -> Result<()> {
    let mut path = safe_path.absolute().parent().unwrap_or(safe_path.absolute()).to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::Prefix(_) | Component::RootDir => path = PathBuf::from("/"),
            Component::CurDir => {}
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
        }
    }
    if roots.iter().any(|root| path.starts_with(root)) {
        return Ok(());
    }
    Err(Error::new(Code::PathOutside, format!("The symbolic link {} would lead out of the roots.", safe_path.shown()))
        .evidence(format!("Its target is `{}`, which is {}.", shown(target), shown(&path)))
        .next("Give it a target below a root; a person can make this link, or add the directory that it leads to as a root.")
        .fact("path", shown(&path)))
}
