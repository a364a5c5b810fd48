//! Parts of a text that look like an edit but are in no format, or in another one than the rest.

mod cut_off;

use super::search_replace::marker;
use super::tool_calls::{NEW_FIELDS, OLD_FIELDS, PATH_FIELDS};
use super::{Format, call_literal, hashline, name, repair_hint, search_replace, shell_edit, whole_file};
use crate::advice;
use crate::advice::Phrase;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::{FileAction, Request};
use crate::text::lines::count_lines;
use crate::work;
use serde_json::{Map, Value};
use std::ops::Range;

/// Field names for the old text that occur only in editing tools.
const UNAMBIGUOUS_FIELDS: [&str; 5] = ["old_string", "oldString", "old_str", "old_text", "oldText"];

/// Minimum length of a bare run of one sign that counts as a marker.
const BARE_RUN_MIN: usize = 4;

/// Returns the error for a text that has such a part outside of the lines that its format detected.
pub(super) fn check_stray_edits(text: &str, format: &dyn Format, claimed: &[Range<usize>]) -> Option<Error> {
    let name = format.spec().name;
    if claimed.is_empty() {
        return None;
    }
    if is_all_claimed(text, claimed) {
        return None;
    }
    let (lines, numbers) = outside(text, claimed);
    if lines.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    let at = if name.starts_with("hashline") {
        beside_hashline(&lines, &numbers, claimed)
    } else {
        let mut at = lines.iter().position(|line| writes(line)).or_else(|| called_edit(&lines));
        at = at.or_else(|| pair(&lines)).or_else(|| bare_markers(&lines));
        at = at.or_else(|| dashed_markers(&lines)).or_else(|| odd_markers(&lines));
        at = at.or_else(|| settings(&lines)).or_else(|| rows(&lines));
        // The patch parsers handle all hunks themselves.
        if !["unified_diff", "apply_patch"].contains(&name) {
            at = at.or_else(|| hunk(&lines));
        }
        if name != "unified_diff" && cut_off::ends_in_opener(text, claimed) {
            at = at.or_else(|| lines.len().checked_sub(1));
        }
        at = at.or_else(|| fenced_diff(&lines));
        at.or_else(|| fenced_file(&lines, &numbers, claimed))
    }?;
    let (line, number) = (crate::locate::line_format::clip(lines[at].trim()), numbers[at] + 1);
    let what = format!("Line {number} of the request looks like an edit, but it could not be read as {name}.");
    let next = format!(
        "Write that part as {name}, too, or send it in a separate call; if it is only an example, omit it. Nothing was changed."
    );
    Some(
        Error::new(Code::EditUnparsable, what)
            .evidence(format!("Line {number}: {line}"))
            .next(next)
            .fact("line", number),
    )
}

/// Returns the line of an edit beside hashline. Rows of hashline may be unmarked, so that only what is certain counts.
fn beside_hashline(lines: &[&str], numbers: &[usize], claimed: &[Range<usize>]) -> Option<usize> {
    // The envelope may be the one of V4A.
    let is_mark = |line: &str| line.trim_start().starts_with("***");
    let rows: Vec<&str> = lines.iter().map(|line| if is_mark(line) { "" } else { line }).collect();
    called_edit(&rows).or_else(|| fenced_command(lines, numbers, claimed))
}

/// True for a text, in no format, with an edit that is written as a call of a tool or as a command.
pub(super) fn has_called_edit(text: &str) -> bool {
    let lines: Vec<&str> = work::lines(text).collect();
    lines.iter().any(|line| writes(line)) || called_edit(&lines).is_some()
}

/// Returns the line of an edit in a call of a tool, or one that begins an edit in some format.
fn called_edit(lines: &[&str]) -> Option<usize> {
    let at = lines.iter().position(|line| begins(line) || begins_in_list(line));
    at.or_else(|| json(lines)).or_else(|| code_call(lines))
}

/// True if one range has all lines of the text, so that nothing is outside of it.
fn is_all_claimed(text: &str, claimed: &[Range<usize>]) -> bool {
    let [only] = claimed else { return false };
    only.start == 0 && !work::spend_or_end(text.len() / work::STEP_BYTES) && count_lines(text) <= only.end
}

