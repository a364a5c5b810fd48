//! Selection of the operations to undo.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::history_stores::{key, logged_operations};
use crate::context::policy::Access;
use crate::model::call_context::CallContext;
use crate::session::in_doubt::resolve_in_doubt;
use crate::session::outside::is_of_shell;
use crate::tools::history::operation_list::{LastUndo, newest_first, reversal_of};
use crate::tools::moments::{find_moment, last_turn};
use crate::tools::undo::input::UndoInput;
use crate::tools::undo::refusals::{already_reversed, foreign, still_running, uncertain};
use crate::tools::undo::since::select_since;
use emendate_core::{Advice, Code, Error, Phrase, Result, advice};
use emendate_fs::SafePath;
use emendate_history::{HistoryGap, LogEntry, OperationFilter, OperationId, OperationName, Role, wait_briefly};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// Age up to which an undo or a redo of another process is waited for.
const RUNNING_UNDO_AGE_MAX: Duration = Duration::from_secs(2);

/// A call's reference to an operation; `17^` is the moment before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OperationRef {
    pub(crate) name: OperationName,
    pub(crate) before: bool,
}

impl OperationRef {
    /// Parses a reference.
    ///
    /// Errors: `call.invalid`.
    pub(crate) fn read(text: &str) -> Result<OperationRef> {
        let (name, before) = text.strip_suffix('^').map_or((text, false), |name| (name, true));
        let name = name.parse().map_err(|()| {
            Error::new(Code::CallInvalid, format!("`{text}` does not name an operation.")).next(
                Advice::named("Names look like 17-3fa9 or 17; {history()} lists them, also those of one file.")
                    .or("Names look like 17-3fa9 or 17; the reply to a change gives its name."),
            )
        })?;
        Ok(OperationRef { name, before })
    }

    /// Parses the name of an operation, where the moment before it cannot be meant.
    ///
    /// Errors: `call.invalid`.
    pub(crate) fn read_name(text: &str) -> Result<OperationName> {
        let OperationRef { name, before } = OperationRef::read(text)?;
        if !before {
            return Ok(name);
        }
        let named = text.trim_end_matches('^');
        let since = Phrase::Call("undo", json!({ "since": text }));
        Err(Error::new(Code::CallInvalid, format!("`{text}` is the moment before an operation, not an operation."))
            .next(
                advice![
                    format!(
                        "Give \"{named}\" for the operation alone; to take back everything since that moment, call "
                    ),
                    since,
                    "."
                ]
                .or(format!("Give \"{named}\" for the operation.")),
            ))
    }
}

/// A candidate for a call that names no operation.
struct UndoCandidate {
    logged: LogEntry,
    /// Operations after it are missing from the history, so it may not be the last one.
    across: Option<HistoryGap>,
}

/// The operations that a call of `undo` refers to.
pub(super) enum UndoSelection {
    /// These operations of the root with this index, the newest first.
    Known(usize, Vec<LogEntry>),
    /// Not known yet: this operation of that root is undoing others at this moment.
    UnderWay(usize, Box<LogEntry>),
}

/// The candidates of one root for a call that names no operation.
enum UndoCandidates {
    Known {
        candidates: Vec<UndoCandidate>,
        /// The moment of the edit before which nothing can be redone, in any root.
        edited_at: Option<i64>,
    },
    UnderWay(Box<LogEntry>),
}

/// The gaps of a history between its newest operation and older ones.
struct HistoryGaps(Vec<HistoryGap>);

impl HistoryGaps {
    /// Advances to an older operation. A gap counts as acknowledged once an operation before it was undone by one after
    /// it, because that operation must have been named.
    fn meet(&mut self, logged: &LogEntry) {
        let number = logged.id.number;
        self.0.retain(|gap| {
            let crosses = number > gap.after && logged.operation.undoes().any(|id| id.number <= gap.after);
            !crosses
        });
    }

