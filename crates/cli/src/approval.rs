//! Approval by the person at the terminal: shows the planned change, and accepts yes, no, an edited text or always.

use crate::context::CliContext;
use crate::diff::DiffLayout;
use crate::styled::{BOLD, PLAIN, StyledWriter};
use crate::{io_error, output, styled, trust};
use emendate::core::{Code, Error, Result};
use emendate::{Approval, AskingCall, CallContext, Engine, Reply, path_of_json, question};
use serde_json::{Map, Value};
use std::io::{self, BufRead, IsTerminal as _, Write};
use std::path::Path;
use std::process::Command;

/// Questions of one call: after each answer the call is planned again, and another file may need approval.
const QUESTIONS_MAX: usize = 16;

/// A person's answer.
#[derive(Debug, PartialEq, Eq)]
enum ApprovalAnswer {
    Yes,
    No,
    Edit,
    Always,
}

/// Makes a call; if it needs approval, asks the person at the terminal and repeats it. Changes that cannot be undone
/// need approval, too; if nobody can be asked, a warning is printed first.
pub(crate) fn call(context: &CliContext<'_>, make: impl Fn(&CallContext) -> Reply) -> Reply {
    call_with_context(context, &make).0
}

/// Makes a call like [`call`]. If nobody is at the terminal, and the configuration lets calls wait, the question can be
/// answered elsewhere.
pub(crate) fn call_or_wait(
    context: &CliContext<'_>,
    engine: &Engine,
    call: AskingCall<'_>,
    make: impl Fn(&CallContext) -> Reply,
) -> Reply {
    let (reply, caller) = call_with_context(context, &make);
    if asks_at_terminal(context) {
        return reply;
    }
    engine.questions().wait_for_person(&caller, call, reply, &make, note_question)
}

/// True if a person at the terminal can be asked.
fn asks_at_terminal(context: &CliContext<'_>) -> bool {
    !context.global.json && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Makes a call, and asks the person at the terminal. Returns the reply, and the caller with what was answered.
fn call_with_context(context: &CliContext<'_>, make: &impl Fn(&CallContext) -> Reply) -> (Reply, CallContext) {
    // On a command line, every relative name has the same base.
    let mut caller = CallContext { names_from: context.cwd.clone(), ..context.caller() };
    let mut reply = make(&caller);
    let asks = asks_at_terminal(context);
    for _ in 0..QUESTIONS_MAX {
        let Some(error) = reply.result.as_ref().err() else { break };
        let mut out = styled::stderr().laid_out(DiffLayout::layout_for_terminal(context.global.side_by_side));
        let answered = if error.code() == Code::OperationIrreversible && caller.irreversible == Some(false) {
            if !asks {
                output::note(error.message());
            } else if !agrees(error, &mut io::stdin().lock(), &mut out).unwrap_or(false) {
                break;
            }
            caller.irreversible = Some(true);
            Ok(())
        } else if let Some(asked) = question(error).filter(|_| asks).cloned() {
            converse(&asked, &mut io::stdin().lock(), &mut out, edited, |rules| trust::remember_rules(context, rules))
                .map(|approval| caller.approval = Some(approval))
        } else {
            break;
        };
        if let Err(error) = answered {
            reply.result = Err(error);
            break;
        }
        reply = make(&caller);
    }
    (reply, caller)
}

/// Prints on standard error that the call waits for an answer.
pub(crate) fn note_question(id: &str) {
    output::note(&format!("waiting for a person: `emend approve {id}`, or deny or correct"));
}

/// Asks whether to make a change that cannot be undone.
fn agrees<W: Write>(error: &Error, input: &mut dyn BufRead, out: &mut StyledWriter<W>) -> io::Result<bool> {
    out.line(BOLD, error.message())?;
    Ok(answer(input, out, false, false)? == ApprovalAnswer::Yes)
}

/// Shows a question and reads the answer. `edit` lets the person change a text, `always` remembers rules.
///
/// Errors: output, editing or storing the rules failed.
fn converse<W: Write>(
    question: &Value,
    input: &mut dyn BufRead,
    out: &mut StyledWriter<W>,
    edit: impl Fn(&Path, &str) -> Result<String>,
    always: impl Fn(&[String]) -> Result<()>,
) -> Result<Approval> {
    let files: Vec<&Map<String, Value>> =
        question["files"].as_array().into_iter().flatten().filter_map(Value::as_object).collect();
    let mut approval = Approval::granted(question["seal"].as_str().unwrap_or_default());
    let rules: Option<Vec<String>> = files.iter().map(|file| rule_for(file)).collect();
    let editable = files.iter().all(|file| file.get("proposed").is_some());
    if let Some(problem) = question["problem"].as_str() {
        out.line(BOLD, problem).map_err(|error| terminal_failure(&error))?;
    }
    for file in &files {
        shown(out, file).map_err(|error| terminal_failure(&error))?;
    }
    match answer(input, out, editable, rules.is_some()).map_err(|error| terminal_failure(&error))? {
        ApprovalAnswer::No => approval.agreed = false,
        ApprovalAnswer::Yes => {}
        ApprovalAnswer::Always => always(&rules.unwrap_or_default())?,
        ApprovalAnswer::Edit => {
            for file in &files {
                let path = path_of_json(file);
                let changed = edit(&path, text_field(file, "proposed"))?;
                if changed != text_field(file, "proposed") {
                    approval.texts.push((path, changed));
                }
            }
        }
    }
    Ok(approval)
}

/// Returns a text of a file's entry, empty if there is none.
fn text_field<'a>(file: &'a Map<String, Value>, key: &str) -> &'a str {
    file.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the error of a terminal that cannot be used.