/// Refuses files whose whole text begins like an edit: most likely, the edit was meant to be applied to the file.
///
/// Errors: [`Code::EditUnparsable`].
pub(super) fn check_whole_files(request: &Request) -> Result<()> {
    for file in &request.files {
        let FileAction::Write(text) = &file.action else { continue };
        // A line that names the file is not the first one of an edit.
        let body = file.fence.as_ref().and_then(|_| text.split_once('\n')).map_or("", |(_, rest)| rest);
        let Some((text, at)) = [&**text, body].into_iter().find_map(|text| Some((text, edit_line(text, &file.path)?)))
        else {
            continue;
        };
        let edit = work::lines(text).nth(at).unwrap_or_default().trim();
        let line = crate::locate::line_format::clip(edit);
        let what = format!("The text for {} begins like an edit that could not be read, not like a file.", file.path);
        if repair_hint::is_escaped_marker(edit) {
            return Err(Error::new(Code::EditUnparsable, what)
                .evidence(format!("Line {} of the text: {line}", at + 1))
                .next(repair_hint::ENTITY_ADVICE)
                .fact("path", file.path.clone()));
        }
        let markers = "Write the edit as a block of <<<<<<< SEARCH, =======, >>>>>>> REPLACE";
        return Err(Error::new(Code::EditUnparsable, what)
            .evidence(format!("Line {} of the text: {line}", at + 1))
            .next(
                advice![format!("{markers}; if it is the text of the file, use "), Phrase::Tool("write"), "."]
                    .or(format!("{markers}.")),
            )
            .fact("path", file.path.clone()));
    }
    Ok(())
}

/// Returns the zero-based number of the first line with text, if the text begins like an edit.
fn edit_line(text: &str, path: &str) -> Option<usize> {
    let lines: Vec<&str> = work::lines(text).collect();
    let first = lines.iter().position(|line| !line.trim().is_empty())?;
    let is_first = |at: Option<usize>| at == Some(first);
    let has_json = || !path.contains(".json") && lines[first].trim_start().starts_with(['{', '[']);
    let is_edit = begins(lines[first])
        || marker::is_opening_word(lines[first]) && lines[first + 1..].iter().any(|it| search_replace::divides(it))
        || is_first(pair(&lines))
        || is_first(hunk(&lines))
        || has_json() && is_first(json(&lines));
    is_edit.then_some(first)
}

/// Returns the lines of a text with their zero-based numbers. Detected lines are empty, and of many consecutive ones
/// only some are included: as many as any rule examines.
fn outside<'a>(text: &'a str, claimed: &[Range<usize>]) -> (Vec<&'a str>, Vec<usize>) {
    let mut ranges = claimed.iter().peekable();
    let lines = work::lines(text).enumerate().filter_map(|(at, line)| {
        while ranges.next_if(|range| range.end <= at).is_some() {}
        match ranges.peek().filter(|range| range.start <= at) {
            Some(range) if at - range.start > CALL_LINES_MAX => None,
            Some(_) => Some(("", at)),
            None => Some((line, at)),
        }
    });
    lines.unzip()
}

/// True for a line that begins an edit in some format, or almost does.
fn begins(line: &str) -> bool {
    let text = line.trim_start();
    match text.as_bytes().first() {
        Some(b'*') => {
            let marks = ["*** Update File:", "*** Add File:", "*** Delete File:", "*** Begin Patch"];
            marks.iter().any(|mark| text.starts_with(mark))
        }
        Some(b'<') => {
            let short = text.starts_with("<<") && marker::is_opening_word(line);
            short || search_replace::nearly_opens(line) || is_tag(&text[1..])
        }
        Some(b'&') => text.starts_with("&lt;&lt;") && marker::is_opening_word(line),
        Some(b'-') => search_replace::nearly_opens(line),
        _ => call_literal::surely_begins(line),
    }
}

/// True for a line that would write a file if it were run.
fn writes(line: &str) -> bool {
    call_literal::writes_literal(line) || shell_edit::is_edit(line)
}

