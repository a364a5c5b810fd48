//! Random patches through the tool `apply`: the intended tree, or a refusal and an unchanged tree.

use crate::fixture::text_tree;
use emendate::{CallContext, Config, Engine, StateLocation};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

pub(super) type Tree = BTreeMap<String, String>;

/// Applies a patch to a tree: returns the new tree, and the reply.
pub(super) fn applied(before: &Tree, patch: &str) -> (Tree, Result<(), String>) {
    let dir = tempfile::tempdir().unwrap();
    let root = emendate_os::paths::canonical(dir.path()).unwrap();
    let engine = Engine::open(std::slice::from_ref(&root), StateLocation::Memory, Config::default()).unwrap();
    let caller = CallContext::default();
    for (name, text) in before {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        engine.call(&caller, "read", json!({ "file_path": path }));
    }
    let reply = engine.call(&caller, "apply", json!({ "input": patch, "directory": root }));
    let said = if reply.result.is_ok() { Ok(()) } else { Err(reply.text()) };
    (text_tree(&root), said)
}

/// The effect of a patch on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stays,
    Goes,
    Comes,
}

/// A concurrent change of a line.
#[derive(Clone, Copy, Debug)]
enum Drift {
    None,
    Replaced,
    Removed,
    OneBefore,
}

/// A file, a change of it, and concurrent changes.
#[derive(Clone, Debug)]
struct Story {
    lines: Vec<(Fate, String)>,
    drift: Vec<Drift>,
    context: usize,
    crlf: bool,
    open: bool,
}

/// A small set of texts, so that blocks repeat; some of them are rare.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0..6_u32).prop_map(|nth| format!("    call_{nth}(value)")),
        2 => Just("}".to_owned()),
        2 => Just(String::new()),
        1 => (0..3_u32).prop_map(|nth| format!("fn name_{nth}() {{")),
        4 => (0..10_000_u32).prop_map(|nth| format!("    let item_{nth} = {nth};")),
    ]
}

fn story() -> impl Strategy<Value = Story> {
    let fate = prop_oneof![12 => Just(Fate::Stays), 1 => Just(Fate::Goes), 1 => Just(Fate::Comes)];
    let drift = prop_oneof![
        16 => Just(Drift::None),
        1 => Just(Drift::Replaced),
        1 => Just(Drift::Removed),
        1 => Just(Drift::OneBefore)
    ];
    let lines = prop::collection::vec(((fate, text()), drift), 3..50);
    (lines, 1..4_usize, any::<bool>(), any::<bool>()).prop_map(|(lines, context, crlf, open)| {
        let (mut lines, drift): (Vec<_>, Vec<_>) = lines.into_iter().unzip();
        // As in diff: removed lines come before added ones.
        for run in lines.chunk_by_mut(|a, b| (a.0 == Fate::Stays) == (b.0 == Fate::Stays)) {
            run.sort_by_key(|line| line.0 == Fate::Comes);
        }
        let last = |without: Fate| lines.iter().rfind(|line| line.0 != without);
        // If an unchanged line loses or gets its line end, diff shows it as changed; an empty last line is an end.
        let open = open
            && match (last(Fate::Comes), last(Fate::Goes)) {
                (Some((old, a)), Some((new, b))) => {
                    (*old == Fate::Stays) == (*new == Fate::Stays) && !a.is_empty() && !b.is_empty()
                }
                _ => false,
            };
        // A single line shows no line end.
        let crlf = crlf && lines.iter().filter(|line| line.0 != Fate::Comes).count() > 2;
        Story { lines, drift, context, crlf, open }
    })
}

impl Story {
    /// The ranges of lines that hunks show.
    fn hunks(&self) -> Vec<std::ops::Range<usize>> {
        let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
        for at in (0..self.lines.len()).filter(|&at| self.lines[at].0 != Fate::Stays) {
            let stretch = at.saturating_sub(self.context)..(at + self.context + 1).min(self.lines.len());
            match hunks.last_mut() {
                Some(last) if stretch.start <= last.end => last.end = stretch.end,
                _ => hunks.push(stretch),
            }
        }
        hunks
    }

    fn is_shown(&self, at: usize) -> bool {
        self.hunks().iter().any(|hunk| hunk.contains(&at))
    }

