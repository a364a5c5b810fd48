//! Checks the Markdown pages: short lines, valid links, an entry in the book, and few private terms.

use crate::markdown::{WIDTH, anchors, lines, links, resolve};
use crate::repo::{File, Repo};
use crate::site;
use std::path::Path;

pub(super) fn widths(repo: &Repo) -> Vec<String> {
    repo.below("", ".md").flat_map(wide_lines).collect()
}

fn wide_lines(file: &File) -> Vec<String> {
    let wide = lines(&file.text).into_iter().filter(|line| line.is_prose && line.text.chars().count() > WIDTH);
    wide.map(|line| format!("{}:{} is longer than {WIDTH} characters", file.path, line.number)).collect()
}

pub(super) fn targets(repo: &Repo) -> Vec<String> {
    repo.below("", ".md").flat_map(|file| broken_links(repo, file)).collect()
}

fn broken_links(repo: &Repo, file: &File) -> Vec<String> {
    let fault = |target: &str| {
        let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
        let path = if path.is_empty() { file.path.clone() } else { resolve(&file.path, path) };
        // Pictures are not text.
        let is_picture = Path::new(&path).extension().is_some_and(|it| it == "png") && repo.root.join(&path).is_file();
        let text = repo.text(&path).or_else(|| is_picture.then_some(""));
        let Some(text) = text else { return Some(format!("{path}, which does not exist")) };
        if site::is_staged(&file.path) && !site::is_staged(&path) {
            return Some(format!("{path}, which is not in the book"));
        }
        let anchor = anchor.filter(|anchor| !anchors(text).iter().any(|it| it == anchor))?;
        Some(format!("#{anchor} of {path}, which has no such heading"))
    };
    let inner = links(&file.text).into_iter().filter(|link| !link.target.contains("://"));
    let found = inner.filter_map(|link| Some((link.line, fault(link.target)?)));
    found.map(|(line, fault)| format!("{}:{line} links to {fault}", file.path)).collect()
}

pub(super) fn book(repo: &Repo) -> Vec<String> {
    let missing = site::missing_pages(repo).into_iter().map(|path| format!("{path} is not in the table of contents"));
    missing
        .chain(site::unknown_pages(repo).into_iter().map(|path| format!("the table of contents names {path}")))
        .collect()
}

/// Longest ARCHITECTURE.md in lines: two printed pages.
const ARCHITECTURE_LINES_MAX: usize = 130;
/// Most terms that ARCHITECTURE.md may explain.
const TERMS_MAX: usize = 20;

pub(super) fn architecture(repo: &Repo) -> Vec<String> {
    let text = repo.text("ARCHITECTURE.md").unwrap_or_default();
    let (lines, terms) = (text.lines().count(), terms(text));
    let mut out = Vec::new();
    if lines > ARCHITECTURE_LINES_MAX {
        out.push(format!("ARCHITECTURE.md has {lines} lines, more than {ARCHITECTURE_LINES_MAX}"));
    }
    if terms > TERMS_MAX {
        out.push(format!("ARCHITECTURE.md explains {terms} terms, more than {TERMS_MAX}"));
    }
    out
}

/// Counts the bold words in the section `Terms`.
fn terms(page: &str) -> usize {
    page.split_once("\n## Terms\n").map_or(0, |(_, section)| section.matches("**").count() / 2)
}

#[cfg(test)]
mod tests {
    use super::{broken_links, terms, wide_lines};
    use crate::repo::{File, Repo};
    use std::path::PathBuf;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn links_to_files_and_headings_are_checked() {
        let page =
            "[a](b.md#two) [b](#one) [c](c.md) [d](b.md#gone) [e](../crates/x.rs) [f](https://example.org)\n# One\n";
        let files = vec![file("docs/a.md", page), file("docs/b.md", "# Two\n"), file("crates/x.rs", "")];
        let repo = Repo { root: PathBuf::new(), files };
        let found = broken_links(&repo, &repo.files[0]);
        assert_eq!(
            found,
            [
                "docs/a.md:1 links to docs/c.md, which does not exist",
                "docs/a.md:1 links to #gone of docs/b.md, which has no such heading",
                "docs/a.md:1 links to crates/x.rs, which is not in the book",
            ]
        );
    }

    #[test]
    fn terms_are_counted_in_their_section() {
        assert_eq!(terms("**no**\n## Terms\n\n- **a**, **b**: c\n"), 2);
        assert_eq!(terms("**no**\n"), 0);
    }

    #[test]
    fn only_prose_must_be_narrow() {
        let long = "x".repeat(121);
        let page = file("a.md", &format!("{long}\n| {long} |\n```\n{long}\n```\n"));
        assert_eq!(wide_lines(&page), ["a.md:1 is longer than 120 characters"]);
    }
}