    /// Returns the gap between the newest operation and this one.
    fn before(&self, logged: &LogEntry) -> Option<HistoryGap> {
        self.0.iter().find(|gap| logged.id.number <= gap.after).copied()
    }
}

/// Returns the newest operation of a session if it is an undo or a rewind that is in effect.
fn last_undo(context: &Context, session: Option<&str>) -> Option<OperationId> {
    let filter = OperationFilter { session: Some(session?), ..OperationFilter::newest(1) };
    let newest = (0..context.root_count()).filter_map(|root| context.history(root).operations(&filter).ok()?.pop());
    let last = newest.max_by_key(|logged| logged.at)?;
    (last.is_undo() && last.undone_by.is_none()).then_some(last.id)
}

/// Returns the operation of that name, with its root.
///
/// Errors: `operation.not_found`, and `call.invalid` for a number that occurs in several roots.
pub(crate) fn operation(context: &Context, name: OperationName) -> Result<(usize, LogEntry)> {
    let mut found = Vec::new();
    for root in 0..context.root_count() {
        found.extend(context.history(root).operation(name)?.map(|logged| (root, logged)));
    }
    if found.len() > 1 {
        let names: Vec<String> = found.iter().map(|(_, logged)| logged.id.to_string()).collect();
        return Err(Error::new(Code::CallInvalid, "Several roots have an operation of that number.")
            .next(format!("Give the whole name: {}.", names.join(" or "))));
    }
    found.pop().ok_or_else(|| {
        Error::new(Code::OperationMissing, format!("There is no operation {} in the history.", name.number)).next(
            Advice::named("Call {history()} for those there are. Old ones are deleted in time.")
                .or("Use the name that the reply to the change gave. Old ones are deleted in time."),
        )
    })
}

/// Selects the operations. If another process is undoing one, its result is awaited: only then the next operation
/// is known, and the order of the log is the order of the calls.
///
/// Errors: `lock.timeout`, and those of the selection.
pub(super) fn choose(
    call: Call<'_>,
    args: &UndoInput,
    raw: Option<&Path>,
    times: usize,
) -> Result<(usize, Vec<LogEntry>)> {
    loop {
        match select(call, args, raw, times)? {
            UndoSelection::Known(root, all) => return Ok((root, all)),
            UndoSelection::UnderWay(root, logged) if logged.age() < RUNNING_UNDO_AGE_MAX => {
                wait_briefly();
                resolve_in_doubt(&call, root)?;
            }
            UndoSelection::UnderWay(_, logged) => return Err(still_running(&logged)),
        }
    }
}

/// Selects the operations for `undo`.
pub(super) fn select(call: Call<'_>, args: &UndoInput, raw: Option<&Path>, times: usize) -> Result<UndoSelection> {
    let session = session_filter(call.caller, args);
    if !args.ids.is_empty() {
        return by_ids(&call, &args.ids);
    }
    let moment = match &args.since {
        Some(since) => Some(find_moment(&call, since)?),
        None if args.turn => Some(last_turn(&call, &call.caller.session)?),
        None => None,
    };
    if let Some(moment) = moment {
        return select_since(&call, &moment, |logged| {
            let is_own = session.is_none_or(|session| logged.operation.session == session);
            is_own || args.shell && is_of_shell(logged, &call.caller.session)
        });
    }
    match &args.id {
        Some(id) => {
            let by_name = if args.redo { redo_by_id } else { by_id };
            by_name(&call, session, id).map(|(root, logged)| UndoSelection::Known(root, vec![logged]))
        }
        None => select_last(&call, session, raw.or(args.file_path.as_deref().map(Path::new)), args.redo, times),
    }
}

/// Returns the last operation that a call without an id refers to.
///
/// Errors: `lock.timeout` while another process undoes something, and those of the selection.
pub(super) fn choose_one(call: Call<'_>, args: &UndoInput, path: Option<&Path>) -> Result<(usize, LogEntry)> {
    match choose(call, args, path, 1)? {
        (root, mut all) if !all.is_empty() => Ok((root, all.swap_remove(0))),
        _ => Err(Error::new(Code::InternalBug, "The selection of the last operation is empty.")),
    }
}

