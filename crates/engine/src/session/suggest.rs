//! Suggestions for missing files: the same stem with another extension, another case, a similar spelling.

use crate::context::Context;
use crate::context::call::Call;
use crate::model::raw_path;
use crate::session::outside::{FoundContent, record_outside_changes};
use emendate_core::{Advice, Code, Error, Phrase, advice};
use emendate_fs::{SafePath, shown};
use emendate_os::ffi::OsStringExt as _;
use serde_json::Value;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use unicode_normalization::UnicodeNormalization as _;

/// Creates the error for a missing file, with a suggestion.
pub(crate) fn file_not_found(call: Call<'_>, path: &SafePath) -> Error {
    record_outside_changes(&call, &[FoundContent { path, content: None }]);
    let mut message = "File does not exist.".to_owned();
    let deleted = call.latest_record(path).is_ok_and(|known| known.is_some());
    if deleted {
        message.push_str(" It was deleted or moved since you read it.");
    }
    let home = call.root_path(path.root());
    if let Some(cwd) = call.caller.cwd.as_deref().filter(|cwd| home.is_some_and(|home| home != *cwd)) {
        let _ = write!(message, " Current working directory: {}.", shown(cwd));
    }
    // A file that existed under this very name is not misspelled.
    let suggested = if deleted { known_by_name(call, path) } else { alike(call, path) };
    if let Some(suggested) = &suggested {
        let _ = write!(message, " Did you mean {}?", shown(suggested));
        if is_same_in_unicode(path.absolute(), suggested) {
            message.push_str(" Its name looks the same, but has other Unicode characters for letters with accents.");
        }
    }
    let error = Error::new(Code::FileMissing, message).evidence(path.shown());
    match suggested {
        Some(suggested) => {
            let read = Phrase::Call("read", raw_path::call(&suggested, Value::Null));
            let error = match raw_path::base64_if_needed(&suggested) {
                Some(bytes) => error.fact("path_b64", bytes),
                None => error,
            };
            error
                .next(advice!["If that file is meant, call ", read, " and see; else check the path."])
                .fact("did_you_mean", shown(&suggested))
        }
        None if deleted => error.next(
            Advice::named("To create it again, use {write()} with its whole text.")
                .or("To create it again, send its whole text as a new file."),
        ),
        None => error.next(
            Advice::named("Check the path; to create the file, use {write()}.")
                .or("Check the path; to create the file, send its whole text as a new file."),
        ),
    }
}

/// Returns the sibling of a missing file with a similar name, or a file that this session was shown elsewhere.
fn alike(call: Call<'_>, path: &SafePath) -> Option<PathBuf> {
    let mut names = call.store().siblings(path).unwrap_or_default();
    // Only files are suggested.
    if let Some(folder) = best_candidate(path.absolute(), &names)
        .filter(|it| it.file_name().is_some_and(|name| !is_file_beside(&call, path, &name.to_owned())))
    {
        names.retain(|name| Some(name.as_os_str()) != folder.file_name() && is_file_beside(&call, path, name));
    }
    best_candidate(path.absolute(), &names).or_else(|| known_by_name(call, path))
}

/// True for a name of a file beside the path.
fn is_file_beside(context: &Context, path: &SafePath, name: &OsString) -> bool {
    let beside = context.store().resolve_path(&path.absolute().with_file_name(name));
    beside.and_then(|beside| context.store().metadata(&beside)).is_ok_and(|meta| meta.is_some())
}

/// Returns the only file with the same name that this session was shown, if it still exists.
fn known_by_name(call: Call<'_>, safe_path: &SafePath) -> Option<PathBuf> {
    let known = call.sessions(safe_path).paths(&call.caller.session).unwrap_or_default();
    let known = known.into_iter().map(|path| PathBuf::from(OsString::from_vec(path)));
    let mut same = known.filter(|path| path.file_name() == safe_path.absolute().file_name());
    let only = same.next().filter(|path| same.next().is_none() && path != safe_path.absolute())?;
    call.store().resolve_path(&only).is_ok_and(|safe_path| call.path_exists(&safe_path)).then_some(only)
}

