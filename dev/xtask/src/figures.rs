//! Counts how the shipped code is named and written, without its tests. `cargo xtask figures` prints the counts, and
//! tidy enforces their limits.

use crate::checks::{declared_type, is_test, without_tests};
use crate::markdown::{WIDTH, lines};
use crate::repo::Repo;
use std::collections::{BTreeMap, BTreeSet};

/// A count, or a share, with its limit.
#[derive(Debug)]
pub(crate) struct Figure {
    name: &'static str,
    count: usize,
    /// The whole, and the number of its parts that the value refers to; without it, the value is the count.
    whole: Option<(usize, usize)>,
    limit: Option<f64>,
}

impl Figure {
    /// Returns the count per `per` of the whole, or the count itself.
    #[allow(clippy::cast_precision_loss, reason = "counts of lines are small")]
    fn value(&self) -> f64 {
        self.whole.map_or(self.count as f64, |(whole, per)| self.count as f64 * per as f64 / whole.max(1) as f64)
    }

    pub(crate) fn exceeds_limit(&self) -> bool {
        self.limit.is_some_and(|limit| self.value() > limit)
    }

    pub(crate) fn line(&self) -> String {
        let whole = self.whole.map_or(String::new(), |(whole, per)| {
            let unit = if per == 100 { " %".to_owned() } else { format!(" per {per}") };
            format!(" ({} of {whole}){unit}", self.count)
        });
        let limit = self.limit.map_or(String::new(), |limit| format!(", limit {limit}"));
        format!("{:<58} {:6.2}{whole}{limit}", self.name, self.value())
    }
}

pub(crate) fn figures() -> Result<String, String> {
    let figures = counted(&Repo::open()?);
    let table: Vec<String> = figures.iter().map(Figure::line).collect();
    let table = table.join("\n");
    if figures.iter().any(Figure::exceeds_limit) { Err(format!("{table}\na limit is exceeded")) } else { Ok(table) }
}

/// Counts over the code and the pages.
#[derive(Debug, Default)]
struct Counts {
    owners: BTreeMap<String, BTreeSet<String>>,
    /// Types, each once for a file that declares it.
    types: usize,
    code_lines: usize,
    closures: usize,
    short_closures: usize,
    tuples: usize,
    docs: usize,
    clauses: usize,
    comment_lines: usize,
    stands: usize,
    told: usize,
}

pub(crate) fn counted(repo: &Repo) -> Vec<Figure> {
    let mut counts = Counts::default();
    for file in repo.below("crates/", ".rs").filter(|file| file.path.contains("/src/") && !is_test(&file.path)) {
        counts.add(&file.path, &without_tests(&file.text));
    }
    let mut wide = 0;
    for file in repo.below("", ".md") {
        wide += lines(&file.text).iter().filter(|line| line.is_prose && line.text.chars().count() > WIDTH).count();
    }
    counts.figures(wide)
}

impl Counts {
    fn add(&mut self, path: &str, lines: &[&str]) {
        let mut documented = false;
        for (index, line) in lines.iter().enumerate() {
            let body = line.trim_start();
            let doc = body.strip_prefix("///").or_else(|| body.strip_prefix("//!"));
            if let Some(text) = doc.filter(|_| !documented) {
                self.docs += 1;
                let word = text.trim_start().split(|ch: char| !ch.is_alphanumeric()).next();
                self.clauses += usize::from(word.is_some_and(|word| CLAUSES.contains(&word)));
            }
            documented = doc.is_some();
            if let Some(comment) = body.strip_prefix("//") {
                self.add_comment(comment);
            } else if !body.is_empty() {
                self.code_lines += 1;
                self.add_code(path, body, &lines[index..]);
            }
        }
    }

    fn add_comment(&mut self, comment: &str) {
        self.comment_lines += 1;
        let words = comment.split(|ch: char| !ch.is_alphanumeric()).filter(|word| !word.is_empty());
        let words = format!(" {} ", words.collect::<Vec<_>>().join(" ").to_lowercase());
        self.stands += usize::from(words.contains(" stands "));
        self.told += usize::from(TOLD.iter().any(|phrase| words.contains(&format!(" {phrase} "))));
    }

    fn add_code(&mut self, path: &str, body: &str, rest: &[&str]) {
        if let Some(name) = declared_type(rest[0]) {
            self.types += usize::from(self.owners.entry(name.to_owned()).or_default().insert(path.to_owned()));
        }
        if is_named_closure(body, rest.get(1).unwrap_or(&"")) {
            let counter = if body.ends_with(';') { &mut self.short_closures } else { &mut self.closures };
            *counter += 1;
        }
        if body.starts_with("fn ") || body.contains(" fn ") {
            self.tuples += tuple_parameters(&signature(rest));
        }
    }

