//! From text to blocks: one pass over the lines, in time linear in their length.

use super::marker::{self, Open};
use super::name;
use super::tags;
use crate::code::Code;
use crate::error::{Error, Result};
use std::collections::VecDeque;

/// Lines above a block that may hold its file name.
const ABOVE: usize = 5;
/// Shell commands are collected up to here, in bytes each.
const SHELL: usize = 10_000;

/// One block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The file's name, without decorations.
    pub path: String,
    /// The text to look for; whole lines with their line ends, unless it stood in tags.
    pub search: String,
    /// The text to put there.
    pub replace: String,
    /// 1-based line of the file at which the caller expects it.
    pub hint: Option<usize>,
    /// 1-based line of the request on which the block begins.
    pub at: usize,
    /// True for blocks of whole lines.
    pub lines: bool,
}

/// What a text holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// The blocks, in order.
    pub blocks: Vec<Block>,
    /// Shell commands that stood in fences of their own; nobody runs them.
    pub shell: Vec<String>,
    /// The last block ended with the text, not with its marker.
    pub unclosed: bool,
}

/// A place in the text.
pub(super) struct Cursor<'a> {
    rest: &'a str,
    /// Bytes of white space at the end of the text.
    tail: usize,
    /// 1-based line that comes next.
    pub(super) line: usize,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Cursor<'a> {
        let rest = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        Cursor { rest, tail: rest.len() - rest.trim_end().len(), line: 1 }
    }

    /// The next line without its line end.
    pub(super) fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = match memchr::memchr(b'\n', self.rest.as_bytes()) {
            Some(at) => (&self.rest[..at], &self.rest[at + 1..]),
            None => (self.rest, ""),
        };
        self.rest = rest;
        self.line += 1;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    /// The next line, left where it is.
    fn peek(&self) -> Option<&'a str> {
        Cursor { ..*self }.next()
    }

    fn is_at_end(&self) -> bool {
        self.rest.len() <= self.tail
    }
}

/// An error that names the line of the request.
pub(super) fn broken(line: usize, what: &str) -> Error {
    Error::new(Code::EditUnparsable, format!("Line {line} of the request: {what}")).next(SHAPE).fact("line", line)
}

const SHAPE: &str = "Write each block as the file's path on a line of its own, then <<<<<<< SEARCH, the lines as they are, =======, the new \
lines, >>>>>>> REPLACE. Put a backslash before a line of the text that looks like a marker, or use longer markers (all three of one \
length).";

/// Reads all blocks.
///
/// Errors: [`Code::EditUnparsable`] with the line of the request.
pub fn read(text: &str) -> Result<Blocks> {
    let mut cursor = Cursor::new(text);
    let mut out = Blocks::default();
    let mut above: VecDeque<&str> = VecDeque::new();
    let mut fence: Option<Fence<'_>> = None;
    loop {
        let at = cursor.line;
        let Some(line) = cursor.next() else { break };
        let found = if let Some(open) = marker::open(line) {
            Some(marked(&mut cursor, open, at, fence.as_ref())?)
        } else if let Some(tag) = tags::open(line) {
            Some(tags::read(&mut cursor, &tag, line, at)?)
        } else {
            stray(line, at)?;
            None
        };
        let Some(parts) = found else {
            track(line, &mut fence, &mut out);
            if above.len() == ABOVE {
                above.pop_front();
            }
            above.push_back(line);
            continue;
        };
        let named = name::above(above.iter().rev().copied());
        let path = named.or_else(|| out.blocks.last().map(|block| block.path.clone()));
        let Some(path) = path else {
            return Err(broken(at, "the block has no file name above it, and no block before it has one."));
        };
        let Parts { search, replace, hint, lines, unclosed } = parts;
        out.unclosed = unclosed;
        out.blocks.push(Block { path, search, replace, hint, at, lines });
        above.clear();
        if let Some(fence) = &mut fence {
            fence.shell = None;
        }
    }
    Ok(out)
}

/// What stands between the markers of one block.
pub(super) struct Parts {
    pub(super) search: String,
    pub(super) replace: String,
    pub(super) hint: Option<usize>,
    pub(super) lines: bool,
    pub(super) unclosed: bool,
}

/// A fence that is open.
struct Fence<'a> {
    sign: char,
    len: usize,
    /// What stands in it, if it is a shell's.
    shell: Option<Vec<&'a str>>,
}