fn terminal_failure(error: &io::Error) -> Error {
    io_error("the terminal", error)
}

fn shown<W: Write>(out: &mut StyledWriter<W>, file: &Map<String, Value>) -> io::Result<()> {
    out.line(BOLD, text_field(file, "summary"))?;
    out.plain(&format!(
        "You are asked because of the rule `{}` of {}.",
        text_field(file, "rule"),
        text_field(file, "origin")
    ))?;
    out.notes(file)?;
    out.diff("", file)
}

/// Asks until the answer is valid; the end of the input means no.
fn answer<W: Write>(
    input: &mut dyn BufRead,
    out: &mut StyledWriter<W>,
    edit: bool,
    always: bool,
) -> io::Result<ApprovalAnswer> {
    let choices =
        [Some("[y]es"), Some("[n]o"), edit.then_some("[e]dit first"), always.then_some("[a]lways for this file")];
    let choices: Vec<&str> = choices.into_iter().flatten().collect();
    loop {
        out.put(BOLD, &format!("Write this? {}: ", choices.join(", ")))?;
        out.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            out.put(PLAIN, "\n")?;
            return Ok(ApprovalAnswer::No);
        }
        match &*line.trim().to_lowercase() {
            "y" | "yes" => return Ok(ApprovalAnswer::Yes),
            "n" | "no" => return Ok(ApprovalAnswer::No),
            "e" | "edit" if edit => return Ok(ApprovalAnswer::Edit),
            "a" | "always" if always => return Ok(ApprovalAnswer::Always),
            _ => {}
        }
    }
}

/// Returns the rule that would answer the question permanently; `None` if a configured rule asks, because it takes
/// precedence over allow rules.
fn rule_for(file: &Map<String, Value>) -> Option<String> {
    file.get("rule").and_then(Value::as_str).filter(|rule| rule.starts_with("policy."))?;
    let path = file.get("filePath").and_then(Value::as_str).filter(|path| !path.contains('\n'))?;
    Some(rule_about(path))
}

/// Returns the rule for editing one file; `path` is absolute.
pub(crate) fn rule_about(path: &str) -> String {
    let escaped: String =
        path.chars().flat_map(|char| "\\*?[]{}!#".contains(char).then_some('\\').into_iter().chain([char])).collect();
    format!("Edit(/{escaped})")
}

