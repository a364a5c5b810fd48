//! Hints for texts that are almost in a format: the form that they resemble and, if it is certain, the corrected text.

use super::ranges::outermost;
use super::unified_diff::nameless_hunk_advice;
use super::{hashline, name, text_formats, tool_calls, whole_file};
use crate::advice;
use crate::advice::{Advice, Phrase};
use crate::code::Code;
use crate::error::Error;
use crate::work;

/// Maximum bytes of a corrected text that is shown.
const CONVERTED_BYTES_MAX: usize = 8_000;

/// A hint for a text.
struct RepairHint {
    /// A sentence about the form that the text resembles.
    what: &'static str,
    /// The next call that would work.
    next: Advice,
    /// The corrected text.
    converted: Option<String>,
}

/// Creates the error for a text that no format detects.
pub(super) fn unknown_format(text: &str) -> Error {
    let names: Vec<&str> = text_formats().map(|format| format.spec().name).collect();
    let is_empty = text.trim().is_empty();
    let what = if is_empty { "The text is empty." } else { "The text is in none of the known formats." };
    let error = Error::new(Code::EditUnparsable, what);
    let likeness = likeness(text).or_else(|| nameless_fence(text));
    let Some(RepairHint { what, next, converted }) = likeness else {
        let known = format!("Write it as one of: {}", names.join(", "));
        return error.next(
            advice![known.clone(), "; or give its name as ", Phrase::Quoted("format"), "."].or(format!("{known}.")),
        );
    };
    let error = error.evidence(what).next(next);
    match converted.filter(|text| text.len() <= CONVERTED_BYTES_MAX) {
        Some(text) => error.evidence(format!("Ready to send:\n{}", text.trim_end())).fact("converted", text),
        None => error,
    }
}

/// Returns a hint about the form that a text resembles.
fn likeness(text: &str) -> Option<RepairHint> {
    let looks = [
        escaped_line_ends, entities, json_edits, nameless_diff, headless_diff, other_markers, indented_markers,
        conflict, numbered_ops, context_diff, colored_diff,
    ];
    looks.into_iter().find_map(|look| look(text))
}

/// True for a text that resembles no edit.
pub(super) fn is_unlike_edits(text: &str) -> bool {
    likeness(text).is_none()
}

/// Recognizes a text whose line ends are escapes, as in a string of JSON that was encoded twice.
fn escaped_line_ends(text: &str) -> Option<RepairHint> {
    let text = text.trim();
    if text.contains('\n') || text.len() > CONVERTED_BYTES_MAX || !text.contains("\\n") {
        return None;
    }
    let quoted = if text.starts_with('"') { text.to_owned() } else { format!("\"{text}\"") };
    let decoded: String = serde_json::from_str(&quoted).ok()?;
    outermost(&decoded)?;
    Some(RepairHint {
        what: "Its line ends are written as `\\n`, two characters: the text was escaped once too often.",
        next: "Send it with real line ends.".into(),
        converted: Some(decoded),
    })
}

/// Recognizes markers of blocks that are written with the entities of HTML.
fn entities(text: &str) -> Option<RepairHint> {
    work::lines(text).any(is_escaped_marker).then_some(RepairHint {
        what: "The markers of its blocks are written with the entities &lt; and &gt;.",
        next: ENTITY_ADVICE.into(),
        converted: None,
    })
}

/// The advice for [`is_escaped_marker`].
pub(super) const ENTITY_ADVICE: &str = "Write the markers as <<<<<<< SEARCH, =======, >>>>>>> REPLACE; and in the text, write <, > and & as the file has them.";

/// True for the opening marker of a block with entities of HTML in place of its signs.
pub(super) fn is_escaped_marker(line: &str) -> bool {
    let rest = line.trim_start().trim_start_matches("&lt;");
    let signs = line.trim_start().len() - rest.len();
    signs >= 3 * "&lt;".len() && rest.trim() == "SEARCH"
}

/// Recognizes arguments of an editing tool as JSON.
fn json_edits(text: &str) -> Option<RepairHint> {
    let converted = tool_calls::hint(text)?;
    Some(RepairHint {
        what: "It looks like the arguments of a tool that edits one file, as JSON.",
        next: "Call the tool edit, multi_edit or write with these arguments, with the absolute path of the file; name the file, and apply takes them, too.".into(),
        converted: serde_json::to_string_pretty(&converted).ok(),
    })
}