/// True for a line that opens a block after the sign of a quotation or a list, or a call after other tags.
fn begins_in_list(line: &str) -> bool {
    let mut text = line.trim_start();
    while let Some(rest) = ["> ", "- ", "* ", "+ "].iter().find_map(|sign| text.strip_prefix(sign)) {
        text = rest.trim_start();
    }
    let digits = text.trim_start_matches(|ch: char| ch.is_ascii_digit());
    text = digits.strip_prefix(". ").filter(|_| digits.len() < text.len()).map_or(text, str::trim_start);
    // The signs of emphasis are removed.
    text = text.trim_matches(['*', '_', '`']);
    text.starts_with("<<") && marker::is_opening_word(text)
        || line.match_indices('<').take(TAGS_PER_LINE_MAX).any(|(at, _)| is_tag(&line[at + 1..]))
}

/// Maximum number of tags of a line that are examined.
const TAGS_PER_LINE_MAX: usize = 16;

/// True for a tag that contains the old text of an edit.
fn is_tag(rest: &str) -> bool {
    let name = rest.strip_prefix("parameter name=\"").unwrap_or(rest);
    UNAMBIGUOUS_FIELDS.iter().any(|field| name.strip_prefix(field).is_some_and(|rest| rest.starts_with(['>', '"'])))
}

/// Returns the line on which the old text of an edit begins between words or tags that belong to no format.
fn pair(lines: &[&str]) -> Option<usize> {
    const WORDS: [(&str, &str); 3] = [("SEARCH:", "REPLACE:"), ("FIND:", "REPLACE:"), ("OLD:", "NEW:")];
    const TAGS: [(&str, &str); 3] = [("search", "replace"), ("find", "replace"), ("old", "new")];
    let words = WORDS.iter().filter_map(|(old, new)| {
        let at = lines.iter().position(|line| is_word(line, old))?;
        lines[at..].iter().any(|line| is_word(line, new)).then_some(at)
    });
    let headed = lines.iter().position(|line| is_heading(line, &["search", "find"]));
    let headed = headed
        .filter(|at| lines[*at..].iter().any(|line| is_heading(line, &["replace", "replace with", "replacement"])));
    let tags = TAGS.iter().filter_map(|(old, new)| {
        let first = format!("<{old}>");
        let at = lines.iter().position(|line| line.contains(&first))?;
        let mut parts = [format!("</{old}>"), format!("<{new}>"), format!("</{new}>")].into_iter();
        parts.all(|part| lines[at..].iter().any(|line| line.contains(&part))).then_some(at)
    });
    words.chain(tags).chain(headed).min()
}

/// Returns the line of a bare `<<<<<<<`, if lines that divide and close a block follow it.
fn bare_markers(lines: &[&str]) -> Option<usize> {
    let is_run = |line: &str, sign: char| line.trim().len() >= BARE_RUN_MIN && line.trim().chars().all(|it| it == sign);
    let at = lines.iter().position(|line| is_run(line, '<'))?;
    let divider = at + lines[at..].iter().position(|line| is_run(line, '='))?;
    lines[divider..].iter().any(|line| line.trim_start().starts_with(">>>>")).then_some(at)
}

/// Returns the line of dashes and a word such as `ORIGINAL`, if lines that divide and close a block follow it.
fn dashed_markers(lines: &[&str]) -> Option<usize> {
    let at = lines.iter().position(|line| is_marker(line, '-', marker::is_opening_word))?;
    let divider = at + lines[at..].iter().position(|line| search_replace::divides(line))?;
    lines[divider..].iter().any(|line| is_marker(line, '+', marker::is_closing_word)).then_some(at)
}

/// True for a run of a sign that is followed by a word.
fn is_marker(line: &str, sign: char, word: fn(&str) -> bool) -> bool {
    let rest = line.trim().trim_start_matches(sign);
    line.trim().len() >= rest.len() + BARE_RUN_MIN && word(rest)
}

/// Returns the line of `SEARCH` between signs that are not those of a marker, such as `««`, if a counterpart follows.
fn odd_markers(lines: &[&str]) -> Option<usize> {
    let at = lines.iter().position(|line| is_odd_marker(line, &["SEARCH", "ORIGINAL", "OLD"]))?;
    lines[at..].iter().any(|line| is_odd_marker(line, &["REPLACE", "UPDATED", "NEW"])).then_some(at)
}

