//! Lazy edits cut out of commits: text in which placeholders stand for code that stays. The engine must make the change of
//! the commit, or refuse.
//!
//! The text shows the changed lines and one or two unchanged ones beside each, as two ways to compare the versions see
//! them: the one of git, and the one that keeps the longest runs of lines.
//!
//! Some edits are undecidable: the text also describes the file as the engine left it. Then the commit deletes lines that
//! the text does not mention, such as a definition between two `}`, of which the text shows one: no reader can know
//! which one. The engine keeps code that a text does not show.

mod commits;
mod cut;

pub use commits::{Commits, Hunk, Revision, hunks_beside_longest_runs};

use crate::luck::Luck;
use crate::ours::Ours;
use crate::tree::Tree;
use crate::{Counts, in_parallel};
use similar::TextDiff;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How the lines that an edit shows are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut {
    /// How the versions are compared.
    pub by: Comparison,
    /// Unchanged lines beside each change.
    pub beside: usize,
    /// A block of which one end is shown is shown with its other end, too.
    pub is_balanced: bool,
}

/// How two versions of a file are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Comparison {
    /// As by git.
    Git,
    /// The longest runs of equal lines are unchanged.
    LongestRuns,
}

/// The ways in which every change is cut.
pub const CUTS: [Cut; 5] = [
    Cut { by: Comparison::Git, beside: 1, is_balanced: true },
    Cut { by: Comparison::Git, beside: 2, is_balanced: true },
    Cut { by: Comparison::Git, beside: 1, is_balanced: false },
    Cut { by: Comparison::Git, beside: 2, is_balanced: false },
    Cut { by: Comparison::LongestRuns, beside: 1, is_balanced: false },
];

/// The outcome of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The file is as after the commit, perhaps but for blank lines beside a placeholder.
    Right,
    /// The edit was refused.
    Refused,
    /// The file has lines that the commit deletes, and the text describes it as well.
    Undecidable,
    /// The file is not as after the commit.
    Wrong,
}

/// A line of the result: a count, or a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// The outcome of an edit.
    Outcome(Cut, Kind),
    /// The reason of a refusal, without its numbers.
    Reason(Cut, String),
    /// A wrong edit, by the folder that it was stored in.
    Finding(PathBuf),
    /// A round without an edit, because the repository has too few commits.
    Skipped,
}

/// The commits that the edits are made of, and where findings are stored.
pub struct Source<'a> {
    /// A repository.
    pub repository: &'a Path,
    /// The last commit.
    pub up_to: &'a str,
    /// The folder for wrong and undecidable edits, and for refused ones with `keep_refused`.
    pub findings: &'a Path,
    /// True to store refused edits as well.
    pub keep_refused: bool,
}

/// Plays rounds, each with one change that is cut in all ways.
///
/// Errors: from git, the disk and the engine.
pub fn play(source: &Source<'_>, seed: u64, rounds: u64) -> Result<Counts<Row>, String> {
    let commits = Commits::of(source.repository, source.up_to)?;
    let start = || Ours::new().map_err(|error| error.to_string());
    in_parallel(seed, rounds, start, |ours, number, out| one(source, &commits, ours, number, out))
}

