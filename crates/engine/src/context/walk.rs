//! The files of a search: those below a directory, in order of their names, except for those excluded by ignore files
//! and globs. Links are not followed, and every path is subject to the sandbox and the policy.

use crate::context::policy::Access;
use crate::context::{Context, ignore_rules};
use crate::model::call_context::CallContext;
use crate::model::call_handle::CallHandle;
use crate::model::reply::counted;
use emendate_core::{Advice, Code, Error, Result};
use emendate_fs::{DIR_ENTRIES_MAX, DirEntry, EntryKind, PATH_MAX_BYTES, SafePath, shown};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Directory entries that one search visits.
pub(crate) const WALKED_ENTRIES_MAX: usize = DIR_ENTRIES_MAX;
/// Bytes of all globs of a call.
pub(crate) const GLOB_BYTES_MAX: usize = 16 << 10;
/// Bytes of an ignore file that are read.
pub(crate) const IGNORE_FILE_BYTES_MAX: u64 = 1 << 20;

/// Characters shown of a path that is too long.
const LONG_PATH_CHARS: usize = 200;

/// The filters of a walk.
pub(crate) struct WalkFilter {
    pub(crate) globs: Gitignore,
    /// Includes hidden names.
    pub(crate) hidden: bool,
    /// Includes what ignore files exclude.
    pub(crate) no_ignore: bool,
    /// The handle that may cancel the walk.
    pub(crate) handle: Option<CallHandle>,
}

/// Statistics of a walk.
#[derive(Default)]
pub(crate) struct WalkStats {
    entries: usize,
    /// Files that the policy does not allow to be read.
    pub(crate) denied: usize,
    /// Directories that could not be read.
    pub(crate) closed: usize,
    /// The first path that is too long, and the number of them.
    pub(crate) long: Option<(PathBuf, usize)>,
    /// Entries that could not be accessed for another reason.
    pub(crate) unreached: usize,
    /// The walk ended early at its limit.
    pub(crate) cut: bool,
}

/// Checks the size of all globs of a call.
///
/// Errors: `call.too_large`.
pub(crate) fn check_globs(globs: &[String]) -> Result<()> {
    let bytes: usize = globs.iter().map(String::len).sum();
    if bytes <= GLOB_BYTES_MAX {
        return Ok(());
    }
    let what = format!("The globs have {bytes} bytes; the limit is {GLOB_BYTES_MAX}.");
    Err(Error::new(Code::CallTooLarge, what).next("Fewer or shorter globs, or a narrower path."))
}

impl WalkFilter {
    /// Creates the filters of a call for a directory. The globs have ripgrep's syntax, but no order: a file must match
    /// one, and none of those that begin with `!`.
    ///
    /// Errors: `call.invalid` for an invalid glob.
    pub(crate) fn new(
        caller: &CallContext,
        folder: &SafePath,
        globs: &[String],
        hidden: bool,
        no_ignore: bool,
    ) -> Result<WalkFilter> {
        let mut builder = GitignoreBuilder::new(folder.absolute());
        builder.allow_unclosed_class(false);
        check_globs(globs)?;
        // The last one that matches decides: an exclusion rather than a name, and that rather than a pattern.
        let mut globs: Vec<&String> = globs.iter().collect();
        globs.sort_by_key(|glob| (glob.starts_with('!'), !has_wildcards(glob)));
        for glob in globs {
            // A glob is no comment.
            let escape = if glob.starts_with('#') { "\\" } else { "" };
            builder.add_line(None, &format!("{escape}{glob}")).map_err(|error| glob_refusal(&error))?;
        }
        let globs = builder.build().map_err(|error| glob_refusal(&error))?;
        Ok(WalkFilter { globs, hidden, no_ignore, handle: caller.handle.clone() })
    }
}

fn has_wildcards(glob: &str) -> bool {
    glob.contains(['*', '?', '[', '{'])
}

