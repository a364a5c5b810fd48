//! Shell wrappers: a command that would apply a patch given as a here-document, an argument or a pipe. Nothing is run:
//! the patch is extracted, with the directory and the options of the command.

use super::words::{self, ShellToken};
use super::{UnwrappedText, has_no_edit, lines};
use crate::formats::line_parser::ParseOptions;
use std::borrow::Cow;

/// Names of the command that applies a V4A patch.
const APPLY_PATCH_COMMANDS: [&str; 3] = ["apply_patch", "applypatch", "apply-patch"];
const SHELLS: [&str; 5] = ["bash", "sh", "zsh", "dash", "ksh"];
/// Other commands with which a line may begin that applies a patch.
const OTHER_COMMANDS: [&str; 3] = ["cd", "echo", "printf"];
/// The last letters of all of these.
const COMMAND_ENDS: [char; 4] = ['h', 'd', 'o', 'f'];
/// Maximum number of positions at which a command line is tried; each costs one pass.
const COMMAND_LINES_TRIED_MAX: usize = 4;

/// Extracts a patch from the first command line that applies one.
pub(super) fn layer(text: &str) -> Option<UnwrappedText<'_>> {
    let may_have_document = memchr::memmem::find(text.as_bytes(), b"<<").is_some();
    let starts = lines(text).filter(|(_, line)| may_have_document && has_here_document(line) || begins_command(line));
    let (mut layer, at, after) = starts.take(COMMAND_LINES_TRIED_MAX).find_map(|(at, line)| {
        let at = at + line.len() - line.trim_start_matches("$ ").len();
        let (layer, len) = command(&text[at..])?;
        Some((layer, at, &text[at + len..]))
    })?;
    let before = &text[..at];
    if !(has_no_edit(before) && has_no_edit(after)) {
        return None;
    }
    if let Some(directory) = changed_directory(before) {
        layer.directory.get_or_insert(directory);
    }
    if after.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with(['`', '~'])) {
        layer.notes.push("What follows the command was not run.".to_owned());
    }
    Some(layer)
}

/// True for a line with `<<`.
fn has_here_document(line: &str) -> bool {
    let bytes = line.as_bytes();
    memchr::memchr_iter(b'<', bytes).any(|at| bytes.get(at + 1) == Some(&b'<'))
}

fn begins_command(line: &str) -> bool {
    let line = if line.starts_with('$') { line.trim_start_matches("$ ") } else { line };
    let word = &line[..memchr::memchr2(b' ', b'\t', line.as_bytes()).unwrap_or(line.len())];
    // Nearly all lines are no command, which the last letter of their first word shows.
    if !word.ends_with(COMMAND_ENDS) {
        return false;
    }
    let word = word.rsplit('/').next().unwrap_or(word);
    APPLY_PATCH_COMMANDS.contains(&word) || SHELLS.contains(&word) || OTHER_COMMANDS.contains(&word)
}

/// Returns the directory of the last line before the command, if that is a `cd`.
fn changed_directory(before: &str) -> Option<String> {
    let line = before.lines().rev().find(|line| !line.trim().is_empty())?;
    let (tokens, _) = words::tokenize(line.trim_start_matches("$ "))?;
    directory_of(&tokens).map(str::to_owned)
}

/// Parses `cd DIR`.
fn directory_of(tokens: &[ShellToken]) -> Option<&str> {
    match tokens {
        [ShellToken::Word { text: cd, .. }, ShellToken::Word { text, open: false }] if cd == "cd" => Some(text),
        _ => None,
    }
}

/// Unwraps a command given word by word.
pub(super) fn layer_of_words(words: Vec<String>) -> Option<UnwrappedText<'static>> {
    let mut words = words.into_iter();
    let program = words.next()?;
    let name = program.rsplit('/').next()?.to_owned();
    let rest: Vec<String> = words.collect();
    let rest: [String; 2] = match <[String; 1]>::try_from(rest) {
        Ok([text]) if APPLY_PATCH_COMMANDS.contains(&&*name) => {
            return Some(UnwrappedText::new(text, format!("The argument of `{name}` was read.")));
        }
        Ok(_) => return None,
        Err(rest) => rest.try_into().ok()?,
    };
    let [flags, script] = rest;
    let runs = SHELLS.contains(&&*name) && flags.starts_with('-') && flags.ends_with('c');
    runs.then(|| UnwrappedText::new(script, format!("The script of `{name} {flags}` was read, not run.")))
}