/// Lets the person change a text in their editor.
///
/// Errors: `call.invalid` if the editor does not start or reports a failure.
pub(crate) fn edited(path: &Path, text: &str) -> Result<String> {
    let name = path.extension().map_or(String::new(), |it| format!(".{}", it.to_string_lossy()));
    // Readable by nobody else, and deleted at the end of this function.
    let mut file =
        tempfile::Builder::new().prefix("emend-").suffix(&name).tempfile().map_err(|error| editor_failure(&error))?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(|error| editor_failure(&error))?;
    let named = ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok().filter(|it| !it.is_empty()));
    let editor = named.unwrap_or_else(|| "vi".to_owned());
    // The variable may contain arguments, as `code --wait` does: a shell splits it.
    let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file.path()).status();
    if !status.map_err(|error| editor_failure(&error))?.success() {
        return Err(Error::new(Code::CallInvalid, format!("The editor `{editor}` failed; nothing was changed."))
            .next("Set EDITOR to an editor that waits until the file is closed."));
    }
    std::fs::read_to_string(file.path()).map_err(|error| editor_failure(&error))
}

/// Returns the error of a file for the editor that cannot be used.
fn editor_failure(error: &io::Error) -> Error {
    io_error("the file for the editor", error)
}

#[cfg(test)]
mod tests {
    use super::{agrees, converse};
    use crate::diff::DiffLayout;
    use crate::styled::StyledWriter;
    use emendate::Approval;
    use emendate::core::{Code, Error, Result};
    use serde_json::{Value, json};
    use std::cell::RefCell;
    use std::path::PathBuf;

    fn question(rule: &str) -> Value {
        json!({ "seal": "s", "files": [{
            "filePath": "/r/a [1].txt", "summary": "The file /r/a [1].txt would be updated.", "rule": rule, "origin": "test",
            "proposed": "new\n", "structuredPatch": [{ "oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-old", "+new"] }]
        }]})
    }

    #[test]
    fn irreversible_change_needs_a_yes() {
        for (typed, yes) in [("y\n", true), ("n\n", false), ("what\nyes\n", true), ("", false)] {
            let mut out = Vec::new();
            let error = Error::new(Code::OperationIrreversible, "This cannot be undone: it is too large.");
            let asked =
                agrees(&error, &mut typed.as_bytes(), &mut StyledWriter::on(&mut out, false, DiffLayout::Unified))
                    .unwrap();
            assert_eq!(asked, yes, "{typed:?}");
            assert!(String::from_utf8(out).unwrap().contains("too large"));
        }
    }

    fn say(rule: &str, typed: &str) -> (Result<Approval>, String, Vec<String>) {
        let mut out = Vec::new();
        let rules = RefCell::new(Vec::new());
        let always = |said: &[String]| {
            rules.borrow_mut().extend_from_slice(said);
            Ok(())
        };
        let edit = |_: &std::path::Path, text: &str| Ok(format!("{text}more\n"));
        let mut paper = StyledWriter::on(&mut out, false, DiffLayout::Unified);
        let answered = converse(&question(rule), &mut typed.as_bytes(), &mut paper, edit, always);
        (answered, String::from_utf8(out).unwrap(), rules.into_inner())
    }

    #[test]
    fn diff_and_rule_are_shown() {
        let (answered, shown, _) = say("Edit(*.txt)", "y\n");
        assert_eq!(answered.unwrap(), Approval::granted("s"));
        assert!(shown.contains("rule `Edit(*.txt)` of test") && shown.contains("-old\n+new\n"), "{shown}");
        assert!(!shown.contains("[a]lways"), "ask rules precede allow rules: {shown}");
    }

    #[test]
    fn no_and_end_of_input_refuse() {
        for typed in ["n\n", "", "what?\nno\n", "a\nn\n"] {
            assert_eq!(say("Edit(*.txt)", typed).0.unwrap(), Approval::denied("s"), "{typed:?}");
        }
    }

    #[test]
    fn person_may_change_the_text() {
        let texts = vec![(PathBuf::from("/r/a [1].txt"), "new\nmore\n".to_owned())];
        assert_eq!(say("x", "e\n").0.unwrap(), Approval { texts, ..Approval::granted("s") });
    }

    #[test]
    fn always_adds_a_rule_for_the_file() {
        let (answered, _, rules) = say("policy.default", "a\n");
        assert_eq!(answered.unwrap(), Approval::granted("s"));
        assert_eq!(rules, ["Edit(//r/a \\[1\\].txt)"]);
    }
}
