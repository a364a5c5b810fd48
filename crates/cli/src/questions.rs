//! `emend pending`, `approve`, `deny` and `correct`: questions of calls that wait for a person.

use crate::args::{ApproveArgs, CorrectArgs, DenyArgs, PendingArgs};
use crate::context::CliContext;
use crate::files::usage;
use crate::styled::{BOLD, PLAIN};
use crate::{approval, input, io_error, relative_names};
use crate::{output, styled};
use chrono::Local;
use emendate::core::CODES;
use emendate::core::{Code, Error, Result};
use emendate::exit_status;
use emendate::{AnswerOutcome, AnswerOutcomeKind, Engine, PendingQuestion, PersonAnswer, QuestionFile, QuestionState};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Lists the questions, or shows one with its diff.
///
/// Errors: a question that does not exist; those of the state directory and of the output.
pub(crate) fn pending(context: &CliContext<'_>, args: &PendingArgs) -> Result<u8> {
    let engine = context.open()?;
    let all = engine.questions().pending()?;
    let shown = match &args.id {
        Some(id) => vec![find(all, id)?],
        None => all,
    };
    if context.global.json {
        let rows: Vec<Value> = shown.iter().map(PendingQuestion::to_json).collect();
        output::value(&json!({ "ok": true, "data": { "questions": rows } }))?;
    } else {
        let mut out = styled::stdout();
        let written = match (&args.id, &*shown) {
            (_, []) => out.plain("No question waits."),
            (None, all) => all.iter().try_for_each(|question| out.plain(&line(question, context.global.utc))),
            (Some(_), all) => all.iter().try_for_each(|question| {
                out.line(BOLD, &line(question, context.global.utc))?;
                question.files.iter().try_for_each(|file| {
                    out.plain(&relative_names::in_text(&file.summary))?;
                    out.plain(&format!("Asked because of the rule `{}` of {}.", file.rule, file.origin))?;
                    out.put(PLAIN, &file.diff)
                })
            }),
        };
        styled::ignore_broken_pipe(written.and_then(|()| out.flush()))?;
    }
    output::notices(&engine);
    Ok(0)
}

/// Describes a question in one line.
fn line(question: &PendingQuestion, utc: bool) -> String {
    let time = if utc { question.at.to_rfc3339() } else { question.at.with_timezone(&Local).to_rfc3339() };
    let time = time.get(..19).unwrap_or(&time).replace('T', " ");
    let files = match &*question.files {
        [only] => relative_names::in_text(&emendate::fs::shown(&only.path)).into_owned(),
        several => format!("{} files", several.len()),
    };
    let state = match question.state {
        QuestionState::Waiting => "waits",
        QuestionState::Abandoned => "its call ended: an answer carries it out",
        QuestionState::Answered => "answered, being carried out",
        _ => "answered, but its process ended: answer it again",
    };
    format!("{}  {time}  {}  {}  {files}  ({state})", question.id, question.session, question.tool)
}

/// Errors: `operation.not_found`.
fn find(all: Vec<PendingQuestion>, id: &str) -> Result<PendingQuestion> {
    all.into_iter().find(|question| question.id == id).ok_or_else(|| {
        Error::new(Code::OperationMissing, format!("No question {id} waits in this project."))
            .next("`emend pending` lists the questions that wait.")
    })
}

/// Approves the change of a question.
///
/// Errors: those of the answer.
pub(crate) fn approve(context: &CliContext<'_>, args: &ApproveArgs) -> Result<u8> {
    answer(context, &context.open()?, &args.id, &PersonAnswer::Approve)
}

/// Declines it.
///
/// Errors: those of the answer.
pub(crate) fn deny(context: &CliContext<'_>, args: &DenyArgs) -> Result<u8> {
    answer(context, &context.open()?, &args.id, &PersonAnswer::Deny { reason: args.reason.clone() })
}

/// Lets the person change the text before it is written.
///
/// Errors: no text that could be changed; those of the editor and of the answer.
pub(crate) fn correct(context: &CliContext<'_>, args: &CorrectArgs) -> Result<u8> {
    let engine = context.open()?;
    let question = find(engine.questions().pending()?, &args.id)?;
    let path = args.path.as_deref().map(|path| context.absolute(path)).transpose()?;
    let files = question.files.iter().filter(|file| path.as_ref().is_none_or(|path| *path == file.path));
    let files: Vec<(&QuestionFile, &String)> = files.filter_map(|file| Some((file, file.proposed.as_ref()?))).collect();
    if files.is_empty() {
        return Err(usage("The question has no such file whose text can be changed.", "Approve or deny it."));
    }
    if args.from.is_some() && files.len() > 1 {
        return Err(usage("The question has several files.", "Name the one to correct: emend correct ID PATH."));
    }
    let mut texts = Vec::new();
    for (file, proposed) in files {
        let text = match &args.from {
            Some(from) => text_from(from)?,
            None => approval::edited(&file.path, proposed)?,
        };
        if text != *proposed {
            texts.push((file.path.clone(), text));
        }
    }
    let person_answer = if texts.is_empty() { PersonAnswer::Approve } else { PersonAnswer::Correct { texts } };
    answer(context, &engine, &args.id, &person_answer)
}

/// Reads a text from a file, or from standard input.
fn text_from(from: &Path) -> Result<String> {
    if from == Path::new("-") {
        return input::stdin("the text");
    }
    std::fs::read_to_string(from).map_err(|error| io_error(&PathBuf::from(from).display().to_string(), &error))
}

/// Answers a question, and shows what became of it.
fn answer(context: &CliContext<'_>, engine: &Engine, id: &str, person_answer: &PersonAnswer) -> Result<u8> {
    if context.global.dry_run {
        find(engine.questions().pending()?, id)?;
        output::note("nothing was answered: this is a dry run");
        return Ok(0);
    }
    let outcome = engine.questions().answer(id, person_answer)?;
    output::notices(engine);
    let status = status_of(&outcome);
    if context.global.json {
        output::value(&json!({ "ok": status == 0, "data": {
            "outcome": outcome.kind, "text": outcome.text, "operation": outcome.operation,
            "code": outcome.code, "next": outcome.next,
        }}))?;
        return Ok(status);
    }
    let text = match (outcome.kind, &outcome.next) {
        (AnswerOutcomeKind::AskedAgain, Some(next)) => {
            format!("{} It waits as {next} now: emend pending {next}", outcome.text.trim_end())
        }
        (AnswerOutcomeKind::Declined, _) => "Declined; nothing was written.".to_owned(),
        _ => outcome.text.clone(),
    };
    if status == 0 {
        let mut out = styled::stdout();
        let text = relative_names::in_text(text.trim_end());
        styled::ignore_broken_pipe(out.plain(&text).and_then(|()| out.flush()))?;
    } else {
        output::note(&text);
    }
    Ok(status)
}

/// Returns the exit status for the end of a question: that of the call.
fn status_of(outcome: &AnswerOutcome) -> u8 {
    match outcome.kind {
        AnswerOutcomeKind::AskedAgain => exit_status(Code::AccessAsk),
        AnswerOutcomeKind::Withdrawn => exit_status(Code::ConflictRaced),
        AnswerOutcomeKind::Failed => {
            let row = CODES.iter().find(|row| Some(row.name) == outcome.code.as_deref());
            exit_status(row.map_or(Code::IoFailed, |row| row.code))
        }
        _ => 0,
    }
}