/// Parses the name of an operation to undo or redo.
///
/// Errors: `call.invalid`.
fn read_undone_name(id: &str) -> Result<OperationName> {
    OperationRef::read(id).map_err(|error| {
        error.next(
            Advice::named(
                "Names look like 17-3fa9 or 17; {history()} lists them. For the last change of a file give \
             {file_path} instead of {id}; for the last change of all, neither.",
            )
            .or(Advice::named(
                "Names look like 17-3fa9 or 17. For the last change of a file give {file_path} instead of {id}; \
                 for the last change of all, neither.",
            ))
            .or("Names look like 17-3fa9 or 17. For the last change, leave the name out."),
        )
    })?;
    OperationRef::read_name(id)
}

fn by_id(context: &Context, session: Option<&str>, id: &str) -> Result<(usize, LogEntry)> {
    let (root, logged) = operation(context, read_undone_name(id)?)?;
    if logged.owner.is_some() {
        return Err(still_running(&logged));
    }
    if logged.operation.is_moment() {
        let note = &logged.operation.note;
        let moment = if note.is_empty() { "the begin of a turn".to_owned() } else { format!("the mark {note}") };
        let what = format!("Operation {} is {moment}; it changed nothing.", logged.id);
        return Err(Error::new(Code::EditNoChange, what)
            .next(Advice::named("To take back what was done since then, give {since=}.").set("since", id)));
    }
    if let Some(last) = reversal_of(context, root, &logged)?
        && !came_back(context, root, &logged)?
    {
        return Err(already_reversed(&logged, last));
    }
    if session.is_some_and(|session| is_foreign(&logged, session)) {
        return Err(foreign(&logged));
    }
    Ok((root, logged))
}

/// Returns the undo in effect that a redo of this operation reverses: the operation itself, or the last one that took
/// it back.
///
/// Errors: `edit.no_change` for an operation that is in effect, and `call.invalid` if its undo took back others, too.
fn redo_by_id(context: &Context, session: Option<&str>, id: &str) -> Result<(usize, LogEntry)> {
    let (root, logged) = operation(context, read_undone_name(id)?)?;
    let by = reversal_of(context, root, &logged)?.map(|last| last.by);
    let last = match by {
        Some(by) => operation_in(context, root, by)?.unwrap_or_else(|| logged.clone()),
        None => logged.clone(),
    };
    let id = logged.id;
    if last.operation.is_moment() || last.owner.is_some() {
        return by_id(context, session, &last.id.to_string());
    }
    if !last.is_undo() {
        let what = match (by, &logged.operation.role) {
            (Some(by), Role::Undo(_)) => format!("Operation {id} was redone already, by {by}."),
            (Some(by), _) => format!("Operation {id} is not undone: {by} redid it."),
            (None, _) => format!("Operation {id} is not undone."),
        };
        let next = format!("To take it back, undo operation {}.", last.id);
        return Err(Error::new(Code::EditNoChange, what).next(next));
    }
    if came_back(context, root, &logged)? {
        let what = format!("Operation {id} is not undone: {} brought it back.", last.id);
        return Err(Error::new(Code::EditNoChange, what).next(format!("To take it back, undo operation {id}.")));
    }
    if last.id != id && !last.operation.also_undoes.is_empty() {
        let others: Vec<String> = last.operation.undoes().map(|id| id.to_string()).collect();
        let what = format!("Operation {id} was undone together with others, by {}.", last.id);
        return Err(Error::new(Code::CallInvalid, what)
            .evidence(format!("Operation {} undid {}.", last.id, others.join(", ")))
            .next(format!("To redo all of them, redo operation {}.", last.id)));
    }
    if session.is_some_and(|session| is_foreign(&last, session)) {
        return Err(foreign(&last));
    }
    Ok((root, last))
}