/// True for one of these words between at least two signs that are not ASCII.
fn is_odd_marker(line: &str, words: &[&str]) -> bool {
    const SIGNS_MIN: usize = 2;
    let text = line.trim();
    let rest = text.trim_start_matches(|ch: char| !ch.is_alphanumeric());
    let signs = &text[..text.len() - rest.len()];
    signs.chars().filter(|ch| !ch.is_ascii()).count() >= SIGNS_MIN
        && words.contains(&rest.trim_end_matches(|ch: char| !ch.is_alphanumeric()))
}

/// Maximum number of lines below the name of a tool within which its arguments begin.
const CALL_LINES_MAX: usize = 8;

/// Returns the line of a call in code of a tool whose name any function may have, if the call has a field that occurs
/// only in editing tools.
fn code_call(lines: &[&str]) -> Option<usize> {
    (0..lines.len()).find(|&at| {
        let call = &lines[at..lines.len().min(at + CALL_LINES_MAX)];
        call_literal::begins(lines[at]) && call.iter().any(|line| has_editing_field(line))
    })
}

/// True for a line with an argument that occurs only in editing tools.
fn has_editing_field(line: &str) -> bool {
    UNAMBIGUOUS_FIELDS.iter().any(|field| {
        line.split_once(field)
            .is_some_and(|(_, rest)| rest.trim_start_matches(['"', '\'', ' ']).starts_with([':', '=']))
    })
}

/// Returns the line of fields in the syntax of YAML or TOML: one that occurs only in editing tools, or the path with an
/// old and a new text below it.
fn settings(lines: &[&str]) -> Option<usize> {
    lines.iter().enumerate().position(|(at, line)| {
        let below = || &lines[at + 1..lines.len().min(at + 1 + CALL_LINES_MAX)];
        let has = |fields: &[&str]| below().iter().any(|line| sets_one_of(line, fields));
        sets_one_of(line, &UNAMBIGUOUS_FIELDS)
            || sets_one_of(line, &PATH_FIELDS) && has(&OLD_FIELDS) && has(&NEW_FIELDS)
    })
}

/// True for a line that assigns a value to one of these fields in that syntax.
fn sets_one_of(line: &str, fields: &[&str]) -> bool {
    let line = line.trim_start().trim_start_matches("- ").trim_start();
    let name_len = line.bytes().take_while(|byte| byte.is_ascii_alphabetic() || *byte == b'_').count();
    let (name, rest) = line.split_at(name_len);
    fields.contains(&name) && rest.trim_start().starts_with([':', '=']) && !line.ends_with(',')
}

/// Returns the first row of a diff without a header: a single removed line, and an added line below it. Both are
/// indented or directly follow their signs, unlike the items of a list.
fn rows(lines: &[&str]) -> Option<usize> {
    let is_row = |line: &str, sign: char| {
        let text = line.strip_prefix(sign).filter(|text| !text.starts_with(sign) && !text.trim().is_empty());
        text.is_some_and(|text| !text.starts_with(' ') || text.starts_with("  "))
    };
    (0..lines.len().saturating_sub(1)).find(|&at| is_row(lines[at], '-') && is_row(lines[at + 1], '+'))
}

/// Languages of fences that contain commands, their output or prose.
const UNUSED_LANGUAGES: [&str; 17] = [
    "sh", "bash", "shell", "zsh", "console", "terminal", "powershell", "cmd", "text", "txt", "plaintext", "output",
    "log", "mermaid", "markdown", "md", "json",
];

