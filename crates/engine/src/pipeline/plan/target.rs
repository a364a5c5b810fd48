//! Resolves every path of a request within the sandbox, and checks the policy.

use crate::context::Context;
use crate::context::policy::Access;
use crate::pipeline::plan::refusals::check_link;
use emendate_core::refusals::{check_request, no_file};
use emendate_core::{
    Code, Error, FenceName, FileAction, FileMode, FileRequest, Handle, NewFile, Request, Result, line_edits,
};
use emendate_fs::SafePath;
use emendate_os::ffi::OsStringExt as _;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// An action with its resolved paths.
pub(crate) struct ActionTarget {
    pub(crate) path: SafePath,
    /// The destination of a move or copy.
    pub(crate) to: Option<SafePath>,
    pub(crate) action: FileAction,
    pub(crate) mode: Option<FileMode>,
    /// The version it refers to, if the text states it.
    pub(crate) base: Option<Handle>,
    /// The origin of the name of a whole file in a fence that has no name above it.
    pub(crate) fence: Option<FenceName>,
    /// The line that closes the fence around a whole file.
    pub(crate) closing: Option<String>,
    /// git's object id of the version that a patch was made for.
    pub(crate) preimage: Option<String>,
    /// The file that takes hunks which cannot be applied, if the call asks for one.
    pub(crate) rejects: Option<SafePath>,
}

impl ActionTarget {
    /// All paths it touches.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.path), self.to.as_ref()].into_iter().flatten().map(SafePath::absolute)
    }
}

/// Resolves every path; consecutive edits of one file are joined.
pub(crate) fn targets(context: &Context, request: Request) -> Result<Vec<ActionTarget>> {
    check_request(&request)?;
    let of = request.files.len();
    let (mut targets, mut errors) = (Vec::<ActionTarget>::with_capacity(of), Vec::new());
    // The last target that touched each path.
    let mut last: HashMap<PathBuf, usize> = HashMap::new();
    // A file removed by an earlier step differs from one created by a later step.
    let mut gone: HashSet<PathBuf> = HashSet::new();
    let leaving = leaving(&request.files);
    for file in request.files {
        let target = match resolve_target(context, file, &gone, &leaving) {
            Ok(target) => target,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        let known = last.get(target.path.absolute()).copied();
        if let Some(before) = known.map(|at| &mut targets[at]) {
            match before.action.join(&target.action, || before.path.shown()) {
                Ok(true) => {
                    before.mode = target.mode.or(before.mode);
                    continue;
                }
                Ok(false) => {}
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            }
        }
        if target.action.leaves() {
            gone.insert(target.path.absolute().to_owned());
        }
        if of > 1 {
            last.extend(target.paths().map(|path| (path.to_owned(), targets.len())));
        }
        targets.push(target);
    }
    match Error::combine(errors, of) {
        Some(error) => Err(error),
        None if targets.is_empty() => Err(no_file()),
        None => Ok(targets),
    }
}

/// Names the files that take hunks which cannot be applied.
///
/// Errors: those of the sandbox and the policy.
pub(crate) fn name_rejects(context: &Context, targets: &mut [ActionTarget]) -> Result<()> {
    for target in targets {
        if let FileAction::Edit { .. } | FileAction::Move { .. } | FileAction::Copy { .. } = target.action {
            let mut path = target.to.as_ref().unwrap_or(&target.path).absolute().as_os_str().to_owned();
            path.push(".rej");
            target.rejects = Some(context.resolve_path(Path::new(&path), Access::Write)?);
        }
    }
    Ok(())
}

fn resolve_target(
    context: &Context,
    file: FileRequest,
    gone: &HashSet<PathBuf>,
    leaving: &HashSet<PathBuf>,
) -> Result<ActionTarget> {
    let FileRequest { path, raw, mode, base, fence, closing, preimage, action, .. } = file;
    let path = raw.map_or_else(|| PathBuf::from(path), |raw| PathBuf::from(OsString::from_vec(raw)));
    // Edits follow links; entries that are removed, moved or created are the links themselves. A link that an earlier
    // step took away leads nowhere any more.
    let safe_path = match &action {
        FileAction::Create(_) => resolve_new(context, &path, leaving)?,
        FileAction::Edit { .. } | FileAction::Write(_) | FileAction::Binary(_) if !gone.contains(&path) => {
            context.resolve_path(&path, Access::Write)?
        }
        _ => context.resolve_no_follow(&path, Access::Write)?,
    };
    if let FileAction::Create(NewFile::Link(target)) = &action {
        check_link(&context.roots(), &safe_path, target)?;
    }
    let to = action.destination().map(|to| resolve_new(context, Path::new(to), leaving)).transpose()?;
    Ok(ActionTarget { path: safe_path, to, action, mode, base, fence, closing, preimage, rejects: None })
}

/// Resolves the path of a new file. If this call removes the entry at the path, the file takes its place: a link there
/// is not followed. A file or a link above the path may become a directory, if this call removes it.
fn resolve_new(context: &Context, path: &Path, leaving: &HashSet<PathBuf>) -> Result<SafePath> {
    if leaving.contains(path) {
        return context.resolve_no_follow(path, Access::Write);
    }
    let resolved = context.resolve_path(path, Access::Write);
    let Some(above) = path.ancestors().skip(1).find(|above| leaving.contains(*above)) else { return resolved };
    let safe_path = match resolved {
        Err(error) if matches!(error.code(), Code::PathInvalid | Code::PathSymlink) => {
            context.resolve_below_file(path).ok_or(error)?
        }
        Err(error) => return Err(error),
        // The target of a removed link stays as it is: the new file is not created inside it.
        Ok(safe_path) => match (context.link_at(above), path.strip_prefix(above)) {
            (Some(link), Ok(rest)) => context.store().resolve_below(&link, rest)?,
            _ => return Ok(safe_path),
        },
    };
    context.check_access(&safe_path, Access::Write)?;
    Ok(safe_path)
}

/// The paths that a request removes or moves away.
fn leaving(files: &[FileRequest]) -> HashSet<PathBuf> {
    let paths = files.iter().filter(|file| file.action.leaves()).map(|file| match &file.raw {
        Some(raw) => OsString::from_vec(raw.clone()).into(),
        None => PathBuf::from(&file.path),
    });
    paths.collect()
}

/// True if a step pastes a register.
pub(crate) fn paste_registers(targets: &[ActionTarget]) -> bool {
    targets.iter().any(|target| line_edits::paste_registers(target.action.ops()))
}