/// Returns the zero-based line of the first hunk of a diff without a file name.
pub(super) fn nameless_hunk(text: &str) -> Option<usize> {
    let first = work::lines(text).position(|line| line.starts_with("@@"))?;
    let changes = work::lines(text).skip(first + 1).any(|line| line.starts_with(['+', '-']));
    let names = ["--- ", "+++ ", "***", "diff --git"];
    let named = work::lines(text).any(|line| names.iter().any(|name| line.starts_with(name)));
    (changes && !named).then_some(first)
}

fn nameless_diff(text: &str) -> Option<RepairHint> {
    let first = nameless_hunk(text)?;
    let above: Vec<&str> = work::lines(text).take(first).collect();
    let path = name::above(above.into_iter().rev()).unwrap_or_else(|| "FILE".to_owned());
    let hunks: Vec<&str> = work::lines(text).skip(first).take_while(|line| !line.starts_with("```")).collect();
    Some(RepairHint {
        what: "It looks like a unified diff that names no file.",
        next: nameless_hunk_advice("--- and +++ lines with the path of the file"),
        converted: Some(format!("--- a/{path}\n+++ b/{path}\n{}\n", hunks.join("\n"))),
    })
}

/// Recognizes the fence of a diff without headers. With the name of the file above the fence, the diff can be completed.
fn headless_diff(text: &str) -> Option<RepairHint> {
    let mut above: Vec<&str> = Vec::new();
    let mut lines = work::lines(text).skip_while(|line| {
        let opens = name::fence(line).is_some_and(|(_, _, info)| !whole_file::may_be_file(info));
        above.push(line);
        !opens
    });
    let open = name::fence(lines.next()?)?;
    let closes = |line: &&str| name::fence(line).is_some_and(|it| (it.0, it.2) == (open.0, "") && it.1 >= open.1);
    let body: Vec<&str> = lines.take_while(|line| !closes(line)).collect();
    let is_headless = !body.iter().any(|line| line.starts_with("@@") || line.starts_with("--- "));
    if !is_headless || !body.iter().any(|line| line.starts_with(['+', '-'])) {
        return None;
    }
    above.pop();
    let path = name::above(above.into_iter().rev());
    let is_marked = body.iter().all(|line| line.is_empty() || line.starts_with([' ', '+', '-']));
    Some(RepairHint {
        what: "There is the fence of a diff, but in it no header of a file or a hunk.",
        next: "Put --- and +++ lines with the path of the file above its lines, then a line @@; each line begins with a space, - or +.".into(),
        converted: path.filter(|_| is_marked).map(|path| format!("--- a/{path}\n+++ b/{path}\n@@\n{}\n", body.join("\n"))),
    })
}

/// Converts blocks between bare markers (`<<<<`, `====`, `>>>>`) to blocks with the usual markers. `None` for anything
/// else, or if a divider is missing or duplicated.
pub(super) fn bare_blocks(text: &str) -> Option<String> {
    let length = work::lines(text)
        .map(|line| line.len() - line.trim_start_matches(['<', '=', '>']).len())
        .max()
        .unwrap_or(0)
        .max(6)
        + 1;
    let marks = [('<', " SEARCH"), ('=', ""), ('>', " REPLACE")];
    let (mut next, mut blocks, mut out) = (0, 0, String::new());
    for line in work::lines(text) {
        match marks.iter().position(|(sign, _)| is_run(line, *sign)) {
            Some(at) if at == next => {
                let (sign, word) = marks[at];
                out.extend(std::iter::repeat_n(sign, length));
                out.push_str(word);
                next = (at + 1) % marks.len();
                blocks += usize::from(next == 0);
            }
            Some(_) => return None,
            // Prose or a path between blocks may have any meaning.
            None if next == 0 && !line.trim().is_empty() && !line.trim_start().starts_with("```") => return None,
            None => out.push_str(line),
        }
        out.push('\n');
    }
    (next == 0 && blocks > 0).then_some(out)
}

