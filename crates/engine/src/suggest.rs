//! Names that may be meant when a file is missing: the same stem with another extension, another case, a near spelling.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The best candidate among the names beside `path`.
pub(crate) fn near(path: &Path, names: &[OsString]) -> Option<PathBuf> {
    let wanted = path.file_name()?.to_str()?;
    let lower = plain(wanted);
    let score = |name: &str| {
        if name == wanted {
            return None;
        }
        let other = plain(name);
        if other == lower {
            return Some(0);
        }
        likeness(Parts::of(&lower), Parts::of(&other))
    };
    // A name that is no UTF-8 is taken for what it looks like.
    let scored = |name: &OsString| Some((score(&name.to_string_lossy())?, name.clone()));
    let best = names.iter().filter_map(scored).min()?;
    Some(path.with_file_name(best.1))
}

/// A name in lower case, without the accents that decomposed names have apart.
fn plain(name: &str) -> String {
    name.to_lowercase().chars().filter(|ch| !('\u{300}'..='\u{36f}').contains(ch)).collect()
}

/// A name in lower case, split at its extension.
#[derive(Clone, Copy)]
struct Parts<'a> {
    stem: &'a str,
    extension: &'a str,
}

impl<'a> Parts<'a> {
    fn of(name: &'a str) -> Parts<'a> {
        match name.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => Parts { stem, extension },
            _ => Parts { stem: name, extension: "" },
        }
    }
}

/// How far a name is from the wanted one; `None` where nothing says that it is a slip. Extensions alone make no likeness, and
/// names that differ in a number are different names.
fn likeness(wanted: Parts<'_>, other: Parts<'_>) -> Option<usize> {
    if wanted.stem == other.stem {
        return Some(1);
    }
    let digits = |stem: &str| stem.chars().filter(char::is_ascii_digit).collect::<String>();
    let most = match wanted.stem.chars().count() {
        0..=3 => 0,
        4..=7 => 1,
        8..=15 => 2,
        _ => 3,
    };
    // Long names are not worth the quadratic comparison.
    if wanted.extension != other.extension
        || wanted.stem.len().max(other.stem.len()) > 255
        || digits(wanted.stem) != digits(other.stem)
    {
        return None;
    }
    Some(strsim::osa_distance(wanted.stem, other.stem)).filter(|&far| far <= most).map(|far| far + 1)
}

#[cfg(test)]
mod tests {
    use super::near;
    use std::path::Path;

    #[test]
    fn other_case_other_extension_near_spelling() {
        let names: Vec<_> = ["file.ts", "README.md", "main.rs", "mainframe.rs"].iter().map(Into::into).collect();
        let meant = |path: &str| near(Path::new(path), &names).map(|it| it.display().to_string());
        assert_eq!(meant("/a/file.js").as_deref(), Some("/a/file.ts"));
        assert_eq!(meant("/a/README.MD").as_deref(), Some("/a/README.md"));
        assert_eq!(meant("/a/mian.rs").as_deref(), Some("/a/main.rs"));
        for unlike in ["/a/other.py", "/a/a.rs", "/a/man.rs", "/a/main2.rs", "/a/main.ts.orig"] {
            assert_eq!(meant(unlike), None, "{unlike}");
        }
    }
}
