//! Changes of files in the commits of a repository.

use crate::feed;
use crate::luck::Luck;
use std::path::{Path, PathBuf};

/// Commits of a repository that are examined, the newest first.
const COMMITS_MAX: usize = 4_000;
/// Lines of a file, and changed lines, with which an edit is made.
const FILE_LINES: std::ops::Range<usize> = 30..900;
const CHANGED_LINES_MAX: usize = 40;
/// Changes that are examined for one edit.
const TRIES_MAX: usize = 100;

/// File name extensions, with the sign of a comment to the end of the line.
const COMMENTS: [(&str, &str); 7] =
    [("go", "//"), ("js", "//"), ("py", "#"), ("rs", "//"), ("sh", "#"), ("toml", "#"), ("ts", "//")];

/// A range of lines before a commit, and the lines that replace it; zero-based.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The lines before the commit.
    pub old: std::ops::Range<usize>,
    /// The lines after it.
    pub new: std::ops::Range<usize>,
}

/// One file in one commit.
#[derive(Clone, Debug)]
struct Change {
    commit: String,
    path: String,
    blobs: [String; 2],
}

/// The changes of files in a repository.
pub struct Commits {
    repository: PathBuf,
    changes: Vec<Change>,
}

/// A change with the contents of the file.
pub struct Revision {
    /// The commit's id.
    pub commit: String,
    /// The path in the repository.
    pub path: String,
    /// The sign that begins a comment in this language.
    pub comment: &'static str,
    /// The text before the commit.
    pub old: String,
    /// The text after it.
    pub new: String,
    /// The changed lines as git aligns them.
    pub hunks: Vec<Hunk>,
}

impl Commits {
    /// Lists the changes up to a commit. A shallow clone has few.
    ///
    /// Errors: from git.
    pub fn of(repository: &Path, up_to: &str) -> Result<Commits, String> {
        let mut out = Commits { repository: repository.to_owned(), changes: Vec::new() };
        let most = COMMITS_MAX.to_string();
        let shown = ["--no-merges", "--no-renames", "--diff-filter=M", "--raw", "--no-abbrev", "--format=%H"];
        let log = out.git(&[&["log", "-n", &most][..], &shown, &[up_to, "--"]].concat())?;
        let mut commit = "";
        for line in log.lines() {
            let Some((modes, path)) = line.split_once('\t') else {
                commit = line;
                continue;
            };
            let mut ids = modes.split(' ').skip(2);
            if let (Some(before), Some(after), Some(_)) = (ids.next(), ids.next(), comment_sign(path)) {
                let blobs = [before, after].map(str::to_owned);
                out.changes.push(Change { commit: commit.to_owned(), path: path.to_owned(), blobs });
            }
        }
        Ok(out)
    }

    /// The number of changes.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// True if there is no change.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns a random change of a few lines of a text; `None` if there is hardly any.
    ///
    /// Errors: from git.
    pub fn pick(&self, luck: &mut Luck) -> Result<Option<Revision>, String> {
        for _ in 0..TRIES_MAX {
            if self.changes.is_empty() {
                break;
            }
            if let Some(found) = self.revision(luck.pick(&self.changes))? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns a change if it is one of a few lines of a text.
    fn revision(&self, change: &Change) -> Result<Option<Revision>, String> {
        // A blob of a shallow or partial clone may be missing, and a file may be no text.
        let blob = |id: &str| self.git(&["cat-file", "blob", id]).ok().filter(|text| text.ends_with('\n'));
        let [Some(old), Some(new)] = change.blobs.each_ref().map(|id| blob(id)) else { return Ok(None) };
        if !FILE_LINES.contains(&old.lines().count()) {
            return Ok(None);
        }
        let [old_blob, new_blob] = &change.blobs;
        let diff = self.git(&["diff", "--no-ext-diff", "--no-textconv", "--unified=0", old_blob, new_blob])?;
        let hunks: Vec<Hunk> = diff.lines().filter_map(hunk).collect();
        let changed: usize = hunks.iter().map(|it| it.old.len().max(it.new.len())).sum();
        let comment = comment_sign(&change.path).filter(|_| (1..=CHANGED_LINES_MAX).contains(&changed));
        let (commit, path) = (change.commit.clone(), change.path.clone());
        Ok(comment.map(|comment| Revision { commit, path, comment, old, new, hunks }))
    }

    fn git(&self, arguments: &[&str]) -> Result<String, String> {
        let mut git = external::git(&self.repository);
        git.args(arguments);
        // Ignore the user's settings.
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let done = feed(&mut git, "").map_err(|error| format!("git: {error}"))?;
        if !done.status.success() {
            return Err(format!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&done.stderr)));
        }
        String::from_utf8(done.stdout).map_err(|error| error.to_string())
    }
}

