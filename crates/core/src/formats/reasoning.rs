//! Reasoning in a reply: what a model writes between `<think>` and `</think>` before it answers. Edits there are drafts,
//! so those lines are left out. A tag inside an edit or a fence is text.

use super::envelope;
use super::fence::Fence;
use super::ranges::{KnownRanges, contains_any};
use super::tool_calls;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::line_format::clip;
use crate::work;
use std::ops::Range;

/// The tags of an element with reasoning.
struct ReasoningTags {
    open: &'static str,
    close: &'static str,
}

const REASONING_TAGS: [ReasoningTags; 7] = [
    ReasoningTags { open: "<think>", close: "</think>" },
    ReasoningTags { open: "<thinking>", close: "</thinking>" },
    ReasoningTags { open: "<reasoning>", close: "</reasoning>" },
    ReasoningTags { open: "<thought>", close: "</thought>" },
    ReasoningTags { open: "<seed:think>", close: "</seed:think>" },
    ReasoningTags { open: "[THINK]", close: "[/THINK]" },
    ReasoningTags { open: "\u{25c1}think\u{25b7}", close: "\u{25c1}/think\u{25b7}" },
];

/// The ends of all tags: a text without them has no reasoning.
const TAG_ENDS: [&str; 6] = ["think>", "thinking>", "reasoning>", "thought>", "THINK]", "think\u{25b7}"];

/// Maximum number of elements of a reply.
const ELEMENTS_MAX: usize = 8;

/// A reply with reasoning.
pub(super) struct ReasonedReply {
    /// The text without the reasoning, whose lines are blank.
    pub(super) answer: String,
    /// The reasoning, at its lines.
    thoughts: String,
    /// The first tag.
    tag: &'static str,
    /// The first and the last line of the reasoning, one-based.
    lines: [usize; 2],
}

/// An element with reasoning in a text.
struct ReasoningElement {
    tags: &'static ReasoningTags,
    /// The first and the last line, zero-based.
    lines: [usize; 2],
    /// The offset in the last line at which the answer goes on.
    end: usize,
}

impl ReasonedReply {
    /// Separates a reply from its reasoning; `None` for a reply without any.
    ///
    /// Errors: [`Code::EditUnparsable`] if the end of the reasoning is not clear.
    pub(super) fn read(text: &str) -> Result<Option<ReasonedReply>> {
        if !contains_any(text, &TAG_ENDS) {
            return Ok(None);
        }
        let mut reply: Option<ReasonedReply> = None;
        for _ in 0..ELEMENTS_MAX {
            let answer = reply.as_ref().map_or(text, |reply| &reply.answer);
            let Some(found) = ReasoningElement::first(answer, reply.is_some())? else { return Ok(reply) };
            let [answer, thoughts] = found.split(answer);
            let lines = found.lines.map(|line| line + 1);
            reply = Some(match reply {
                None => ReasonedReply { answer, thoughts, tag: found.tags.open, lines },
                Some(before) => ReasonedReply {
                    answer,
                    thoughts: before.thoughts + &thoughts,
                    tag: before.tag,
                    lines: [before.lines[0], lines[1]],
                },
            });
        }
        let what = format!("The text has more than {ELEMENTS_MAX} parts with reasoning.");
        Err(Error::new(Code::EditUnparsable, what).next("Send the edits alone, without the reasoning."))
    }

    /// True if the reasoning contains an edit.
    pub(super) fn has_draft(&self) -> bool {
        has_edit(&self.thoughts)
    }

    /// True if the answer has something that looks like an edit.
    pub(super) fn has_answer(&self) -> bool {
        has_edit(&self.answer)
    }

    /// The note about edits that were ignored.
    pub(super) fn note(&self) -> String {
        let ReasonedReply { tag, lines: [first, last], .. } = self;
        format!("Edits in the reasoning were ignored ({tag}, lines {first}-{last}): they are not part of the answer.")
    }

    /// The error for a reply whose only edits are in its reasoning.
    pub(super) fn without_answer(&self) -> Error {
        let ReasonedReply { tag, lines: [first, last], .. } = self;
        let what = format!("The only edits are in the reasoning of the reply ({tag}, lines {first}-{last}).");
        Error::new(Code::EditUnparsable, what)
            .next("If they are meant, send them alone, without these tags.")
            .fact("line", *first)
    }
}

/// True if a text has an edit in some format.
fn has_edit(text: &str) -> bool {
    !envelope::is_quiet(&envelope::unwrap_text(text).text) || !tool_calls::ranges(text).is_empty()
}