/// Converts bare markers among unchanged lines to a hunk whose context is the lines outside of them. `None` for
/// anything else, or if a divider is missing or duplicated.
pub(super) fn bare_blocks_in_context(text: &str) -> Option<String> {
    const SIGNS: [char; 3] = ['<', '=', '>'];
    const MARKS: [char; 3] = [' ', '-', '+'];
    let (mut state, mut changes) = (0, 0);
    let mut lines: Vec<(usize, &str)> = Vec::new();
    for line in work::lines(text) {
        match SIGNS.iter().position(|sign| is_run(line, *sign)) {
            Some(at) if at == state => {
                state = (at + 1) % SIGNS.len();
                changes += usize::from(state == 0);
            }
            Some(_) => return None,
            None => lines.push((state, line)),
        }
    }
    if state != 0 || changes == 0 {
        return None;
    }
    let lines = inside_of_fence(&lines)?;
    let is_filled = |(state, line): &(usize, &str)| *state != 0 || !line.trim().is_empty();
    let (first, last) = (lines.iter().position(is_filled)?, lines.iter().rposition(is_filled)?);
    let lines = &lines[first..=last];
    let has_context = lines.iter().any(|(state, line)| *state == 0 && !line.trim().is_empty());
    let marked = lines.iter().map(|(state, line)| format!("{}{line}\n", MARKS[*state]));
    has_context.then(|| format!("@@\n{}", marked.collect::<String>()))
}

/// Returns the lines within the only fence around all blocks, or all lines if there is no fence outside of them.
fn inside_of_fence<'l, 't>(lines: &'l [(usize, &'t str)]) -> Option<&'l [(usize, &'t str)]> {
    let is_fence = |(state, line): &(usize, &str)| *state == 0 && line.trim_start().starts_with("```");
    let fences: Vec<usize> = (0..lines.len()).filter(|&at| is_fence(&lines[at])).collect();
    match *fences {
        [] => Some(lines),
        [from, to] => {
            let is_change = |it: &(usize, &str)| it.0 != 0;
            let is_around = !lines[..from].iter().any(is_change) && !lines[to..].iter().any(is_change);
            is_around.then(|| &lines[from + 1..to])
        }
        _ => None,
    }
}

/// True for a line that consists of a repeated sign, like a marker.
fn is_run(line: &str, sign: char) -> bool {
    const MARKER_CHARS_MIN: usize = 3;
    let line = line.trim_end();
    line.len() >= MARKER_CHARS_MIN && line.chars().all(|ch| ch == sign)
}