fn comment_sign(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    COMMENTS.iter().find(|(known, _)| *known == ending).map(|(_, sign)| *sign)
}

/// Reads the header of a hunk without context.
fn hunk(line: &str) -> Option<Hunk> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| {
        let (line, count) = text.split_once(',').unwrap_or((text, "1"));
        let (line, count): (usize, usize) = (line.parse().ok()?, count.parse().ok()?);
        // The number of an empty range is that of the line before it.
        let start = if count == 0 { line } else { line - 1 };
        Some(start..start + count)
    };
    Some(Hunk { old: range(old)?, new: range(new)? })
}

/// Returns the hunks between two texts as the longest common runs of lines leave them, which often differ from those of
/// git: the longest run is unchanged, and the lines on each side of it are compared in the same way.
pub fn hunks_beside_longest_runs(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let mut runs = Vec::new();
    let mut open = vec![(0..old.len(), 0..new.len())];
    while let Some((a, b)) = open.pop() {
        let (from, to, length) = longest_run(old, new, &a, &b);
        if length > 0 {
            runs.push((from, to, length));
            open.push((a.start..from, b.start..to));
            open.push((from + length..a.end, to + length..b.end));
        }
    }
    runs.sort_unstable();
    runs.push((old.len(), new.len(), 0));
    let (mut out, mut at) = (Vec::new(), (0, 0));
    for (from, to, length) in runs {
        if at != (from, to) {
            out.push(Hunk { old: at.0..from, new: at.1..to });
        }
        at = (from + length, to + length);
    }
    out
}

/// The first of the longest runs of equal lines, as its beginning in each text and its length.
fn longest_run(
    old: &[&str],
    new: &[&str],
    a: &std::ops::Range<usize>,
    b: &std::ops::Range<usize>,
) -> (usize, usize, usize) {
    let (mut best, mut lengths) = ((a.start, b.start, 0), vec![0; b.len() + 1]);
    for from in a.clone() {
        // From the end, so that the lengths of the line before are still there.
        for to in b.clone().rev() {
            let nth = to - b.start;
            lengths[nth + 1] = if old[from] == new[to] { lengths[nth] + 1 } else { 0 };
            let length = lengths[nth + 1];
            let found = (from + 1 - length.min(from + 1), to + 1 - length.min(to + 1), length);
            if length > best.2 || length == best.2 && length > 0 && (found.0, found.1) < (best.0, best.1) {
                best = found;
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::{Hunk, hunk, hunks_beside_longest_runs};

    #[test]
    fn header_is_read() {
        assert_eq!(hunk("@@ -3 +4,2 @@ fn go()"), Some(Hunk { old: 2..3, new: 3..5 }));
        assert_eq!(hunk("@@ -3,0 +4 @@"), Some(Hunk { old: 3..3, new: 3..4 }));
        assert_eq!(hunk("+@@ -3,0 +4 @@"), None);
    }

    #[test]
    fn longest_run_of_lines_is_unchanged() {
        let (old, new) = (["a", "}", "b", "c", "}", "d"], ["a", "}", "d"]);
        assert_eq!(hunks_beside_longest_runs(&old, &new), [Hunk { old: 2..5, new: 2..2 }]);
        assert_eq!(hunks_beside_longest_runs(&["x"], &["y", "z"]), [Hunk { old: 0..1, new: 0..2 }]);
        assert_eq!(hunks_beside_longest_runs(&old, &old), []);
    }
}