    /// The current or the intended text: without the lines of one fate, with or without concurrent changes.
    fn file(&self, without: Fate, drifted: bool) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (at, (fate, text)) in self.lines.iter().enumerate() {
            let drift = if drifted && !self.is_shown(at) { self.drift[at] } else { Drift::None };
            match drift {
                _ if *fate == without => {}
                Drift::None => lines.push(text.clone()),
                Drift::Replaced => lines.push(format!("    other({at})")),
                Drift::Removed => {}
                Drift::OneBefore => lines.extend([format!("    another({at})"), text.clone()]),
            }
        }
        let end = if self.crlf { "\r\n" } else { "\n" };
        let text = lines.join(end);
        if self.open || lines.is_empty() { text } else { text + end }
    }

    fn body(&self, hunk: &std::ops::Range<usize>) -> String {
        let last = |without: Fate| (0..self.lines.len()).rfind(|&at| self.lines[at].0 != without);
        let mut out = String::new();
        for at in hunk.clone() {
            let (fate, text) = &self.lines[at];
            let mark = match fate {
                Fate::Stays => ' ',
                Fate::Goes => '-',
                Fate::Comes => '+',
            };
            let _ = writeln!(out, "{mark}{text}");
            let (old, new) = (last(Fate::Comes) == Some(at), last(Fate::Goes) == Some(at));
            if self.open && (old || new) {
                out.push_str("\\ No newline at end of file\n");
            }
        }
        out
    }

    fn unified(&self) -> String {
        let mut out = String::from("--- a/f\n+++ b/f\n");
        let count = |range: std::ops::Range<usize>, without: Fate| {
            self.lines[range].iter().filter(|line| line.0 != without).count()
        };
        for hunk in self.hunks() {
            let _ = write!(out, "@@");
            for (sign, without) in [('-', Fate::Comes), ('+', Fate::Goes)] {
                let lines = count(hunk.clone(), without);
                let first = count(0..hunk.start, without) + usize::from(lines > 0);
                let _ = write!(out, " {sign}{first},{lines}");
            }
            let _ = writeln!(out, " @@");
            out.push_str(&self.body(&hunk));
        }
        out
    }

    fn v4a(&self) -> String {
        let mut out = String::from("*** Begin Patch\n*** Update File: f\n");
        for hunk in self.hunks() {
            let _ = write!(out, "@@\n{}", self.body(&hunk));
        }
        out + "*** End Patch\n"
    }

    /// True when lines moved, so that a number may point to another place with the same text.
    fn has_moved(&self) -> bool {
        let moves = |at: &usize| matches!(self.drift[*at], Drift::Removed | Drift::OneBefore);
        (0..self.lines.len()).any(|at| moves(&at) && !self.is_shown(at))
    }

    /// True when the old side of every hunk occurs once in the file, and the new side does not.
    fn is_clear(&self) -> bool {
        let file = self.file(Fate::Comes, true).replace('\r', "");
        let file: Vec<&str> = file.lines().collect();
        let times = |hunk: &std::ops::Range<usize>, without: Fate| {
            let side: Vec<&str> =
                self.lines[hunk.clone()].iter().filter(|line| line.0 != without).map(|line| &*line.1).collect();
            if side.is_empty() { 0 } else { file.windows(side.len()).filter(|lines| *lines == side).count() }
        };
        self.hunks().iter().all(|hunk| times(hunk, Fate::Comes) == 1 && times(hunk, Fate::Goes) == 0)
    }
}

