//! Rejected edits as text, to be examined and sent again.

use emendate_core::formats::search_replace;
use emendate_core::{Hunk, HunkLineKind, Locator, Op};
use std::fmt::Write as _;

/// Formats the operations on one file: hunks as a unified diff, the rest as SEARCH/REPLACE blocks.
pub(crate) fn text<'a>(path: &str, ops: impl Iterator<Item = &'a Op>) -> String {
    let (mut diff, mut blocks) = (String::new(), String::new());
    for op in ops {
        match &op.at {
            Locator::Hunk(hunk) => push_hunk(&mut diff, hunk),
            Locator::Find(find) => push_block(&mut blocks, path, &find.old, &op.text),
            _ => push_block(&mut blocks, path, "", &op.text),
        }
    }
    if !diff.is_empty() {
        diff.insert_str(0, &format!("--- a/{path}\n+++ b/{path}\n"));
    }
    diff + &blocks
}

fn push_hunk(out: &mut String, hunk: &Hunk) {
    let name = hunk.section.as_deref().or(hunk.scopes.last().map(String::as_str)).unwrap_or_default();
    let head = hunk.first.map_or("@@".to_owned(), |first| {
        format!(
            "@@ -{first},{} +{first},{} @@",
            count_but(hunk, HunkLineKind::Added),
            count_but(hunk, HunkLineKind::Removed)
        )
    });
    let _ = writeln!(out, "{}", format!("{head} {name}").trim_end());
    let ends = [
        last_but(hunk, HunkLineKind::Added).filter(|_| hunk.open.0),
        last_but(hunk, HunkLineKind::Removed).filter(|_| hunk.open.1),
    ];
    for (at, line) in hunk.lines.iter().enumerate() {
        let mark = match line.kind {
            HunkLineKind::Context | HunkLineKind::Bare => ' ',
            HunkLineKind::Removed => '-',
            HunkLineKind::Added => '+',
        };
        let _ = writeln!(out, "{mark}{}", line.text);
        if ends.contains(&Some(at)) {
            out.push_str("\\ No newline at end of file\n");
        }
    }
}

/// Returns the last line of the hunk that is of another kind.
fn last_but(hunk: &Hunk, without: HunkLineKind) -> Option<usize> {
    hunk.lines.iter().rposition(|line| line.kind != without)
}

/// Counts the lines of the hunk that are of another kind.
fn count_but(hunk: &Hunk, without: HunkLineKind) -> usize {
    hunk.lines.iter().filter(|line| line.kind != without).count()
}

fn push_block(out: &mut String, path: &str, old: &str, new: &str) {
    if search_replace::print_name(path, out).is_none() {
        let _ = writeln!(out, "{path}");
    }
    search_replace::print_block(old, new, out);
}

#[cfg(test)]
mod tests {
    use emendate_core::formats::search_replace::SearchReplace;
    use emendate_core::formats::{Format as _, FormatInput};
    use emendate_core::{ExpectedMatches, Locator, Op, TextQuery};

    #[test]
    fn rejected_blocks_can_be_sent_again() {
        let texts = [
            "one\n", "\\<<<<<<< HEAD\n", "\\\\=======\n", "<<<<<<< SEARCH\n", "=======\n", ">>>>>>>> REPLACE\n",
            "--------- SEARCH\n", ":start_line:3\n", "\\:end_line:4\n", "====\n",
        ];
        for path in ["a.rs", "`a`.rs", "a (new).rs", "See a.rs", "Makefile"] {
            for (at, old) in texts.iter().enumerate() {
                let new = format!("{}two\n{}", texts[(at + 1) % texts.len()], texts[(at + 3) % texts.len()]);
                let find = TextQuery::new(old, ExpectedMatches::Unique);
                let op = Op { at: Locator::Find(find), text: new.clone() };
                let text = super::text(path, [&op].into_iter());
                let request = SearchReplace.parse(FormatInput::Text(text.clone())).unwrap();
                let [file] = &request.files[..] else { panic!("{text}") };
                let [again] = file.action.ops() else { panic!("{text}") };
                let Locator::Find(find) = &again.at else { panic!("{text}") };
                assert_eq!((&*file.path, &*find.old, &*again.text), (path, *old, &*new), "{text}");
            }
        }
    }
}
