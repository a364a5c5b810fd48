//! Calls that wait for a person: their question is stored, and they wait for its answer without any lock of the engine.

use crate::api::questions::notify::start_notification;
use crate::api::questions::record::{
    AnswerKind, AnswerOutcome, AnswerOutcomeKind, AnswerRecord, AskingCall, CallerRecord, QuestionRecord,
    RECORD_VERSION,
};
use crate::api::questions::{question_root, question_store};
use crate::context::call::Call;
use crate::model::approval::Approval;
use crate::model::call_context::CallContext;
use crate::model::question::Question;
use crate::model::reply::Reply;
use emendate_core::{Error, ErrorContext, Result};
use emendate_history::{Deadline, DirectoryWatch, QuestionLock, QuestionStore, now_micros};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Questions of one call: after each answer the call is planned again, and the file may have changed.
const QUESTIONS_OF_CALL_MAX: usize = 16;
/// Interval of the checks whether the call was cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(100);

/// A question of a call that waits. While it lives, other processes leave the change to this one. If it is dropped, or
/// its process ends, the question stays: whoever answers it then carries it out.
#[derive(Clone)]
pub struct WaitingQuestion(Arc<WaitingState>);

struct WaitingState {
    store: QuestionStore,
    lock: QuestionLock,
    digest: String,
    until: Deadline,
    /// Set when the question has its answer or nobody waits for it any more; ends the notification command.
    ended: Arc<AtomicBool>,
    /// Faults of the notification command.
    problems: Arc<Mutex<Vec<String>>>,
}

impl Drop for WaitingState {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

/// The end of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitEnd {
    /// A person answered: the same call with this approval carries it out.
    Answered(Approval),
    /// Nobody answered in time; the question is withdrawn.
    TimeOver,
    /// There is no answer yet.
    StillWaiting,
}

impl WaitingQuestion {
    /// The id for `emend approve`.
    pub fn id(&self) -> &str {
        self.0.lock.id()
    }

    /// The moment at which nobody waits for the answer any more.
    pub fn until(&self) -> Deadline {
        self.0.until
    }

    /// Waits for the answer at most this long. After the time limit of the configuration, the question is withdrawn.
    ///
    /// Errors: those of the state directory.
    pub fn wait(&self, timeout: Duration) -> Result<WaitEnd> {
        let WaitingState { store, until, .. } = &*self.0;
        let (id, deadline) = (self.id(), Deadline::after(timeout));
        let mut watch = DirectoryWatch::new([store.directory()]);
        loop {
            if let Some(answer) = self.answer()? {
                return Ok(answer);
            }
            if until.left().is_zero() {
                // A person may answer at this moment: whoever is first wins.
                return Ok(if store.put_answer(id, &withdrawal())? {
                    WaitEnd::TimeOver
                } else {
                    self.answer()?.unwrap_or(WaitEnd::TimeOver)
                });
            }
            let left = deadline.left().min(until.left());
            if left.is_zero() {
                return Ok(WaitEnd::StillWaiting);
            }
            watch.wait(left);
        }
    }

    fn answer(&self) -> Result<Option<WaitEnd>> {
        let Some(bytes) = self.0.store.answer(self.id())? else { return Ok(None) };
        let answer = serde_json::from_slice(&bytes).unwrap_or_else(|_| AnswerRecord::of(AnswerKind::Withdraw));
        Ok(Some(match answer.answer {
            AnswerKind::Withdraw => WaitEnd::TimeOver,
            _ => WaitEnd::Answered(answer.approval(&self.0.digest)),
        }))
    }

    /// Withdraws the question of a call that was cancelled. If a person answered at the same moment, the answer has no
    /// effect, and that is reported to them.
    pub fn withdraw(&self) {
        // If this fails, an answer is reported as interrupted.
        let _ = self.0.store.put_answer(self.id(), &withdrawal());
        self.finish_as(&AnswerOutcome::new(AnswerOutcomeKind::Withdrawn, "The call does not wait any more."));
    }

    /// Reports what became of the question, and removes it. `next` is the question with which the call ended instead.
    pub fn finish(&self, reply: &Reply, next: Option<&WaitingQuestion>) {
        self.finish_as(&next.map_or_else(|| outcome_of(reply), |next| asked_again(reply, next)));
    }

    fn finish_as(&self, outcome: &AnswerOutcome) {
        self.0.ended.store(true, Ordering::Relaxed);
        // If this fails, whoever answers finds the change made.
        if let Ok(bytes) = serde_json::to_vec(outcome) {
            let _ = self.0.store.finish(&self.0.lock, &bytes);
        }
    }

    /// Returns the error of a call for which nobody answered in time.
    pub fn time_over(&self, error: Error) -> Error {
        let problems = std::mem::take(&mut *self.0.problems.lock().unwrap_or_else(PoisonError::into_inner));
        problems.into_iter().fold(error.evidence("Nobody answered the question in time."), Error::evidence)
    }
}