/// Checks that a patch is applied as intended, or refused without a change. Returns whether it was applied.
fn meant_or_refused(story: &Story, patch: &str) -> Result<bool, TestCaseError> {
    let before = Tree::from([("f".to_owned(), story.file(Fate::Comes, true))]);
    let (after, said) = applied(&before, patch);
    if said.is_ok() {
        prop_assert_eq!(&after["f"], &story.file(Fate::Goes, true), "{}", patch);
    } else {
        prop_assert_eq!(&after, &before, "{}", patch);
    }
    Ok(said.is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn patches_of_one_file_are_applied_as_intended_or_refused(story in story()) {
        prop_assume!(!story.hunks().is_empty());
        prop_assume!(story.file(Fate::Comes, false) != story.file(Fate::Goes, false));
        meant_or_refused(&story, &story.v4a())?;
        // Numbers select between equal places, correctly as long as no lines moved.
        if !story.has_moved() || story.is_clear() {
            meant_or_refused(&story, &story.unified())?;
        }
    }

    #[test]
    fn diff_against_the_current_file_applies(story in story()) {
        let story = Story { drift: vec![Drift::None; story.lines.len()], ..story };
        prop_assume!(!story.hunks().is_empty());
        prop_assume!(story.file(Fate::Comes, false) != story.file(Fate::Goes, false));
        prop_assume!(story.is_clear());
        prop_assert!(meant_or_refused(&story, &story.unified())?, "{}", story.unified());
    }
}

/// One step of a patch for several files.
#[derive(Clone, Debug)]
enum Step {
    Add(usize),
    Delete(usize),
    /// A file, and one of its lines.
    Update(usize, usize),
    Move(usize, usize, Option<usize>),
}

const NAMES: [&str; 5] = ["a", "b", "sub/c", "sub/d", "e"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = 0..NAMES.len();
    let step = prop_oneof![
        name.clone().prop_map(Step::Add),
        name.clone().prop_map(Step::Delete),
        (name.clone(), 0..4_usize).prop_map(|(name, line)| Step::Update(name, line)),
        (name.clone(), name, prop::option::of(0..4_usize)).prop_map(|(from, to, line)| Step::Move(from, to, line)),
    ];
    prop::collection::vec(step, 1..7)
}

/// The files after the steps in sequence; `None` once a step is impossible.
struct Model {
    files: Option<BTreeMap<String, Vec<String>>>,
    fresh: usize,
    patch: String,
}

impl Model {
    fn line(&mut self) -> String {
        self.fresh += 1;
        format!("this is line number {}", self.fresh)
    }

    /// Replaces a line, and adds that to the patch.
    fn replace(&mut self, name: &str, line: usize) {
        let new = self.line();
        let lines = self.files.as_mut().and_then(|files| files.get_mut(name));
        let old = lines.and_then(|lines| {
            let at = line % lines.len().max(1);
            lines.get_mut(at).map(|line| std::mem::replace(line, new.clone()))
        });
        let old = old.unwrap_or_else(|| {
            self.files = None;
            "nothing of that kind".to_owned()
        });
        let _ = write!(self.patch, "@@\n-{old}\n+{new}\n");
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Add(name) => {
                let name = NAMES[*name];
                let lines = vec![self.line(), self.line()];
                let _ = writeln!(self.patch, "*** Add File: {name}\n+{}\n+{}", lines[0], lines[1]);
                self.files = self
                    .files
                    .take()
                    .and_then(|mut files| files.insert(name.to_owned(), lines).is_none().then_some(files));
            }
            Step::Delete(name) => {
                let name = NAMES[*name];
                let _ = writeln!(self.patch, "*** Delete File: {name}");
                self.files = self.files.take().and_then(|mut files| files.remove(name).is_some().then_some(files));
            }
            Step::Update(name, line) => {
                let _ = writeln!(self.patch, "*** Update File: {}", NAMES[*name]);
                self.replace(NAMES[*name], *line);
            }
            Step::Move(from, to, line) => {
                let (from, to) = (NAMES[*from], NAMES[*to]);
                let _ = writeln!(self.patch, "*** Update File: {from}\n*** Move to: {to}");
                if let Some(line) = line {
                    self.replace(from, *line);
                }
                self.files = self.files.take().and_then(|mut files| {
                    let lines = files.remove(from)?;
                    files.insert(to.to_owned(), lines).is_none().then_some(files)
                });
            }
        }
    }
}

/// True for a move to an entry that a later step moves away: the engine moves that one first, like git.
fn makes_room(steps: &[Step]) -> bool {
    steps.iter().enumerate().any(|(nth, step)| match step {
        Step::Move(_, to, _) => {
            steps[nth + 1..].iter().any(|later| matches!(later, Step::Move(from, ..) if from == to))
        }
        _ => false,
    })
}

fn texts(files: &BTreeMap<String, Vec<String>>) -> Tree {
    files.iter().map(|(name, lines)| (name.clone(), lines.join("\n") + "\n")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn patches_of_several_files_match_the_model(steps in steps()) {
        let mut model = Model { files: Some(BTreeMap::new()), fresh: 0, patch: "*** Begin Patch\n".to_owned() };
        for name in ["a", "b", "sub/c"] {
            let lines = vec![model.line(), model.line(), model.line()];
            model.files.as_mut().unwrap().insert(name.to_owned(), lines);
        }
        let before = texts(model.files.as_ref().unwrap());
        for step in &steps {
            model.step(step);
        }
        model.patch.push_str("*** End Patch\n");
        let (after, said) = applied(&before, &model.patch);
        match (&model.files, &said) {
            (Some(files), Ok(())) => prop_assert_eq!(&after, &texts(files), "{}", model.patch),
            // The steps cancel out: that is reported.
            (Some(files), Err(said)) => {
                prop_assert_eq!(&texts(files), &before, "{}\n{}", model.patch, said);
                prop_assert_eq!(&after, &before);
            }
            (None, Err(_)) => prop_assert_eq!(&after, &before, "{}", model.patch),
            (None, Ok(())) => prop_assert!(makes_room(&steps), "{}", model.patch),
        }
    }
}
