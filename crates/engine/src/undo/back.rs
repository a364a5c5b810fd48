//! Plans that reverse an operation.

use super::course::Course;
use crate::caller::{Caller, Unread};
use crate::engine::{Engine, Opened};
use crate::plan::all_bytes;
use crate::plan::{Becomes, Now, Origin, Plan, written_over};
use crate::policy::Access;
use crate::raw_path;
use crate::seen;
use crate::shelves::key;
use emendate_core::{ChangeSet, Code, ContentId, Error, Result, Snapshot, Tie, explain};
use emendate_core::{Phrase, advice};
use emendate_fs::{Attributes, Place};
use emendate_history::{Kind, LARGEST, Lines, Logged, Side, Touched};
use serde_json::json;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

/// Bytes of a binary file whose versions are compared.
const COMPARED: usize = 16 << 20;
/// Bytes of diff in an error.
const DIFF: usize = 4000;

/// The reversal of one operation.
struct Back<'a> {
    engine: &'a Engine,
    caller: &'a Caller,
    /// The effect of the operations undone before it in the same call.
    course: &'a Course<'a>,
    /// Index of the root whose history has it.
    root: usize,
    logged: &'a Logged,
}

/// Returns the plans for all files of some operations, the newest first, that restore their state before them.
///
/// Errors: every conflicting file of the first operation that cannot be undone.
pub(super) fn plans(engine: &Engine, caller: &Caller, (root, all): (usize, &[Logged])) -> Result<Vec<Plan>> {
    if let [logged] = all
        && let Some(plan) = engine.plan_big_undo(caller, root, logged)?
    {
        return Ok(vec![plan]);
    }
    let mut course = Course::new(engine, caller);
    for logged in all {
        let plans = of_one(&Back { engine, caller, course: &course, root, logged }).map_err(|error| {
            let several = format!("None of the {} operations was taken back. ", all.len());
            if all.len() > 1 { error.prefixed(&several) } else { error }
        })?;
        course.go(plans)?;
    }
    let plans = course.plans();
    if plans.is_empty() {
        let ids: Vec<String> = all.iter().map(|logged| logged.id.to_string()).collect();
        return Err(Error::new(Code::EditNoChange, "The files are already as they were before that operation.")
            .evidence(format!("operation {}", ids.join(", ")))
            .next("Nothing is left to do."));
    }
    Ok(plans)
}

/// Returns the plans for one operation.
fn of_one(back: &Back<'_>) -> Result<Vec<Plan>> {
    let logged = back.logged;
    let files = &logged.operation.files;
    let source = |file: &Touched| {
        let from = file.moved_from.as_ref()?;
        files.iter().find(|other| other.path == *from && other.before.is_some())
    };
    let mut plans = Vec::with_capacity(files.len());
    let mut errors = Vec::new();
    let moved: HashSet<&Vec<u8>> = files.iter().filter_map(|file| file.moved_from.as_ref()).collect();
    for file in files {
        let emptied = moved.contains(&file.path);
        let planned = match source(file) {
            Some(source) => back.moved(file, source, emptied),
            // The plan of the file that was moved from here puts it back.
            None if emptied => continue,
            None => back.single(file).map(|plan| plan.into_iter().collect()),
        };
        match planned {
            Ok(planned) => plans.extend(planned),
            Err(error) => errors.push(error),
        }
    }
    Error::all(errors, files.len()).map_or(Ok(plans), Err)
}

impl Engine {
    /// Returns the current content of a path. A file that is too large to be loaded by other calls is loaded as bytes.
    pub(super) fn standing(&self, place: &Place) -> Result<Now> {
        if let Some(target) = self.store().link(place)? {
            return Ok(Now::Link(target));
        }
        let now = match self.opened(place, None) {
            Err(error) if error.code() == Code::FileTooLarge => {
                let version = self.read_up_to(place, LARGEST)?;
                version.map(|it| Opened { snapshot: Snapshot::opaque(it.bytes), stamp: it.stamp, racy: it.racy })
            }
            other => other?,
        };
        Ok(now.map_or(Now::Nothing, Now::File))
    }

