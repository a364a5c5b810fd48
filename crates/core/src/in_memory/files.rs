//! Edits of several files.

use super::function_names::TextFunction;
use super::limited;
use super::options::ApplyOptions;
use super::outcome::AppliedFiles;
use super::planner;
use super::text::check_size;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::detect::{self, without_mark};
use crate::formats::line_parser::ParseOptions;
use crate::formats::parsed_text::ParsedText;
use crate::formats::requested_text_format;
use crate::locate::op::FileRequest;
use crate::locate::refusals;
use crate::text::view::View;
use std::collections::{BTreeSet, HashSet};

/// Applies a patch in any text format to files in memory, given as a map from paths to texts or as any other [`View`].
/// The patch may edit, create, delete, move and copy files. Nothing is applied unless all of it can be; the map itself is
/// not changed ([`AppliedFiles::write_to`] does that).
///
/// ```
/// use emendate_core::{ApplyOptions, FileChangeKind, apply_files};
/// use std::collections::BTreeMap;
///
/// let files = BTreeMap::from([("src/a.rs".to_owned(), "let a = 1;\n".to_owned())]);
/// let patch = "\
/// *** Begin Patch
/// *** Update File: src/a.rs
/// @@
/// -let a = 1;
/// +let a = 2;
/// *** Add File: src/b.rs
/// +let b = 1;
/// *** End Patch
/// ";
/// let applied = apply_files(&files, patch, &ApplyOptions::new())?;
/// assert_eq!(applied.files["src/a.rs"].text.as_deref(), Some("let a = 2;\n"));
/// assert_eq!(applied.files["src/b.rs"].kind, FileChangeKind::Created);
/// # Ok::<(), emendate_core::Error>(())
/// ```
///
/// Errors: `edit.unparsable` for a text in no format; all files and edits that cannot be applied, in one error.
pub fn apply_files<V: View + ?Sized>(files: &V, patch: &str, options: &ApplyOptions) -> Result<AppliedFiles> {
    limited(options, TextFunction::ApplyFiles, || applied_files(files, patch, options))
}

/// Does the same as [`apply_files`] within the limits of another function.
pub(super) fn applied_files<V: View + ?Sized>(files: &V, patch: &str, options: &ApplyOptions) -> Result<AppliedFiles> {
    let ParsedText { format, mut request, directory } = parsed(patch, options.path.as_deref(), options)?;
    request.keep_files(|name| named_in(directory.as_deref(), name).iter().any(|name| files.has_file(name)))?;
    request.choose_names(
        |name| named_in(directory.as_deref(), name).iter().any(|name| files.has_file(name)),
        |name| named_in(directory.as_deref(), name).iter().find_map(|name| files.file(name).ok()?),
    )?;
    name_files(files, directory.as_deref(), &mut request.files)?;
    let planned = planner::run(files, request.files, options)?;
    let changed = planned.into_iter().map(|(path, file)| Ok((path, file.into_changed_file()?)));
    Ok(AppliedFiles { format: format.spec().name, files: changed.collect::<Result<_>>()?, notes: request.notes })
}

/// Returns every name under which a patch may change, create or delete a file, whatever files there are: for a program
/// that builds a patch around lines of a model, and wants no other file to be changed.
///
/// ```
/// use emendate_core::{ApplyOptions, named_files};
///
/// let patch = "*** Begin Patch\n*** Delete File: a\n*** Delete File: b\n*** End Patch\n";
/// assert_eq!(named_files(patch, &ApplyOptions::new())?.into_iter().collect::<Vec<_>>(), ["a", "b"]);
/// # Ok::<(), emendate_core::Error>(())
/// ```
///
/// Errors: `edit.unparsable` for a text in no format.
pub fn named_files(patch: &str, options: &ApplyOptions) -> Result<BTreeSet<String>> {
    limited(options, TextFunction::Other, || {
        let ParsedText { mut request, directory, .. } = parsed(patch, options.path.as_deref(), options)?;
        let mut names = BTreeSet::new();
        for file in &mut request.files {
            let destination = file.action.destination_mut().map(std::mem::take);
            let written = [Some(std::mem::take(&mut file.path)), destination, file.bare_destination.take()];
            let others = file.alternatives.drain(..).chain(file.rivals.drain(..));
            for name in written.into_iter().flatten().chain(others) {
                names.extend(named_in(directory.as_deref(), &name));
            }
        }
        Ok(names)
    })
}

