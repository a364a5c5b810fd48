//! Generates trees and patches.

use crate::luck::Luck;
use crate::patch::{Hunk, Operation, Patch};
use crate::tree::Tree;
use std::collections::BTreeMap;
use std::ops::Range;

/// A tree and a patch made for it.
#[derive(Clone, Debug)]
pub struct Round {
    /// The files.
    pub tree: Tree,
    /// The patch.
    pub patch: Patch,
    /// Number of lines inserted at the top of a file after the patch was made. Its line numbers are too small by that
    /// much.
    pub shift: BTreeMap<String, usize>,
}

/// The variety of files in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// UTF-8, LF, a final newline.
    Tame,
    /// UTF-8 and LF, but the last line may have no line end.
    Unended,
    /// Anything: CRLF, mixed line ends, lone CR, no final newline, byte order marks, invalid UTF-8.
    Wild,
}

/// Generates the round of a seed.
pub fn round(seed: u64, files: Files) -> Round {
    let mut luck = Luck::new(seed);
    let tree = tree(&mut luck, files);
    let patch = patch(&mut luck, &tree);
    Round { tree, patch, shift: BTreeMap::new() }
}

const NAMES: &[&str] = &["a.txt", "src/b.py", "src/deep/c.rs", "d e.md", "z", "src/é.txt", "x/y/z/w.c"];
const WORDS: &[&str] = &[
    "", "", "}", "pass", "return x", "x = 1", "y = 2", "def f():", "def g():", "class A:", "# note", "“quoted”",
    "a – b", "print(x)", "*** End Patch", "*** End of File", "@@ x", "if x:", "end", "-1", "+1", "über",
];

fn tree(luck: &mut Luck, files: Files) -> Tree {
    let mut out = Tree::new();
    for _ in 0..luck.between(1, 4) {
        let text = text(luck, files);
        out.insert((*luck.pick(NAMES)).to_owned(), text);
    }
    out
}

fn line(luck: &mut Luck) -> String {
    let indent = *luck.pick(&["", "", "    ", "        ", "\t", "  "]);
    let tail = if luck.chance(6) { *luck.pick(&[" ", "  ", "\t"]) } else { "" };
    let number = if luck.chance(60) { format!(" {}", luck.below(40)) } else { String::new() };
    format!("{indent}{}{number}{tail}", luck.pick(WORDS))
}

fn text(luck: &mut Luck, files: Files) -> Vec<u8> {
    let count = if luck.chance(5) { 0 } else { luck.between(1, 24) };
    let wild = files == Files::Wild;
    let end = if wild { *luck.pick(&["\n", "\n", "\n", "\n", "\r\n", "\r"]) } else { "\n" };
    let mixed = wild && luck.chance(10);
    let mut out = Vec::new();
    if wild && luck.chance(3) {
        out.extend("\u{FEFF}".as_bytes());
    }
    for number in 1..=count {
        out.extend(line(luck).into_bytes());
        if wild && luck.chance(1) {
            out.push(0xFF);
        }
        let end = if mixed { *luck.pick(&["\n", "\r\n", "\r"]) } else { end };
        if !(files != Files::Tame && number == count && luck.chance(20)) {
            out.extend(end.as_bytes());
        }
    }
    out
}

impl Round {
    /// Returns the same round after lines were inserted at the top of files. Hunks without old lines have only their
    /// numbers, so files with such hunks stay unchanged.
    #[must_use]
    pub fn shifted(mut self, luck: &mut Luck) -> Round {
        for operation in &self.patch.0 {
            let Operation::Update { path, hunks, .. } = operation else { continue };
            let by = luck.between(1, 30);
            let Some(text) = self.tree.get_mut(path).filter(|_| hunks.iter().all(|hunk| hunk.count('-') > 0)) else {
                continue;
            };
            let top: String = (1..=by).map(|nth| format!("line {nth} on top\n")).collect();
            text.splice(0..0, top.into_bytes());
            self.shift.insert(path.clone(), by);
        }
        self
    }

