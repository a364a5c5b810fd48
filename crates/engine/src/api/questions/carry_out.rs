//! Answers to questions. If the process of the call waits, it carries the answer out; if it ended, the process of the
//! answer does, with the stored call. In both cases the approval is for exactly the change that was shown.

use crate::api::engine::Engine;
use crate::api::profile::profile;
use crate::api::questions::record::{
    AnswerKind, AnswerOutcome, AnswerOutcomeKind, AnswerRecord, AskingCall, CorrectedText, QuestionRecord,
    RECORD_VERSION,
};
use crate::api::questions::waiting::{asked_again, outcome_of, store_question};
use crate::api::questions::{PersonAnswer, find_question};
use crate::context::Context;
use crate::context::call::Call;
use crate::model::call_context::CallContext;
use crate::model::raw_path::path_of_json;
use crate::model::reply::Reply;
use crate::pipeline::checks::approval::declined;
use crate::session::in_doubt::{current_side, resolve_all_in_doubt};
use emendate_core::{Code, Error, Result};
use emendate_history::{Deadline, DirectoryWatch, QuestionLock, QuestionStore};
use std::time::Duration;

/// Characters of a reason.
const REASON_CHARS_MAX: usize = 2000;
/// Longest wait for the process of the call to carry out an answer.
const HAND_OVER_WAIT: Duration = Duration::from_secs(10);
/// Interval of the checks whether the process of the call ended meanwhile.
const HAND_OVER_POLL: Duration = Duration::from_millis(200);

/// Answers a question: the first answer wins.
///
/// Errors: `operation.not_found` for a question that does not wait; `conflict.raced` if it has an answer already;
/// `call.invalid` for texts of other files; those of the state directory.
pub(crate) fn answer_question(engine: &Engine, id: &str, answer: &PersonAnswer) -> Result<AnswerOutcome> {
    let (store, found) = find_question(&engine.context, id)?;
    let record: QuestionRecord = serde_json::from_slice(&found.question).map_err(|_| unreadable(id))?;
    if record.version != RECORD_VERSION {
        return Err(unreadable(id));
    }
    let answer = record_of(answer, &record)?;
    let bytes = serde_json::to_vec(&answer).map_err(|_| unreadable(id))?;
    if !store.put_answer(id, &bytes)? {
        // The first answer was given, but nobody carried it out.
        let Some(lock) = store.take(id)? else { return Err(answered_already(id)) };
        store.replace_answer(&lock, &bytes)?;
        return carry_out(engine, &store, &lock, &record, &answer);
    }
    let (deadline, mut watch) = (Deadline::after(HAND_OVER_WAIT), DirectoryWatch::new([store.directory()]));
    loop {
        if let Some(result) = store.result(id)? {
            return serde_json::from_slice(&result).map_err(|_| unreadable(id));
        }
        if let Some(lock) = store.take(id)? {
            return carry_out(engine, &store, &lock, &record, &answer);
        }
        if deadline.left().is_zero() {
            let text = "The process of the call has the answer, and has not carried it out yet.";
            return Ok(AnswerOutcome::new(AnswerOutcomeKind::HandedOver, text));
        }
        watch.wait(HAND_OVER_POLL);
    }
}

/// Converts an answer.
///
/// Errors: `call.invalid` for texts of files that cannot be corrected.
fn record_of(answer: &PersonAnswer, record: &QuestionRecord) -> Result<AnswerRecord> {
    Ok(match answer {
        PersonAnswer::Approve => AnswerRecord::of(AnswerKind::Approve),
        PersonAnswer::Deny { reason } => {
            let reason: String = reason.chars().take(REASON_CHARS_MAX).collect();
            AnswerRecord { reason: Some(reason), ..AnswerRecord::of(AnswerKind::Deny) }
        }
        PersonAnswer::Correct { texts } => {
            for (path, _) in texts {
                let mut files = record.question.files.iter();
                if !files.any(|file| path_of_json(&file.data) == *path && file.proposed.is_some()) {
                    let what = format!("The text of {} cannot be corrected.", emendate_fs::shown(path));
                    return Err(Error::new(Code::CallInvalid, what)
                        .next("Name a file of the question whose text is shown, or approve or deny it."));
                }
            }
            let texts = texts.iter().map(|(path, text)| CorrectedText { file_path: path.clone(), text: text.clone() });
            AnswerRecord { texts: texts.collect(), ..AnswerRecord::of(AnswerKind::Correct) }
        }
    })
}

/// Carries out an answer in place of the process of the call, which ended.
fn carry_out(
    engine: &Engine,
    store: &QuestionStore,
    lock: &QuestionLock,
    record: &QuestionRecord,
    answer: &AnswerRecord,
) -> Result<AnswerOutcome> {
    let outcome = if is_written(&engine.context, record) {
        // The process ended between its write and its report.
        let text = "The change had been written before the process of the call ended.";
        AnswerOutcome::new(AnswerOutcomeKind::WrittenBefore, text)
    } else if answer.answer == AnswerKind::Deny {
        AnswerOutcome::new(AnswerOutcomeKind::Declined, declined(answer.reason.as_deref()).to_string())
    } else {
        let reply = call_again(engine, record, answer);
        let asking = AskingCall { profile: record.profile.as_deref(), tool: &record.tool, input: &record.input };
        let caller = CallContext { approval: None, ..record.caller.context() };
        // A person has to see the new change, or give another text. Nobody waits for it.
        let wait = Deadline::after(Duration::from_secs(1));
        let next = store_question(Call::new(&engine.context, &caller), asking, &reply, Some(wait));
        next.map_or_else(|| outcome_of(&reply), |next| asked_again(&reply, &next))
    };
    store.finish(lock, &serde_json::to_vec(&outcome).unwrap_or_default())?;
    Ok(outcome)
}

/// Makes a call again with a person's answer.
fn call_again(engine: &Engine, record: &QuestionRecord, answer: &AnswerRecord) -> Reply {
    let caller = CallContext { approval: Some(answer.approval(&record.question.digest)), ..record.caller.context() };
    match record.profile.as_deref().and_then(profile).and_then(|profile| profile.find_view(&record.tool)) {
        Some(view) => view.call(engine, &caller, record.input.clone()),
        None => engine.call(&caller, &record.tool, record.input.clone()),
    }
}

/// True if all files are as the change would leave them.
fn is_written(context: &Context, record: &QuestionRecord) -> bool {
    // An operation in doubt is resolved by the files, too.
    let _ = resolve_all_in_doubt(context);
    let Some(states) = record.question.states.as_ref().filter(|states| !states.is_empty()) else { return false };
    states.iter().all(|state| {
        let Some(after) = &state.after else { return false };
        let Ok(path) = context.store().resolve_no_follow(&path_of_json(&state.file)) else { return false };
        let Ok(now) = current_side(context, &path) else { return false };
        now.map_or_else(String::new, |now| now.content.to_string()) == *after
    })
}

/// The error for a question of another version of this program.
fn unreadable(id: &str) -> Error {
    Error::new(Code::CallInvalid, format!("The question {id} was stored by another version of this program."))
        .next("Answer it with that version, or repeat the call that asked.")
}

/// The error for the second of two answers.
fn answered_already(id: &str) -> Error {
    Error::new(Code::ConflictRaced, format!("The question {id} has an answer already; this one has no effect."))
        .next("`emend history` shows what was written; undo it if it is wrong.")
}
