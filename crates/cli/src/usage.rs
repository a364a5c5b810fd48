//! Errors in the command line, as clap finds them: about the variable if an option came from one, and as JSON with
//! `--json`.

use crate::{output, styled};
use clap::error::{ContextKind, ContextValue, Error as UsageError, ErrorKind};
use emendate::core::{Code, Error};
use emendate::{Reply, SeedCodes, exit_status};
use std::ffi::OsString;

/// Shows clap's message, which may also be the help; returns the exit status.
pub(crate) fn show(error: UsageError, line: &[OsString]) -> u8 {
    let mut error = about_variable(&error, line).unwrap_or(error);
    without_variables(&mut error, line);
    if error.use_stderr() && line.iter().any(|word| word == "--json") {
        return output::json(&Reply::refusal(refusal(&error.to_string()), SeedCodes::None), "");
    }
    match styled::ignore_broken_pipe(error.print()) {
        Err(failure) if !error.use_stderr() => {
            output::error(&failure);
            exit_status(failure.code())
        }
        // Help on a closed pipe is not a failure.
        _ => u8::try_from(error.exit_code()).unwrap_or(2),
    }
}

/// Returns the error about an environment variable, if an option that nobody typed has its value from there.
fn about_variable(error: &UsageError, line: &[OsString]) -> Option<UsageError> {
    if !matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) {
        return None;
    }
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(&**text),
        _ => None,
    };
    let option = text(ContextKind::InvalidArg)?.split_whitespace().next()?;
    if is_typed(option, line) {
        return None;
    }
    let mut command = crate::command();
    let variable = variable_of(option.strip_prefix("--")?, &command)?;
    let mut message = match text(ContextKind::InvalidValue).unwrap_or_default() {
        "" => format!("the variable {variable} is empty; unset it, or give it a value"),
        value => format!("invalid value '{value}' of the variable {variable}"),
    };
    if let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue)
        && !values.is_empty()
    {
        message.push_str("\n  [possible values: ");
        message.push_str(&values.join(", "));
        message.push(']');
    }
    Some(command.error(error.kind(), message))
}

/// True if the command line has this option.
fn is_typed(option: &str, line: &[OsString]) -> bool {
    line.iter()
        .filter_map(|word| word.to_str()?.strip_prefix(option))
        .any(|rest| matches!(rest.chars().next(), None | Some('=')))
}

/// Removes options from the usage that only variables gave.
fn without_variables(error: &mut UsageError, line: &[OsString]) {
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else { return };
    let (mut usage, before) = (usage.to_string(), usage.to_string());
    let mut command = crate::command();
    // Only then options know how they are spelled.
    command.build();
    for option in command.get_arguments().filter(|option| option.get_env().is_some()) {
        let spelled = option.to_string();
        let long = spelled.split_whitespace().next().unwrap_or_default();
        if !is_typed(long, line) {
            usage = usage.replace(&format!(" {spelled}"), "");
        }
    }
    if usage != before {
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage.into()));
    }
}

/// Returns the variable that an option of a command, or of one below it, takes its value from.
fn variable_of(long: &str, command: &clap::Command) -> Option<String> {
    let option = command.get_arguments().find(|option| option.get_long() == Some(long) && option.get_env().is_some());
    match option.and_then(clap::Arg::get_env) {
        Some(variable) => Some(variable.to_string_lossy().into_owned()),
        None => command.get_subcommands().find_map(|below| variable_of(long, below)),
    }
}

/// Returns clap's message as an error of ours.
fn refusal(message: &str) -> Error {
    let mut lines = message.trim_start_matches("error: ").lines().map(str::trim).filter(|line| !line.is_empty());
    let what = lines.next().unwrap_or_default();
    let rest: Vec<&str> = lines.filter(|line| !line.starts_with("For more information")).collect();
    Error::new(Code::CallInvalid, what)
        .evidence(rest.join("\n"))
        .next("Correct the command; `emend help` lists the commands, and `emend help COMMAND` its options.")
}