/// The stored form of a withdrawal.
fn withdrawal() -> Vec<u8> {
    serde_json::to_vec(&AnswerRecord::of(AnswerKind::Withdraw)).unwrap_or_default()
}

/// Returns what became of a question, by the reply of its call.
pub(super) fn outcome_of(reply: &Reply) -> AnswerOutcome {
    match &reply.result {
        Ok(answer) => AnswerOutcome {
            operation: answer.operation.map(|id| id.to_string()),
            ..AnswerOutcome::new(AnswerOutcomeKind::Written, answer.text.clone())
        },
        Err(error) if error.is_about(&ErrorContext::Declined) => {
            AnswerOutcome::new(AnswerOutcomeKind::Declined, error.to_string())
        }
        Err(error) => AnswerOutcome {
            code: Some(error.code().as_str().to_owned()),
            ..AnswerOutcome::new(AnswerOutcomeKind::Failed, error.to_string())
        },
    }
}

/// Returns the end of a question whose call asked another one instead.
pub(super) fn asked_again(reply: &Reply, next: &WaitingQuestion) -> AnswerOutcome {
    let problem = reply.result.as_ref().err().and_then(Question::of).and_then(|asked| asked.problem);
    let text = problem.unwrap_or_else(|| "The file changed since, so this was not written.".to_owned());
    let next = Some(next.id().to_owned());
    AnswerOutcome { kind: AnswerOutcomeKind::AskedAgain, text, next, ..outcome_of(reply) }
}

/// Stores the question of a call, and notifies a person. `None` if the reply has no question, if the configuration
/// disables waiting, or if the question cannot be stored: secrets never are.
pub(crate) fn store_question(
    call: Call<'_>,
    asking: AskingCall<'_>,
    reply: &Reply,
    until: Option<Deadline>,
) -> Option<WaitingQuestion> {
    let asked = reply.result.as_ref().err().and_then(Question::of)?;
    let settings = &call.config().ask_settings;
    let left = until.map_or(settings.wait, Deadline::left);
    if left.is_zero() || call.caller.dry_run || asked.secret {
        return None;
    }
    let root = question_root(&call, &asked);
    let store = question_store(&call, root)?;
    let at = now_micros();
    let record = QuestionRecord {
        version: RECORD_VERSION,
        at,
        until: at.saturating_add(i64::try_from(left.as_micros()).unwrap_or(i64::MAX)),
        profile: asking.profile.map(str::to_owned),
        tool: asking.tool.to_owned(),
        input: asking.input.clone(),
        caller: CallerRecord::of(call.caller)?,
        question: asked,
    };
    let lock = store.add(&serde_json::to_vec(&record).ok()?).ok()??;
    let state = WaitingState {
        digest: record.question.digest.clone(),
        until: Deadline::after(left),
        ended: Arc::default(),
        problems: Arc::default(),
        store,
        lock,
    };
    start_notification(&call, root, &record, &state.store, state.lock.id(), &state.ended, &state.problems);
    Some(WaitingQuestion(Arc::new(state)))
}

/// Waits for the person whom a call needs by its reply, and makes it again with their answer. `asked` is called with the
/// id of each question.
pub(crate) fn wait_for_person(
    call: Call<'_>,
    asking: AskingCall<'_>,
    mut reply: Reply,
    make: impl Fn(&CallContext) -> Reply,
    asked: impl Fn(&str),
) -> Reply {
    let until = Deadline::after(call.config().ask_settings.wait);
    let mut waiting = store_question(call, asking, &reply, Some(until));
    for _ in 0..QUESTIONS_OF_CALL_MAX {
        let Some(question) = waiting else { return reply };
        asked(question.id());
        let approval = match wait_or_withdraw(&question, call.caller) {
            Ok(WaitEnd::Answered(approval)) => approval,
            end => {
                reply.result = match end {
                    Ok(_) => reply.result.map_err(|error| question.time_over(error)),
                    Err(error) => Err(error),
                };
                question.withdraw();
                return reply;
            }
        };
        reply = make(&CallContext { approval: Some(approval), ..call.caller.clone() });
        waiting = store_question(call, asking, &reply, Some(until));
        question.finish(&reply, waiting.as_ref());
    }
    reply
}

/// Waits for the answer, until the call is cancelled.
///
/// Errors: `call.cancelled`; those of the state directory.
fn wait_or_withdraw(question: &WaitingQuestion, caller: &CallContext) -> Result<WaitEnd> {
    loop {
        caller.check_cancelled()?;
        let end = question.wait(CANCEL_POLL)?;
        if end != WaitEnd::StillWaiting {
            return Ok(end);
        }
    }
}
