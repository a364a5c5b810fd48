//! The history as documents, for programs and the people in front of them: its operations page by page, and what a file
//! held before and after one. What is shown this way does not count as read by any session.

use crate::engine::Engine;
use crate::past;
use crate::policy::Access;
use crate::undo::Named;
use emendate_core::{Code, Error, Result};
use emendate_history::{Filter, Logged};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Bytes of one file that are given out.
const MOST: usize = 4 << 20;

/// An operation in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name: a number and four digits.
    pub id: String,
    /// What was called, and the file or how many.
    pub title: String,
    /// Time, session, tool, files, lines added and removed, what became of it since.
    pub line: String,
}

/// A page of the list, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// The operations.
    pub entries: Vec<Entry>,
    /// What names the next page, if there is one.
    pub next: Option<String>,
}

/// Which side of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before it.
    Before,
    /// When it had been done.
    After,
}

impl Engine {
    /// Operations of all roots, the newest first, at most `most`; `from` is the `next` of the page before.
    ///
    /// Errors: `call.invalid` for a `from` that no page gave; those of the session store.
    pub fn entries(&self, from: Option<&str>, most: usize) -> Result<Entries> {
        let roots = self.roots().len();
        let mut below = from.map_or_else(|| Some(vec![None; roots]), |from| cursor(from, roots)).ok_or_else(|| {
            Error::new(Code::CallInvalid, "There is no such page of the history.").next("Begin with the first one.")
        })?;
        let mut heads = Vec::with_capacity(roots);
        for (root, below) in below.iter().enumerate() {
            if from.is_none() {
                // Where the store cannot be written, what is pending is told as such.
                let _ = self.look_into_pending(root);
            }
            let filter = Filter { session: None, path: None, below: *below, limit: most.saturating_add(1) };
            heads.push(self.history(root).operations(&filter)?.into_iter().peekable());
        }
        let mut page = Entries::default();
        while page.entries.len() < most {
            let newest = (0..roots).filter_map(|root| Some((heads[root].peek()?.at, root))).max();
            let Some((_, root)) = newest else { return Ok(page) };
            let Some(logged) = heads[root].next() else { return Ok(page) };
            below[root] = Some(logged.id.number);
            page.entries.push(entry(&logged));
        }
        if heads.iter_mut().any(|head| head.peek().is_some()) {
            let numbers = below.iter().map(|it| it.map_or_else(String::new, |number| number.to_string()));
            page.next = Some(numbers.collect::<Vec<String>>().join(","));
        }
        Ok(page)
    }

    /// What a file held before or after an operation: its bytes, or where a link led.
    ///
    /// Errors: `operation.not_found` where there is no such operation, it did not touch the file, the file was not there at
    /// that moment, or its content was not kept; `read.too_large`; those of the policy.
    pub fn content_at(&self, id: &str, path: &Path, moment: Moment) -> Result<Vec<u8>> {
        let (root, logged) = self.operation(Named::read(id)?.name)?;
        let missing = |what: &str| {
            Error::new(Code::OperationMissing, format!("{} {what}.", emendate_fs::shown(path)))
                .next("Read the operation itself for the files it has.")
        };
        let touched = logged.operation.files.iter().find(|file| *file.path == *path.as_os_str().as_bytes());
        let touched = touched.ok_or_else(|| missing("was not touched by that operation"))?;
        let place = self.store().admit_link(Path::new(OsStr::from_bytes(&touched.path)))?;
        self.may(&place, Access::Read)?;
        let side = match moment {
            Moment::Before => touched.before,
            Moment::After => touched.after,
        };
        let side = side.ok_or_else(|| missing("was not there at that moment"))?;
        let now = self.opaque(&place).ok().flatten();
        let hand: Vec<_> = now.iter().map(|now| (now.snapshot.id(), now.snapshot.raw())).collect();
        let bytes = self.history(root).content(side.content, &hand)?;
        let bytes = bytes.ok_or_else(|| missing("is not kept in that version"))?;
        if bytes.len() > MOST {
            let what = format!("{} had {} bytes then; {MOST} are given out.", place.shown(), bytes.len());
            return Err(Error::new(Code::ReadTooLarge, what).next("Restore it, and read parts of it."));
        }
        Ok(bytes)
    }
}

fn cursor(text: &str, roots: usize) -> Option<Vec<Option<u64>>> {
    let number = |part: &str| if part.is_empty() { Some(None) } else { part.parse().ok().map(Some) };
    let below: Vec<Option<u64>> = text.split(',').map(number).collect::<Option<_>>()?;
    (below.len() == roots).then_some(below)
}

fn entry(logged: &Logged) -> Entry {
    let line = past::line(logged, None);
    let line = line.lines().next().unwrap_or_default().to_owned();
    let files = past::told(logged).count();
    let what = match past::told(logged).next() {
        Some(only) if files == 1 => past::shown(&only.path),
        _ => format!("{files} files"),
    };
    Entry { id: logged.id.to_string(), title: format!("{} {what}", logged.operation.tool), line }
}
