//! Resolution of names in a text to files.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::history_stores::log_path;
use crate::session::base::knows_version;
use crate::session::decorated_names::read_decorated_name;
use crate::session::failure_advice::read_other_file;
use crate::session::windows_paths::read_windows_names;
use emendate_core::formats::hashline;
use emendate_core::{Code, Error, FileAction, FileRequest, Notes, Request, Result};
use emendate_fs::{SafePath, shown};
use emendate_os::paths::{normal, with_slashes};
use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

/// Files of one name whose versions are compared with a tag.
const SAME_NAMES_MAX: usize = 64;

/// Makes every path of a request absolute, relative to `directory`.
pub(crate) fn name_files(call: Call<'_>, directory: &Path, request: &mut Request) -> Result<()> {
    request.keep_files(|name| is_file(&call, directory, name))?;
    request
        .choose_names(|name| is_file(&call, directory, name), |name| read_other_file(&call, &directory.join(name)))?;
    // Files created by an earlier part of the request exist for the later ones.
    let mut made: Vec<PathBuf> = Vec::new();
    for file in &mut request.files {
        read_doubled_slashes(file, &mut request.notes);
        read_windows_names(&call, directory, file, &mut request.notes);
        read_decorated_name(&call, directory, file, &mut request.notes)?;
        stays_inside(directory, &file.path)?;
        let (path, note) = resolve_name(call, directory, file, &made)?;
        let has_prefix = file.alternatives.iter().any(|name| text(&directory.join(name)) == path);
        file.path = path;
        request.notes.extend(note);
        if let Some(to) = file.action.destination_mut() {
            // Both names have git's prefix, or none has.
            *to = file.bare_destination.take().filter(|_| has_prefix).unwrap_or_else(|| std::mem::take(to));
            stays_inside(directory, to)?;
            *to = text(&directory.join(&*to));
            made.push(PathBuf::from(&*to));
        }
        if file.action.creates() {
            made.push(PathBuf::from(&file.path));
        }
    }
    Ok(())
}

/// Uses the file that the call names, if nothing exists under the name in the text.
pub(crate) fn prefer_named_file(context: &Context, directory: &Path, named: &str, request: &mut Request) {
    let [file] = &mut *request.files else { return };
    let meant =
        matches!(file.action, FileAction::Edit { .. }) && !file.action.creates() && exists(context, directory, named);
    if meant && !std::iter::once(&file.path).chain(&file.alternatives).any(|name| exists(context, directory, name)) {
        request.notes.push(format!(
            "{} is not there; the file of the call, {}, was taken.",
            shown(&file.path),
            shown(named)
        ));
        named.clone_into(&mut file.path);
    }
}

/// Returns the name of a file in a header: relative to the base of names in the caller's texts if it resolves back
/// to that file, else absolute.
pub(crate) fn name_in_header(call: Call<'_>, path: &SafePath) -> String {
    let start = start_directory(call, None).ok();
    let short = start.and_then(|start| path.absolute().strip_prefix(start).ok()?.to_str());
    let short = short.map(with_slashes);
    short.filter(|name| hashline::is_name(name)).map_or_else(|| path.shown(), Cow::into_owned)
}

/// Returns the directory that relative names are resolved against; by default the caller's.
pub(crate) fn start_directory(call: Call<'_>, named: Option<&str>) -> Result<PathBuf> {
    let first = || call.root_path(0).map(Path::to_owned).unwrap_or_default();
    let root = call.caller.name_directory().unwrap_or_else(first);
    match named.map(Path::new) {
        None => Ok(root),
        Some(directory) if directory.is_absolute() => Ok(normal(directory).into_owned()),
        Some(directory) => Err(Error::new(Code::PathInvalid, "directory must be an absolute path.")
            .evidence(shown(directory))
            .next(format!("Use {}.", shown(root.join(directory))))),
    }
}

