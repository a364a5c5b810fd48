//! The position of a chunk as the tool chooses it: the first that fits, in four passes, always after the chunk before.

use super::grammar::CodexChunk;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

/// Applies the chunks of one update; the error is the text that the tool prints.
pub(super) fn apply(text: &str, chunks: &[CodexChunk], path: &str) -> Result<String, String> {
    let lines = split(text);
    let mut texts: Vec<&str> = lines.iter().map(|line| line.text).collect();
    let end = texts.len();
    let search = CodexLineSearch { texts: std::mem::take(&mut texts), passes: Default::default() };
    let mut edits: Vec<CodexEdit<'_>> = Vec::new();
    let mut from = 0;
    for chunk in chunks {
        if let Some(anchor) = &chunk.anchor {
            let hit = search.find(std::slice::from_ref(anchor), from, false);
            from = 1 + hit.ok_or_else(|| format!("Failed to find context '{anchor}' in {path}"))?;
        }
        if chunk.old.is_empty() {
            edits.push(CodexEdit { at: end, count: 0, new: &chunk.new });
            continue;
        }
        let (mut old, mut new) = (&chunk.old[..], &chunk.new[..]);
        let mut hit = search.find(old, from, chunk.at_end);
        if let (None, Some((last, rest))) = (hit, old.split_last())
            && last.is_empty()
        {
            old = rest;
            new = new.strip_suffix(&[String::new()]).unwrap_or(new);
            hit = search.find(old, from, chunk.at_end);
        }
        let at = hit.ok_or_else(|| format!("Failed to find expected lines in {path}:\n{}", chunk.old.join("\n")))?;
        from = at + old.len();
        edits.extend(between(chunk, old, new).map(|edit| CodexEdit { at: at + edit.at, ..edit }));
    }
    edits.sort_by_key(|edit| edit.at);
    Ok(write(&lines, &edits))
}

/// Lines to remove, and the lines that replace them.
struct CodexEdit<'a> {
    at: usize,
    count: usize,
    new: &'a [String],
}

/// Returns the changes of a chunk: its runs of lines between those that are kept.
fn between<'a>(chunk: &'a CodexChunk, old: &'a [String], new: &'a [String]) -> impl Iterator<Item = CodexEdit<'a>> {
    let ends = chunk
        .kept
        .iter()
        .filter(|kept| kept.0 < old.len() && kept.1 < new.len())
        .copied()
        .chain([(old.len(), new.len())]);
    ends.scan((0, 0), move |start, (old_end, new_end)| {
        let edit = CodexEdit { at: start.0, count: old_end - start.0, new: &new[start.1..new_end] };
        *start = (old_end + 1, new_end + 1);
        Some(edit)
    })
    .filter(|edit| edit.count > 0 || !edit.new.is_empty())
}

/// A line of the file, and its end.
struct CodexLine<'a> {
    text: &'a str,
    end: &'a str,
}

/// Lines and their ends. LF, CRLF and a lone CR end a line; the last may have none.
fn split(text: &str) -> Vec<CodexLine<'_>> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let at = memchr::memchr2(b'\n', b'\r', rest.as_bytes()).unwrap_or(rest.len());
        let len = if rest[at..].starts_with("\r\n") { 2 } else { usize::from(at < rest.len()) };
        out.push(CodexLine { text: &rest[..at], end: &rest[at..at + len] });
        rest = &rest[at + len..];
    }
    out
}

/// The file with its edits. Added lines end as the file's first line does, and so does a last line without an end.
fn write(lines: &[CodexLine<'_>], edits: &[CodexEdit<'_>]) -> String {
    let end = lines.first().map(|line| line.end).filter(|end| !end.is_empty()).unwrap_or("\n");
    let mut out = String::new();
    let mut next = 0;
    for edit in edits {
        push_lines(end, &mut out, &lines[next..edit.at]);
        for line in edit.new {
            out.extend([line, end]);
        }
        next = edit.at + edit.count;
    }
    push_lines(end, &mut out, &lines[next..]);
    out
}

/// Appends lines with their ends.
fn push_lines(end: &str, out: &mut String, lines: &[CodexLine<'_>]) {
    for line in lines {
        out.extend([line.text, if line.end.is_empty() { end } else { line.end }]);
    }
}

/// Passes of the search, each more forgiving.
const PASSES: [for<'a> fn(&'a str) -> Cow<'a, str>; 4] = [
    |line| Cow::Borrowed(line),
    |line| Cow::Borrowed(line.trim_end()),
    |line| Cow::Borrowed(line.trim()),
    |line| Cow::Owned(line.trim().chars().map(folded).collect()),
];

fn folded(ch: char) -> char {
    match ch {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// The lines of a file, numbered so that equal ones (in the eyes of a pass) have equal numbers.
struct CodexLineSearch<'a> {
    texts: Vec<&'a str>,
    passes: [OnceCell<CodexLineNumbers<'a>>; 4],
}

struct CodexLineNumbers<'a> {
    numbers: HashMap<Cow<'a, str>, u32>,
    lines: Vec<u32>,
}

impl<'a> CodexLineSearch<'a> {
    /// Returns the first position of these lines at or after `from`. If `at_end` is true, they must be the last lines.
    fn find(&self, wanted: &[String], from: usize, at_end: bool) -> Option<usize> {
        if wanted.is_empty() {
            return Some(from);
        }
        let last = self.texts.len().checked_sub(wanted.len())?;
        let from = if at_end { last.max(from) } else { from };
        if from > last {
            return None;
        }
        (0..PASSES.len()).find_map(|pass| {
            let CodexLineNumbers { numbers, lines } = self.passes[pass].get_or_init(|| self.number(pass));
            let wanted: Option<Vec<u32>> =
                wanted.iter().map(|line| numbers.get(&PASSES[pass](line)).copied()).collect();
            first(&lines[from..], &wanted?).map(|at| from + at)
        })
    }

    fn number(&self, pass: usize) -> CodexLineNumbers<'a> {
        let mut numbers = HashMap::new();
        let mut lines = Vec::with_capacity(self.texts.len());
        for &line in &self.texts {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            lines.push(*numbers.entry(PASSES[pass](line)).or_insert(next));
        }
        CodexLineNumbers { numbers, lines }
    }
}

/// The first place of `wanted` in `lines`, in time linear in both (Knuth, Morris, Pratt).
fn first(lines: &[u32], wanted: &[u32]) -> Option<usize> {
    let mut back = vec![0; wanted.len()];
    let mut held = 0;
    for at in 1..wanted.len() {
        while held > 0 && wanted[at] != wanted[held] {
            held = back[held - 1];
        }
        held += usize::from(wanted[at] == wanted[held]);
        back[at] = held;
    }
    let mut held = 0;
    for (at, line) in lines.iter().enumerate() {
        while held > 0 && *line != wanted[held] {
            held = back[held - 1];
        }
        held += usize::from(*line == wanted[held]);
        if held == wanted.len() {
            return Some(at + 1 - held);
        }
    }
    None
}
