//! Names of files for people: relative to the current directory in sentences, and as git writes them in diffs.

use std::borrow::Cow;
use std::path::{MAIN_SEPARATOR, MAIN_SEPARATOR_STR, Path, PathBuf};
use std::sync::OnceLock;

/// The directories that names are relative to.
struct NameDirectories {
    /// The current directory and those above it up to the top of the repository.
    prefixes: Vec<NamePrefix>,
    /// The top of the repository, or the current directory.
    top: PathBuf,
}

/// Determined once; the current directory does not change after the start.
static DIRECTORIES: OnceLock<Option<NameDirectories>> = OnceLock::new();

fn directories() -> Option<&'static NameDirectories> {
    let found = DIRECTORIES.get_or_init(|| {
        let current = std::env::current_dir().ok()?;
        let top = current.ancestors().find(|directory| directory.join(".git").exists()).unwrap_or(&current).to_owned();
        let prefixes = NamePrefix::all(&current, &top)?;
        Some(NameDirectories { prefixes, top })
    });
    found.as_ref()
}

/// The beginning of names below a directory.
struct NamePrefix {
    /// The directory with a separator at its end.
    directory: String,
    /// The beginning that replaces it: `../` for each level above the current directory.
    relative: String,
    /// The name in it that leads to the current directory: that one is not a file.
    towards: String,
}

impl NamePrefix {
    /// Returns the prefixes of the current directory and of those above it, up to `top`; `None` for names that are no
    /// UTF-8.
    fn all(current: &Path, top: &Path) -> Option<Vec<NamePrefix>> {
        let above = current.ancestors().take_while(|directory| directory.starts_with(top));
        let mut out = Vec::new();
        let mut towards = String::new();
        for (level, directory) in above.enumerate() {
            out.push(NamePrefix {
                directory: format!("{0}{1}", directory.to_str()?.trim_end_matches(MAIN_SEPARATOR), MAIN_SEPARATOR),
                relative: format!("..{MAIN_SEPARATOR}").repeat(level),
                towards: std::mem::take(&mut towards),
            });
            if let Some(name) = directory.file_name() {
                name.to_str()?.clone_into(&mut towards);
            }
        }
        Some(out)
    }

    /// True if the text after the prefix names the current directory, or one above it.
    fn is_directory(&self, behind: &str) -> bool {
        let Some(rest) = behind.strip_prefix(&*self.towards).filter(|_| !self.towards.is_empty()) else { return false };
        // Files below it are relative already.
        let rest = rest.strip_prefix('.').unwrap_or(rest);
        rest.chars().next().is_none_or(|next| next == MAIN_SEPARATOR || is_outside_names(next))
    }
}

/// Returns a sentence in which the names of files below the current directory, or elsewhere in the repository, are
/// relative to it.
pub(crate) fn in_text(text: &str) -> Cow<'_, str> {
    let prefixes = directories().map_or(&[][..], |directories| &directories.prefixes);
    prefixes.iter().fold(Cow::Borrowed(text), |text, prefix| match without_prefix(&text, prefix) {
        Cow::Borrowed(_) => text,
        Cow::Owned(text) => Cow::Owned(text),
    })
}

/// Makes names below a directory relative, at the starts of words.
fn without_prefix<'t>(text: &'t str, prefix: &NamePrefix) -> Cow<'t, str> {
    let directory = &*prefix.directory;
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
        let is_file = starts_word && names_file && !prefix.is_directory(behind);
        out.push_str(if is_file { &prefix.relative } else { directory });
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
    use super::{NamePrefix, without_prefix};
    use std::path::Path;

    fn relative(text: &str, current: &str, top: &str) -> String {
        let prefixes = NamePrefix::all(Path::new(current), Path::new(top)).unwrap_or_default();
        prefixes.iter().fold(text.to_owned(), |text, prefix| without_prefix(&text, prefix).into_owned())
    }

    #[test]
    fn names_above_the_directory_lead_there() {
        for (text, want) in [
            ("The file /p/a/b/c.txt and /p/a/x.txt.", "The file c.txt and ../x.txt."),
            ("/p/y (tag 1)", "../../y (tag 1)"),
            // The directories themselves, and what is outside of the repository.
            (
                "Current working directory: /p/a/b. Root: /p, /p/a/",
                "Current working directory: /p/a/b. Root: /p, /p/a/",
            ),
            ("/p/a/b.txt /p/a", "../b.txt /p/a"),
            ("/q/a", "/q/a"),
        ] {
            assert_eq!(relative(text, "/p/a/b", "/p"), want);
        }
    }

    #[test]
    fn names_below_the_directory_become_relative() {
        for (text, want) in [
            ("/w/a.txt", "a.txt"),
            ("The file /w/a.txt and '/w/b c'.", "The file a.txt and 'b c'."),
            ("/w/ and /x/w/a and /ww/a", "/w/ and /x/w/a and /ww/a"),
            ("emend restore /w/a@1", "emend restore a@1"),
            ("é/w/a", "é/w/a"),
        ] {
            assert_eq!(relative(text, "/w", "/w"), want);
        }
        assert_eq!(relative("/etc/a", "/", "/"), "/etc/a");
    }
}