/// Returns the operation of a root with that id.
fn operation_in(context: &Context, root: usize, id: OperationId) -> Result<Option<LogEntry>> {
    context.history(root).operation(id.into())
}

/// True for an edit that came back with an undo of several operations, which also took others back: only an undo of the
/// edit itself takes back nothing else.
pub(crate) fn came_back(context: &Context, root: usize, logged: &LogEntry) -> Result<bool> {
    if logged.operation.role != Role::Edit {
        return Ok(false);
    }
    let Some(LastUndo { by, redone: true }) = reversal_of(context, root, logged)? else { return Ok(false) };
    let by = operation_in(context, root, by)?;
    Ok(by.is_some_and(|by| by.is_undo()))
}

/// Selects several operations of one root by their names.
fn by_ids(context: &Context, ids: &[String]) -> Result<UndoSelection> {
    let all = ids.iter().map(|id| in_effect_by_id(context, id)).collect::<Result<Vec<_>>>()?;
    let root = all.first().map_or(0, |(root, _)| *root);
    Ok(UndoSelection::Known(root, all.into_iter().map(|(_, logged)| logged).collect()))
}

/// Returns an operation in effect, also an edit that a redo brought back.
fn in_effect_by_id(context: &Context, id: &str) -> Result<(usize, LogEntry)> {
    let (root, logged) = operation(context, read_undone_name(id)?)?;
    if logged.owner.is_some() {
        return Err(still_running(&logged));
    }
    let is_redone = |last: &LastUndo| last.redone && logged.operation.role == Role::Edit;
    match reversal_of(context, root, &logged)?.filter(|last| !is_redone(last)) {
        Some(last) => Err(already_reversed(&logged, last)),
        None => Ok((root, logged)),
    }
}

fn select_last(
    context: &Context,
    session: Option<&str>,
    path: Option<&Path>,
    redo: bool,
    times: usize,
) -> Result<UndoSelection> {
    let safe_path = path.map(|path| context.resolve_no_follow(path, Access::Read)).transpose()?;
    let (mut found, mut last_edit) = (Vec::new(), None);
    for root in 0..context.root_count() {
        match last_of(context, root, session, safe_path.as_ref().map(key), redo, times)? {
            UndoCandidates::Known { candidates, edited_at } => {
                found.push(candidates);
                last_edit = last_edit.max(edited_at);
            }
            UndoCandidates::UnderWay(logged) => return Ok(UndoSelection::UnderWay(root, logged)),
        }
    }
    for candidates in &mut found {
        candidates.retain(|it| Some(it.logged.at) > last_edit);
    }
    let all = newest_first(found, |it: &UndoCandidate| it.logged.at, times);
    let verb = if redo { "redo" } else { "undo" };
    if let Some((nth, gap)) = all.iter().enumerate().find_map(|(nth, (_, it))| Some((nth, it.across?))) {
        let first = all.get(nth).map(|(_, it)| &it.logged);
        return Err(uncertain(gap, first, nth, times, if redo { "redone" } else { "undone" }));
    }
    let all: Vec<(usize, LogEntry)> = all.into_iter().map(|(root, it)| (root, it.logged)).collect();
    let Some(&(root, _)) = all.first() else {
        return Err(nothing_left(context, session, safe_path.as_ref(), verb)?);
    };
    if all.len() < times {
        let there = if all.len() == 1 { "is only 1 operation" } else { &*format!("are only {} operations", all.len()) };
        let what = format!("There {there} to {verb}, not {times}; nothing was done.");
        return Err(Error::new(Code::OperationMissing, what).next(
            Advice::named("Repeat the call with {last=}, or call {history()} to see what was done.")
                .set("last", all.len())
                .or("Undo one operation with each call."),
        ));
    }
    let same = all.iter().take_while(|(other, _)| *other == root).count();
    if same < times {
        let what = format!("The last {times} operations belong to several roots; nothing was done.");
        return Err(Error::new(Code::CallInvalid, what).next(advice![
            format!("The last {same} of them belong to one root: repeat the call with "),
            Phrase::Set("last", same.into()),
            "."
        ]));
    }
    Ok(UndoSelection::Known(root, all.into_iter().map(|(_, logged)| logged).collect()))
}

