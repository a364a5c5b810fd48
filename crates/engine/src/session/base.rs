//! The base of an edit: the version that the session saw, and its lines.

use crate::context::call::Call;
use crate::context::history_stores::key;
use crate::context::options::CallOptions;
use crate::context::{LoadedFile, policy};
use crate::model::raw_path;
use crate::session::in_doubt::resolve_in_doubt;
use crate::session::outside::{FoundContent, record_outside_changes};
use emendate_core::explain::{self, DiffHunk};
use emendate_core::{ChangeSet, Code, Error, Handle, Note, Result, ShortTag, Snapshot, Span, advice};
use emendate_fs::{FileMeta, SafePath};
use emendate_history::{LineSet, Record, RecordOrigin, VersionBody};
use serde_json::{Value, json};

/// The lines of the current text that the caller knows.
pub(crate) struct KnownLines {
    pub(crate) lines: LineSet,
    /// A tolerance that made the caller's version count as the current one.
    pub(crate) note: Option<Note>,
}

/// The version that an edit is based on. The planner of a file alone decides what follows from it.
pub(crate) enum Base {
    /// The file has not changed since the caller saw it, or did not have to be seen.
    Fresh(KnownLines),
    /// The file changed; this is the version that the caller saw.
    Stale { seen: Snapshot, lines_seen: LineSet },
    /// The file changed, and the version that the caller saw was not kept.
    Lost,
}

impl Base {
    fn fresh(lines: LineSet) -> Base {
        Base::Fresh(KnownLines { lines, note: None })
    }

    /// True if the file is as the caller saw it.
    pub(crate) fn is_fresh(&self) -> bool {
        matches!(self, Base::Fresh(_))
    }

    /// True if the file changed, and the version that the caller saw is known.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self, Base::Stale { .. })
    }

    /// True if the version that the caller saw was not kept.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Base::Lost)
    }

    /// Returns the lines that the caller knows, if the file is as the caller saw it.
    pub(crate) fn into_fresh(self) -> Option<KnownLines> {
        if let Base::Fresh(known) = self { Some(known) } else { None }
    }

    /// Returns the base of an edit that cannot be merged, because the file is too large: a version that differs is of
    /// no use.
    pub(crate) fn without_merge(self) -> Base {
        if self.is_stale() { Base::Lost } else { self }
    }

    /// Creates the base for a version with other bytes than the current one.
    fn of(seen: Snapshot, lines_seen: LineSet, now: &LoadedFile) -> Base {
        if seen.text() != now.snapshot.text() {
            return Base::Stale { seen, lines_seen };
        }
        // A change of line ends or encoding alone does not make an edit stale: new text takes those that the file has
        // now.
        let note = "The file's line ends or encoding changed since it was read; its text did not.".into();
        Base::Fresh(KnownLines { lines: lines_seen, note: Some(note) })
    }
}