/// Returns the note about the first fence with code next to edits that names no file and is not used.
pub(super) fn unused_fence(text: &str, claimed: &[Range<usize>]) -> Option<String> {
    if claimed.is_empty() || is_all_claimed(text, claimed) || !text.contains("```") && !text.contains("~~~") {
        return None;
    }
    let (lines, numbers) = outside(text, claimed);
    let mut from = 0;
    while let Some(found) = lines[from..].iter().position(|line| is_fence(line)) {
        let at = from + found;
        let close = at + 1 + lines[at + 1..].iter().position(|line| is_fence(line))?;
        let language = lines[at].trim().trim_matches(['`', '~']).trim();
        let is_code = !language.is_empty() && language.chars().all(|ch| ch.is_alphanumeric() || "+#-".contains(ch));
        let has_text = lines[at + 1..close].iter().any(|line| !line.trim().is_empty());
        let inside = numbers[at]..numbers[close];
        let holds_edit = claimed.iter().any(|range| range.start < inside.end && inside.start < range.end);
        let unused = UNUSED_LANGUAGES.iter().any(|name| language.eq_ignore_ascii_case(name));
        if is_code && has_text && !holds_edit && !unused {
            return Some(format!("Fences without a file name were ignored (the first on line {}).", numbers[at] + 1));
        }
        from = close + 1;
    }
    None
}

/// True for a line that consists of one of the words, whatever its case, apart from the signs of a heading around it.
fn is_heading(line: &&str, words: &[&str]) -> bool {
    let bare = line.trim_matches(|ch: char| " \t*#:[]_=-`".contains(ch));
    bare.len() <= 12 && words.iter().any(|word| bare.eq_ignore_ascii_case(word))
}

/// True for a line that consists of the word.
fn is_word(line: &&str, word: &str) -> bool {
    line.trim() == word
}

/// Returns the line on which JSON for an edit begins.
fn json(lines: &[&str]) -> Option<usize> {
    // The name of a JSON field ends with a quote.
    if !lines.iter().any(|line| line.contains('"')) {
        return None;
    }
    let text = lines.join("\n");
    if !OLD_FIELDS
        .iter()
        .chain(&["content", "contents", "file_text", "anchor"])
        .any(|key| text.contains(&format!("{key}\\\"")) || text.contains(&format!("{key}\"")))
    {
        return None;
    }
    let (mut skip, mut from) = (0, 0);
    for (at, line) in lines.iter().enumerate() {
        let rest = text.get(from..).unwrap_or_default();
        from += line.len() + 1;
        if at < skip || !line.trim_start().starts_with(['{', '[']) {
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) if is_edit(&value) => return Some(at),
            Some(Ok(_)) => skip = at + rest[..values.byte_offset()].lines().count(),
            // The JSON is truncated or malformed.
            Some(Err(error)) => {
                let read = &lines[at..lines.len().min(at + error.line())];
                if read.iter().any(|line| UNAMBIGUOUS_FIELDS.iter().any(|key| line.contains(&format!("\"{key}\"")))) {
                    return Some(at);
                }
            }
            None => {}
        }
    }
    None
}

/// True for JSON with the two texts of an edit, or with the path and the text of a file.
fn is_edit(value: &Value) -> bool {
    const ARGUMENT_FIELDS: [&str; 7] =
        ["arguments", "input", "parameters", "edits", "replacements", "changes", "function"];
    match value {
        Value::Array(items) => items.iter().any(is_edit),
        Value::Object(fields) => {
            let texts = has_text(fields, &NEW_FIELDS)
                && (has_text(fields, &UNAMBIGUOUS_FIELDS)
                    || has_text(fields, &OLD_FIELDS) && has_text(fields, &PATH_FIELDS));
            let whole = has_text(fields, &["file_path", "filePath", "target_file"])
                && has_text(fields, &["content", "contents", "file_text"]);
            let nested = ARGUMENT_FIELDS.iter().filter_map(|key| fields.get(*key)).any(|value| match value {
                Value::String(text) => serde_json::from_str(text).is_ok_and(|value| is_edit(&value)),
                value => is_edit(value),
            });
            let by_anchor =
                has_text(fields, &["anchor"]) && (has_text(fields, &["edit_type"]) || has_text(fields, &["text"]));
            texts || whole || by_anchor || nested
        }
        _ => false,
    }
}

/// True for a call with a text in one of these fields.
fn has_text(fields: &Map<String, Value>, keys: &[&str]) -> bool {
    keys.iter().any(|key| fields.get(*key).is_some_and(Value::is_string))
}