/// Creates the error for a session without an operation to undo or redo.
fn nothing_left(context: &Context, session: Option<&str>, path: Option<&SafePath>, verb: &str) -> Result<Error> {
    let whose = session.map_or(String::new(), |session| format!(" in the session {session}"));
    let lost = context
        .history_gaps()?
        .first()
        .map_or(String::new(), |gap| format!(" The history was damaged or could not be written: {gap}."));
    let error = Error::new(Code::OperationMissing, format!("There is nothing to {verb}{whose}.{lost}"));
    let error = path.into_iter().fold(error, |error, path| error.evidence(path.shown()));
    let error = match last_undo(context, session).filter(|_| verb == "undo") {
        Some(id) => error.evidence(format!("Operation {id} took back what was done: a redo brings it back.")),
        None => error,
    };
    let seen = Advice::named("Call {history()} to see what was done.").or("Make the change with an edit.");
    let others = Advice::named(
        "Call {history()} to see what was done; to take back what others did, repeat the call with {any_session=true}.",
    );
    Ok(error.next(if session.is_some() { others.or(seen) } else { seen }))
}

/// Returns the newest operations of a root that can be undone or redone: none if another operation followed. An
/// undo or redo in progress may still be aborted, and its operation would then be the one to select.
fn last_of(
    context: &Context,
    root: usize,
    session: Option<&str>,
    path: Option<&[u8]>,
    redo: bool,
    times: usize,
) -> Result<UndoCandidates> {
    let (mut candidates, mut edited_at) = (Vec::new(), None);
    // Of all sessions: an operation may be undone by another one.
    let last = context.history(root).operations(&OperationFilter::newest(1))?;
    let newest = last.first().map_or(0, |last| last.id.number);
    let mut gaps = HistoryGaps(context.history(root).gaps()?);
    let filter = OperationFilter { session, path, ..OperationFilter::default() };
    for logged in logged_operations(context.history(root), filter) {
        let logged = logged?;
        if logged.operation.is_moment() {
            continue;
        }
        let takes_back = logged.operation.role != Role::Edit;
        if takes_back && logged.is_in_flight() {
            return Ok(UndoCandidates::UnderWay(Box::new(logged)));
        }
        // The operation was undone since the newest one was read.
        if logged.undone_by.is_some_and(|by| by.number > newest) {
            return last_of(context, root, session, path, redo, times);
        }
        gaps.meet(&logged);
        let is_candidate = match logged.operation.role {
            // An undo before it is irrelevant to a redo, whether it was undone itself or not.
            Role::Edit if redo => {
                edited_at = Some(logged.at);
                break;
            }
            _ if logged.owner.is_some() => false,
            _ if logged.undone_by.is_some() => !redo && came_back(context, root, &logged)?,
            Role::Undo(_) => redo,
            Role::Edit | Role::Redo(_) => !redo,
        };
        if is_candidate {
            candidates.push(UndoCandidate { across: gaps.before(&logged), logged });
        }
        if candidates.len() == times {
            break;
        }
    }
    Ok(UndoCandidates::Known { candidates, edited_at })
}

/// Returns the session whose operations a call may undo; `None` for all. Callers undo their own operations, unless they
/// say otherwise. A person who names an operation has seen whose it is.
pub(super) fn session_filter<'a>(caller: &'a CallContext, args: &UndoInput) -> Option<&'a str> {
    let is_named_by_person = args.id.is_some() && caller.allows_unread();
    (!args.any_session && !is_named_by_person).then_some(&*caller.session)
}

/// True for an operation of another session. A change by others belongs to no session: a caller who names it intends to
/// undo it.
pub(super) fn is_foreign(logged: &LogEntry, session: &str) -> bool {
    logged.operation.session != session && !logged.operation.is_outside()
}