/// Recognizes blocks with other words in their markers.
fn other_markers(text: &str) -> Option<RepairHint> {
    const OPENING_WORDS: [&str; 6] = ["ORIGINAL", "OLD", "BEFORE", "FIND", "search", "Search"];
    const CLOSING_WORDS: [&str; 7] = ["UPDATED", "NEW", "AFTER", "REPLACE", "REPLACED", "replace", "Replace"];
    let (mut opened, mut divided, mut closed) = (0, 0, 0);
    let converted: String = work::lines(text)
        .map(|line| {
            if is_marker_of(line, '<', &OPENING_WORDS) && opened == closed {
                opened += 1;
                "<<<<<<< SEARCH\n".to_owned()
            } else if line.len() >= 3 && line.trim_end().chars().all(|ch| ch == '=') && divided < opened {
                divided += 1;
                "=======\n".to_owned()
            } else if is_marker_of(line, '>', &CLOSING_WORDS) && closed < divided {
                closed += 1;
                ">>>>>>> REPLACE\n".to_owned()
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    (opened > 0).then(|| RepairHint {
        what: "It looks like SEARCH/REPLACE blocks with other words after the markers.",
        next:
            "Write the markers as <<<<<<< SEARCH, =======, >>>>>>> REPLACE, below the file's path on a line of its own."
                .into(),
        converted: (opened == divided && divided == closed).then_some(converted),
    })
}

/// True for a marker with one of the words.
fn is_marker_of(line: &str, sign: char, words: &[&str]) -> bool {
    let rest = line.trim_start_matches(sign);
    line.len() - rest.len() >= 3 && words.contains(&rest.trim())
}

/// Recognizes markers that are indented, or too short.
fn indented_markers(text: &str) -> Option<RepairHint> {
    let divided = work::lines(text).any(|line| line.trim().len() >= 3 && line.trim().chars().all(|ch| ch == '='));
    (work::lines(text).any(|line| {
        let rest = line.trim_start_matches([' ', '\t', '>', '+']).trim_start_matches('<');
        rest.len() + 2 <= line.len() && rest.trim_start().strip_prefix("SEARCH").is_some_and(|it| it.trim().is_empty())
    }) && divided)
        .then_some(RepairHint {
            what: "It looks like SEARCH/REPLACE blocks whose markers are indented, quoted or too short.",
            next: "Begin the lines <<<<<<< SEARCH, ======= and >>>>>>> REPLACE in the first column.".into(),
            converted: None,
        })
}

/// Recognizes merge conflict markers.
fn conflict(text: &str) -> Option<RepairHint> {
    (has_line(text, "<<<<<<< ") && has_line(text, "=======") && has_line(text, ">>>>>>> ")).then_some(RepairHint {
        what: "It looks like a merge conflict: the words after the markers are not SEARCH and REPLACE.",
        next: "Write <<<<<<< SEARCH, the lines as they are, =======, the new lines, >>>>>>> REPLACE, below the file's path.".into(),
        converted: None,
    })
}

/// True if a line begins with the text.
fn has_line(text: &str, start: &str) -> bool {
    work::lines(text).any(|line| line.starts_with(start))
}

/// Recognizes operations on line numbers.
fn numbered_ops(text: &str) -> Option<RepairHint> {
    let verbs = ["replace ", "delete ", "insert ", "PUT ", "CUT "];
    let looks = work::lines(text)
        .find_map(|line| numbered_verb(verbs, line.trim_end_matches(':')).or_else(|| tagged_header(line.trim_end())));
    looks.map(|()| RepairHint {
        what: "It looks like hashline operations, but not all of them.",
        next: "Write the header line with the path and the tag as read shows it, and below it one operation per line, each followed by its lines with + in front.".into(),
        converted: hashline::convert(text),
    })
}

/// Recognizes a context diff.
fn context_diff(text: &str) -> Option<RepairHint> {
    let is_range = |line: &str| {
        let range = line.strip_prefix("*** ").and_then(|line| line.trim_end().strip_suffix(" ****"));
        range.is_some_and(|range| range.split(',').all(|number| number.parse::<usize>().is_ok()))
    };
    let mut lines = work::lines(text).skip_while(|line| !line.starts_with("***************"));
    lines.any(is_range).then(|| RepairHint {
        what: "It is a context diff (diff -c).",
        next: "Send a unified diff (diff -u).".into(),
        converted: None,
    })
}

/// Recognizes a diff with colours.
fn colored_diff(text: &str) -> Option<RepairHint> {
    let is_colored = |line: &str| {
        let bare = line.trim_start_matches("\u{1B}[").trim_start_matches(|ch: char| ch.is_ascii_digit() || ch == ';');
        let bare = bare.strip_prefix('m').filter(|_| line.starts_with("\u{1B}["));
        bare.is_some_and(|bare| ["diff --", "@@", "--- ", "+++ "].iter().any(|start| bare.starts_with(start)))
    };
    work::lines(text).any(is_colored).then(|| RepairHint {
        what: "It is a diff with the escape sequences of colours.",
        next: "Make it without them, as with git diff --no-color.".into(),
        converted: None,
    })
}

/// Parses a header with a tag.
fn tagged_header(line: &str) -> Option<()> {
    let tag = line.strip_prefix('¶').or_else(|| line.strip_prefix('[')?.strip_suffix(']'))?.rsplit_once('#')?.1;
    (!tag.is_empty() && tag.len() <= 8 && tag.chars().all(|ch| ch.is_ascii_hexdigit())).then_some(())
}

/// Parses a verb with a line number.
fn numbered_verb(verbs: [&str; 5], line: &str) -> Option<()> {
    let rest = verbs.iter().find_map(|verb| line.trim().strip_prefix(verb))?;
    let rest = ["before ", "after ", "block "].iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
    rest.starts_with(|ch: char| ch.is_ascii_digit()).then_some(())
}

/// Recognizes a fence with text but without a file name.
fn nameless_fence(text: &str) -> Option<RepairHint> {
    let fences = work::lines(text).filter(|line| line.trim_start().starts_with("```")).count();
    (fences >= 2).then_some(RepairHint {
        what: "There is a fence with text in it, but no file name right above it.",
        next: "To write a whole file, put its path alone on the line above the fence; to change a part, use one of the other formats.".into(),
        converted: None,
    })
}

#[cfg(test)]
mod tests {
    use super::{bare_blocks_in_context, unknown_format};
    use crate::formats::{FORMATS, FormatInput};
    use proptest::prelude::*;

    fn looks(text: &str, part: &str) -> Option<String> {
        let error = unknown_format(text);
        assert!(error.evidence_text().contains(part), "{text}: {error}");
        Some(error.data().get("converted")?.as_str()?.to_owned())
    }

    #[test]
    fn json_suggests_a_call_of_the_right_tool() {
        for (text, tool) in [
            (r#"[{"old_string":"a","new_string":"b"}]"#, "multi_edit"),
            (r#"{"path":"/a.rs","edits":[{"oldText":"a","newText":"b"},{"oldText":"c","newText":"d"}]}"#, "multi_edit"),
            ("```json\n{\"file_path\":\"/a.rs\",\"old_str\":\"a\",\"new_str\":\"b\"}\n```", "replace"),
            (
                r#"{"name":"edit","input":{"file_path":"/a","old_string":"a","new_string":"b","replace_all":true}}"#,
                "replace",
            ),
            (r#"{"path":"/a.rs","content":"text"}"#, "write"),
            (r#"{"path":"/a.rs","edits":"[{\"oldText\":\"a\",\"newText\":\"b\"}]"}"#, "multi_edit"),
            (r#"{"path":"/a.rs","edits":{"oldText":"a","newText":"b"}}"#, "multi_edit"),
        ] {
            let call = looks(text, "as JSON").unwrap();
            let format = FORMATS.iter().find(|format| format.spec().name == tool).unwrap();
            format.parse(FormatInput::Text(call)).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        assert_eq!(unknown_format(r#"[{"old_string":"a","new_string":"b","count":3}]"#).evidence_text(), "");
        assert_eq!(unknown_format(r#"{"old_string":"a","old_text":"b","new_string":"b"}"#).evidence_text(), "");
    }

    #[test]
    fn similar_formats_are_recognized() {
        let diff = looks("Here:\n```diff\n@@ -1 +1 @@\n-a\n+b\n```\n", "names no file").unwrap();
        assert_eq!(diff, "--- a/FILE\n+++ b/FILE\n@@ -1 +1 @@\n-a\n+b\n");
        let diff = looks("src/a.rs\n```diff\n@@\n-a\n+b\n```\n", "names no file").unwrap();
        assert_eq!(diff, "--- a/src/a.rs\n+++ b/src/a.rs\n@@\n-a\n+b\n");
        let diff = looks("In `src/a.rs`:\n\n```diff\n a\n-b\n+c\n```\n", "no header").unwrap();
        assert_eq!(diff, "--- a/src/a.rs\n+++ b/src/a.rs\n@@\n a\n-b\n+c\n");
        let block = looks("a.rs\n<<<<<<< OLD\na\n=======\nb\n>>>>>>> NEW\n", "other words").unwrap();
        assert_eq!(block, "a.rs\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n");
        for (text, part) in [
            ("a.rs\n  <<<<<<< SEARCH\n  a\n  =======\n  b\n  >>>>>>> REPLACE\n", "indented"),
            ("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n", "merge conflict"),
            ("[a.rs#1A2B]\n", "hashline"),
            ("replace 3..4:\n+x\n", "hashline"),
            ("```patch\n-b\n+c\n```\n", "no header"),
            ("src/a.rs\n```diff\na\n-b\n+c\n```\n", "no header"),
            ("```rust\nfn main() {}\n```\n", "no file name"),
            ("*** a\t1\n--- b\t1\n***************\n*** 1,2 ****\n  1\n! 2\n--- 1,2 ----\n  1\n! two\n", "context diff"),
            ("\u{1b}[1mdiff --git a/x b/x\u{1b}[m\n\u{1b}[36m@@ -1 +1 @@\u{1b}[m\n\u{1b}[31m-a\u{1b}[m\n", "colours"),
        ] {
            assert_eq!(looks(text, part), None);
        }
        let prose = unknown_format("Only prose.");
        assert!(prose.evidence_text().is_empty() && prose.next_step().contains("search_replace"));
    }

    #[test]
    fn bare_markers_among_lines_are_one_hunk() {
        let block = "<<<\nb\n===\nc\n>>>\n";
        let hunk = "@@\n a\n-b\n+c\n d\n";
        for text in
            [format!("a\n{block}d\n"), format!("\na\n{block}d\n\n"), format!("Here:\n```\na\n{block}d\n```\nDone.\n")]
        {
            assert_eq!(bare_blocks_in_context(&text).as_deref(), Some(hunk), "{text}");
        }
        for text in [block.to_owned(), format!("a\n{block}===\n"), format!("a\n```\n{block}"), "a\n<<<\nb\n".to_owned()]
        {
            assert_eq!(bare_blocks_in_context(&text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gets_an_answer(text in "(<<<<<<< |ORIGINAL|SEARCH|=======|>>>>>>> NEW|@@|\\+a|-b|---|```|¶a#1|replace 3|\\{|\\[|\"edits\":|é|\n){0,30}") {
            prop_assert!(!unknown_format(&text).next_step().is_empty());
        }
    }
}
