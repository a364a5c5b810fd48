//! Names of files for people: relative to the current directory in sentences, and as git writes them in diffs.

use std::borrow::Cow;
use std::path::{MAIN_SEPARATOR, MAIN_SEPARATOR_STR, Path, PathBuf};
use std::sync::OnceLock;

/// The directories that names are relative to.
struct NameDirectories {
    /// The current directory with a separator at its end.
    current: String,
    /// The top of the repository, or the current directory.
    top: PathBuf,
}

/// Determined once; the current directory does not change after the start.
static DIRECTORIES: OnceLock<Option<NameDirectories>> = OnceLock::new();

fn directories() -> Option<&'static NameDirectories> {
    let found = DIRECTORIES.get_or_init(|| {
        let current = std::env::current_dir().ok()?;
        let top = current.ancestors().find(|directory| directory.join(".git").exists()).unwrap_or(&current).to_owned();
        let current = format!("{0}{1}", current.to_str()?.trim_end_matches(MAIN_SEPARATOR), MAIN_SEPARATOR);
        Some(NameDirectories { current, top })
    });
    found.as_ref()
}

/// Returns a sentence in which the names of files below the current directory are relative to it.
pub(crate) fn in_text(text: &str) -> Cow<'_, str> {
    directories().map_or(Cow::Borrowed(text), |directories| without_prefix(text, &directories.current))
}

/// Removes a directory at the starts of words.
fn without_prefix<'t>(text: &'t str, directory: &str) -> Cow<'t, str> {
    // The file system's root is part of every name.
    if directory == MAIN_SEPARATOR_STR || !text.contains(directory) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(directory) {
        let (before, behind) = (&rest[..at], &rest[at + directory.len()..]);
        let starts_word = before.chars().next_back().or(out.chars().next_back()).is_none_or(is_outside_names);
        let names_file = behind.chars().next().is_some_and(|next| !is_outside_names(next));
        out.push_str(before);
        if !(starts_word && names_file) {
            out.push_str(directory);
        }
        rest = behind;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// True for a character that surrounds names in a sentence.
fn is_outside_names(char: char) -> bool {
    char.is_whitespace() || "'\"`()[],:=".contains(char)
}

/// Returns the name of a file in a diff that `git apply` accepts: relative to the top of the repository; `None` for a
/// file outside of it.
pub(crate) fn in_diff(path: &Path) -> Option<&Path> {
    directories().and_then(|directories| path.strip_prefix(&directories.top).ok())
}

#[cfg(test)]
mod tests {
    use super::without_prefix;

    #[test]
    fn names_below_the_directory_become_relative() {
        for (text, want) in [
            ("/w/a.txt", "a.txt"),
            ("The file /w/a.txt and '/w/b c'.", "The file a.txt and 'b c'."),
            ("/w/ and /x/w/a and /ww/a", "/w/ and /x/w/a and /ww/a"),
            ("emend restore /w/a@1", "emend restore a@1"),
            ("é/w/a", "é/w/a"),
        ] {
            assert_eq!(without_prefix(text, "/w/"), want);
        }
        assert_eq!(without_prefix("/etc/a", "/"), "/etc/a");
    }
}
