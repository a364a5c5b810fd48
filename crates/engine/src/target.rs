//! Hop 3, first half: resolves every path of a request within the sandbox and checks the policy.

use crate::engine::Engine;
use crate::limits;
use crate::policy::Access;
use crate::rows;
use emendate_core::rows as core_rows;
use emendate_core::{Ask, Code, Error, FileMode, FileRequest, Handle, Request, Result};
use emendate_fs::Place;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// An action with its resolved paths.
pub(crate) struct Target {
    pub(crate) place: Place,
    /// The destination of a move or copy.
    pub(crate) to: Option<Place>,
    pub(crate) ask: Ask,
    pub(crate) mode: Option<FileMode>,
    /// The version it refers to, if the text states it.
    pub(crate) base: Option<Handle>,
    /// git's object id of the version that a patch was made for.
    pub(crate) preimage: Option<String>,
    /// The file that takes hunks which cannot be applied, where the call asks for one.
    pub(crate) rejects: Option<Place>,
}

impl Target {
    /// All paths it touches.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.place), self.to.as_ref()].into_iter().flatten().map(Place::absolute)
    }
}

impl Engine {
    /// Resolves every path; consecutive edits of one file are joined.
    pub(crate) fn targets(&self, request: Request) -> Result<Vec<Target>> {
        limits::check_request(&request)?;
        let of = request.files.len();
        let (mut targets, mut errors) = (Vec::<Target>::with_capacity(of), Vec::new());
        // The last target that touched each path.
        let mut last: HashMap<PathBuf, usize> = HashMap::new();
        // A file removed by an earlier step differs from one created by a later step.
        let mut gone: HashSet<PathBuf> = HashSet::new();
        for file in request.files {
            let target = match self.target(file, &gone) {
                Ok(target) => target,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            let known = last.get(target.place.absolute()).copied();
            if let (Some(before), Ask::Edit { ops: more, .. }) = (known.map(|at| &mut targets[at]), &target.ask)
                && let Ask::Edit { ops, .. } = &mut before.ask
            {
                if core_rows::are(ops) || core_rows::are(more) {
                    errors.push(rows::twice(&before.place, more));
                    continue;
                }
                ops.extend(more.iter().cloned());
                before.mode = target.mode.or(before.mode);
                continue;
            }
            if let (Some(before), Ask::Write(_)) = (known, &target.ask) {
                errors.push(twice(&targets[before].place));
                continue;
            }
            if let Ask::Delete { .. } = target.ask {
                gone.insert(target.place.absolute().to_owned());
            }
            if of > 1 {
                last.extend(target.paths().map(|path| (path.to_owned(), targets.len())));
            }
            targets.push(target);
        }
        match Error::all(errors, of) {
            Some(error) => Err(error),
            None if targets.is_empty() => {
                Err(Error::new(Code::CallInvalid, "The call names no file.").next("Name the file to edit."))
            }
            None => Ok(targets),
        }
    }

    /// Names the files that take hunks which cannot be applied.
    ///
    /// Errors: those of the sandbox and the policy.
    pub(crate) fn name_rejects(&self, targets: &mut [Target]) -> Result<()> {
        for target in targets {
            if let Ask::Edit { .. } | Ask::Move { .. } | Ask::Copy { .. } = target.ask {
                let mut path = target.to.as_ref().unwrap_or(&target.place).absolute().as_os_str().to_owned();
                path.push(".rej");
                target.rejects = Some(self.admit(Path::new(&path), Access::Write)?);
            }
        }
        Ok(())
    }

    fn target(&self, file: FileRequest, gone: &HashSet<PathBuf>) -> Result<Target> {
        let FileRequest { path, raw, mode, base, preimage, ask, .. } = file;
        let path = raw.map_or_else(|| PathBuf::from(path), |raw| PathBuf::from(OsString::from_vec(raw)));
        // Edits follow links; entries that are removed, moved or created are the links themselves.
        let place = match &ask {
            Ask::Create(_) if gone.contains(&path) => self.admit_link(&path, Access::Write)?,
            Ask::Edit { .. } | Ask::Write(_) | Ask::Binary(_) | Ask::Create(_) => self.admit(&path, Access::Write)?,
            _ => self.admit_link(&path, Access::Write)?,
        };
        let to = match &ask {
            Ask::Move { to, .. } | Ask::Copy { to, .. } => Some(self.admit(to, Access::Write)?),
            _ => None,
        };
        Ok(Target { place, to, ask, mode, base, preimage, rejects: None })
    }
}

fn twice(place: &Place) -> Error {
    Error::new(Code::CallInvalid, format!("The call writes {} twice.", place.shown()))
        .next("Name the file once, with all that is to be done to it.")
}