/// Returns the first line of a fence whose language is `diff` and that has removed and added rows, but no hunk header.
fn fenced_diff(lines: &[&str]) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = lines[from..].iter().position(|line| opens_diff(line)) {
        let at = from + found;
        let end = lines[at + 1..].iter().position(|line| is_fence(line)).map_or(lines.len(), |end| at + 1 + end);
        let has = |sign: char| lines[at + 1..end].iter().any(|line| line.starts_with(sign));
        if has('-') && has('+') {
            return Some(at);
        }
        from = end;
    }
    None
}

/// Returns the first line of a fence whose info string is a name, and which has neither a part in the format nor is that
/// around one: the whole text of another file.
fn fenced_file(lines: &[&str], numbers: &[usize], claimed: &[Range<usize>]) -> Option<usize> {
    let (mut at, mut open) = (0, false);
    while at < lines.len() {
        let is_named = |line: &str| name::fence(line).is_some_and(|(_, _, info)| whole_file::may_be_named(info));
        if !open && is_named(lines[at]) {
            let close = at + 1 + lines[at + 1..].iter().position(|line| is_fence(line))?;
            let holds_edit = claimed.iter().any(|range| numbers[at] < range.end && range.start < numbers[close]);
            if !holds_edit {
                return Some(at);
            }
        }
        open ^= is_fence(lines[at]);
        at += 1;
    }
    None
}

/// Returns the line of a command that would write a file, in a fence without a part in the format.
fn fenced_command(lines: &[&str], numbers: &[usize], claimed: &[Range<usize>]) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = lines[from..].iter().position(|line| is_fence(line)) {
        let at = from + found;
        let close = at + 1 + lines[at + 1..].iter().position(|line| is_fence(line))?;
        let has_edit = claimed.iter().any(|range| range.start < numbers[close] && numbers[at] < range.end);
        if let Some(command) = (at..close).find(|&line| !has_edit && writes(lines[line])) {
            return Some(command);
        }
        from = close + 1;
    }
    None
}

/// True for the first or last line of a fence.
fn is_fence(line: &str) -> bool {
    ["```", "~~~"].iter().any(|sign| line.trim_start().starts_with(sign))
}

/// True for the first line of a fence whose language is `diff`.
fn opens_diff(line: &str) -> bool {
    let name = line.trim().trim_start_matches(['`', '~']).trim().to_lowercase();
    is_fence(line) && ["diff", "patch", "udiff"].contains(&&*name)
}

/// Returns the line of the first hunk of a diff, or of an operation on line numbers with a row below it.
fn hunk(lines: &[&str]) -> Option<usize> {
    lines.windows(2).position(|pair| {
        let diff = pair[0].starts_with("@@") && pair[1].starts_with(['+', '-', ' ']);
        diff || pair[1].starts_with('+') && hashline::begins(pair[0])
    })
}

#[cfg(test)]
mod tests {
    use crate::formats::detect::parse_any;
    use crate::formats::line_parser::ParseOptions;

    const BLOCK: &str = "a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n";
    const DIFF: &str = "--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-old\n+new\n\n";
    const FILE: &str = "a.rs\n```\nnew\n```\n";

    fn read(text: &str) -> Result<usize, String> {
        let understood = parse_any(text, None, &ParseOptions::default());
        understood.map(|it| it.request.files.len()).map_err(|error| error.to_string())
    }