    fn figures(&self, wide: usize) -> Vec<Figure> {
        let shared = self.owners.values().filter(|files| files.len() > 1).map(BTreeSet::len).sum();
        let participles = self.owners.keys().filter(|name| is_participle(name)).count();
        let closures = self.closures + self.short_closures;
        let per = |name, count, whole, limit| Figure { name, count, whole: Some(whole), limit };
        let count = |name, count, limit| Figure { name, count, whole: None, limit: Some(limit) };
        vec![
            per("types whose name another file declares", shared, (self.types, 100), Some(12.0)),
            count("types named by a participle or adverb", participles, 8.0),
            per("named closures of several lines", self.closures, (self.code_lines, 1000), Some(2.0)),
            per("named closures, with those of one line", closures, (self.code_lines, 1000), None),
            count("tuple parameters", self.tuples, 10.0),
            per("doc comments that begin with What, Where, How or Who", self.clauses, (self.docs, 100), Some(4.0)),
            per("comment lines with `stands`", self.stands, (self.comment_lines, 1000), Some(2.0)),
            per(
                "comment lines with `is told`, `so many` and similar",
                self.told,
                (self.comment_lines, 1000),
                Some(2.0),
            ),
            count("Markdown lines over 120 characters", wide, 0.0),
        ]
    }
}

/// First words that make a doc comment a clause instead of a sentence.
const CLAUSES: &[&str] = &["What", "Where", "How", "Who"];
/// Phrases that read like a translation.
const TOLD: &[&str] = &[
    "is told", "are told", "was told", "were told", "be told", "told of", "so many", "so few", "so much", "so little",
];
/// Names that are adverbs or irregular participles.
const NO_NOUNS: &[&str] = &[
    "Then", "Now", "Here", "There", "Again", "Gone", "Lost", "Held", "Known", "Kept", "Taken", "Given", "Told", "Said",
    "Sought", "Meant", "Made", "Found", "Seen", "Shown", "Written", "Left", "Spent", "Done", "Sent", "Built",
];

fn is_participle(name: &str) -> bool {
    NO_NOUNS.contains(&name) || name.ends_with("ly") || name.ends_with("ed") && !name.ends_with("eed")
}

/// True if a line begins a closure with a name. The closure may begin on the next line.
fn is_named_closure(body: &str, next: &str) -> bool {
    let Some((name, value)) = body.strip_prefix("let ").and_then(|rest| rest.split_once(" =")) else { return false };
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    let plain = name.strip_prefix("mut ").unwrap_or(name).chars().all(|ch| ch.is_alphanumeric() || ch == '_');
    let value = if value.is_empty() { next.trim_start() } else { value.trim_start() };
    let value = ["&mut ", "&", "move "].iter().fold(value, |value, word| value.strip_prefix(word).unwrap_or(value));
    plain && value.starts_with('|')
}

/// Joins the lines of a function's signature, up to its body.
fn signature(lines: &[&str]) -> String {
    let mut out = String::new();
    for line in lines {
        out.push_str(line.trim());
        if line.ends_with('{') || line.ends_with(';') || line.ends_with('}') {
            break;
        }
        out.push(' ');
    }
    let end = out.find(" -> ").or_else(|| out.find(" {")).unwrap_or(out.len());
    out.truncate(end);
    out
}

/// Counts the parameters whose type is a tuple, or a reference to one. The unit type does not count.
fn tuple_parameters(signature: &str) -> usize {
    let starts = [": (", ": &(", ": &mut ("];
    let units = [": ()", ": &()", ": &mut ()"];
    let tuples: usize = starts.iter().map(|start| signature.matches(start).count()).sum();
    tuples - units.iter().map(|unit| signature.matches(unit).count()).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::Counts;

    fn lines_of(counts: &Counts) -> Vec<String> {
        counts.figures(1).iter().map(|figure| figure.line().split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn each_figure_counts_its_own_fault() {
        let mut counts = Counts::default();
        let text = "//! Where it stands.\n\n/// Tells what.\n/// What follows is the same comment, and so many lines.\n\
                    pub struct Found;\nstruct Seed;\nfn a(\n    b: &(u8, u8),\n    c: (),\n) -> (u8, u8) {\n    \
                    let d = |e| e;\n    let mut f = move |e| {\n        e\n    };\n    let g = h | i;\n    let j: K =\n        &mut |l| l;\n}\n";
        counts.add("a.rs", &text.lines().collect::<Vec<_>>());
        counts.add("b.rs", &["enum Seed {}", "enum Shifted {}"]);
        let expected = [
            "types whose name another file declares 50.00 (2 of 4) %, limit 12",
            "types named by a participle or adverb 2.00, limit 8",
            "named closures of several lines 125.00 (2 of 16) per 1000, limit 2",
            "named closures, with those of one line 187.50 (3 of 16) per 1000",
            "tuple parameters 1.00, limit 10",
            "doc comments that begin with What, Where, How or Who 50.00 (1 of 2) %, limit 4",
            "comment lines with `stands` 333.33 (1 of 3) per 1000, limit 2",
            "comment lines with `is told`, `so many` and similar 333.33 (1 of 3) per 1000, limit 2",
            "Markdown lines over 120 characters 1.00, limit 0",
        ];
        assert_eq!(lines_of(&counts), expected);
        assert!(counts.figures(1).iter().filter(|figure| !figure.exceeds_limit()).count() == 3);
    }
}
