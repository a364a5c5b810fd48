//! Old text with a fence of Markdown around it that the file does not have.

use crate::code::Code;
use crate::error::Error;
use crate::locate::find::{self, SearchIndex, TextMatches};
use crate::locate::op::{Matching, ResolveSettings, TextQuery};
use crate::work::{self, STEP_BYTES};

const FENCE_NOTE: &str = "The fence around the text was ignored; the file does not have it.";

/// Finds the text inside of the fence, after the text with it was not found (`error`).
pub(super) fn find_inside(
    index: &SearchIndex<'_>,
    find: &TextQuery,
    new: &str,
    settings: ResolveSettings,
    error: &Error,
) -> Option<TextMatches> {
    let is_open = settings.matching == Matching::Standard && !settings.stale && error.code() == Code::MatchNotFound;
    if !is_open || !find.old.starts_with(['`', '~']) || work::spend_or_end(1 + find.old.len() / STEP_BYTES) {
        return None;
    }
    let old = inside(&find.old)?;
    // New text without a fence is that of the place; one that begins or ends with a fence is neither.
    let new = inside(new).or_else(|| (!new.contains("```") && !new.contains("~~~")).then_some(new))?;
    let query = TextQuery { old: old.to_owned(), ..find.clone() };
    let mut found = find::find_in(index, &query, new, settings, None).ok()?;
    found.notes.push_front(FENCE_NOTE);
    Some(found)
}

/// Returns the text inside of a fence that is the whole text, and has no other one in it.
fn inside(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n')?;
    let (body, last) = rest.trim_end().rsplit_once('\n')?;
    let sign = first.trim_end().split(|ch: char| ch != '`' && ch != '~').next().filter(|sign| sign.len() >= 3)?;
    let is_closed = last.trim() == sign && !body.lines().any(|line| line.trim_start().starts_with(&sign[..3]));
    if !is_closed || body.trim().is_empty() {
        return None;
    }
    // Lines of a block end in a line end, a text does not.
    Some(if text.ends_with('\n') { &rest[..=body.len()] } else { body })
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{edit, refuse};

    #[test]
    fn fence_around_both_texts_or_the_old_one_is_ignored() {
        let file = "start();\nrun(first);\nstop();\n";
        let old = "```js\nstart();\nrun(first);\n```";
        let want = file.replace("first", "second");
        assert_eq!(edit(file, old, &old.replace("first", "second")), want);
        assert_eq!(edit(file, old, "start();\nrun(second);"), want);
        assert_eq!(edit(file, &format!("{old}\n"), "start();\nrun(second);\n"), want);
    }

    #[test]
    fn fences_that_are_text_stay() {
        let file = "Run it:\n\n```sh\nmake all\n```\n\nmake all\n";
        assert_eq!(edit(file, "```sh\nmake all\n```", "```sh\nmake one\n```"), file.replacen("all", "one", 1));
        let file = "start();\nrun(first);\n";
        refuse(file, "```js\nstart();\nrun(first);\n```", "```js\nstart();\n```\nrun();");
        refuse(file, "```js\nstart();\n```\nrun(first);\n```", "start();");
    }
}