/// Returns the absolute path of a file of the request: the first of its names that exists. A file to be edited may
/// also be named by the end of its path, if this session knows exactly one such file, or by its last name together with
/// the tag of a version; that is noted.
fn resolve_name(
    call: Call<'_>,
    directory: &Path,
    file: &FileRequest,
    made: &[PathBuf],
) -> Result<(String, Option<String>)> {
    let exact = directory.join(&file.path);
    if file.action.creates() {
        return Ok(new_name(&call, directory, file));
    }
    let others = file.alternatives.iter().map(|name| directory.join(name));
    for path in std::iter::once(exact.clone()).chain(others) {
        if made.contains(&path)
            || call.store().resolve_no_follow(&path).is_ok_and(|safe_path| call.path_exists(&safe_path))
        {
            return Ok((text(&path), None));
        }
    }
    let safe_path = call.store().resolve_path(&exact)?;
    if !matches!(file.action, FileAction::Edit { .. }) {
        return Ok((text(&exact), None));
    }
    let known = call.sessions(&safe_path).paths(&call.caller.session)?;
    let same = known.iter().map(|path| log_path(path)).filter(|path| path.starts_with(directory));
    let (only, why) = match file.base {
        None => (only_one(same.filter(|path| path.ends_with(&file.path))), "whose path ends like that"),
        // The tag tells files of one name apart, and no file without it is meant (formats/hashline.md, 2.2).
        Some(tag) => {
            let name = Path::new(&file.path).file_name();
            let named: Vec<&Path> = same.filter(|path| path.file_name() == name).take(SAME_NAMES_MAX + 1).collect();
            let tagged = named.iter().filter(|path| {
                let safe_path = call.store().resolve_path(path);
                safe_path.is_ok_and(|safe_path| knows_version(call, &safe_path, tag).unwrap_or(false))
            });
            (only_one(tagged.copied()).filter(|_| named.len() <= SAME_NAMES_MAX), "with that name and tag")
        }
    };
    Ok(match only {
        Some(only) => {
            let note = format!("{} was read as {}, the only file read {why}.", shown(&file.path), shown(only));
            (text(only), Some(note))
        }
        // Missing or ambiguous: the usual error for a missing file.
        None => (text(&exact), None),
    })
}

/// Returns the only element; `None` if there are several.
fn only_one<'p>(mut all: impl Iterator<Item = &'p Path>) -> Option<&'p Path> {
    all.next().filter(|_| all.next().is_none())
}

/// Returns the path of a new file. A first directory that does not exist is dropped if it only names one of two
/// compared trees.
fn new_name(context: &Context, directory: &Path, file: &FileRequest) -> (String, Option<String>) {
    let top = file.path.split('/').next().unwrap_or_default();
    match &*file.alternatives {
        [name]
            if matches!(file.action, FileAction::Create(_))
                && file.path.strip_suffix(name).is_some_and(|head| head.ends_with('/'))
                && !exists(context, directory, top) =>
        {
            let note = format!("{} was read as {name}: its first directory does not exist.", shown(&file.path));
            (text(&directory.join(name)), Some(note))
        }
        _ => (text(&directory.join(&file.path)), None),
    }
}

/// True when a file has this name below a directory, as written or with backslashes for slashes.
fn is_file(context: &Context, directory: &Path, name: &str) -> bool {
    [name, &*name.replace('\\', "/")].iter().any(|name| {
        let path = context.store().resolve_path(&directory.join(name));
        path.is_ok_and(|at| matches!(context.store().metadata(&at), Ok(Some(_))))
    })
}

/// True when anything has this name below a directory.
pub(crate) fn exists(context: &Context, directory: &Path, name: &str) -> bool {
    context.store().resolve_no_follow(&directory.join(name)).is_ok_and(|at| context.path_exists(&at))
}

/// Reads `a//b` and `a/./b` as `a/b`, so that one file has one name.
fn read_doubled_slashes(file: &mut FileRequest, notes: &mut Notes) {
    if !["//", "/./"].iter().any(|part| file.path.contains(part)) || file.path.contains("://") {
        return;
    }
    let parts: Vec<&str> = file.path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let start = if file.path.starts_with('/') { "/" } else { "" };
    let path = format!("{start}{}", parts.join("/"));
    notes.push(format!("{} was read as {}.", shown(&file.path), shown(&path)));
    file.path = path;
}

/// Refuses relative names that lead out of their base directory, even if the root extends further: in this way a
/// foreign patch could reach unrelated files.
fn stays_inside(directory: &Path, name: &str) -> Result<()> {
    let mut depth = 0usize;
    for part in Path::new(name).components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::ParentDir if depth == 0 => {
                return Err(Error::new(
                    Code::PathOutside,
                    format!("The name {name} leaves the directory of the edits."),
                )
                .evidence(shown(directory))
                .next("Name files below it; or give the directory that contains them all as directory."));
            }
            Component::ParentDir => depth -= 1,
            Component::RootDir | Component::Prefix(_) => return Ok(()),
            Component::CurDir => {}
        }
    }
    Ok(())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