/// Parses the command line at the start of a text. Returns the patch, and the offset of the rest.
fn command(text: &str) -> Option<(UnwrappedText<'_>, usize)> {
    let (tokens, len) = words::tokenize(text)?;
    let mut directory = None;
    let mut parts = tokens.split(|token| matches!(token, ShellToken::Then("&&" | "||" | ";" | "&"))).peekable();
    while let Some(cd) = parts.peek().and_then(|part| directory_of(part)) {
        directory = Some(cd.to_owned());
        parts.next();
    }
    let pipe: Vec<&[ShellToken]> = parts.next()?.split(|token| *token == ShellToken::Then("|")).collect();
    let (source, tool) = match pipe[..] {
        [tool] => (tool, tool),
        [source, tool] if is_source(source) => (source, tool),
        _ => return None,
    };
    let words: Vec<&ShellToken> = tool.iter().filter(|token| matches!(token, ShellToken::Word { .. })).collect();
    let words: Vec<&str> = words.into_iter().map(text_of).collect();
    let parsed = patch_options(&words);
    let (mut layer, used) = match source.iter().find(|token| matches!(token, ShellToken::Here { .. })) {
        Some(ShellToken::Here { tag, quoted, tabs }) => {
            let name = words.first().copied().unwrap_or_default();
            let (body, used) = here(&text[len..], tag, *tabs)?;
            let mut layer =
                UnwrappedText::new(body, format!("The here-document of `{name}` was read; no command was run."));
            if !quoted && layer.text.contains(['$', '`', '\\']) {
                layer.notes.push("Its text was used literally; a shell would have expanded it.".to_owned());
            }
            (layer, len + used)
        }
        _ if pipe.len() == 2 => {
            let text = source.last().map(text_of).unwrap_or_default();
            let text = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
            (UnwrappedText::new(text, "The text piped into the command was read; no command was run."), len)
        }
        _ => (layer_of_words(words.iter().map(|word| (*word).to_owned()).collect())?, len),
    };
    let is_input = source.iter().any(|token| matches!(token, ShellToken::Here { .. })) || pipe.len() == 2;
    let (options, inner) = if is_input { parsed? } else { (ParseOptions::default(), None) };
    layer.options = options;
    layer.directory = match (directory, inner) {
        (Some(outer), Some(inner)) => Some(format!("{outer}/{inner}")),
        (outer, inner) => inner.or(outer),
    };
    if parts.next().is_some() {
        layer.notes.push("The commands after it were not run.".to_owned());
    }
    if source.iter().chain(tool).any(|token| matches!(token, ShellToken::Word { open: true, .. })) {
        layer.notes.push("Its text was used literally; a shell would have expanded it.".to_owned());
    }
    Some((layer, used))
}

fn text_of(token: &ShellToken) -> &str {
    match token {
        ShellToken::Word { text, .. } => text,
        _ => "",
    }
}

/// True for commands that print a text: `cat <<TAG`, `echo TEXT`, `printf '%s' TEXT`.
fn is_source(tokens: &[ShellToken]) -> bool {
    let words: Vec<&str> = tokens.iter().filter(|it| matches!(it, ShellToken::Word { .. })).map(text_of).collect();
    match (&words[..], words.len() < tokens.len()) {
        (["cat"] | ["cat", "-"], here) => here,
        (["echo", _] | ["printf", "%s" | "%s\\n" | "%b", _], here) => !here,
        _ => false,
    }
}

/// Returns the body of a here-document that begins a text, and its length including the closing line.
fn here<'a>(text: &'a str, tag: &str, tabs: bool) -> Option<(Cow<'a, str>, usize)> {
    let bare = |line: &'a str| if tabs { line.trim_start_matches('\t') } else { line };
    // The closing line may have trailing whitespace, which a shell would not accept.
    let (end, line) = lines(text).find(|(_, line)| bare(line).trim_end() == tag)?;
    let body = &text[..end];
    let used = (end + line.len() + 1).min(text.len());
    if !tabs {
        return Some((Cow::Borrowed(body), used));
    }
    Some((Cow::Owned(body.split_inclusive('\n').map(bare).collect()), used))
}

/// Returns the parse options and the directory of a command that applies a patch; `None` for any other command and for
/// unknown options.
fn patch_options(words: &[&str]) -> Option<(ParseOptions, Option<String>)> {
    let (name, rest) = words.split_first()?;
    let name = name.rsplit('/').next()?;
    if APPLY_PATCH_COMMANDS.contains(&name) {
        return matches!(rest, [] | ["-"]).then(Default::default);
    }
    let (is_git, mut rest, mut directory) = match (name, rest) {
        ("patch", _) => (false, rest, None),
        ("git", ["apply", rest @ ..]) => (true, rest, None),
        ("git", ["-C", directory, "apply", rest @ ..]) => (true, rest, Some((*directory).to_owned())),
        _ => return None,
    };
    let mut out = ParseOptions::default();
    while let Some((word, next)) = rest.split_first() {
        rest = next;
        if let Some(count) = word.strip_prefix("-p").or_else(|| word.strip_prefix("--strip=")) {
            out.strip = Some(count.parse().ok()?);
        } else if let Some(named) = word.strip_prefix("--directory=") {
            directory = Some(named.to_owned());
        } else if !is_git && *word == "-d" {
            directory = Some((*rest.split_first()?.0).to_owned());
            rest = &rest[1..];
        } else if ["-R", "--reverse"].contains(word) {
            out.reverse = true;
        } else if is_harmless(word) {
            // The option selects a strictness, which this crate decides itself.
        } else if !is_git && !word.starts_with('-') && out.file.is_none() {
            out.file = Some((*word).to_owned());
        } else {
            return None;
        }
    }
    Some((out, directory))
}

/// True for options of `git apply` and `patch` that do not affect the meaning of a patch.
fn is_harmless(word: &str) -> bool {
    const SHELL_WORDS: [&str; 27] = [
        "-", "-v", "--verbose", "--recount", "--unidiff-zero", "--ignore-whitespace", "--ignore-space-change",
        "--3way", "-3", "--inaccurate-eof", "--allow-empty", "--binary", "-N", "--forward", "-s", "-q", "--quiet",
        "--silent", "-t", "--batch", "-f", "--force", "-u", "--unified", "-l", "--no-backup-if-mismatch", "--posix",
    ];
    let starts = ["--whitespace=", "-C", "--fuzz=", "-F"].iter().any(|start| word.starts_with(start));
    SHELL_WORDS.contains(&word) || starts
}