    /// Resolves a path of the log.
    pub(crate) fn logged_place(&self, path: &[u8]) -> Result<Place> {
        let place = self.store().admit_link(Path::new(OsStr::from_bytes(path)))?;
        self.may(&place, Access::Write)?;
        Ok(place)
    }

    /// Returns the lines that a caller knows of a file after it gets this content.
    pub(crate) fn lines_then(&self, caller: &Caller, place: &Place, now: &Snapshot, changes: &ChangeSet) -> Lines {
        if caller.unread == Unread::Allow {
            return Lines::all();
        }
        let known = self.sessions(place).latest(&caller.session, key(place)).ok().flatten();
        let known = known.filter(|known| known.content == now.id());
        known.map_or_else(Lines::none, |known| seen::after_writing(&known.lines, now, changes))
    }

    /// Creates the plan that writes these bytes, or this link, at a path.
    pub(super) fn putting(
        &self,
        caller: &Caller,
        place: Place,
        now: Now,
        bytes: Vec<u8>,
        (side, attributes): (Side, Option<Attributes>),
    ) -> Plan {
        if side.kind == Kind::Link {
            return Plan::other(place, now, Becomes::Link(OsString::from_vec(bytes)));
        }
        if let Now::File(now) = now {
            let changes = to_bytes(&now.snapshot, bytes);
            let lines = self.lines_then(caller, &place, &now.snapshot, &changes);
            return Plan { attributes, ..Plan::edit(place, now, written_over(changes), lines) };
        }
        let text = Snapshot::open(bytes.clone(), None).is_ok();
        let before = if text { Snapshot::from_text("") } else { Snapshot::opaque(Vec::new()) };
        let changes = all_bytes(&before, bytes);
        // Set-id bits would apply to the user who creates the file now.
        let mode = Some(side.mode & 0o777);
        let lines = if caller.unread == Unread::Allow { Lines::all() } else { Lines::none() };
        Plan { now, before, changes, mode, attributes, lines, ..Plan::other(place, Now::Nothing, Becomes::File) }
    }
}

/// Creates a snapshot of other bytes of the same file; as binary if they cannot be decoded in the same way.
pub(super) fn alike(now: &Snapshot, bytes: Vec<u8>) -> Snapshot {
    if now.is_opaque() {
        return Snapshot::opaque(bytes);
    }
    now.reopen(bytes.clone()).unwrap_or_else(|_| Snapshot::opaque(bytes))
}

/// Returns the change to other bytes of the same file. Large binary contents are not compared with each other.
pub(super) fn to_bytes(now: &Snapshot, bytes: Vec<u8>) -> ChangeSet {
    if now.is_opaque() && now.raw().len().max(bytes.len()) > COMPARED {
        return all_bytes(now, bytes);
    }
    ChangeSet::between(now, &alike(now, bytes))
}

/// True when the current entry has this state.
pub(crate) fn same(now: &Now, side: Option<Side>) -> bool {
    match (now, side) {
        (Now::Nothing, None) => true,
        (Now::File(now), Some(Side { content, kind: Kind::Regular, .. })) => now.snapshot.id() == content,
        (Now::Link(target), Some(Side { content, kind: Kind::Link, .. })) => {
            ContentId::of(target.as_bytes()) == content
        }
        _ => false,
    }
}