/// Refuses a pattern.
fn glob_refusal(error: &ignore::Error) -> Error {
    Error::new(Code::CallInvalid, format!("glob is wrong: {error}.")).next(r#"Write e.g. "*.rs" or "!tests/**"."#)
}

impl WalkStats {
    /// Describes the paths that are too long; `None` if there are none.
    pub(crate) fn long_paths(&self) -> Option<String> {
        let (first, number) = self.long.as_ref()?;
        let first = shown(first.ancestors().nth(1).unwrap_or(first));
        let first: String = first.chars().take(LONG_PATH_CHARS).collect();
        let paths = counted(*number, "path");
        Some(format!("{paths} of more than {PATH_MAX_BYTES} bytes, the first in {first}…"))
    }

    /// Describes what was not visited, apart from the end of a walk at its limit.
    pub(crate) fn omissions(&self) -> Vec<String> {
        let counts = [
            (self.denied, "that may not be read"),
            (self.closed, "of a directory that could not be listed"),
            (self.unreached, "that could not be read"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        counts.map(|(count, why)| format!("{} {why}", counted(count, "entry"))).chain(self.long_paths()).collect()
    }

    fn leave_out(&mut self, path: PathBuf, code: Code) {
        match code {
            // The name was just listed, so the path is invalid only because of its length.
            Code::PathInvalid => self.long.get_or_insert((path, 0)).1 += 1,
            // Entries that change their kind or vanish in between are skipped.
            Code::FileMissing | Code::PathSymlink | Code::PathNotRegular => {}
            _ => self.unreached += 1,
        }
    }
}

/// Visits every file below a directory until told to stop; a caller with a handle checks it afterwards.
pub(crate) fn walk(
    context: &Context,
    folder: &SafePath,
    scope: &WalkFilter,
    visit: &mut dyn FnMut(&SafePath) -> Result<ControlFlow<()>>,
) -> Result<WalkStats> {
    let mut walked = WalkStats::default();
    let mut ignores = Vec::new();
    if !scope.no_ignore {
        let root = &context.store().roots()[folder.root()].canonical;
        let above: Vec<&Path> = folder.absolute().ancestors().skip(1).take_while(|it| it.starts_with(root)).collect();
        for folder in above.into_iter().rev() {
            ignores.push(ignore_files(context, folder)?);
        }
    }
    let _ = enter(context, folder, scope, &mut ignores, &mut walked, visit)?;
    Ok(walked)
}

fn enter(
    context: &Context,
    folder: &SafePath,
    scope: &WalkFilter,
    ignores: &mut Vec<Gitignore>,
    walked: &mut WalkStats,
    visit: &mut dyn FnMut(&SafePath) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let entries = match context.store().list(folder) {
        Ok(Some(entries)) => entries,
        Err(error) if error.code() == Code::CallTooLarge => return Err(error),
        Ok(None) | Err(_) => {
            walked.closed += 1;
            return Ok(ControlFlow::Continue(()));
        }
    };
    let own = !scope.no_ignore && (has_file(entries.iter(), ".gitignore") || has_file(entries.iter(), ".ignore"));
    if own {
        ignores.push(ignore_files(context, folder.absolute())?);
    }
    for entry in &entries {
        if scope.handle.as_ref().is_some_and(CallHandle::is_stopped) {
            return Ok(ControlFlow::Break(()));
        }
        walked.entries += 1;
        if walked.entries > WALKED_ENTRIES_MAX {
            walked.cut = true;
            return Ok(ControlFlow::Break(()));
        }
        let path = folder.absolute().join(&entry.name);
        if !scope.takes(entry, &path, ignores) {
            continue;
        }
        let safe_path = match context.store().resolve_no_follow(&path) {
            Ok(safe_path) => safe_path,
            Err(error) => {
                walked.leave_out(path, error.code());
                continue;
            }
        };
        if entry.kind == EntryKind::Directory {
            if enter(context, &safe_path, scope, ignores, walked, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        } else if !context.may_access_name(&safe_path, Access::Read) {
            walked.denied += 1;
        } else if visit(&safe_path)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    if own {
        ignores.pop();
    }
    Ok(ControlFlow::Continue(()))
}

/// Reads the rules of a directory's ignore files; those of `.ignore` take precedence. Invalid globs are skipped, as
/// in git.
///
/// Errors: `call.too_large` for more rules than are read: a search without them would include ignored files.
pub(crate) fn ignore_files(context: &Context, folder: &Path) -> Result<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for name in [".gitignore", ".ignore"] {
        let path = folder.join(name);
        // As in git, an ignore file that is a link is not read.
        let version = context
            .store()
            .resolve_no_follow(&path)
            .and_then(|safe_path| context.store().read(&safe_path, IGNORE_FILE_BYTES_MAX, Vec::new()));
        let version = match version {
            Ok(Some(version)) => version,
            Err(error) if error.code() == Code::FileTooLarge => {
                return Err(too_many_rules(&format!("has more than {IGNORE_FILE_BYTES_MAX} bytes"), &path));
            }
            Ok(None) | Err(_) => continue,
        };
        let rules = String::from_utf8_lossy(&version.bytes);
        // As in git, a byte order mark is not part of the first rule, nor a CR of the last one without a line end.
        let lines = rules.strip_prefix('\u{feff}').unwrap_or(&rules).split('\n');
        let lines = lines.map(|line| line.strip_suffix('\r').unwrap_or(line));
        for rule in lines.filter_map(ignore_rules::converted) {
            let _ = builder.add_line(None, &rule);
        }
    }
    builder.build().map_err(|_| too_many_rules("has too many rules", folder))
}

/// Refuses an ignore file of this path, or in this directory.
fn too_many_rules(what: &str, path: &Path) -> Error {
    Error::new(Code::CallTooLarge, format!("An ignore file {what}, so the ignored files are not known."))
        .evidence(shown(path))
        .next(
            Advice::named(
                "Shorten it, choose a path to which it does not apply, or repeat the call with {no_ignore=true}.",
            )
            .or("Shorten it, or choose a path to which it does not apply."),
        )
}

/// True for a directory with a file of this name.
pub(crate) fn has_file<'a>(mut entries: impl Iterator<Item = &'a DirEntry>, name: &str) -> bool {
    entries.any(|entry| entry.name == name && entry.kind == EntryKind::File)
}

impl WalkFilter {
    /// True for an entry that the walk visits.
    pub(crate) fn takes(&self, entry: &DirEntry, path: &Path, ignores: &[Gitignore]) -> bool {
        let folder = match entry.kind {
            EntryKind::Directory => true,
            EntryKind::File => false,
            EntryKind::Link | EntryKind::Other => return false,
        };
        if entry.name == ".git" {
            return false;
        }
        // As a rule of an ignore file, a glob that selects "ignores", and one with `!` includes again.
        match self.globs.matched(path, folder) {
            // A name without wildcards takes precedence over any ignore file.
            Match::Ignore(glob) if !has_wildcards(glob.original()) => return true,
            Match::Whitelist(_) => return false,
            Match::None if !folder && self.globs.num_ignores() > 0 => return false,
            Match::Ignore(_) | Match::None => {}
        }
        let rule = ignores.iter().rev().map(|rules| rules.matched(path, folder)).find(|rule| !rule.is_none());
        // A negated rule is about ignoring only: git has no hidden files.
        !rule.is_some_and(|rule| rule.is_ignore()) && (self.hidden || !entry.name.as_encoded_bytes().starts_with(b"."))
    }
}