/// Finds the version that the caller saw.
///
/// Errors: `read.required`, `stale.unknown_tag`.
pub(crate) fn find_base(call: Call<'_>, options: &CallOptions, path: &SafePath, now: &LoadedFile) -> Result<Base> {
    let sessions = call.sessions(path);
    let record = match options.tag {
        Some(Handle::Lines(_, tag)) => return base_of_lines(call, options, path, tag, now),
        Some(Handle::Tag(tag) | Handle::Headed(_, tag)) if tag == now.snapshot.id().tag() => {
            match sessions.by_tag(key(path), tag)? {
                Some(record) if record.content == now.snapshot.id() => return Ok(Base::fresh(record.lines)),
                // A tag is derived from the content, so a caller that names the current one has seen that content.
                _ => return Ok(Base::fresh(LineSet::all())),
            }
        }
        Some(Handle::Tag(tag) | Handle::Headed(_, tag)) => {
            sessions.by_tag(key(path), tag)?.ok_or_else(|| unknown_tag(path, &tag.to_string()))?
        }
        None => match call.latest_record(path)? {
            Some(record) => record,
            // Binary content can never be shown.
            None if call.caller.allows_unread()
                || now.snapshot.is_binary()
                || now.snapshot.text().trim().is_empty() =>
            {
                return Ok(Base::fresh(LineSet::all()));
            }
            None => return Err(unread(path)),
        },
    };
    // The bytes were read anyway, so contents decide and no metadata is trusted: neither metadata taken in the same
    // clock tick as a write, nor metadata that a write through a shared mapping leaves unchanged.
    if record.content == now.snapshot.id() {
        return Ok(Base::fresh(record.lines));
    }
    // A write that did not happen because its process ended is not knowledge of the session.
    if record.origin == RecordOrigin::Write && resolve_in_doubt(&call, path.root())? {
        return find_base(call, options, path, now);
    }
    let Some(bytes) = sessions.bytes(record.content)? else {
        // If unread files may be edited, no shown line could be overwritten unseen.
        return Ok(if call.caller.allows_unread() && options.tag.is_none() {
            Base::fresh(LineSet::all())
        } else {
            Base::Lost
        });
    };
    let seen = call.decode(path, bytes, options.declared, "")?;
    Ok(Base::of(seen, record.lines, now))
}

/// Finds the version that a header names: the latest one the session knows under that tag. Such a short tag may belong
/// to several texts. If a known version has it, the session saw that one; otherwise the version may not have been kept.
///
/// Errors: `stale.unknown_tag`.
fn base_of_lines(
    call: Call<'_>,
    options: &CallOptions,
    path: &SafePath,
    tag: ShortTag,
    now: &LoadedFile,
) -> Result<Base> {
    let sessions = call.sessions(path);
    let fits = now.snapshot.short_tag() == Some(tag);
    let mut unkept = false;
    for record in sessions.versions(&call.caller.session, key(path))? {
        if record.content == now.snapshot.id() {
            if fits {
                return Ok(Base::fresh(record.lines));
            }
            continue;
        }
        let bytes = sessions.bytes(record.content)?;
        unkept |= bytes.is_none();
        // A version that cannot be decoded any more cannot be the one that the header names.
        let seen = bytes.and_then(|bytes| call.decode(path, bytes, options.declared, "").ok());
        if let Some(seen) = seen.filter(|seen| ShortTag::of(seen.text()) == tag) {
            return Ok(Base::of(seen, record.lines, now));
        }
    }
    // A tag is derived from the content, so a caller that names the current one has seen that content.
    match (fits, unkept) {
        (true, _) => Ok(Base::fresh(LineSet::all())),
        (false, true) => Ok(Base::Lost),
        (false, false) => {
            let then = ", then send this call again with its header.";
            let next = advice!["Call ", raw_path::read(path, json!({ "format": "hashline" })), then].or(advice![
                "Call ",
                raw_path::read(path, Value::Null),
                then
            ]);
            Err(unknown_tag(path, &tag.to_string()).next(next))
        }
    }
}

