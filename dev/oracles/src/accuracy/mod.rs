//! Measures the accuracy of edits by Emendate and other tools on the same tasks, for docs/accuracy.md.

mod battery;
mod page;
mod patches;
mod peers;
mod server;

use crate::slips;
use battery::Section;
use peers::Peer;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// One edit and its expected result.
#[derive(Clone, Debug)]
pub struct Task {
    /// The file as the caller saw it.
    pub seen: Vec<u8>,
    /// The file at the time of the edit.
    pub file: Vec<u8>,
    /// 1-based line of the old text in the file as the caller saw it.
    pub line: usize,
    /// The text to replace. `None` writes the new text as a whole file that the caller has not read.
    pub old: Option<String>,
    /// The replacement.
    pub new: String,
    /// The bytes that the edit must produce. `None` means that it must be refused.
    pub want: Option<Vec<u8>>,
    /// Properties of the file besides its bytes.
    pub place: Place,
    /// A refusal counts as right, too, because the file may be taken for binary.
    pub may_refuse: bool,
}

/// Properties of a file that an edit must keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// No special property.
    #[default]
    Plain,
    /// The file is executable.
    Executable,
    /// The path is a symbolic link to the file.
    Linked,
}

impl Task {
    /// Creates an edit of a plain file that has not changed since it was read.
    pub fn new(file: &str, old: &str, new: &str, want: Option<&str>) -> Task {
        Task {
            seen: file.into(),
            file: file.into(),
            line: file.find(old).map_or(1, |at| file[..at].matches('\n').count() + 1),
            old: Some(old.to_owned()),
            new: new.to_owned(),
            want: want.map(Into::into),
            place: Place::Plain,
            may_refuse: false,
        }
    }

    /// Returns true if only a tool that works on files can do the task.
    fn needs_disk(&self) -> bool {
        self.place != Place::Plain
            || self.old.is_none()
            || self.seen != self.file
            || str::from_utf8(&self.file).is_err()
    }
}

/// The outcome of one edit by one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The tool does not offer such an edit, or works only on texts.
    Absent,
    /// The tool reported a failure.
    Refused,
    /// The tool reported success.
    Made {
        /// The bytes of the file.
        bytes: Vec<u8>,
        /// The link and the mode are unchanged.
        intact: bool,
    },
}

/// The judgement of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The intended edit, or a refusal if one was due.
    Right,
    /// A refusal of an edit that could have been made.
    Refused,
    /// A change other than the intended one.
    Wrong,
    /// The tool reported success but changed nothing.
    Silent,
}

/// Judges an answer; `None` if the tool cannot do the task.
pub fn judge(task: &Task, answer: &Answer) -> Option<Verdict> {
    Some(match (answer, &task.want) {
        (Answer::Absent, _) => return None,
        (Answer::Refused, _) if task.may_refuse => Verdict::Right,
        (Answer::Refused, Some(_)) => Verdict::Refused,
        (Answer::Refused, None) => Verdict::Right,
        (Answer::Made { bytes, intact: true }, Some(want)) if bytes == want => Verdict::Right,
        (Answer::Made { bytes, .. }, _) if *bytes == task.file => Verdict::Silent,
        (Answer::Made { .. }, _) => Verdict::Wrong,
    })
}

/// The verdicts of all tools on one row of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The mistake, the column of the battery, or the case.
    pub name: String,
    /// Counts of verdicts by tool.
    pub counts: BTreeMap<String, BTreeMap<Verdict, usize>>,
}

impl Row {
    /// Returns the number of one tool's tasks with this verdict.
    pub fn count(&self, tool: &str, verdict: Verdict) -> usize {
        self.counts.get(tool).and_then(|counts| counts.get(&verdict)).copied().unwrap_or(0)
    }

    /// Returns the number of one tool's tasks.
    pub fn all(&self, tool: &str) -> usize {
        self.counts.get(tool).map_or(0, |counts| counts.values().sum())
    }
}

/// The results of all tasks.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The tools that ran, ours first.
    pub tools: Vec<String>,
    /// The tools that are missing, with the reason.
    pub missing: Vec<(String, String)>,
    /// Recoverable mistakes.
    pub wanted: Vec<Row>,
    /// Edits that must be refused.
    pub refused: Vec<Row>,
    /// Properties of files that an edit must keep.
    pub battery: Vec<Row>,
    /// Handwritten cases.
    pub cases: Vec<Row>,
    /// Number of source files that the edits were made from.
    pub sources: usize,
    /// Edits of each kind of mistake.
    pub count: usize,
}

/// The name of our own column.
pub const OURS: &str = "Emendate";

/// Runs all tasks, `count` of each kind of mistake. With `install`, missing tools are installed first.
///
/// Errors: from the disk and the engine.
pub fn run(folder: &Path, count: usize, install: bool) -> io::Result<Results> {
    let sources = slips::sources();
    let mut out = Results { sources: sources.len(), count, ..Results::default() };
    let mut peers: Vec<Box<dyn Peer>> = Vec::new();
    for (name, peer) in peers::all(folder, install) {
        match peer {
            Ok(peer) => {
                out.tools.push(name.to_owned());
                peers.push(peer);
            }
            Err(why) => out.missing.push((name.to_owned(), why.lines().next().unwrap_or_default().to_owned())),
        }
    }
    for (kind, slip) in slips::WANTED {
        let tasks = tasks(slips::calls(kind, slip, &sources, count, false));
        out.wanted.push(row(&mut peers, &out.tools, kind, &tasks)?);
    }
    for (nth, (kind, slip)) in slips::REFUSED.into_iter().enumerate() {
        let tasks = tasks(slips::calls(kind, slip, &sources, count, nth < 4));
        out.refused.push(row(&mut peers, &out.tools, kind, &tasks)?);
    }
    for (section, name, task) in battery::tasks() {
        let row = row(&mut peers, &out.tools, name, &[task])?;
        match section {
            Section::Battery => out.battery.push(row),
            Section::Case => out.cases.push(row),
        }
    }
    Ok(out)
}

/// Writes docs/accuracy.md.
///
/// Errors: from [`run`] and the disk.
pub fn write_page(folder: &Path, page: &Path, count: usize) -> io::Result<()> {
    std::fs::write(page, page::render(&run(folder, count, true)?))
}

fn tasks(calls: Vec<slips::Call>) -> Vec<Task> {
    let task = |call: slips::Call| Task {
        seen: call.seen.into_bytes(),
        file: call.file.into_bytes(),
        line: call.line,
        old: Some(call.old),
        new: call.new,
        want: call.want.map(String::into_bytes),
        place: Place::Plain,
        may_refuse: false,
    };
    calls.into_iter().map(task).collect()
}

fn row(peers: &mut [Box<dyn Peer>], tools: &[String], name: &str, tasks: &[Task]) -> io::Result<Row> {
    let mut counts: BTreeMap<String, BTreeMap<Verdict, usize>> = BTreeMap::new();
    for (peer, tool) in peers.iter_mut().zip(tools) {
        let own = counts.entry(tool.clone()).or_default();
        for (task, answer) in tasks.iter().zip(peer.answers(tasks)?) {
            if let Some(verdict) = judge(task, &answer) {
                *own.entry(verdict).or_default() += 1;
            }
        }
    }
    Ok(Row { name: name.to_owned(), counts })
}
