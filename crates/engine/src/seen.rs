//! The base of an edit: the version that the session saw, and its lines.

use crate::caller::{Caller, Unread};
use crate::engine::{Engine, Opened};
use crate::log;
use crate::options::Options;
use crate::raw_path;
use crate::shelves::key;
use emendate_core::advice;
use emendate_core::explain::{self, Hunk};
use emendate_core::{ChangeSet, Code, Error, Handle, Result, ShortTag, Snapshot};
use emendate_fs::{Place, Stamp};
use emendate_history::{Body, How, Lines, Record};
use serde_json::Value;

/// The version that an edit is based on.
pub(crate) enum Base {
    /// The file has not changed since the caller saw it, or did not have to be seen.
    Fresh { lines: Lines, note: Option<String> },
    /// The file changed; this is the version that the caller saw.
    Stale { seen: Snapshot, lines: Lines },
    /// The file changed, and the version that the caller saw was not kept.
    Lost,
}

impl Base {
    fn fresh(lines: Lines) -> Base {
        Base::Fresh { lines, note: None }
    }

    /// Creates the base for a version with other bytes than the current one.
    fn of(seen: Snapshot, lines: Lines, now: &Opened) -> Base {
        if seen.text() != now.snapshot.text() {
            return Base::Stale { seen, lines };
        }
        // The text is unchanged; line ends and encoding are the file's own business.
        let note = "The file's line ends or encoding changed since it was read; its text did not.".to_owned();
        Base::Fresh { lines, note: Some(note) }
    }
}

impl Engine {
    /// Finds the version that the caller saw.
    ///
    /// Errors: `read.required`, `stale.unknown_tag`.
    pub(crate) fn base(&self, caller: &Caller, options: &Options, place: &Place, now: &Opened) -> Result<Base> {
        let sessions = self.sessions(place);
        let record = match options.tag {
            Some(Handle::Lines(_, tag)) => return self.base_of_lines(caller, options, (place, tag), now),
            Some(Handle::Tag(tag) | Handle::Headed(_, tag)) if tag == now.snapshot.id().tag() => {
                match sessions.by_tag(key(place), tag)? {
                    Some(record) if record.content == now.snapshot.id() => return Ok(Base::fresh(record.lines)),
                    // A tag is derived from the content, so a caller that names the current one has seen that content.
                    _ => return Ok(Base::fresh(Lines::all())),
                }
            }
            Some(Handle::Tag(tag) | Handle::Headed(_, tag)) => {
                sessions.by_tag(key(place), tag)?.ok_or_else(|| unknown_tag(place, &tag.to_string()))?
            }
            None => match sessions.latest(&caller.session, key(place))? {
                Some(record) => record,
                // Binary content can never be shown.
                None if caller.unread == Unread::Allow
                    || now.snapshot.is_opaque()
                    || now.snapshot.text().trim().is_empty() =>
                {
                    return Ok(Base::fresh(Lines::all()));
                }
                None => return Err(unread(place)),
            },
        };
        // The bytes were read anyway, so contents decide and no stamp is trusted: neither one taken in the same clock
        // tick as a write, nor one that a write through a shared mapping leaves unchanged.
        if record.content == now.snapshot.id() {
            return Ok(Base::fresh(record.lines));
        }
        // A write that did not happen because its process ended is no knowledge of the session.
        if record.how == How::Wrote && self.look_into_pending(place.root())? {
            return self.base(caller, options, place, now);
        }
        let Some(bytes) = sessions.bytes(record.content)? else {
            // If unread files may be edited, no shown line could be overwritten unseen.
            return Ok(if caller.unread == Unread::Allow && options.tag.is_none() {
                Base::fresh(Lines::all())
            } else {
                Base::Lost
            });
        };
        let seen = self.decode(place, bytes, options.declared, "")?;
        Ok(Base::of(seen, record.lines, now))
    }

    /// Finds the version that a header names: the latest one the session knows under that tag. Such a short tag
    /// eventually names several texts; if a known one has it, that is the one the session saw; otherwise it may be one
    /// that was not kept.
    ///
    /// Errors: `stale.unknown_tag`.
    fn base_of_lines(
        &self,
        caller: &Caller,
        options: &Options,
        (place, tag): (&Place, ShortTag),
        now: &Opened,
    ) -> Result<Base> {
        let sessions = self.sessions(place);
        let fits = now.snapshot.short_tag() == Some(tag);
        let mut unkept = false;
        for record in sessions.versions(&caller.session, key(place))? {
            if record.content == now.snapshot.id() {
                if fits {
                    return Ok(Base::fresh(record.lines));
                }
                continue;
            }
            let bytes = sessions.bytes(record.content)?;
            unkept |= bytes.is_none();
            // A version that cannot be decoded any more is not the one searched for.
            let seen = bytes.and_then(|bytes| self.decode(place, bytes, options.declared, "").ok());
            if let Some(seen) = seen.filter(|seen| ShortTag::of(seen.text()) == tag) {
                return Ok(Base::of(seen, record.lines, now));
            }
        }
        // A tag is derived from the content, so a caller that names the current one has seen that content.
        match (fits, unkept) {
            (true, _) => Ok(Base::fresh(Lines::all())),
            (false, true) => Ok(Base::Lost),
            (false, false) => Err(unknown_tag(place, &tag.to_string())),
        }
    }

