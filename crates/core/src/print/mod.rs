//! Changes of files as text in a format: what `convert` writes, and what an error shows ready to send.
//!
//! A printed text is read back and applied before it is given out: what a format cannot say is refused, never said
//! differently.

mod anchors;
mod apply_patch;
mod blocks;
mod hashline;
mod stretch;
mod unified;
mod whole;

use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::{
    Format, Input, anchors::WordAnchors, apply_patch::ApplyPatch, hashline::Hashline, search_replace::SearchReplace,
    unified_diff::UnifiedDiff, whole_file::WholeFile,
};
use crate::op::{Ask, FileMode, FileRequest, Locator, NewFile, Op, Order, Settings};
use crate::resolve::resolve;
use crate::snapshot::Snapshot;

/// What happened to one file.
#[derive(Clone, Copy)]
pub struct FileDelta<'a> {
    /// Its path now, or the one it had if it is gone.
    pub path: &'a str,
    /// The path it had, where that was another one.
    pub from: Option<&'a str>,
    /// Its text before; `None`: it is new.
    pub before: Option<&'a Snapshot>,
    /// Its text now; `None`: it is gone.
    pub after: Option<&'a Snapshot>,
    /// Its permission before and now, where that was changed or is to be said; `None`: nothing is said.
    pub modes: (Option<FileMode>, Option<FileMode>),
}

impl<'a> FileDelta<'a> {
    /// A file whose text was changed.
    pub fn edited(path: &'a str, before: &'a Snapshot, after: &'a Snapshot) -> FileDelta<'a> {
        FileDelta { path, from: None, before: Some(before), after: Some(after), modes: (None, None) }
    }

    /// The path under which the text before is found.
    fn old_path(&self) -> &'a str {
        self.from.unwrap_or(self.path)
    }

    /// The permission that is new.
    fn new_mode(&self) -> Option<FileMode> {
        self.modes.1.filter(|mode| self.modes.0 != Some(*mode))
    }

    fn text_before(&self) -> &'a str {
        self.before.map_or("", Snapshot::text)
    }

    fn text_after(&self) -> &'a str {
        self.after.map_or("", Snapshot::text)
    }
}

/// A format that changes can be printed in.
pub struct Target {
    /// The name used in calls.
    pub name: &'static str,
    /// What reads it.
    pub format: &'static dyn Format,
    /// The text, with so many unchanged lines around each change.
    print: fn(&[FileDelta<'_>], usize) -> Result<String>,
}

/// Every such format.
pub static TARGETS: &[Target] = &[
    Target { name: "unified", format: &UnifiedDiff, print: unified::print },
    Target { name: "apply_patch", format: &ApplyPatch, print: apply_patch::print },
    Target { name: "search_replace", format: &SearchReplace, print: blocks::print },
    Target { name: "whole_file", format: &WholeFile, print: whole::print },
    Target { name: "hashline", format: &Hashline::SEED, print: hashline::print },
    Target { name: "anchors", format: &WordAnchors, print: anchors::print },
];

/// Unchanged lines around a change; the next number is tried where the reader does not find the place by the one before.
const CONTEXT: [usize; 3] = [3, 12, 100];

impl Target {
    /// The target of that name.
    pub fn named(name: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// The changes as text in this format, which leads from the texts before to the very bytes of those after.
    ///
    /// Errors: [`Code::CallInvalid`] for what the format cannot say, [`Code::EditNoChange`] when there is nothing to say.
    pub fn print(&self, deltas: &[FileDelta<'_>]) -> Result<String> {
        if deltas.is_empty() {
            return Err(Error::new(Code::EditNoChange, "There is no change to print."));
        }
        for delta in deltas {
            let lines = delta.text_before().lines().chain(delta.text_after().split('\n'));
            if lines.into_iter().any(|line| line.ends_with('\r')) {
                return Err(unsaid(delta.path, "a line ends in a CR that belongs to its text"));
            }
        }
        let mut last = None;
        for context in CONTEXT {
            let text = (self.print)(deltas, context)?;
            match self.check(deltas, &text) {
                Ok(()) => return Ok(text),
                Err(error) => last = Some(error),
            }
        }
        let what = format!("{} cannot say this change.", self.name);
        let error = Error::new(Code::CallInvalid, what).next("Use another format, or write the file.");
        Err(last.map_or(error.clone(), |last| error.evidence(last.message())))
    }

    /// Reads a text and compares what it does with what happened.
    fn check(&self, deltas: &[FileDelta<'_>], text: &str) -> Result<()> {
        let request = self.format.parse(Input::Text(text.to_owned()))?;
        if request.files.len() != deltas.len() {
            return Err(unsaid("it", "it is read as another number of files"));
        }
        for (file, delta) in request.files.iter().zip(deltas) {
            let wrong = || unsaid(delta.path, "it would be read as another change");
            let (path, bytes) = outcome(file, delta.before)?.ok_or_else(wrong)?;
            let mode = delta.before.is_none() || delta.after.is_none() || file.mode == delta.new_mode();
            let same = bytes.as_deref() == delta.after.map(Snapshot::raw);
            if !(same && mode && path == delta.path && file.path == delta.old_path()) {
                return Err(wrong());
            }
        }
        Ok(())
    }
}

/// Where a file is after a request, and its bytes; `None` if it is gone.
type Outcome<'a> = (&'a str, Option<Vec<u8>>);

/// What a request makes of a file; no answer for what no target prints.
fn outcome<'a>(file: &'a FileRequest, before: Option<&Snapshot>) -> Result<Option<Outcome<'a>>> {
    let edited = |ops: &[Op], order: Order| match before {
        Some(before) if ops.is_empty() => Ok(before.raw().to_vec()),
        Some(before) => {
            let ops = anchors::by_number(before, ops)?;
            Ok(resolve(before, &ops, order, Settings::default())?.changes.apply(before))
        }
        None => {
            let empty = Snapshot::from_text("");
            Ok(resolve(&empty, ops, order, Settings::default())?.changes.apply(&empty))
        }
    };
    Ok(match &file.ask {
        Ask::Edit { ops, order } => Some((&*file.path, Some(edited(ops, *order)?))),
        Ask::Move { to, ops } => Some((&**to, Some(edited(ops, Order::Together)?))),
        Ask::Write(text) if before.is_none() => Some((&*file.path, Some(text.clone().into_bytes()))),
        Ask::Write(text) => {
            let whole = Op { at: Locator::Whole, text: text.clone() };
            Some((&*file.path, Some(edited(&[whole], Order::Together)?)))
        }
        Ask::Create(NewFile::Text(text)) if before.is_none() => Some((&*file.path, Some(text.clone().into_bytes()))),
        Ask::Delete { .. } if before.is_some() => Some((&*file.path, None)),
        _ => None,
    })
}

/// The error for a change that a format has no words for.
fn unsaid(path: &str, why: &str) -> Error {
    Error::new(Code::CallInvalid, format!("The change of {path} cannot be said in this format: {why}."))
        .next("Use another format, or write the file.")
}

#[cfg(test)]
mod tests;