impl Back<'_> {
    /// Reverses the change of a file that was not moved.
    fn single(&self, file: &Touched) -> Result<Option<Plan>> {
        let place = self.engine.logged_place(&file.path)?;
        let now = self.course.standing(&place)?;
        let bits = match (file.before, file.after) {
            (Some(before), Some(after)) if before.mode != after.mode && before.kind == Kind::Regular => {
                Some(before.mode)
            }
            _ => None,
        };
        if same(&now, file.before) && (bits.is_none() || now.mode() == bits) {
            return Ok(None);
        }
        let Some(before) = file.before else {
            if !same(&now, file.after) {
                return Err(self.conflict(&place, file.after, &now, "it was changed since it was created."));
            }
            return Ok(Some(Plan::other(place, now, Becomes::Nothing)));
        };
        let mut merged = false;
        let bytes = match (&now, file.after) {
            _ if same(&now, file.after) => self.content(&place, before, &now)?,
            (Now::File(opened), Some(after)) if (before.kind, after.kind) == (Kind::Regular, Kind::Regular) => {
                merged = !same(&now, Some(before));
                if merged { self.rebased(&place, (before, after), opened)? } else { opened.snapshot.raw().to_vec() }
            }
            (Now::Nothing, _) => return Err(self.conflict(&place, file.after, &now, "the file is gone.")),
            _ => return Err(self.conflict(&place, file.after, &now, "something else stands there now.")),
        };
        let attributes = file.attributes.clone().filter(|_| matches!(now, Now::Nothing | Now::Link(_)));
        let mut plan = self.engine.putting(self.caller, place, now, bytes, (before, attributes));
        plan.mode = bits.or(plan.mode);
        self.told(&mut plan, merged);
        Ok(plan.writes().then_some(plan))
    }

    /// Reverses the move of a file from the path of `source`. `emptied`: the former entry of this path was moved in
    /// turn, and another plan restores it.
    fn moved(&self, file: &Touched, source: &Touched, emptied: bool) -> Result<Vec<Plan>> {
        let (to, from) = (self.engine.logged_place(&file.path)?, self.engine.logged_place(&source.path)?);
        let (there, here) = (self.course.standing(&to)?, self.course.standing(&from)?);
        // If files with equal content swapped places, both conditions hold, and they do not determine the attributes.
        let as_left = same(&here, source.after) && same(&there, file.after);
        if !as_left && same(&here, source.before) && (emptied || same(&there, file.before)) {
            return Ok(Vec::new());
        }
        if !same(&here, source.after) {
            return Err(self.conflict(&from, source.after, &here, "something else stands there now."));
        }
        let (Some(before), Some(after)) = (source.before, file.after) else {
            return Err(self.conflict(&to, file.after, &there, "the file cannot be put back."));
        };
        let origin = Some(Origin { place: to.clone(), copied: false });
        let mut merged = false;
        let mut plan = match &there {
            Now::Link(target) if same(&there, file.after) => Plan::other(from, here, Becomes::Link(target.clone())),
            Now::File(opened) if after.kind == Kind::Regular => {
                merged = !same(&there, file.after);
                let bytes = if merged {
                    self.rebased(&to, (before, after), opened)?
                } else {
                    self.content(&from, before, &there)?
                };
                let text = opened.snapshot.clone();
                let changes = to_bytes(&text, bytes);
                let lines = self.engine.lines_then(self.caller, &to, &text, &changes);
                let mode = (before.mode != after.mode).then_some(before.mode);
                Plan { before: text, changes, mode, lines, ..Plan::other(from, here, Becomes::File) }
            }
            Now::Nothing => return Err(self.conflict(&to, file.after, &there, "the file is gone.")),
            _ => return Err(self.conflict(&to, file.after, &there, "something else stands there now.")),
        };
        plan.origin = origin;
        self.told(&mut plan, merged);
        if emptied {
            return Ok(vec![plan]);
        }
        let left = match file.before {
            None => Plan { moved_on: true, ..Plan::other(to, there, Becomes::Nothing) },
            Some(covered) => {
                let bytes = self.content(&to, covered, &there)?;
                let mode = Some(covered.mode);
                let attributes = file.attributes.clone();
                Plan { mode, ..self.engine.putting(self.caller, to, there, bytes, (covered, attributes)) }
            }
        };
        Ok(vec![plan, left])
    }

    fn told(&self, plan: &mut Plan, merged: bool) {
        plan.merged = merged;
        if merged {
            plan.notes.push(format!(
                "Other lines of the file changed after operation {}; those changes were kept.",
                self.logged.id
            ));
        }
    }

    /// Returns the bytes of a version.
    fn content(&self, place: &Place, side: Side, now: &Now) -> Result<Vec<u8>> {
        let hand = match now {
            Now::File(now) => vec![(now.snapshot.id(), now.snapshot.raw())],
            _ => Vec::new(),
        };
        let found = self.engine.history(self.root).content(side.content, &hand)?;
        found.ok_or_else(|| not_kept(place, self.logged))
    }

    /// Returns the file with the operation removed from it, although it changed since.
    fn rebased(&self, place: &Place, (before, after): (Side, Side), now: &Opened) -> Result<Vec<u8>> {
        let standing = [(now.snapshot.id(), now.snapshot.raw())];
        let history = self.engine.history(self.root);
        let changed = |seen: Option<&Snapshot>| {
            let error = self.changed(place, "the file changed since, on the same lines or beyond what can be told.");
            match seen {
                Some(seen) => error.evidence(difference(place, seen, &now.snapshot)),
                None => error,
            }
        };
        let Some(seen) = history.content(after.content, &standing)? else { return Err(changed(None)) };
        let seen = alike(&now.snapshot, seen);
        let hand = [(seen.id(), seen.raw()), standing[0]];
        let Some(target) = history.content(before.content, &hand)? else { return Err(not_kept(place, self.logged)) };
        let target = alike(&seen, target);
        if [&seen, &target, &now.snapshot].iter().any(|it| it.is_opaque()) {
            return Err(changed(None));
        }
        let (mine, theirs) = (ChangeSet::between(&seen, &target), ChangeSet::between(&seen, &now.snapshot));
        match mine.rebase(&seen, &theirs, Tie::TheirsFirst) {
            Ok(rebased) => Ok(rebased.changes.ended_as(&seen, &now.snapshot)?.apply(&now.snapshot)),
            Err(_) => Err(changed(Some(&seen))),
        }
    }

    fn changed(&self, place: &Place, what: &str) -> Error {
        let id = self.logged.id;
        let call = raw_path::call(place.absolute(), json!({ "id": format!("{id}^") }));
        Error::new(Code::OperationConflict, format!("Operation {id} cannot be undone: {what}"))
            .evidence(place.shown())
            .next(
                advice![
                    "Make the change with an edit; or, to put the whole file back, call ",
                    Phrase::Call("restore", call),
                    "."
                ]
                .or("Read the file and make the change with an edit."),
            )
            .fact("operation", id.to_string())
    }

    /// Creates the error for a file that is no longer in the state after the operation.
    fn conflict(&self, place: &Place, left: Option<Side>, now: &Now, what: &str) -> Error {
        let error = self.changed(place, what);
        let (Some(left), Now::File(now)) = (left, now) else { return error };
        let hand = [(now.snapshot.id(), now.snapshot.raw())];
        match self.engine.history(self.root).content(left.content, &hand) {
            Ok(Some(left)) if !now.snapshot.is_opaque() => {
                error.evidence(difference(place, &alike(&now.snapshot, left), &now.snapshot))
            }
            _ => error,
        }
    }
}

/// Describes the changes since the operation.
fn difference(place: &Place, left: &Snapshot, now: &Snapshot) -> String {
    let hunks = explain::brief(left, &ChangeSet::between(left, now), 3, 2 * DIFF);
    format!("What changed since:\n{}", explain::unified(&place.shown(), &hunks, DIFF).text)
}

/// Creates the error for an operation whose contents were not kept.
pub(super) fn not_kept(place: &Place, logged: &Logged) -> Error {
    let why = if logged.operation.kept {
        "it was too large to be kept, was dropped since, or the file was changed by others before it could be kept"
    } else {
        "it may hold secrets, whose contents are never stored"
    };
    Error::new(
        Code::OperationLost,
        format!("Operation {} cannot be undone: the earlier content is not there, because {why}.", logged.id),
    )
    .evidence(place.shown())
    .next("Read the file and make the change with an edit.")
    .fact("operation", logged.id.to_string())
}