/// Returns the best candidate among the names next to `path`.
pub(crate) fn best_candidate(path: &Path, names: &[OsString]) -> Option<PathBuf> {
    let wanted = path.file_name()?.to_str()?;
    let lower = plain(wanted);
    // A name that is not UTF-8 is compared by its displayed form.
    let best = names
        .iter()
        .filter_map(|name| Some((name_distance(wanted, &lower, &name.to_string_lossy())?, name.clone())))
        .min()?;
    Some(path.with_file_name(best.1))
}

/// Returns how unlike a name is; `None` for the name itself.
fn name_distance(wanted: &str, lower: &str, name: &str) -> Option<usize> {
    if name == wanted {
        return None;
    }
    if name.nfd().eq(wanted.nfd()) {
        return Some(0);
    }
    let other = plain(name);
    if other == lower {
        return Some(1);
    }
    likeness(NameParts::of(lower), NameParts::of(&other)).map(|far| far + 1)
}

/// True for two names of which one has accents as characters of their own.
fn is_same_in_unicode(path: &Path, other: &Path) -> bool {
    path != other && path.to_string_lossy().nfd().eq(other.to_string_lossy().nfd())
}

/// Normalizes a name to lower case, without accents.
fn plain(name: &str) -> String {
    name.to_lowercase().nfd().filter(|ch| !('\u{300}'..='\u{36f}').contains(ch)).collect()
}

/// A name in lower case, split at its extension.
#[derive(Clone, Copy)]
struct NameParts<'a> {
    stem: &'a str,
    extension: &'a str,
}

impl<'a> NameParts<'a> {
    fn of(name: &'a str) -> NameParts<'a> {
        match name.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => NameParts { stem, extension },
            _ => NameParts { stem: name, extension: "" },
        }
    }
}

/// Returns the distance of a name from the wanted one; `None` if it is not a plausible misspelling. Equal extensions
/// are not sufficient, and names that differ in a number are different names.
fn likeness(wanted: NameParts<'_>, other: NameParts<'_>) -> Option<usize> {
    if wanted.stem == other.stem {
        return Some(1);
    }
    let most = match wanted.stem.chars().count() {
        0..=3 => 0,
        4..=7 => 1,
        8..=15 => 2,
        _ => 3,
    };
    // Long names are not worth the quadratic comparison.
    if wanted.extension != other.extension
        || wanted.stem.len().max(other.stem.len()) > 255
        || digits_of(wanted.stem) != digits_of(other.stem)
    {
        return None;
    }
    Some(strsim::osa_distance(wanted.stem, other.stem)).filter(|&far| far <= most).map(|far| far + 1)
}

/// Returns the digits of a name.
fn digits_of(stem: &str) -> String {
    stem.chars().filter(char::is_ascii_digit).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::best_candidate;
    use std::path::Path;

    #[test]
    fn similar_names_are_suggested() {
        let names: Vec<_> = ["file.ts", "README.md", "main.rs", "mainframe.rs"].iter().map(Into::into).collect();
        let suggested = |path: &str| best_candidate(Path::new(path), &names);
        for (path, similar) in [("/a/file.js", "file.ts"), ("/a/README.MD", "README.md"), ("/a/mian.rs", "main.rs")] {
            assert_eq!(suggested(path), Some(Path::new("/a").join(similar)), "{path}");
        }
        let accents: Vec<_> = ["e.txt", "e\u{301}.txt"].iter().map(Into::into).collect();
        assert_eq!(best_candidate(Path::new("/\u{e9}.txt"), &accents), Some("/e\u{301}.txt".into()));
        for unlike in ["/a/other.py", "/a/a.rs", "/a/man.rs", "/a/main2.rs", "/a/main.ts.orig"] {
            assert_eq!(suggested(unlike), None, "{unlike}");
        }
    }
}