/// True if the session knows a version of the file under this tag.
///
/// Errors: those of the store.
pub(crate) fn knows_version(call: Call<'_>, path: &SafePath, tag: Handle) -> Result<bool> {
    let sessions = call.sessions(path);
    let tag = match tag {
        Handle::Tag(tag) | Handle::Headed(_, tag) => return Ok(sessions.by_tag(key(path), tag)?.is_some()),
        Handle::Lines(_, tag) => tag,
    };
    for record in sessions.versions(&call.caller.session, key(path))? {
        let bytes = sessions.bytes(record.content)?;
        let seen = bytes.and_then(|bytes| call.decode(path, bytes, None, "").ok());
        if seen.is_some_and(|seen| ShortTag::of(seen.text()) == tag) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Records a version as known to the session; a failing store must not fail an edit that is already on disk. `version`
/// is its text, unless it is no text.
pub(crate) fn remember(
    call: Call<'_>,
    path: &SafePath,
    mut record: Record,
    version: Option<&Snapshot>,
) -> Option<String> {
    record_outside_changes(&call, &[FoundContent { path, content: Some(record.content) }]);
    if let Some(kept) = version.and_then(|version| lines_kept(call, path, &record.lines, version)) {
        record.lines.union(&kept);
    }
    let body = version.map_or(VersionBody::None, |version| stored_body(path, version));
    let result = call.sessions(path).record(&call.caller.session, key(path), &record, &body);
    result.err().map(|error| {
            format!(
                "The session store could not remember this, so an edit that needs the file to have been read is refused: {} {}",
                error.message(),
                error.next_step()
            )
        })
}

/// Returns the lines that the session saw in the version before, and that have the same text and number in this one.
/// Lines that moved are not among them: the caller does not know their numbers.
fn lines_kept(call: Call<'_>, path: &SafePath, shown: &LineSet, now: &Snapshot) -> Option<LineSet> {
    if shown.is_all() || now.is_sparse() {
        return None;
    }
    let before = call.latest_record(path).ok()??;
    if before.content == now.id() || before.lines.ranges().is_empty() {
        return None;
    }
    let seen = call.decode(path, call.sessions(path).bytes(before.content).ok()??, None, "").ok()?;
    let mut kept = LineSet::none();
    let hunks = explain::hunk_headers(&seen, &ChangeSet::diff(&seen, now));
    for run in unchanged_runs(&seen, &hunks).iter().filter(|run| run.moved == 0) {
        run.carry(&mut kept, &before.lines);
    }
    Some(kept)
}

/// Marks lines as known that a search found, or that an error has just shown, so that the next call needs no read.
/// Returns a note if that failed.
pub(crate) fn mark_known(
    call: Call<'_>,
    path: &SafePath,
    now: &LoadedFile,
    lines: LineSet,
    origin: RecordOrigin,
) -> Option<String> {
    let (content, meta, racy) = (now.snapshot.id(), now.meta, now.racy);
    let record = Record { content, meta, racy, lines, origin, offset: None, limit: None };
    remember(call, path, record, Some(&now.snapshot))
}

pub(crate) fn unread(path: &SafePath) -> Error {
    Error::new(Code::ReadRequired, "File has not been read yet. Read it first before writing to it.")
        .evidence(path.shown())
        .next(advice!["Call ", raw_path::read(path, Value::Null), ", then send this call again."])
}

fn unknown_tag(path: &SafePath, tag: &str) -> Error {
    Error::new(
        Code::StaleUnknownTag,
        format!("The tag {tag} names no known version of this file: it changed, or the tag is from elsewhere."),
    )
    .evidence(path.shown())
    .next(advice![
        "Call ",
        raw_path::read(path, Value::Null),
        ", then send this call again with the new tag or without one."
    ])
}

/// Carries known lines over a change: unchanged lines remain known, under their new numbers.
pub(crate) fn carry_lines(lines: &LineSet, base: &Snapshot, changes: &ChangeSet) -> LineSet {
    if changes.is_empty() || lines.is_all() && changes.splices().is_empty() {
        return lines.clone();
    }
    carried_over(lines, base, &explain::hunk_headers(base, changes))
}

fn carried_over(lines: &LineSet, base: &Snapshot, hunks: &[DiffHunk]) -> LineSet {
    let mut out = LineSet::none();
    for run in unchanged_runs(base, hunks) {
        run.carry(&mut out, lines);
    }
    out
}

/// Lines that a change leaves as they are.
struct UnchangedRun {
    /// The first and the last line before the change.
    from: u64,
    to: u64,
    /// The difference of the line numbers.
    moved: i64,
}

/// Returns the runs of lines between hunks, some of which may be empty.
fn unchanged_runs(base: &Snapshot, hunks: &[DiffHunk]) -> Vec<UnchangedRun> {
    let mut runs = Vec::new();
    let (mut next, mut moved) = (1u64, 0i64);
    for hunk in hunks {
        let old_start = hunk.old_start + usize::from(hunk.old_lines == 0);
        runs.push(UnchangedRun { from: next, to: (old_start as u64).saturating_sub(1), moved });
        next = (old_start + hunk.old_lines) as u64;
        moved += (hunk.new_lines.cast_signed() - hunk.old_lines.cast_signed()) as i64;
    }
    runs.push(UnchangedRun { from: next, to: base.lines().count(base.text()) as u64, moved });
    runs
}

impl UnchangedRun {
    /// Adds those lines that were known, at the place to which they moved.
    fn carry(&self, out: &mut LineSet, lines: &LineSet) {
        let known = if lines.is_all() { vec![(self.from, self.to)] } else { overlaps(lines, self.from, self.to) };
        for (from, to) in known.into_iter().filter(|(from, to)| from <= to) {
            out.add(from.saturating_add_signed(self.moved), to.saturating_add_signed(self.moved));
        }
    }
}

fn overlaps(lines: &LineSet, from: u64, to: u64) -> Vec<(u64, u64)> {
    let hit = lines.ranges().iter().map(|&(a, b)| (a.max(from), b.min(to)));
    hit.filter(|(a, b)| a <= b).collect()
}

/// Returns the lines that a caller knows after its own change: those it knew, carried over, and those it wrote. A long
/// line of which it changed a part that it was shown is not known as a whole.
pub(crate) fn after_writing(lines: &LineSet, base: &Snapshot, changes: &ChangeSet) -> LineSet {
    if lines.is_all() {
        return LineSet::all();
    }
    if changes.is_empty() {
        return lines.clone();
    }
    let hunks = explain::hunk_headers(base, changes);
    let mut out = carried_over(lines, base, &hunks);
    for hunk in hunks {
        if hunk.new_lines > 0 && !keeps_unseen_text(lines, base, changes, &hunk) {
            out.add(hunk.new_start as u64, (hunk.new_start + hunk.new_lines - 1) as u64);
        }
    }
    out
}

/// True if a hunk keeps a part of a line that the caller does not know, and of which the reply shows only the place of
/// the change.
fn keeps_unseen_text(lines: &LineSet, base: &Snapshot, changes: &ChangeSet, hunk: &DiffHunk) -> bool {
    let is_kept = |line: usize| {
        let span = base.lines().span_of(base.text(), line, line);
        if span.len() <= explain::LINE_CHARS_MAX || lines.covers(line as u64, line as u64) {
            return false;
        }
        let text = base.text()[span.range()].trim_end_matches('\n');
        let span = base.raw_span(Span::new(span.start(), span.start() + text.len()));
        let at = changes.splices().partition_point(|splice| splice.span.end() < span.end());
        changes.splices().get(at).is_none_or(|splice| splice.span.start() > span.start())
    };
    (hunk.old_start..hunk.old_start + hunk.old_lines).any(is_kept)
}

/// Creates a set of lines from ranges.
pub(crate) fn of_ranges(ranges: &[(usize, usize)]) -> LineSet {
    let mut out = LineSet::none();
    for &(from, to) in ranges {
        out.add(from as u64, to as u64);
    }
    out
}

/// Creates the record of a version that the caller wrote.
pub(crate) fn written_record(content: emendate_core::ContentId, meta: FileMeta, lines: LineSet) -> Record {
    // The metadata is as recent as the write itself: it proves nothing until the contents have been compared once more.
    Record { content, meta, racy: true, lines, origin: RecordOrigin::Write, offset: None, limit: None }
}

/// Returns how a version's bytes are stored for its session: not at all if they are secret, or if the snapshot is
/// sparse.
pub(crate) fn stored_body<'a>(path: &SafePath, version: &'a Snapshot) -> VersionBody<'a> {
    if version.is_sparse() || policy::is_secret(path) { VersionBody::None } else { VersionBody::Bytes(version.raw()) }
}
