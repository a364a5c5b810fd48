//! The decisions, one file each, and their generated index.

use crate::repo::{File, Repo};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const FOLDER: &str = "docs/decisions/";

const HEAD: &str = "\
# Decisions

One file for each decision: the open question, the choice and its reason. `cargo xtask docs` generates this list. A new
decision takes the next free number.

";

/// A decision and its file.
struct Decision<'r> {
    file: &'r File,
    number: u32,
    title: &'r str,
    status: &'r str,
}

impl<'r> Decision<'r> {
    /// Parses a file that begins with `# NUMBER. TITLE` and has a line `Status: …`.
    fn read(file: &'r File) -> Option<Decision<'r>> {
        let (number, title) = file.text.lines().next()?.strip_prefix("# ")?.split_once(". ")?;
        let status = file.text.lines().find_map(|line| line.strip_prefix("Status: "))?;
        Some(Decision { file, number: number.parse().ok()?, title, status })
    }

    fn fault(&self, repo: &Repo) -> Option<String> {
        if !self.name().starts_with(&format!("{:04}-", self.number)) {
            return Some(format!("the file's name does not begin with {:04}-", self.number));
        }
        let missing = links(self.status).find(|name| repo.text(&format!("{FOLDER}{name}")).is_none());
        missing.map(|name| format!("its status links to {name}, which does not exist"))
    }

    fn name(&self) -> &'r str {
        self.file.path.trim_start_matches(FOLDER)
    }
}

/// Returns the files of decisions, ordered by number.
fn files(repo: &Repo) -> impl Iterator<Item = &File> {
    repo.below(FOLDER, ".md").filter(|file| !file.path.ends_with("/README.md"))
}

/// Returns true if a decision has this number.
pub(crate) fn exists(repo: &Repo, number: &str) -> bool {
    let number = number.parse::<u32>().ok();
    files(repo).filter_map(Decision::read).any(|it| Some(it.number) == number)
}

/// Renders the page that lists all decisions.
pub(crate) fn index(repo: &Repo) -> String {
    let mut decisions: Vec<Decision<'_>> = files(repo).filter_map(Decision::read).collect();
    decisions.sort_by_key(|it| it.number);
    let mut out = HEAD.to_owned();
    for it in decisions {
        let status = if it.status.starts_with("superseded") { " (superseded)" } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}. [{}]({}){status}", it.number, it.title, it.name());
    }
    out
}

/// Returns every fault of the files.
pub(crate) fn faults(repo: &Repo) -> Vec<String> {
    let mut numbers = BTreeSet::new();
    let mut out = Vec::new();
    for file in files(repo) {
        let fault = match Decision::read(file) {
            None => Some("the first line is not `# NUMBER. TITLE`, or there is no `Status:`".to_owned()),
            Some(it) if !numbers.insert(it.number) => Some(format!("number {} is taken twice", it.number)),
            Some(it) => it.fault(repo),
        };
        out.extend(fault.map(|fault| format!("{}: {fault}", file.path)));
    }
    out
}

/// Returns the link targets in a line.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

#[cfg(test)]
mod tests {
    use super::{exists, faults, index};
    use crate::repo::{File, Repo};
    use std::path::PathBuf;

    fn repo(files: &[(&str, &str)]) -> Repo {
        let file =
            |(path, text): &(&str, &str)| File { path: format!("docs/decisions/{path}"), text: (*text).to_owned() };
        Repo { root: PathBuf::new(), files: files.iter().map(file).collect() }
    }

    #[test]
    fn index_lists_decisions_by_number() {
        let files = [
            ("0010-b.md", "# 10. Second\n\nStatus: in force.\n"),
            ("0002-a.md", "# 2. First\n\nStatus: superseded by [decision 10](0010-b.md).\n"),
            ("README.md", "old\n"),
        ];
        let repo = repo(&files);
        assert_eq!(faults(&repo), Vec::<String>::new());
        assert!(index(&repo).ends_with("2. [First](0002-a.md) (superseded)\n10. [Second](0010-b.md)\n"));
        assert!(exists(&repo, "10") && exists(&repo, "2") && !exists(&repo, "3"));
    }

    #[test]
    fn faults_of_files_are_found() {
        for files in [
            &[("0001-a.md", "1. Title\n\nStatus: in force.\n")][..],
            &[("0001-a.md", "# 1. Title\n")],
            &[("0001-a.md", "# 2. Title\n\nStatus: in force.\n")],
            &[("0001-a.md", "# 1. A\n\nStatus: in force.\n"), ("0001-b.md", "# 1. B\n\nStatus: in force.\n")],
            &[("0001-a.md", "# 1. Title\n\nStatus: superseded by [decision 7](0007-x.md).\n")],
        ] {
            assert_eq!(faults(&repo(files)).len(), 1, "{files:?}");
        }
    }
}