fn one(source: &Source<'_>, commits: &Commits, ours: &Ours, number: u64, out: &mut Counts<Row>) -> Result<(), String> {
    let Some(revision) = commits.pick(&mut Luck::new(number))? else {
        *out.entry(Row::Skipped).or_default() += 1;
        return Ok(());
    };
    let [old, new] = [&revision.old, &revision.new].map(|text| text.lines().collect::<Vec<&str>>());
    for cut in CUTS {
        let hunks = match cut.by {
            Comparison::Git => revision.hunks.clone(),
            Comparison::LongestRuns => hunks_beside_longest_runs(&old, &new),
        };
        // All cuts use the same words.
        let text = cut::lazy_text(&new, &hunks, cut, revision.comment, &mut Luck::new(!number));
        let Some(text) = text else { continue };
        let mut edit = Edit::made(ours, &revision, text).map_err(|error| error.to_string())?;
        if edit.kind == Kind::Wrong && is_undecidable(&edit, &revision) {
            edit.kind = Kind::Undecidable;
        }
        *out.entry(Row::Outcome(cut, edit.kind)).or_default() += 1;
        if edit.kind == Kind::Refused {
            *out.entry(Row::Reason(cut, reason(&edit.reply))).or_default() += 1;
        }
        if edit.kind >= Kind::Undecidable || edit.kind == Kind::Refused && source.keep_refused {
            let folder = source.findings.join(format!("{number}-{}-{:?}", cut.name(), edit.kind).to_lowercase());
            edit.store(&revision, &folder).map_err(|error| error.to_string())?;
            if edit.kind == Kind::Wrong {
                out.insert(Row::Finding(folder), 1);
            }
        }
    }
    Ok(())
}

/// True if the text describes the engine's file as well as that of the commit: the former has all lines of the latter and
/// only such lines in addition as it had before, and all of those are behind placeholders.
fn is_undecidable(edit: &Edit, it: &Revision) -> bool {
    let filled = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
    let [old, got, meant]: [Vec<String>; 3] = [&it.old, &edit.got, &it.new].map(|text| filled(text));
    let mut rest = &meant[..];
    let mut only_kept = true;
    for line in &got {
        match rest.split_first() {
            Some((next, after)) if next == line => rest = after,
            _ => only_kept &= old.contains(line),
        }
    }
    only_kept && rest.is_empty() && describes(&edit.text, &got)
}

/// True if a file results from a lazy text when each of its placeholders is replaced by lines.
fn describes(text: &str, file: &[String]) -> bool {
    let shown: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let fragments: Vec<&[&str]> = shown.split(|line| cut::is_placeholder(line)).collect();
    let (Some((first, inner)), true) = (fragments.split_first(), fragments.len() > 1) else { return false };
    let Some((last, inner)) = inner.split_last() else { return false };
    let is_at = |fragment: &[&str], at: usize| {
        file.get(at..at + fragment.len()).is_some_and(|lines| lines.iter().zip(fragment).all(|(a, b)| a == b))
    };
    let mut at = first.len();
    for fragment in inner {
        let Some(found) = (at..file.len()).find(|&at| is_at(fragment, at)) else { return false };
        at = found + fragment.len();
    }
    is_at(first, 0) && file.len().checked_sub(last.len()).is_some_and(|end| end >= at && is_at(last, end))
}

/// An edit and what the engine made of it.
struct Edit {
    text: String,
    reply: String,
    got: String,
    kind: Kind,
}

impl Edit {
    fn made(ours: &Ours, revision: &Revision, text: String) -> io::Result<Edit> {
        // The language is known from the name.
        let name = revision.path.rsplit('/').next().unwrap_or(&revision.path);
        let before = Tree::from([(name.to_owned(), revision.old.clone().into_bytes())]);
        let (reply, after) = ours.write(&before, name, &text)?;
        let got = after.get(name).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
        let filled = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
        let [a, b]: [Vec<String>; 2] = [&got, &revision.new].map(|text| filled(text));
        let kind = match &reply.result {
            Err(_) => Kind::Refused,
            Ok(_) if a == b => Kind::Right,
            Ok(_) => Kind::Wrong,
        };
        Ok(Edit { text, reply: reply.text(), got, kind })
    }