impl ReasoningElement {
    /// Finds the first element of a text; `again` is true if there was one before it.
    ///
    /// Errors: [`Code::EditUnparsable`] if its end is not clear.
    fn first(text: &str, again: bool) -> Result<Option<ReasoningElement>> {
        let lines: Vec<&str> = work::lines(text).collect();
        if !lines.iter().any(|line| opening(line).is_some() || lone_end(line).is_some()) {
            return Ok(None);
        }
        let edits = EditLines::of(text, &lines);
        let mut fence: Option<Fence> = None;
        for (at, line) in lines.iter().enumerate() {
            if edits.texts[at] {
                continue;
            }
            if fence.as_ref().is_some_and(|fence| fence.is_closed_by(line)) {
                fence = None;
            } else if fence.is_none() {
                if let Some(tags) = opening(line) {
                    return Self::opened(&lines, at, tags, &edits).map(Some);
                }
                if let Some((tags, end)) = lone_end(line) {
                    // Templates of chats omit the opening tag, but only the first one.
                    let is_clear = !again || !edits.all[..at].contains(&true);
                    let lone = ReasoningElement { tags, lines: [0, at], end };
                    return if is_clear { Ok(Some(lone)) } else { Err(unclear(at, line)) };
                }
                fence = Fence::opened_by(line).filter(|fence| matches!(fence, Fence::Run { .. }));
            }
        }
        Ok(None)
    }

    /// Finds the end of the element that a line opens. Without an end, all of the text is reasoning.
    fn opened(lines: &[&str], from: usize, tags: &'static ReasoningTags, edits: &EditLines) -> Result<Self> {
        let mut ends = lines.iter().enumerate().skip(from).filter_map(|(at, line)| {
            let begin = if at == from { line.find(tags.open)? + tags.open.len() } else { 0 };
            Some((at, begin + end_of(&line[begin..], tags.close)?))
        });
        let Some((at, end)) = ends.next() else {
            let last = lines.len() - 1;
            return Ok(ReasoningElement { tags, lines: [from, last], end: lines[last].len() });
        };
        // A closing tag in a draft may be text of the draft, unless the draft was given up there.
        if edits.texts[at] && ends.next().is_some() {
            return Err(unclear(at, lines[at]));
        }
        Ok(ReasoningElement { tags, lines: [from, at], end })
    }

    /// Returns the text outside and inside of the element; the other lines are blank.
    fn split(&self, text: &str) -> [String; 2] {
        let [mut answer, mut thoughts] = [String::with_capacity(text.len()), String::new()];
        let [first, last] = self.lines;
        for (at, line) in work::lines_with_ends(text).enumerate() {
            let cut = match at {
                at if at == last => self.end,
                at if (first..last).contains(&at) => line.trim_end_matches(['\r', '\n']).len(),
                _ => 0,
            };
            thoughts.push_str(&line[..cut]);
            thoughts.push_str(if line.ends_with('\n') { "\n" } else { "" });
            answer.push_str(&line[cut..]);
        }
        [answer, thoughts]
    }
}

/// The lines of a text that are in an edit.
struct EditLines {
    all: Vec<bool>,
    /// Those that may be text of a file: the marked ones of a patch, and those inside of another edit.
    texts: Vec<bool>,
}

impl EditLines {
    fn of(text: &str, lines: &[&str]) -> EditLines {
        let mut edits = EditLines { all: vec![false; lines.len()], texts: vec![false; lines.len()] };
        let is_inner = |range: &Range<usize>, at| at > range.start && at + 1 < range.end;
        let is_marked = |at: usize| lines[at].starts_with([' ', '+', '-']);
        for (format, ranges) in KnownRanges::default().of(text) {
            let is_patch = ["unified_diff", "apply_patch"].contains(&format.spec().name);
            for range in ranges {
                edits.add(&range, |at| if is_patch { is_marked(at) } else { is_inner(&range, at) });
            }
        }
        for range in tool_calls::ranges(text) {
            edits.add(&range, |at| is_inner(&range, at));
        }
        edits
    }

    fn add(&mut self, range: &Range<usize>, is_text: impl Fn(usize) -> bool) {
        for at in range.start..range.end.min(self.all.len()) {
            self.all[at] = true;
            self.texts[at] |= is_text(at);
        }
    }
}

/// Returns the tags of the element that a line opens.
fn opening(line: &str) -> Option<&'static ReasoningTags> {
    let line = line.trim_start();
    REASONING_TAGS.iter().find(|tags| line.starts_with(tags.open))
}

/// Returns the tags of the closing one with which a line begins or ends, and the offset behind it.
fn lone_end(line: &str) -> Option<(&'static ReasoningTags, usize)> {
    let text = line.trim();
    let tags = REASONING_TAGS.iter().find(|tags| text.starts_with(tags.close) || text.ends_with(tags.close))?;
    Some((tags, end_of(line, tags.close)?))
}

/// Returns the offset behind a closing tag that is not quoted.
fn end_of(line: &str, close: &str) -> Option<usize> {
    let at = line.find(close)?;
    let end = at + close.len();
    let is_quoted = line[..at].ends_with(['`', '"', '\'']) || line[end..].starts_with(['`', '"', '\'']);
    (!is_quoted).then_some(end)
}