/// Keeps track of fences between blocks.
fn track<'a>(line: &'a str, fence: &mut Option<Fence<'a>>, out: &mut Blocks) {
    match (name::fence(line), &mut *fence) {
        (Some((sign, len, "")), Some(open)) if sign == open.sign && len >= open.len => {
            let text = open.shell.take().unwrap_or_default().join("\n");
            if !text.trim().is_empty() && text.len() <= SHELL {
                out.shell.push(text);
            }
            *fence = None;
        }
        (Some((sign, len, info)), None) => {
            let shells = ["bash", "sh", "shell", "zsh", "fish", "console", "powershell", "ps1", "cmd", "batch"];
            *fence = Some(Fence { sign, len, shell: shells.contains(&info).then(Vec::new) });
        }
        (_, Some(Fence { shell: Some(shell), .. })) => shell.push(line),
        _ => {}
    }
}

/// A marker where none belongs.
fn stray(line: &str, at: usize) -> Result<()> {
    if marker::close(line).is_some() {
        return Err(broken(at, "a block is closed here, but none is open."));
    }
    if marker::nearly_open(line) {
        return Err(broken(at, &format!("`{}` is not a marker: at least five `<` and the word SEARCH.", line.trim())));
    }
    Ok(())
}

/// A block between markers, its opening line read.
fn marked(cursor: &mut Cursor<'_>, open: Open, at: usize, fence: Option<&Fence<'_>>) -> Result<Parts> {
    let hint = options(cursor).or(open.line);
    let search = search_part(cursor, open.run, at)?;
    let (replace, unclosed) = replace_part(cursor, open.run, at, fence)?;
    Ok(Parts { search, replace, hint, lines: true, unclosed })
}

/// Roo's lines behind the opening one.
fn options(cursor: &mut Cursor<'_>) -> Option<usize> {
    let (mut any, mut start) = (false, None);
    while let Some((is_start, number)) = cursor.peek().and_then(marker::option) {
        cursor.next();
        any = true;
        start = if is_start { Some(number) } else { start };
    }
    if any && cursor.peek().is_some_and(marker::ends_options) {
        cursor.next();
    }
    start
}

fn push(out: &mut String, line: &str) {
    out.push_str(marker::unescaped(line).unwrap_or(line));
    out.push('\n');
}

fn search_part(cursor: &mut Cursor<'_>, run: usize, at: usize) -> Result<String> {
    let mut out = String::new();
    let mut other = None;
    loop {
        let here = cursor.line;
        let Some(line) = cursor.next() else {
            let why = other.map_or(String::new(), |(line, len)| {
                format!(" (the divider on line {line} has {len} signs, the block was opened with {run})")
            });
            return Err(broken(at, &format!("the block is not closed: no {} follows{why}.", "=".repeat(run))));
        };
        match (marker::divider(line), marker::open(line), marker::close(line)) {
            (Some(len), ..) if len == run => return Ok(out),
            (Some(len), ..) => other = other.or(Some((here, len))),
            (_, Some(open), _) if open.run == run => {
                return Err(broken(
                    here,
                    &format!(
                        "the search part of the block of line {at} contains an opening marker of the same length."
                    ),
                ));
            }
            (.., Some(len)) if len == run => {
                return Err(broken(here, &format!("the block of line {at} is closed before its {}.", "=".repeat(run))));
            }
            _ => {}
        }
        push(&mut out, line);
    }
}

/// The second part, and whether it ended with the text instead of its marker.
fn replace_part(cursor: &mut Cursor<'_>, run: usize, at: usize, fence: Option<&Fence<'_>>) -> Result<(String, bool)> {
    let mut out = String::new();
    // Where the last line begins: at the end of the input it may be a cut marker or the end of the fence.
    let mut last = 0;
    loop {
        let here = cursor.line;
        let Some(line) = cursor.next() else {
            let ends = |line: &str| {
                fence.is_some_and(|open| {
                    name::fence(line).is_some_and(|it| it.0 == open.sign && it.1 >= open.len && it.2.is_empty())
                })
            };
            let line = out[last..].trim_end_matches('\n');
            if marker::is_cut_close(line, run) || ends(line) {
                out.truncate(last);
            }
            return Ok((out, true));
        };
        match (marker::divider(line), marker::open(line), marker::close(line)) {
            (.., Some(len)) if len == run => return Ok((out, false)),
            (Some(len), ..) if len == run => {
                return Err(broken(
                    here,
                    &format!(
                        "the block of line {at} has a second {line}; one of the two is text and needs a backslash, or the block longer markers."
                    ),
                ));
            }
            (_, Some(open), _) if open.run == run => {
                return Err(broken(here, &format!("a block begins, but the one of line {at} is not closed.")));
            }
            _ => {}
        }
        if !(line.trim().is_empty() && cursor.is_at_end()) {
            last = out.len();
        }
        push(&mut out, line);
    }
}