    /// Stores all that is needed to look at an edit and to repeat it.
    fn store(&self, revision: &Revision, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let diff = |a: &str, b: &str, names: [&str; 2]| {
            TextDiff::from_lines(a, b).unified_diff().header(names[0], names[1]).to_string()
        };
        let Revision { commit, path, old, new, .. } = revision;
        let mut about = format!("{path} of {commit}\n\n{}\n", self.reply);
        if self.kind >= Kind::Undecidable {
            let _ = write!(about, "\n{}", diff(&self.got, new, ["got", "meant"]));
        }
        let _ = write!(about, "\n{}", diff(old, new, ["before", "after"]));
        for (name, text) in [("about.txt", &about), ("before", old), ("edit", &self.text), ("meant", new)] {
            fs::write(folder.join(name), text)?;
        }
        Ok(())
    }
}

/// Returns the reason in a refusal, without its numbers and its advice.
fn reason(reply: &str) -> String {
    let line = reply.lines().find(|line| line.contains(" of the text ") || line.starts_with("Nothing would use"));
    let line = line.or_else(|| reply.lines().next()).unwrap_or_default();
    let sentence = line.split(['.', ':', '(', '`']).next().unwrap_or_default();
    let words =
        sentence.split_whitespace().map(|word| if word.contains(|ch: char| ch.is_ascii_digit()) { "N" } else { word });
    words.collect::<Vec<&str>>().join(" ").replacen("Lines N", "Line N", 1)
}

impl Cut {
    fn name(self) -> String {
        let by = match self.by {
            Comparison::Git => "git",
            Comparison::LongestRuns => "runs",
        };
        format!("{by}-{}{}", self.beside, if self.is_balanced { "-balanced" } else { "" })
    }
}

/// Renders the outcomes by cut, the reasons of refusals and the wrong edits.
pub fn render(source: &Source<'_>, counts: &Counts<Row>) -> String {
    let count = |row: Row| counts.get(&row).copied().unwrap_or_default();
    let mut out = "cut               right  refused undecidable    wrong\n".to_owned();
    for cut in CUTS {
        let [right, refused, undecidable, wrong] =
            [Kind::Right, Kind::Refused, Kind::Undecidable, Kind::Wrong].map(|kind| count(Row::Outcome(cut, kind)));
        let _ = writeln!(out, "{:<14} {right:>8} {refused:>8} {undecidable:>11} {wrong:>8}", cut.name());
    }
    let mut reasons: Vec<(u64, &Cut, &str)> = counts
        .iter()
        .filter_map(|(row, count)| if let Row::Reason(cut, text) = row { Some((*count, cut, &**text)) } else { None })
        .collect();
    reasons.sort_by_key(|(count, cut, _)| (*cut, std::cmp::Reverse(*count)));
    for (count, cut, reason) in reasons {
        let _ = writeln!(out, "{count:>8} {} {reason}", cut.name());
    }
    for row in counts.keys() {
        if let Row::Finding(folder) = row {
            let _ = writeln!(out, "wrong: {}", folder.display());
        }
    }
    let skipped = count(Row::Skipped);
    if skipped > 0 {
        let (repository, up_to) = (source.repository.display(), source.up_to);
        let _ = writeln!(out, "{skipped} rounds without an edit: {repository} has too few commits up to {up_to}.");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{describes, reason};

    #[test]
    fn text_describes_files_with_its_lines_in_order() {
        let file: Vec<String> = ["a", "b", "}", "c", "}", "d"].map(str::to_owned).into();
        assert!(describes("// ... existing code ...\n}\nd\n", &file));
        assert!(describes("a\n// ... existing code ...\n\n}\n// ... rest of the code unchanged ...\n", &file));
        for text in ["// ... existing code ...\n}\n", "b\n// ... existing code ...\n", "a\nb\n}\n}\nd\n"] {
            assert!(!describes(text, &file), "{text}");
        }
    }

    #[test]
    fn reason_has_no_numbers() {
        let text = "error\nLines 3-5 of the text fit in several places of the file (lines 1-2, 4-5). Show more.\n";
        assert_eq!(reason(text), "Line N of the text fit in several places of the file");
        assert_eq!(reason("edit.no_change: 3 are there"), "edit");
    }
}
