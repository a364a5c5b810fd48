//! Which files are searched: those beneath a folder, in order of their names, without what ignore files and globs leave
//! out. Links are not followed, and every path goes through the sandbox and the policy like any other.

use crate::engine::Engine;
use crate::policy::Access;
use crate::watch::Watch;
use emendate_core::{Code, Error, Result};
use emendate_fs::{Entry, Kind, MAX_ENTRIES, Place};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Entries of directories that one search looks at.
pub(crate) const MOST_WALKED: usize = MAX_ENTRIES;
/// Bytes of all globs of a call.
pub(crate) const GLOB_MAX: usize = 16 << 10;
/// Bytes of an ignore file that are read.
const IGNORE_FILE: u64 = 1 << 20;

/// What is left out.
pub(crate) struct Scope {
    pub(crate) globs: Override,
    /// Names that begin with a dot are searched too.
    pub(crate) hidden: bool,
    /// Ignore files do not count.
    pub(crate) all: bool,
    /// What may stop the walk.
    pub(crate) watch: Option<Watch>,
}

/// What a walk came across.
#[derive(Default)]
pub(crate) struct Walked {
    entries: usize,
    /// Files that the policy does not let anybody read.
    pub(crate) denied: usize,
    /// Folders that could not be listed.
    pub(crate) closed: usize,
    /// The first path that is too long to be named, and how many are.
    pub(crate) long: Option<(PathBuf, usize)>,
    /// Entries that could not be reached for another reason.
    pub(crate) unreached: usize,
    /// It ended early: there was too much.
    pub(crate) cut: bool,
}

impl Scope {
    /// The globs of a call, as ripgrep takes them: a file must match one, and none of those that begin with `!`.
    ///
    /// Errors: `call.invalid` for a glob that is none.
    pub(crate) fn globs(folder: &Path, globs: &[String]) -> Result<Override> {
        let mut builder = OverrideBuilder::new(folder);
        let wrong = |error: ignore::Error| {
            Error::new(Code::CallInvalid, format!("glob is wrong: {error}."))
                .next(r#"Write e.g. "*.rs" or "!tests/**"."#)
        };
        let bytes: usize = globs.iter().map(String::len).sum();
        if bytes > GLOB_MAX {
            return Err(Error::new(
                Code::CallTooLarge,
                format!("The globs have {bytes} bytes; the limit is {GLOB_MAX}."),
            )
            .next("Fewer or shorter globs, or a narrower path."));
        }
        for glob in globs {
            builder.add(glob).map_err(wrong)?;
        }
        builder.build().map_err(wrong)
    }
}

impl Walked {
    fn leave_out(&mut self, path: PathBuf, code: Code) {
        match code {
            // Its name was just listed, so the path is wrong only by its length.
            Code::PathInvalid => self.long.get_or_insert((path, 0)).1 += 1,
            // What changes its kind or goes away in between is not looked at.
            Code::FileMissing | Code::PathSymlink | Code::PathNotRegular => {}
            _ => self.unreached += 1,
        }
    }
}

impl Engine {
    /// Visits every file beneath a folder until told to stop; who has a watch asks it afterwards.
    pub(crate) fn walk(
        &self,
        folder: &Place,
        scope: &Scope,
        visit: &mut dyn FnMut(&Place) -> Result<ControlFlow<()>>,
    ) -> Result<Walked> {
        let mut walked = Walked::default();
        let mut ignores = Vec::new();
        if !scope.all {
            let root = &self.store().roots()[folder.root()].canonical;
            let above: Vec<&Path> =
                folder.absolute().ancestors().skip(1).take_while(|it| it.starts_with(root)).collect();
            for folder in above.into_iter().rev() {
                ignores.push(self.ignore_files(folder));
            }
        }
        let _ = self.enter(folder, scope, (&mut ignores, &mut walked), visit)?;
        Ok(walked)
    }

    fn enter(
        &self,
        folder: &Place,
        scope: &Scope,
        (ignores, walked): (&mut Vec<Gitignore>, &mut Walked),
        visit: &mut dyn FnMut(&Place) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let entries = match self.store().list(folder) {
            Ok(Some(entries)) => entries,
            Err(error) if error.code() == Code::CallTooLarge => return Err(error),
            Ok(None) | Err(_) => {
                walked.closed += 1;
                return Ok(ControlFlow::Continue(()));
            }
        };
        let has = |name: &str| entries.iter().any(|entry| entry.name == name && entry.kind == Kind::File);
        let own = !scope.all && (has(".gitignore") || has(".ignore"));
        if own {
            ignores.push(self.ignore_files(folder.absolute()));
        }
        for entry in &entries {
            if scope.watch.as_ref().is_some_and(Watch::is_stopped) {
                return Ok(ControlFlow::Break(()));
            }
            walked.entries += 1;
            if walked.entries > MOST_WALKED {
                walked.cut = true;
                return Ok(ControlFlow::Break(()));
            }
            let path = folder.absolute().join(&entry.name);
            if !scope.takes(entry, &path, ignores) {
                continue;
            }
            let place = match self.store().admit_link(&path) {
                Ok(place) => place,
                Err(error) => {
                    walked.leave_out(path, error.code());
                    continue;
                }
            };
            if entry.kind == Kind::Folder {
                if self.enter(&place, scope, (ignores, walked), visit)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            } else if !self.may_by_name(&place, Access::Read) {
                walked.denied += 1;
            } else if visit(&place)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if own {
            ignores.pop();
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The rules of a folder's ignore files; those of `.ignore` count more. Lines that are no glob are skipped, as git does.
    fn ignore_files(&self, folder: &Path) -> Gitignore {
        let mut builder = GitignoreBuilder::new(folder);
        for name in [".gitignore", ".ignore"] {
            let path = folder.join(name);
            let version =
                self.store().admit(&path).and_then(|place| self.store().read(&place, IGNORE_FILE, Vec::new()));
            let Ok(Some(version)) = version else { continue };
            for line in String::from_utf8_lossy(&version.bytes).lines() {
                let _ = builder.add_line(None, line);
            }
        }
        builder.build().unwrap_or_else(|_| Gitignore::empty())
    }
}

impl Scope {
    fn takes(&self, entry: &Entry, path: &Path, ignores: &[Gitignore]) -> bool {
        let folder = match entry.kind {
            Kind::Folder => true,
            Kind::File => false,
            Kind::Link | Kind::Other => return false,
        };
        if entry.name == ".git" {
            return false;
        }
        // A glob that names a file says more than any ignore file.
        match self.globs.matched(path, folder) {
            Match::Whitelist(_) => return true,
            Match::Ignore(_) => return false,
            Match::None => {}
        }
        let said = ignores.iter().rev().map(|rules| rules.matched(path, folder)).find(|said| !said.is_none());
        match said {
            Some(Match::Ignore(_)) => false,
            Some(_) => true,
            None => self.hidden || !entry.name.as_encoded_bytes().starts_with(b"."),
        }
    }
}
