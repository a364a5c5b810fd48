//! Several names of one file in one call: hard links, or a directory that is mounted twice. What is written through one
//! name is in all of them, so the plans, each made for a file of its own, do not fit together.

use crate::model::call_origin::CallOrigin;
use crate::pipeline::plan::file_plan::{FilePlan, TargetState};
use emendate_core::{Advice, Code, Error, Result};
use std::collections::{HashMap, HashSet};

/// Keeps one of the plans that change a file through several of its names, if their results are equal.
///
/// Errors: `call.invalid` if they differ, if one of them removes or moves its name, or if a new file is to take the place
/// of a name that moves away: a file with other names is written in place, so they would get its text.
pub(crate) fn join_plans(origin: CallOrigin<'_>, plans: &mut Vec<FilePlan>) -> Result<()> {
    let moved: HashSet<_> = plans.iter().filter_map(|plan| Some(plan.move_source()?.absolute())).collect();
    let is_replaced = |plan: &&FilePlan| plan.target == TargetState::File && moved.contains(plan.path.absolute());
    if let Some(plan) = plans.iter().filter(|plan| plan.writes() && has_links(plan)).find(is_replaced) {
        return Err(replacement_refusal(origin, plan));
    }
    let mut by_file: HashMap<(u64, u64), Vec<usize>> = HashMap::with_capacity(plans.len());
    for (nth, plan) in plans.iter().enumerate().filter(|(_, plan)| plan.writes()) {
        if let Some(now) = plan.current.file() {
            by_file.entry((now.meta.dev, now.meta.ino)).or_default().push(nth);
        }
    }
    let mut groups: Vec<Vec<usize>> = by_file.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_unstable();
    let mut joined = HashSet::new();
    for group in groups {
        let [first, others @ ..] = &*group else { continue };
        // Names can be removed and moved together.
        let is_shared = group.iter().any(|nth| changes_in_place(&plans[*nth]));
        if !is_shared || others.iter().any(|nth| !is_one_file(&plans[*first], &plans[*nth])) {
            continue;
        }
        for other in others {
            if !is_same_change(&plans[*first], &plans[*other]) {
                return Err(refusal(origin, &plans[*first], &plans[*other]));
            }
            join(plans, *first, *other);
        }
        joined.extend(others.iter().copied());
    }
    let mut nth = 0;
    plans.retain(|_| {
        nth += 1;
        !joined.contains(&(nth - 1))
    });
    Ok(())
}

/// True if a plan changes the file itself, not only its name.
fn changes_in_place(plan: &FilePlan) -> bool {
    plan.target == TargetState::File && plan.source_file.is_none()
}

/// True unless the two files only have the same number, as on some network file systems.
fn is_one_file(one: &FilePlan, other: &FilePlan) -> bool {
    let text = |plan: &FilePlan| plan.current.file().map(|now| now.snapshot.id());
    text(one) == text(other)
}

/// True if the file system says that the file has several names. Where only the number is equal, a plan that is left out
/// might be about another file.
fn has_links(plan: &FilePlan) -> bool {
    plan.current.file().is_some_and(|now| now.meta.links > 1)
}

/// True if both plans leave the same bytes and the same mode in a file with several names.
fn is_same_change(one: &FilePlan, other: &FilePlan) -> bool {
    let bytes = |plan: &FilePlan| plan.changes.apply(&plan.before);
    changes_in_place(one)
        && changes_in_place(other)
        && has_links(one)
        && (one.executable, one.mode) == (other.executable, other.mode)
        && one.source.is_none()
        && other.source.is_none()
        && bytes(one) == bytes(other)
}

/// Reports a plan with another one that makes the same change.
fn join(plans: &mut [FilePlan], kept: usize, other: usize) {
    let name = plans[other].path.shown();
    let (failed, rejected) =
        (std::mem::take(&mut plans[other].outcome.failed), std::mem::take(&mut plans[other].outcome.rejected));
    let outcome = &mut plans[kept].outcome;
    outcome.failed.extend(failed);
    outcome.rejected.push_str(&rejected);
    outcome.notes.push(format!("{name} is another name of this file; the call makes the same change there."));
}

fn refusal(origin: CallOrigin<'_>, first: &FilePlan, other: &FilePlan) -> Error {
    let (one, two) = (first.path.shown(), other.path.shown());
    let gone = [first, other].into_iter().find(|plan| !changes_in_place(plan));
    let what = match gone {
        Some(gone) => format!("The call changes this file and removes {}, another name of it.", gone.path.shown()),
        None if has_links(first) => {
            format!("{two} is another name of {one}, and the call changes both, in different ways.")
        }
        None => format!("{two} and {one} are one file for the file system, and the call changes both."),
    };
    let next = match gone {
        _ if undoes_several(origin) => one_undo_at_a_time(),
        _ if !origin.is_an_edit() => {
            format!("Change {one} back with an edit of that name alone; {two} changes with it.").into()
        }
        Some(gone) => {
            format!("Remove or move {} in a call of its own, then make the edit in another.", gone.path.shown()).into()
        }
        None => format!("Make all edits through one name, {one}; {two} changes with it.").into(),
    };
    Error::new(Code::CallInvalid, what)
        .evidence(format!("{one}\n{two}"))
        .evidence("These are names of one file (hard links): what is written through one is in the other, too.")
        .next(next)
}

fn replacement_refusal(origin: CallOrigin<'_>, plan: &FilePlan) -> Error {
    let name = plan.path.shown();
    let links = plan.current.file().map_or(0, |now| now.meta.links);
    let next = if undoes_several(origin) {
        one_undo_at_a_time()
    } else {
        format!("Move {name} in a call of its own, then make the new file in another.").into()
    };
    Error::new(Code::CallInvalid, format!("The call moves {name} away, and makes another file at its path."))
        .evidence(format!("It is one of {links} names (hard links) of a file, and the others would get the new text."))
        .next(next)
}

/// True for the undo of several operations.
fn undoes_several(origin: CallOrigin<'_>) -> bool {
    !origin.is_an_edit() && !origin.also.is_empty()
}

fn one_undo_at_a_time() -> Advice {
    Advice::named("Undo one operation at a time, the newest first: call {undo()} with nothing but the {id} of each.")
        .or("Undo one operation at a time, the newest first.")
}