    #[test]
    fn unparsed_edit_refuses_the_text() {
        for part in [
            "b.rs\n<<<<<<< OLD\nx\n=======\ny\n>>>>>>> NEW\n",
            "b.rs\n<<<<<<< search\nx\n=======\ny\n>>>>>>> replace\n",
            "b.rs\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> main\n",
            "b.rs\n<< SEARCH\nx\n====\ny\n>> REPLACE\n",
            "b.rs\n<<<<<<<\nx\n=======\ny\n>>>>>>>\n",
            "b.rs\n<<<<\nx\n====\ny\n>>>> b.rs\n",
            "b.rs\n**<<<<<<< SEARCH**\nx\n**=======**\ny\n**>>>>>>> REPLACE**\n",
            "- path: b.rs\n  old_string: \"x\"\n  new_string: \"y\"\n",
            "- path: b.rs\n  old: \"x\"\n  new: |\n    y\n",
            "[[edit]]\nfile = \"b.rs\"\nold_string = \"x\"\nnew_string = \"y\"\n",
            "b.rs\n-    x\n+    y\n",
            "```\n-x();\n+y();\n```\n",
            "b.rs\nSEARCH:\nx\nREPLACE:\ny\n",
            "b.rs\n[SEARCH]\nx\n[REPLACE]\ny\n",
            "b.rs\nSEARCH\nx\nREPLACE\ny\n",
            "b.rs\n**Find:**\nx\n**Replace with:**\ny\n",
            "b.rs\n> <<<<<<< SEARCH\n> x\n> =======\n> y\n> >>>>>>> REPLACE\n",
            "b.rs\n- <<<<<<< SEARCH\n  x\n  =======\n  y\n  >>>>>>> REPLACE\n",
            "b.rs\n1. <<<<<<< SEARCH\n   x\n   =======\n   y\n   >>>>>>> REPLACE\n",
            "<function_calls><invoke name=\"Edit\"><parameter name=\"old_string\">x</parameter></invoke></function_calls>\n",
            "<edit file=\"b.rs\"><search>x</search><replace>y</replace></edit>\n",
            "  b.rs\n  <<<<<<< SEARCH\n  x\n  =======\n  y\n  >>>>>>> REPLACE\n",
            "{\"file_path\": \"b.rs\", \"old_string\": \"x\", \"new_string\": \"y\"}\n",
            "```json\n[{\"path\": \"b.rs\",\n  \"search\": \"x\", \"replace\": \"y\"}]\n```\n",
            "{\"name\": \"edit\", \"arguments\": {\"oldText\": \"x\", \"newText\": \"y\"}}\n",
            "{\"path\": \"b.rs\", \"edits\": [{\"anchor\": \"Web:x\", \"edit_type\": \"replace\", \"text\": \"y\"}]}\n",
            "------- ORIGINAL\nx\n=======\ny\n+++++++ UPDATED\n",
            "edit(file_path=\"b.rs\", old_string=\"x\", new_string=\"y\")\n",
            "edit({\n  oldText: 'x',\n  newText: 'y',\n})\n",
            "{\"file_path\": \"b.rs\", \"old_string\": \"x\", \"new_st",
            "<invoke name=\"edit\">\n<parameter name=\"old_string\">x</parameter>\n",
            "b.rs\n@@\n-x\n+y\n",
            "replace 3..4:\n+x\n",
            "```diff\n-x\n+y\n```\n",
            "\u{ab}\u{ab} SEARCH \u{bb}\u{bb}\nx\n\u{ab}\u{ab} REPLACE \u{bb}\u{bb}\ny\n",
            "fs.writeFileSync('b.rs', 'x');\n",
            "writeFile(\"b.rs\",\n  \"x\")\n",
            "Path(\"b.rs\").write_text(\"x\")\n",
            "sed -i 's/x/y/' b.rs\n",
            "```bash\nperl -pi -e 's/x/y/' b.rs\n```\n",
            "cat > b.rs <<'EOF'\nx\nEOF\n",
        ] {
            for good in [BLOCK, FILE] {
                for text in [format!("{good}\n{part}"), format!("{part}\n{good}")] {
                    assert!(read(&text).is_err(), "{text}");
                }
            }
            // Below a hunk, a `@@` line begins another hunk.
            if !part.contains("@@") {
                assert!(read(&format!("{DIFF}{part}")).is_err(), "{part}");
            }
        }
    }

    #[test]
    fn whole_file_beside_a_patch_is_not_ignored() {
        let context = "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n ```sh\n-a\n+b\n\n";
        for patch in [DIFF, &format!("```diff\n{DIFF}```\n\n"), context, BLOCK] {
            for info in [" b.py", "python b.py", "b.py"] {
                let text = format!("{patch}Now the other:\n\n```{info}\nx\n```\n");
                assert!(read(&text).map_or(true, |count| count == 2), "{text}");
            }
        }
    }