/// Parses a patch. `path` names the file of a text that names none.
pub(super) fn parsed(patch: &str, path: Option<&str>, options: &ApplyOptions) -> Result<ParsedText> {
    check_size("The patch", patch, options)?;
    let named = options.format.as_deref().map(requested_text_format).transpose()?;
    let parse_options = ParseOptions {
        strip: options.strip,
        file: path.map(str::to_owned),
        reverse: options.reverse,
        ..ParseOptions::default()
    };
    let parsed = detect::parse_any(without_mark(patch), named, &parse_options)?;
    refusals::check_request(&parsed.request)?;
    Ok(parsed)
}

/// Gives every file of a request the name that it has in the view: the first of its names that exists.
///
/// Errors: [`Code::PathOutside`] for a name that leads out of the directory of the files.
fn name_files<V: View + ?Sized>(view: &V, directory: Option<&str>, files: &mut [FileRequest]) -> Result<()> {
    // Files created by an earlier part of the request exist for the later ones.
    let mut made: HashSet<String> = HashSet::new();
    for file in files {
        let exists = |name: &str| made.contains(name) || view.has_file(name);
        let mut candidates = Vec::new();
        for name in std::iter::once(&file.path).chain(&file.alternatives) {
            candidates.extend(named_in(directory, name));
        }
        let candidates = candidates.iter().map(|name| view_name(view, name)).collect::<Result<Vec<String>>>()?;
        let own = view_name(view, &file.path)?;
        let written = named_in(directory, &file.path).len();
        let found = candidates.iter().position(|name| exists(name)).filter(|_| !file.action.creates());
        // Both names of a move have git's prefix, or none has.
        let bare_to = file.bare_destination.take().filter(|_| found.is_some_and(|nth| nth >= written));
        file.path = found.map_or(own, |nth| candidates[nth].clone());
        if let Some(to) = file.action.destination_mut() {
            *to = bare_to.unwrap_or_else(|| std::mem::take(to));
            *to = view_name(view, to)?;
            made.insert(to.clone());
        }
        if file.action.creates() {
            made.insert(file.path.clone());
        }
    }
    Ok(())
}

/// Returns a name without `.` and `..`. The name may begin with `/` only if those of the view do.
///
/// Errors: [`Code::PathOutside`].
fn view_name<V: View + ?Sized>(view: &V, name: &str) -> Result<String> {
    match plain_name(name)? {
        name if name.starts_with('/') && !view.has_below("") => Err(outside(&name)),
        name => Ok(name),
    }
}

/// Returns the names that a name in a patch may have in the view, the one below the directory of the patch first.
fn named_in(directory: Option<&str>, name: &str) -> Vec<String> {
    directory.map(|directory| format!("{directory}/{name}")).into_iter().chain([name.to_owned()]).collect()
}

/// Returns a name without `.` and `..`.
///
/// Errors: [`Code::PathOutside`].
fn plain_name(name: &str) -> Result<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split('/') {
        match part {
            "" if parts.is_empty() && name.starts_with('/') => parts.push(""),
            ".." if parts.pop().is_none_or(str::is_empty) => {
                return Err(outside(name));
            }
            "" | "." | ".." => {}
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

fn outside(name: &str) -> Error {
    Error::new(Code::PathOutside, format!("The name {name} leaves the directory of the edits."))
        .next("Name files below it.")
}

#[cfg(test)]
mod tests {
    use super::plain_name;

    #[test]
    fn names_are_made_plain() {
        for (name, plain) in [("a/b.rs", "a/b.rs"), ("./a//b", "a/b"), ("a/../b", "b"), ("/x/./y", "/x/y"), ("a/", "a")]
        {
            assert_eq!(plain_name(name).as_deref(), Ok(plain));
        }
        for name in ["..", "../a", "a/../../b", "/../a"] {
            assert_eq!(plain_name(name).unwrap_err().code().as_str(), "path.outside", "{name}");
        }
    }
}
