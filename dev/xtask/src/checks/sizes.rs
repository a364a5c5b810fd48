//! Checks sizes: a file can be read in one sitting, a function on one screen. Tests and marked tables do not count.

use crate::repo::{File, Repo};

/// Most lines of a file, without blank lines and comments.
const FILE: usize = 400;
/// Most lines of a function, including its signature.
const FUNCTION: usize = 70;
/// Marks a file as a table, whose length is not limited.
const TABLE: &str = "// tidy: table";

fn sources(repo: &Repo) -> impl Iterator<Item = &File> {
    let source = |file: &&File| file.path.contains("/src/");
    repo.below("", ".rs").filter(source).filter(|file| !is_test(&file.path) && !file.text.contains(TABLE))
}

pub(crate) fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.ends_with("/testing.rs")
}

pub(super) fn files(repo: &Repo) -> Vec<String> {
    let long = sources(repo).map(|file| (file, logic(&without_tests(&file.text)))).filter(|(_, lines)| *lines > FILE);
    long.map(|(file, lines)| format!("{} has {lines} lines, more than {FILE}", file.path)).collect()
}

pub(super) fn functions(repo: &Repo) -> Vec<String> {
    let long = |file: &File| {
        let found = long_functions(&without_tests(&file.text), FUNCTION);
        found
            .into_iter()
            .map(|(line, lines)| format!("{}:{line} has {lines} lines, more than {FUNCTION}", file.path))
            .collect::<Vec<String>>()
    };
    sources(repo).flat_map(long).collect()
}

/// Counts lines that are neither blank nor comments.
fn logic(lines: &[&str]) -> usize {
    lines.iter().map(|line| line.trim_start()).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// Returns the lines before the test module, which by convention is at the end of a file.
pub(crate) fn without_tests(text: &str) -> Vec<&str> {
    text.lines().take_while(|line| *line != "#[cfg(test)]").collect()
}

/// Returns the first line and length of functions longer than `most`. A function ends at the closing brace that rustfmt
/// aligns with its first letter.
fn long_functions(lines: &[&str], most: usize) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let body = line.trim_start();
        let starts = [
            "fn ", "pub fn ", "pub(crate) fn ", "pub(super) fn ", "const fn ", "pub const fn ", "async fn ",
            "pub async fn ",
        ];
        if !starts.iter().any(|start| body.starts_with(start)) || body.ends_with(';') || body.ends_with('}') {
            continue;
        }
        let close = format!("{}}}", &line[..line.len() - body.len()]);
        let Some(end) = lines[index..].iter().position(|line| *line == close) else { continue };
        if end + 1 > most {
            out.push((index + 1, end + 1));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{is_test, logic, long_functions, without_tests};

    #[test]
    fn functions_are_measured_up_to_their_closing_brace() {
        let text = "impl A {\n    fn a() {\n        x\n    }\n\n    pub fn b(\n        c: u8,\n    ) {\n        if c {\n            d\n        }\n    }\n}\nfn e() {}\n";
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(long_functions(&lines, 3), [(6, 7)]);
        assert_eq!(long_functions(&lines, 2), [(2, 3), (6, 7)]);
    }

    #[test]
    fn tests_and_comments_do_not_count() {
        assert_eq!(logic(&["//! a", "", "    // b", "c", "    d // e"]), 2);
        assert_eq!(without_tests("a\nb\n#[cfg(test)]\nmod tests {}\n"), ["a", "b"]);
        assert!(is_test("crates/core/src/text/change/tests.rs") && !is_test("crates/core/src/text/change.rs"));
    }
}
