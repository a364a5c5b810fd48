//! Checks the tables of docs/conformance, which list every behaviour of the seed documents with the scene or test that
//! shows it.

use crate::decisions;
use crate::repo::Repo;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The folder of the tables; each document has its own.
const FOLDER: &str = "docs/conformance/";

/// The statuses of a row, in the order of the index.
const STATUS: &[&str] = &["as described", "better", "decided otherwise", "missing"];

/// A row of a table: one behaviour.
#[derive(Debug)]
struct Row<'r> {
    /// The file that contains the row.
    file: &'r str,
    id: &'r str,
    status: &'r str,
    /// The cell of references.
    shown: &'r str,
}

/// The target of a reference.
#[derive(Debug, PartialEq)]
enum Reference<'r> {
    /// A scene, without the folder `scenes` and the extension.
    Scene(&'r str),
    /// A function in a test file.
    Test { path: &'r str, name: &'r str },
    /// Any other file of the repository.
    File(&'r str),
    /// The number of a decision in docs/decisions.
    Decision(&'r str),
    /// An issue and an item of it.
    Issue(&'r str),
    /// Another row.
    Row(&'r str),
}

impl<'r> Reference<'r> {
    /// Parses a reference. Returns `None` if it has none of the forms.
    fn read(text: &'r str) -> Option<Reference<'r>> {
        if let Some(quoted) = text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
            return Some(match quoted.split_once("::") {
                Some((path, name)) => Reference::Test { path, name },
                None if quoted.contains('.') => Reference::File(quoted),
                None => Reference::Scene(quoted),
            });
        }
        let (kind, name) = text.split_once(' ')?;
        match kind {
            "decision" => Some(Reference::Decision(name)),
            "issue" => Some(Reference::Issue(name)),
            "row" => Some(Reference::Row(name)),
            _ => None,
        }
    }

    /// Returns true if the target exists. Issues, which are outside the repository, always do.
    fn exists(&self, repo: &Repo, ids: &BTreeSet<&str>) -> bool {
        match self {
            Reference::Scene(name) => repo.text(&format!("scenes/{name}.scene")).is_some(),
            Reference::Test { path, name } => repo.text(path).is_some_and(|text| text.contains(&format!("fn {name}("))),
            Reference::File(path) => repo.text(path).is_some(),
            Reference::Decision(number) => decisions::exists(repo, number),
            Reference::Issue(name) => {
                name.split('.').count() == 2 && name.split('.').all(|part| part.parse::<u32>().is_ok())
            }
            Reference::Row(id) => ids.contains(id),
        }
    }
}

/// Returns the rows of all tables in document order.
fn rows(repo: &Repo) -> Vec<Row<'_>> {
    repo.below(FOLDER, ".md").flat_map(|file| file.text.lines().filter_map(|line| row(&file.path, line))).collect()
}

/// Parses a row of a table: a line whose first cell begins with a digit.
fn row<'r>(file: &'r str, line: &'r str) -> Option<Row<'r>> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
    let id = *cells.first()?;
    if !id.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let (status, shown) = match cells.as_slice() {
        [_, _, status, shown] => (*status, *shown),
        _ => ("", ""),
    };
    Some(Row { file, id, status, shown })
}

/// Returns every fault of the tables, with file and row.
pub(crate) fn faults(repo: &Repo) -> Vec<String> {
    let rows = rows(repo);
    let ids: BTreeSet<&str> = rows.iter().map(|row| row.id).collect();
    let mut out: Vec<String> = Vec::new();
    if rows.is_empty() {
        out.push(format!("{FOLDER} has no rows"));
    }
    let mut seen = BTreeSet::new();
    for row in &rows {
        let twice = (!seen.insert(row.id)).then(|| "the id occurs twice".to_owned());
        let found = twice.into_iter().chain(faults_of(row, repo, &ids));
        out.extend(found.map(|fault| format!("{}: {}: {fault}", row.file, row.id)));
    }
    out
}

fn faults_of(row: &Row<'_>, repo: &Repo, ids: &BTreeSet<&str>) -> Vec<String> {
    let mut out = Vec::new();
    let document = row.id.split('-').next().unwrap_or_default();
    if row.file != format!("{FOLDER}{document}.md") {
        out.push("the id belongs to another document".to_owned());
    }
    if !STATUS.contains(&row.status) {
        out.push(format!("`{}` is not a status, or the row does not have four cells", row.status));
    }
    let mut references = Vec::new();
    for text in row.shown.split(", ") {
        match Reference::read(text) {
            Some(reference) if reference.exists(repo, ids) => references.push(reference),
            Some(_) => out.push(format!("{text} does not exist")),
            None => out.push(format!("`{text}` is not a reference")),
        }
    }
    let issue = references.iter().any(|it| matches!(it, Reference::Issue(_)));
    let decision = references.iter().any(|it| matches!(it, Reference::Decision(_)));
    let shown = references.iter().any(|it| !matches!(it, Reference::Issue(_) | Reference::Decision(_)));
    let wanting = match row.status {
        "missing" if !issue => Some("what is missing needs an issue"),
        "decided otherwise" if !decision => Some("what was decided otherwise needs the decision"),
        "as described" | "better" if !shown => Some("a claim needs a scene or a test"),
        "as described" | "better" | "decided otherwise" if issue => Some("an issue is for what is missing"),
        _ => None,
    };
    out.extend(wanting.map(str::to_owned));
    out
}

const INDEX: &str = "\
# Conformance with the seed documents

The engine implements five documents, from which the project started. The tables below list their behaviours one by one,
in our own words, each with the scene or test that shows it, or the decision that changes it. `cargo xtask tidy` checks
that every reference exists. This page is generated by `cargo xtask docs` from the tables.

- **as described**: the product does what the document says; the reference shows it.
- **better**: it does that, and also what the document leaves open or gets wrong; the reference shows both.
- **decided otherwise**: it differs on purpose; the decision says why.
- **missing**: it does not do it yet; the issue and its item are named.

A reference such as `edit/exact` is the scene `scenes/edit/exact.scene`; `path::name` is a test; `decision 15` is in
[decisions](decisions/README.md); `row 000-01` is a row of these tables.

";

/// Renders the index: counts per document and status.
pub(crate) fn index(repo: &Repo) -> String {
    let rows = rows(repo);
    let mut out = INDEX.to_owned();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "| document | rows | {} |", STATUS.join(" | "));
    let _ = writeln!(out, "|---|---|{}", "---|".repeat(STATUS.len()));
    for file in repo.below(FOLDER, ".md") {
        let name = file.path.trim_start_matches(FOLDER);
        let title = file.text.lines().next().unwrap_or_default().trim_start_matches("# ");
        let own: Vec<&Row<'_>> = rows.iter().filter(|row| row.file == file.path).collect();
        let _ = writeln!(out, "| [{title}](conformance/{name}) | {} |{}", own.len(), counts(&own));
    }
    let all: Vec<&Row<'_>> = rows.iter().collect();
    let _ = writeln!(out, "| all | {} |{}", all.len(), counts(&all));
    out
}

fn counts(rows: &[&Row<'_>]) -> String {
    let count = |status: &str| rows.iter().filter(|row| row.status == status).count();
    STATUS.iter().map(|status| format!(" {} |", count(status))).collect()
}

#[cfg(test)]
mod tests {
    use super::{Reference, faults, index};
    use crate::repo::{File, Repo};
    use std::path::PathBuf;

    fn repo(table: &str) -> Repo {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = vec![
            file("docs/conformance/000.md", &format!("# Zero\n\n| id | behaviour | status | shown by |\n{table}\n")),
            file("docs/decisions/0015-x.md", "# 15. X\n\nStatus: in force.\n"),
            file("docs/decisions/0170-x.md", "# 170. X\n\nStatus: in force.\n"),
            file("scenes/a/b.scene", ""),
            file("tests/c.rs", "fn shown() {}\n"),
        ];
        Repo { root: PathBuf::new(), files }
    }

    #[test]
    fn correct_rows_have_no_faults() {
        let table = "\
            | 000-1 | x | as described | `a/b`, `tests/c.rs::shown` |\n\
            | 000-2 | x | decided otherwise | decision 15, decision 170 |\n\
            | 000-3 | x | missing | issue 16.5 |\n\
            | 000-4 | x | better | row 000-1 |";
        assert_eq!(faults(&repo(table)), Vec::<String>::new());
        assert!(index(&repo(table)).ends_with("| all | 4 | 1 | 1 | 1 | 1 |\n"));
    }

    #[test]
    fn wrong_rows_are_found() {
        let wrong = [
            "| 000-1 | x | as described | `a/c` |",
            "| 000-1 | x | as described | `tests/c.rs::hidden` |",
            "| 000-1 | x | as described | decision 15 |",
            "| 000-1 | x | as described | `a/b`, issue 16.5 |",
            "| 000-1 | x | perfect | `a/b` |",
            "| 000-1 | x | missing | `a/b` |",
            "| 000-1 | x | missing | issue 16 |",
            "| 000-1 | x | decided otherwise | decision 1 |",
            "| 000-1 | x | better | row 000-9 |",
            "| 000-1 | x | better | |",
            "| 001-1 | x | better | `a/b` |",
            "| 000-1 | x | better | `a/b` |\n| 000-1 | x | better | `a/b` |",
            "",
        ];
        for table in wrong {
            assert!(!faults(&repo(table)).is_empty(), "{table}");
        }
    }

    #[test]
    fn malformed_references_are_rejected() {
        assert_eq!(Reference::read("`a/b`"), Some(Reference::Scene("a/b")));
        assert_eq!(Reference::read("`docs/x.md`"), Some(Reference::File("docs/x.md")));
        assert_eq!(Reference::read("somewhere"), None);
    }

    /// Returns everything that a model with this profile receives about one tool.
    fn told(profile: &str, tool: &str) -> String {
        let offer = emendate::profile(profile).unwrap().view(tool).unwrap();
        format!("{} {}", offer.prompt(), serde_json::Value::Object(offer.schema()))
    }

    #[test]
    fn tool_descriptions_contain_the_rules() {
        let rows = [
            ("Read", ["number, TAB", "never copy", "read before it is edited"]),
            ("Edit", ["Read the file with Read first", "exact indentation", "follows the line number"]),
            ("Edit", ["unique", "replace_all", "without line numbers"]),
            ("Edit", ["\"file_path\":", "\"old_string\":", "\"new_string\":"]),
            ("Edit", ["\"replace_all\":", "\"additionalProperties\":false", "absolute path"]),
            ("Write", ["must have been read", "Prefer", "part of a file"]),
        ];
        for (tool, pieces) in rows {
            let text = told("claude", tool);
            for piece in pieces {
                assert!(text.contains(piece), "{tool}: {piece}: {text}");
            }
        }
    }

    #[test]
    fn every_profile_can_create_files() {
        for profile in emendate::PROFILES {
            let makes = |offer: &emendate::ToolView| matches!(offer.tool, "write" | "apply" | "text_editor");
            assert!(profile.views.iter().any(makes), "{}", profile.name);
        }
    }
}