    #[test]
    fn a_file_that_begins_like_an_edit_is_none() {
        for edit in [
            "<<<<<<< OLD\nx\n=======\ny\n>>>>>>> NEW\n",
            "<<<<<<< search\nx\n=======\ny\n>>>>>>> replace\n",
            "\n   <<<<<<< SEARCH\n   x\n   =======\n   y\n   >>>>>>> REPLACE\n",
            "<< SEARCH\nx\n====\ny\n>> REPLACE\n",
            "### SEARCH\nx\n=====\ny\n### REPLACE\n",
            "&lt;&lt;&lt;&lt; SEARCH\nx\n====\ny\n&gt;&gt;&gt;&gt; REPLACE\n",
            "SEARCH:\nx\nREPLACE:\ny\n",
            "<search>\nx\n</search>\n<replace>\ny\n</replace>\n",
            "{\"old_string\": \"x\", \"new_string\": \"y\"}\n",
            "replace 3..4:\n+x\n",
            "@@\n-x\n+y\n",
        ] {
            let text = format!("a.py\n```python\n{edit}```\n");
            assert!(read(&text).is_err(), "{text}");
            assert!(read(&format!("{BLOCK}\n{text}")).is_err(), "{text}");
        }
        for file in ["# SEARCH\n\nFinds text.\n", "{\"old\": 1}\n", "[a]\nb = 1\n", "<search>x</search>\n"] {
            assert_eq!(read(&format!("a.txt\n```\n{file}```\n")), Ok(1), "{file}");
        }
        assert_eq!(read("a.json\n```\n{\"old_string\": \"x\", \"new_string\": \"y\"}\n```\n"), Ok(1));
    }

    #[test]
    fn prose_and_examples_are_accepted() {
        for prose in [
            "I replaced `old` with `new`.\n\n- one\n- two\n",
            "Run it:\n\n```sh\ncargo test\n```\n",
            "The reply is:\n\n```json\n{\"path\": \"b.rs\", \"status\": \"ok\", \"items\": [1, 2]}\n```\n",
            "{\"old\": \"x\", \"new\": \"y\"} is what the event says.\n",
            "The marker `<<<<<<< SEARCH` opens a block.\n",
            "```js\nedit(item, old_string)\n```\n",
            "Use `{` and [brackets](x).\n\n[\n",
            "```html\n<div>\n<pre>\nx\n</pre>\n```\n",
            "a << b >> c\n<<EOF\n=======\n>>> print(1)\n",
            "writeFile(path, text) is called below.\n",
            "```js\nfs.writeFileSync(name, data);\n```\n",
            "sed -i edits files in place, so I avoid it.\n",
            "```sh\nsed -n '1,5p' b.rs\ncat b.rs | grep x\n```\n",
            "\u{ab} SEARCH \u{bb} is French.\n",
            "- slow\n+ fast\n",
            "| a | b |\n|---|---|\n",
            "old_string is copied.\n",
            "path: the file\nold: what it was\n",
        ] {
            for good in [BLOCK, FILE, DIFF] {
                for text in [format!("{good}\n{prose}"), format!("{prose}\n{good}")] {
                    assert_eq!(read(&text), Ok(1), "{text}");
                }
            }
        }
    }

    #[test]
    fn unused_code_is_reported() {
        let notes = |text: &str| parse_any(text, None, &ParseOptions::default()).unwrap().request.notes.len();
        for good in [BLOCK, &format!("{BLOCK}\nb.rs\n```\nnew\n```\n")] {
            let code = "Use it so:\n\n```python\nrun(1)\n```\n";
            assert_eq!(notes(&format!("{good}\n{code}")), notes(good) + 1, "{good}");
            assert_eq!(notes(&format!("{code}\n{good}")), notes(good) + 1, "{good}");
            for other in ["```json\n[1]\n```\n", "```text\nls\n```\n", "```\nls\n```\n", "```python\n```\n"] {
                assert_eq!(notes(&format!("{good}\n{other}")), notes(good), "{other}");
            }
        }
        assert_eq!(notes("```rust\na.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n```\n"), notes(BLOCK));
    }

    #[test]
    fn many_brackets_take_linear_time() {
        let text = format!("{BLOCK}{}", "[1,\n{\"old\":\n".repeat(3_000));
        assert_eq!(read(&text), Ok(1));
    }
}