    /// Records a version as known to the session; a failing store must not fail an edit that is already on disk.
    pub(crate) fn remember(&self, caller: &Caller, place: &Place, record: &Record, body: &Body<'_>) -> Option<String> {
        let result = self.sessions(place).record(&caller.session, key(place), record, body);
        result.err().map(|error| {
            format!(
                "The session store could not remember this, so an edit that needs the file to have been read is refused: {} {}",
                error.message(),
                error.next_step()
            )
        })
    }

    /// Marks lines that an error has just shown as known, so that the next call needs no read. Returns a note if that
    /// failed.
    pub(crate) fn serve(&self, caller: &Caller, place: &Place, now: &Opened, lines: Lines) -> Option<String> {
        let record = Record {
            content: now.snapshot.id(),
            stamp: now.stamp,
            racy: now.racy,
            lines,
            how: How::Served,
            offset: None,
            limit: None,
        };
        self.remember(caller, place, &record, &log::body(place, &now.snapshot))
    }
}

pub(crate) fn unread(place: &Place) -> Error {
    Error::new(Code::ReadRequired, "File has not been read yet. Read it first before writing to it.")
        .evidence(place.shown())
        .next(advice!["Call ", raw_path::read(place, Value::Null), ", then send this call again."])
}

fn unknown_tag(place: &Place, tag: &str) -> Error {
    Error::new(
        Code::StaleUnknownTag,
        format!("The tag {tag} names no known version of this file: it changed, or the tag is from elsewhere."),
    )
    .evidence(place.shown())
    .next(advice![
        "Call ",
        raw_path::read(place, Value::Null),
        ", then send this call again with the new tag or without one."
    ])
}

/// Carries known lines over a change: unchanged lines remain known, under their new numbers.
pub(crate) fn carried(lines: &Lines, base: &Snapshot, changes: &ChangeSet) -> Lines {
    if changes.is_empty() || lines.is_all() && changes.splices().is_empty() {
        return lines.clone();
    }
    carried_over(lines, base, &explain::hunks(base, changes, 0))
}

fn carried_over(lines: &Lines, base: &Snapshot, hunks: &[Hunk]) -> Lines {
    let total = base.lines().count(base.text()) as u64;
    let mut out = Lines::none();
    let mut keep = |from: u64, to: u64, moved: isize| {
        let moved = moved as i64;
        let known = if lines.is_all() { vec![(from, to)] } else { overlaps(lines, from, to) };
        for (from, to) in known.into_iter().filter(|(from, to)| from <= to) {
            out.add(from.saturating_add_signed(moved), to.saturating_add_signed(moved));
        }
    };
    let (mut next, mut moved) = (1u64, 0isize);
    for hunk in hunks {
        let old_start = hunk.old_start + usize::from(hunk.old_lines == 0);
        keep(next, (old_start as u64).saturating_sub(1), moved);
        next = (old_start + hunk.old_lines) as u64;
        moved += hunk.new_lines.cast_signed() - hunk.old_lines.cast_signed();
    }
    keep(next, total, moved);
    out
}

fn overlaps(lines: &Lines, from: u64, to: u64) -> Vec<(u64, u64)> {
    let hit = lines.ranges().iter().map(|&(a, b)| (a.max(from), b.min(to)));
    hit.filter(|(a, b)| a <= b).collect()
}

/// Returns the lines that a caller knows after its own change: those it knew, carried over, and those it wrote.
pub(crate) fn after_writing(lines: &Lines, base: &Snapshot, changes: &ChangeSet) -> Lines {
    if lines.is_all() {
        return Lines::all();
    }
    if changes.is_empty() {
        return lines.clone();
    }
    let hunks = explain::hunks(base, changes, 0);
    let mut out = carried_over(lines, base, &hunks);
    for hunk in hunks {
        if hunk.new_lines > 0 {
            out.add(hunk.new_start as u64, (hunk.new_start + hunk.new_lines - 1) as u64);
        }
    }
    out
}

/// Creates a set of lines from ranges.
pub(crate) fn of_ranges(ranges: &[(usize, usize)]) -> Lines {
    let mut out = Lines::none();
    for &(from, to) in ranges {
        out.add(from as u64, to as u64);
    }
    out
}

/// Creates the record of a version that the caller wrote.
pub(crate) fn written(content: emendate_core::ContentId, stamp: Stamp, lines: Lines) -> Record {
    // The stamp is as recent as possible: it proves nothing until the contents have been compared once more.
    Record { content, stamp, racy: true, lines, how: How::Wrote, offset: None, limit: None }
}