/// Creates the error for a closing tag that may belong to an edit.
fn unclear(at: usize, line: &str) -> Error {
    let number = at + 1;
    Error::new(
        Code::EditUnparsable,
        format!("Line {number} of the request may end the reasoning, or be text of an edit."),
    )
    .evidence(format!("Line {number}: {}", clip(line.trim())))
    .next("Send the edits alone, without the reasoning.")
    .fact("line", number)
}

#[cfg(test)]
mod tests {
    use crate::formats::detect::parse_any;
    use crate::formats::line_parser::ParseOptions;
    use crate::formats::text_formats;

    const ANSWER: &str = "a.py\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n";

    /// Returns the paths of the edited files, and the number of notes.
    fn read(text: &str) -> Result<(Vec<String>, usize), String> {
        let parsed = parse_any(text, None, &ParseOptions::default()).map_err(|error| error.to_string())?;
        Ok((parsed.request.files.iter().map(|file| file.path.clone()).collect(), parsed.request.notes.len()))
    }

    fn drafts() -> impl Iterator<Item = String> {
        let examples = text_formats().map(|format| format.spec().example.to_owned());
        let others = [
            "b.py\n<<<<<<< SEARCH\nx\n=======\n",
            "b.py\n```python\nx = 1\n",
            "--- a/b.py\n+++ b/b.py\n@@\n-x\n+y\n",
            "*** Begin Patch\n*** Update File: b.py\n@@\n-x\n",
            "{\"path\": \"b.py\", \"old_string\": \"x\", \"new_string\": \"y\"}\n",
            "<invoke name=\"edit\">\n<parameter name=\"old_string\">x</parameter>\n",
        ];
        examples.chain(others.map(str::to_owned))
    }

    #[test]
    fn drafts_in_the_reasoning_are_left_out() {
        for draft in drafts() {
            for [open, close] in [
                ["<think>\n", "</think>\n"],
                ["", "</think>\n"],
                ["<thinking>So: ", "so.</thinking>\n\n"],
                ["[THINK]", "[/THINK]"],
            ] {
                let text = format!("{open}\n{draft}No, wrong.\n{close}{ANSWER}");
                // A lone closing tag may be text of a draft without an end.
                let is_unclear = open.is_empty() && draft.starts_with("b.py");
                match read(&text) {
                    Ok((files, _)) => assert_eq!(files, ["a.py"], "{text}"),
                    Err(error) => assert!(is_unclear, "{text}: {error}"),
                }
            }
        }
        let two =
            format!("<think>\n{ANSWER}</think>\nThen:\n<think>{ANSWER}</think>\n{}", ANSWER.replace("a.py", "c.py"));
        assert_eq!(read(&two), Ok((vec!["c.py".to_owned()], 1)));
    }

    #[test]
    fn reasoning_is_no_answer() {
        for text in [
            format!("<think>\n{ANSWER}</think>\nNo change is needed.\n"),
            format!("<think>\n{ANSWER}"),
            format!("{ANSWER}</think>\n"),
            format!("{ANSWER}</think>\nNo.\n"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains("The only edits are in the reasoning"), "{text}: {error}");
        }
        assert_eq!(read(&format!("<think>\nI change a.py.\n</think>\n\n{ANSWER}")), Ok((vec!["a.py".to_owned()], 0)));
    }

    #[test]
    fn tags_in_an_edit_are_text() {
        let lines = "<think>\nhm\n</think>\n";
        let added = "+<think>\n+hm\n+</think>\n";
        for text in [
            format!("a.py\n<<<<<<< SEARCH\nold\n=======\n{lines}>>>>>>> REPLACE\n"),
            format!("a.py\n```python\n{lines}```\n"),
            format!("--- a/a.py\n+++ b/a.py\n@@ -1 +1,4 @@\n old\n{added}"),
            "--- a/a.py\n+++ b/a.py\n@@ -1,4 +1,5 @@\n <think>\n hm\n </think>\n+new\n old\n".to_owned(),
            format!("*** Begin Patch\n*** Update File: a.py\n@@\n-old\n{added}*** End Patch\n"),
            format!("<write_to_file>\n<path>a.py</path>\n<content>\n{lines}</content>\n</write_to_file>\n"),
            format!(
                "<invoke name=\"write\">\n<parameter name=\"path\">a.py</parameter>\n<parameter name=\"content\">{lines}</parameter>\n</invoke>\n"
            ),
            format!("It prints:\n\n```\n{lines}```\n\n{ANSWER}"),
            format!("The tag `<think>` is closed by `</think>`.\n\n{ANSWER}"),
        ] {
            let parsed =
                parse_any(&text, None, &ParseOptions::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
            let notes = parsed.request.notes.texts().join(" ");
            assert!(!notes.contains("reasoning"), "{text}: {notes}");
            assert!(
                text.starts_with("It")
                    || text.starts_with("The")
                    || format!("{:?}", parsed.request.files).contains("think"),
                "{text}"
            );
            assert_eq!(
                read(&format!("<think>\n{ANSWER}</think>\n{text}")).map(|(files, _)| files),
                Ok(vec!["a.py".to_owned()]),
                "{text}"
            );
        }
    }
}