    /// Returns true if the old lines of a hunk occur in several places, ignoring white space at their ends.
    pub fn repeats(&self) -> bool {
        self.patch.0.iter().any(|operation| {
            let Operation::Update { path, hunks, .. } = operation else { return false };
            let text = self.tree.get(path).map(|bytes| String::from_utf8_lossy(bytes)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let by = self.shift.get(path).copied().unwrap_or(0);
            hunks.iter().any(|hunk| {
                let (start, count) = (hunk.old_start + by, hunk.count('-'));
                count == 0 || occurs_again(&lines, start - 1..start - 1 + count)
            })
        })
    }

    /// Returns the tree that the patch means: hunks apply at their line numbers, shifted by inserted lines. Not for
    /// wild files. `None` if a file does not match the patch or would be overwritten. With `says_ends`, the format can
    /// express that the last line gains or loses its line end; otherwise a file without a final line end stays so.
    pub fn truth(&self, says_ends: bool) -> Option<Tree> {
        let mut out = self.tree.clone();
        for operation in &self.patch.0 {
            match operation {
                Operation::Add { path, text } => {
                    let taken = out.insert(path.clone(), text.clone().into_bytes()).is_some();
                    (!taken).then_some(())?;
                }
                Operation::Delete { path, text } => (out.remove(path)? == text.as_bytes()).then_some(())?,
                Operation::Update { path, to, hunks } => {
                    let by = self.shift.get(path).copied().unwrap_or(0);
                    let text = numbered(&String::from_utf8(out.remove(path)?).ok()?, hunks, by, says_ends)?;
                    let taken = out.insert(to.as_ref().unwrap_or(path).clone(), text.into_bytes()).is_some();
                    (!taken).then_some(())?;
                }
            }
        }
        Some(out)
    }
}

/// Applies hunks at their line numbers, `by` lines further down.
fn numbered(text: &str, hunks: &[Hunk], by: usize, says_ends: bool) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut out, mut next) = (String::new(), 0);
    for hunk in hunks {
        let count = hunk.count('-');
        let start = if count == 0 { hunk.old_start } else { hunk.old_start.checked_sub(1)? } + by;
        lines.get(next..start)?.iter().for_each(|line| out.push_str(line));
        let old = lines.get(start..start + count)?.iter().map(|line| line.trim_end_matches('\n'));
        let said = hunk.lines.iter().filter(|line| line.0 != '+').map(|line| &*line.1);
        old.eq(said).then_some(())?;
        for (_, line) in hunk.lines.iter().filter(|line| line.0 != '-') {
            out.push_str(line);
            out.push('\n');
        }
        // If the format says nothing about the end, a missing final line end stays missing, also where the last lines are
        // removed.
        if (if says_ends { hunk.open.1 } else { hunk.open.0 }) && out.ends_with('\n') {
            out.pop();
        }
        next = start + count;
    }
    lines.get(next..)?.iter().for_each(|line| out.push_str(line));
    Some(out)
}

/// Generates a correct patch of the files of a tree.
fn patch(luck: &mut Luck, tree: &Tree) -> Patch {
    let mut out = Vec::new();
    for (path, bytes) in tree {
        let text = String::from_utf8_lossy(bytes);
        match luck.below(10) {
            0 => {}
            1 => out.push(Operation::Delete { path: path.clone(), text: text.into_owned() }),
            _ => {
                let hunks = hunks(luck, &text);
                let to = luck.chance(15).then(|| new_name(luck, tree));
                if !hunks.is_empty() {
                    out.push(Operation::Update { path: path.clone(), to, hunks });
                }
            }
        }
    }
    if luck.chance(25) || out.is_empty() {
        let text = (0..luck.below(5)).map(|_| line(luck) + "\n").collect();
        out.push(Operation::Add { path: new_name(luck, tree), text });
    }
    Patch(out)
}

/// Returns a name that no file of the tree has, or rarely an existing one.
fn new_name(luck: &mut Luck, tree: &Tree) -> String {
    if luck.chance(12) {
        let taken: Vec<&String> = tree.keys().collect();
        return (*luck.pick(&taken)).clone();
    }
    let mut name = format!("{}{}", luck.pick(&["", "n/", "src/"]), luck.pick(NAMES));
    while tree.contains_key(&name) {
        name.insert(0, 'n');
    }
    name
}

