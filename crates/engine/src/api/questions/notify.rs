//! Runs the command that notifies a person of a question, and that may print their answer.

use crate::api::questions::pending_of;
use crate::api::questions::record::{AnswerKind, AnswerRecord, QuestionRecord};
use crate::context::Context;
use emendate_history::{QUESTION_BYTES_MAX, QuestionStore};
use emendate_run::{CommandJob, CommandOutput, run_until};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Starts the configured command on a thread of its own, until the question has its answer.
pub(super) fn start_notification(
    context: &Context,
    root: usize,
    record: &QuestionRecord,
    store: &QuestionStore,
    id: &str,
    ended: &Arc<AtomicBool>,
    problems: &Arc<Mutex<Vec<String>>>,
) {
    let argv = context.config().ask_settings.notify.clone();
    if argv.is_empty() {
        return;
    }
    let directory = context.root_path(root).unwrap_or(Path::new("/")).to_owned();
    let notification = Notification {
        argv,
        directory,
        input: pending_of(id, record, None, true).to_json().to_string(),
        time: context.config().ask_settings.wait,
        store: store.clone(),
        id: id.to_owned(),
        ended: Arc::clone(ended),
        problems: Arc::clone(problems),
    };
    // If the thread cannot be started, nobody is notified; the question can still be answered.
    drop(std::thread::Builder::new().name("emend-notify".to_owned()).spawn(move || notification.run()));
}

/// The configured command with everything that its thread needs.
struct Notification {
    argv: Vec<String>,
    directory: PathBuf,
    input: String,
    time: Duration,
    store: QuestionStore,
    id: String,
    ended: Arc<AtomicBool>,
    problems: Arc<Mutex<Vec<String>>>,
}

impl Notification {
    /// Runs the command and stores its answer. A failure is noted unless the question has its answer by then.
    fn run(&self) {
        let fault = match run_command(&self.argv, &self.directory, &self.input, self.time, &self.ended) {
            Ok(Some(answer)) => serde_json::to_vec(&answer)
                .map_err(|error| error.to_string())
                .and_then(|bytes| self.store.put_answer(&self.id, &bytes).map_err(|error| error.message().to_owned()))
                .err(),
            Ok(None) => None,
            Err(fault) => Some(fault),
        };
        if let Some(fault) = fault.filter(|_| !self.ended.load(Ordering::Relaxed)) {
            let text = format!("The notification command did not work: {fault}");
            self.problems.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        }
    }
}

/// Runs the command; returns the answer that it prints, if it prints one.
fn run_command(
    argv: &[String],
    directory: &Path,
    input: &str,
    time: Duration,
    ended: &AtomicBool,
) -> Result<Option<AnswerRecord>, String> {
    let job = CommandJob { argv, directory, input: input.as_bytes(), time, output_bytes_max: QUESTION_BYTES_MAX };
    match run_until(job, ended) {
        Err(error) => Err(error.message().to_owned()),
        Ok(CommandOutput { status: Some(0), output, .. }) => read_answer(&output),
        Ok(CommandOutput { stderr, .. }) => {
            Err(format!("it failed: {}", stderr.trim().lines().next().unwrap_or("it printed nothing")))
        }
    }
}

/// Reads what the command printed: nothing, a word, or an object.
fn read_answer(output: &[u8]) -> Result<Option<AnswerRecord>, String> {
    let text = String::from_utf8_lossy(output);
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match word {
        "" => Ok(None),
        "approve" => Ok(Some(AnswerRecord::of(AnswerKind::Approve))),
        "deny" => {
            let reason = Some(rest.trim().to_owned()).filter(|reason| !reason.is_empty());
            Ok(Some(AnswerRecord { reason, ..AnswerRecord::of(AnswerKind::Deny) }))
        }
        _ => match serde_json::from_str::<AnswerRecord>(text) {
            Ok(answer) if answer.answer != AnswerKind::Withdraw => Ok(Some(answer)),
            _ => Err("it printed something else than nothing, `approve`, `deny REASON`, or an object with `answer`"
                .to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{AnswerKind, read_answer};

    #[test]
    fn answers_are_words_or_objects() {
        assert_eq!(read_answer(b" \n"), Ok(None));
        assert_eq!(read_answer(b"approve\n").unwrap().unwrap().answer, AnswerKind::Approve);
        let denied = read_answer(b"deny use tabs\n").unwrap().unwrap();
        assert_eq!((denied.answer, denied.reason.as_deref()), (AnswerKind::Deny, Some("use tabs")));
        let corrected = br#"{"answer": "correct", "texts": [{"file_path": "/a", "text": "x"}]}"#;
        assert_eq!(read_answer(corrected).unwrap().unwrap().texts[0].text, "x");
        for wrong in [&b"yes"[..], b"{}", br#"{"answer": "withdraw"}"#, br#"{"answer": "approve", "x": 1}"#, b"\xff"] {
            assert!(read_answer(wrong).is_err(), "{wrong:?}");
        }
    }
}