/// Generates hunks that change a text in random places.
fn hunks(luck: &mut Luck, text: &str) -> Vec<Hunk> {
    let lines: Vec<&str> = text.split_inclusive('\n').map(|line| line.trim_end_matches(['\n', '\r'])).collect();
    let open = !text.is_empty() && !text.ends_with('\n');
    let (mut out, mut next, mut shift) = (Vec::new(), 0, 0_isize);
    let context = luck.between(0, 3);
    for _ in 0..luck.between(1, 4) {
        let from = next + luck.below(8);
        if from > lines.len() || (from == lines.len() && !out.is_empty()) {
            break;
        }
        // Lines can be added after a last line without a line end only by changing that line.
        let last = usize::from(open && from == lines.len());
        let (from, most) = (from - last, lines.len() - from + last);
        let removed = luck.below(4).max(last).min(most);
        let added = luck.between(usize::from(removed == 0), 3);
        // A hunk that only adds lines needs a context line, or an anchor directly above.
        let hangs = removed == 0 && from > next && luck.chance(20);
        let context = if hangs { 0 } else { context.max(usize::from(removed == 0)) };
        let before = context.min(from - next);
        let after = context.min(lines.len() - from - removed);
        let start = from - before;
        let mut hunk = Hunk::default();
        let mut push = |mark, texts: &[&str]| hunk.lines.extend(texts.iter().map(|text| (mark, (*text).to_owned())));
        push(' ', &lines[start..from]);
        push('-', &lines[from..from + removed]);
        let fresh: Vec<String> = (0..added).map(|_| line(luck)).collect();
        push('+', &fresh.iter().map(String::as_str).collect::<Vec<_>>());
        push(' ', &lines[from + removed..from + removed + after]);
        let old = before + removed + after;
        let ends = start + old == lines.len();
        hunk.at_end = ends && luck.chance(30);
        hunk.open = if open && ends { (true, after > 0 || (added > 0 && luck.chance(50))) } else { (false, false) };
        // If the old lines occur more than once, only the line directly above identifies the right occurrence.
        let near = old == 0 || occurs_again(&lines, start..start + old);
        let farthest = if near { start.saturating_sub(1) } else { next.min(start.saturating_sub(1)) };
        hunk.anchor = (start > 0 && (hangs || luck.chance(30)))
            .then(|| lines[luck.between(farthest, start - 1)].to_owned())
            .filter(|line| !line.trim().is_empty());
        hunk.old_start = if old == 0 { start } else { start + 1 };
        let new_count = before + added + after;
        let moved = start.saturating_add_signed(shift);
        hunk.new_start = if new_count == 0 { moved } else { moved + 1 };
        shift += added.cast_signed() - removed.cast_signed();
        next = start + old + usize::from(old == 0);
        out.push(hunk);
    }
    out
}

/// Returns true if these lines also occur elsewhere, ignoring surrounding white space.
fn occurs_again(lines: &[&str], at: Range<usize>) -> bool {
    let same = |window: &[&str]| window.iter().zip(&lines[at.clone()]).all(|(a, b)| a.trim() == b.trim());
    lines.windows(at.len()).filter(|window| same(window)).count() > 1
}

/// Adds a few mistakes to the text of a patch: lines lost, doubled, swapped or changed.
pub fn garble(luck: &mut Luck, patch: &str) -> String {
    let mut lines: Vec<String> = patch.lines().map(str::to_owned).collect();
    for _ in 0..luck.between(1, 3) {
        let at = luck.below(lines.len());
        match luck.below(12) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => lines.insert(at, (*luck.pick(NOISE)).to_owned()),
            3 => lines[at].insert(0, ' '),
            4 => lines[at].push_str(luck.pick::<&str>(&[" ", "\t", "\r", "\u{A0}"])),
            5 => {
                let bare = lines[at].trim_start().to_owned();
                lines[at] = bare;
            }
            6 => lines[at] = lines[at].replace(['"', '“', '”'], "\"").replace('–', "-"),
            7 => lines[at] = lines[at].replacen("    ", "\t", 1),
            8 => lines[at] = lines[at].to_uppercase(),
            9 => lines = lines.iter().map(|line| format!("{line}\r")).collect(),
            10 if at + 1 < lines.len() => lines.swap(at, at + 1),
            _ => {
                let other = lines[luck.below(lines.len())].clone();
                lines[at] = other;
            }
        }
        if lines.is_empty() {
            lines.push(String::new());
        }
    }
    let text = lines.join("\n") + *luck.pick(&["\n", "", "\n\n"]);
    match luck.below(12) {
        0 => format!("<<'EOF'\n{text}EOF\n"),
        1 => format!("  \n{text}"),
        _ => text,
    }
}

const NOISE: &[&str] = &[
    "", " ", "\t", "@@", "@@ ", "@@ def f():", "@@x", "*** End Patch", "*** Begin Patch", "*** End of File",
    " *** End Patch", "*** Environment ID: e", "*** Environment ID:", "*** Move to: moved.txt",
    "*** Update File: a.txt", "*** Delete File: z", "*** Add File: z", "*** Add File: src", "*** Update File: src",
    "*** Update File: nope", "*** Add File: z/z", "+", "-", "+x", "-x", " x", "prose", "\\ No newline at end of file",
    "--- a/z", "+++ b/z", "```", "*** Move to: ./a.txt", "*** Foo File: x",
];
