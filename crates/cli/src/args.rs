//! The command line arguments.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

mod bulk;
mod commands;
mod file_part;
mod gc;
mod history;
mod install;
mod listing;
mod notebook;
mod patch;
mod questions;
mod read;
mod remarks;
pub(crate) mod replace;
mod reversal;
#[cfg(feature = "http")]
mod review;
mod scope;

pub(crate) use bulk::BulkArgs;
pub(crate) use commands::{Command, NoArgs};
pub(crate) use file_part::FilePartArgs;
pub(crate) use gc::GcArgs;
pub(crate) use history::HistoryArgs;
pub(crate) use install::{ClientArgs, InstallArgs, McpArgs, McpCommand, ScopeArg, SetupArgs};
pub(crate) use listing::{CheckArgs, OutlineArgs, SearchArgs};
pub(crate) use notebook::NotebookEditArgs;
pub(crate) use patch::PatchArgs;
pub(crate) use questions::{ApproveArgs, CorrectArgs, DenyArgs, PendingArgs};
pub(crate) use read::ReadArgs;
pub(crate) use remarks::{CommentArgs, CommentsArgs, ReviewedArgs};
pub(crate) use reversal::{MarkArgs, RestoreArgs, RewindArgs, SnapshotArgs, UndoArgs};
#[cfg(feature = "http")]
pub(crate) use review::ReviewArgs;
pub(crate) use scope::ScopeArgs;

use crate::global::{GlobalArgs, names};
use crate::help;
use crate::hook::HookArgs;
use crate::stats::StatsArgs;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use clap::{ArgGroup, Args, CommandFactory as _, FromArgMatches as _, Parser};
use emendate::core::formats::{FORMATS, UNIFIED_DIFF_FORMER_NAME, canonical_name, text_formats};
use emendate::core::print::PRINT_FORMATS;
use emendate::{PROFILES, Profile, profile};
use std::{ffi::OsString, path::PathBuf};

/// Edit files the way AI agents do: exactly, checked, all or nothing.
#[derive(Parser)]
#[command(
    name = "emend",
    version,
    max_term_width = 110,
    after_help = "Try `emend tour` for a demonstration, `emend help COMMAND` for examples, `emend --help` for exit codes.",
    after_long_help = help::overview()
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Work as if started in this directory
    #[arg(short = 'C', value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

impl Cli {
    /// Parses a command line.
    ///
    /// Errors: clap's message, which may also be the help.
    pub(crate) fn parse_line(line: &[OsString]) -> Result<Cli, clap::Error> {
        if let [_, word] = line
            && (word == "--version" || word == "-V")
        {
            clap::Command::new("emend").version(env!("CARGO_PKG_VERSION")).try_get_matches_from(line)?;
        }
        let mut matches = Cli::command().try_get_matches_from(line)?;
        Cli::from_arg_matches_mut(&mut matches)
    }
}

/// Options of every edit, beside its texts.
#[derive(Args)]
pub(crate) struct ExtraArgs {
    /// The version this edit is based on, as a read or an edit returned it in data.tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// The file's encoding, if it is neither UTF-8 nor marked, e.g. latin1
    #[arg(long, value_name = "LABEL")]
    pub(crate) encoding: Option<String>,
    /// Allow the edit to make JSON, TOML or YAML invalid, if that is intended
    #[arg(long)]
    pub(crate) allow_invalid: bool,
    #[command(flatten)]
    pub(crate) confirm: ConfirmArgs,
}

/// Confirmations of calls that are refused otherwise.
#[derive(Args, Clone, Copy, Default)]
pub(crate) struct ConfirmArgs {
    /// Make the change once more, although the same command was the last change of the file
    #[arg(long)]
    pub(crate) repeat: bool,
    /// Write what cannot be undone afterwards
    #[arg(long)]
    pub(crate) irreversible: bool,
}

/// How much matching may forgive.
#[derive(Args)]
pub(crate) struct MatchingArgs {
    /// How lenient matching is [default: standard]
    #[arg(long, value_name = "WORD", value_parser = names::<emendate::core::Matching>())]
    pub(crate) r#match: Option<String>,
}

/// `emend edit`.
#[derive(Args)]
#[command(group = ArgGroup::new("old_text"), group = ArgGroup::new("new_text"))]
pub(crate) struct EditArgs {
    /// File to edit
    pub(crate) path: PathBuf,
    /// Text to replace, exactly as in the file; it must occur once
    #[arg(long, value_name = "TEXT", group = "old_text", requires = "new_text", allow_hyphen_values = true)]
    pub(crate) old: Option<String>,
    /// The same from a file, or `-` for standard input; used to the last byte, final line end included
    #[arg(long, value_name = "FILE", group = "old_text", requires = "new_text")]
    pub(crate) old_file: Option<PathBuf>,
    /// New text; if empty, the old text is deleted
    #[arg(long, value_name = "TEXT", group = "new_text", requires = "old_text", allow_hyphen_values = true)]
    pub(crate) new: Option<String>,
    /// The same from a file, or `-` for standard input
    #[arg(long, value_name = "FILE", group = "new_text", requires = "old_text")]
    pub(crate) new_file: Option<PathBuf>,
    /// Replace every occurrence
    #[arg(long)]
    pub(crate) all: bool,
    /// Replace exactly N occurrences, refuse if there are more or fewer
    #[arg(long, value_name = "N")]
    pub(crate) expect: Option<u64>,
    /// Choose one of several matches by its id, as listed by a refused edit
    #[arg(long, value_name = "ID")]
    pub(crate) at: Option<String>,
    #[command(flatten)]
    pub(crate) matching: MatchingArgs,
    #[command(flatten)]
    pub(crate) extras: ExtraArgs,
}

/// `emend multi-edit`.
#[derive(Args)]
pub(crate) struct MultiEditArgs {
    /// File to edit
    pub(crate) path: PathBuf,
    /// JSON array of {"old_string", "new_string", …}; `-` is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) edits: PathBuf,
    /// Match each edit against the result of the one before, instead of all against the file as it is
    #[arg(long)]
    pub(crate) in_turn: bool,
    #[command(flatten)]
    pub(crate) matching: MatchingArgs,
    #[command(flatten)]
    pub(crate) extras: ExtraArgs,
}

/// `emend write`.
#[derive(Args)]
pub(crate) struct WriteArgs {
    /// File to create or replace
    pub(crate) path: PathBuf,
    /// Source of the text; `-` is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) from: PathBuf,
    #[command(flatten)]
    pub(crate) extras: ExtraArgs,
}

/// The source of edits written as text, and how it is read.
#[derive(Args)]
pub(crate) struct TextArgs {
    /// File with the edits; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) edits: PathBuf,
    /// Format of the edits [default: detected]
    #[arg(long, value_name = "F", value_parser = format_names(text_formats().map(|format| format.spec().name)))]
    pub(crate) format: Option<String>,
    /// Directory that relative file names start from [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// The file to edit, for edits that name none
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    pub(crate) file: Option<String>,
    /// Apply every change in reverse
    #[arg(long, short = 'R')]
    pub(crate) reverse: bool,
    /// Remove N leading directories from every name [default: a/ and b/ are detected]
    #[arg(long, short = 'p', value_name = "N")]
    pub(crate) strip: Option<usize>,
}

/// `emend convert`.
#[derive(Args)]
pub(crate) struct ConvertArgs {
    /// The format to write
    #[arg(long, value_name = "F", value_parser = format_names(PRINT_FORMATS.iter().map(|target| target.name)))]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) text: TextArgs,
}

/// `emend preview`.
#[derive(Args)]
pub(crate) struct PreviewArgs {
    /// Format of the edits [default: detected]
    #[arg(long, value_name = "F", value_parser = format_names(text_formats().map(|format| format.spec().name)))]
    pub(crate) format: Option<String>,
}

/// `emend apply`.
#[derive(Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) text: TextArgs,
    /// Say whether the edits would apply; write nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// Let created or moved files replace existing files
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Apply the edits that can be applied, and report the others
    #[arg(long)]
    pub(crate) partial: bool,
    /// Allow the edit to make JSON, TOML or YAML invalid, if that is intended
    #[arg(long)]
    pub(crate) allow_invalid: bool,
    #[command(flatten)]
    pub(crate) confirm: ConfirmArgs,
    /// Apply the edits that can be applied, and write the others to this new file
    #[arg(long, value_name = "FILE")]
    pub(crate) reject_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) patch: PatchArgs,
    #[command(flatten)]
    pub(crate) matching: MatchingArgs,
}

/// `emend prompt`.
#[derive(Args)]
pub(crate) struct PromptArgs {
    /// The format; without it, all of them are listed
    #[arg(value_parser = format_names(FORMATS.iter().map(|format| format.spec().name)))]
    pub(crate) format: Option<String>,
}

/// `emend schema`.
#[derive(Args)]
pub(crate) struct SchemaArgs {
    /// The format
    #[arg(value_parser = format_names(FORMATS.iter().map(|format| format.spec().name)))]
    pub(crate) format: String,
}

/// `emend show`.
#[derive(Args)]
pub(crate) struct ShowArgs {
    /// The operation [default: the last one]
    #[arg(default_value = "last", hide_default_value = true)]
    pub(crate) id: String,
    /// Only this file, or these hunks of it: src/a.rs, src/a.rs:2 or src/a.rs:1,3-5
    #[arg(value_name = "PATH[:HUNKS]", conflicts_with = "file")]
    pub(crate) hunks: Option<PathBuf>,
    /// Only this file
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) part: FilePartArgs,
}

/// `emend diff`.
#[derive(Args)]
pub(crate) struct DiffArgs {
    /// Two operations or marks, the older one first; `ID^` means just before that operation, nothing after `..` now
    #[arg(value_name = "ID..[ID]")]
    pub(crate) range: String,
    /// Only this file
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) part: FilePartArgs,
}

/// `emend call`.
#[derive(Args)]
pub(crate) struct CallArgs {
    /// Name of the tool, see `emend tools`
    pub(crate) tool: String,
    /// Its input, a JSON object; `-` or nothing reads standard input
    #[arg(value_name = "JSON", default_value = "-", hide_default_value = true)]
    pub(crate) input: String,
}

/// `emend serve`.
#[derive(Args)]
pub(crate) struct ServeArgs {
    /// One JSON object per line, in and out
    #[arg(long, required = true)]
    pub(crate) ndjson: bool,
}

/// Names of formats, as they are printed; hyphens and former names are accepted.
pub(crate) fn format_names(
    names: impl Iterator<Item = &'static str>,
) -> impl clap::builder::TypedValueParser<Value = String> {
    PossibleValuesParser::new(names.map(possible_name)).map(|name| canonical_name(&name))
}

/// Returns the name of a format as a value, with its other spellings.
fn possible_name(name: &'static str) -> PossibleValue {
    let former = (name == "unified_diff").then_some(UNIFIED_DIFF_FORMER_NAME);
    let hyphens = name.contains('_').then(|| name.replace('_', "-"));
    PossibleValue::new(name).aliases(former).aliases(hyphens)
}

/// A profile by its name.
pub(crate) fn profile_parser() -> impl clap::builder::TypedValueParser<Value = &'static Profile> {
    PossibleValuesParser::new(PROFILES.iter().map(|profile| profile.name))
        .try_map(|name| profile(&name).ok_or("there is no such profile"))
}

/// The flags of `emend mcp` that are about HTTP.
#[cfg(feature = "http")]
#[derive(Args)]
pub(crate) struct HttpArgs {
    /// Serve over HTTP at /mcp: PORT on this machine only, or HOST:PORT, which needs your own token
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<String>,
    /// File with the token that clients must send; or set `EMEND_HTTP_TOKEN` [default: a new token, which is printed]
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) http_token_file: Option<PathBuf>,
    /// Another host name that clients use for this machine (repeatable)
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) http_host: Vec<String>,
    /// Origin of a web page that may connect, as `https://app.example` (repeatable) [default: none]
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) http_origin: Vec<String>,
}

/// `emend tools`.
#[derive(Args)]
pub(crate) struct ToolsArgs {
    /// Show this tool: its description for a model, its schema and an example
    pub(crate) name: Option<String>,
    /// The tools as `emend mcp --profile P` offers them
    #[arg(long, value_name = "P", value_parser = profile_parser())]
    pub(crate) profile: Option<&'static Profile>,
}

#[cfg(test)]
mod tests {
    use super::{Cli, Command};
    use clap::error::ErrorKind;
    use std::ffi::OsString;

    fn parse(text: &str) -> Result<Cli, clap::Error> {
        Cli::parse_line(&text.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn definition_is_sound() {
        crate::command().debug_assert();
    }

    /// Returns the help of a command and of those below it, each with its name.
    fn helps(command: &mut clap::Command, name: &str) -> Vec<(String, String)> {
        let mut all = vec![(name.to_owned(), command.render_help().to_string())];
        for below in command.get_subcommands_mut().filter(|below| below.get_name() != "help") {
            let name = format!("{name} {}", below.get_name());
            all.extend(helps(below, &name));
        }
        all
    }

    #[test]
    fn help_of_every_command_fits_on_a_screen() {
        let mut command = crate::command().term_width(100);
        command.build();
        let all = helps(&mut command, "emend");
        assert!(all.len() > 40, "{}", all.len());
        let is_long = |(name, help): &&(String, String)| {
            name != "emend" && (help.lines().count() > 30 || help.lines().any(|line| line.chars().count() > 100))
        };
        let long: Vec<String> = all
            .iter()
            .filter(is_long)
            .map(|(name, help)| format!("{name}: {} lines\n{help}", help.lines().count()))
            .collect();
        assert!(long.is_empty(), "{}", long.join("\n"));
        let (_, edit) = all.iter().find(|(name, _)| name == "emend edit").unwrap();
        assert!(edit.contains("--old <TEXT>") && edit.contains("emend help edit"), "{edit}");
    }

    #[test]
    fn version_is_the_same_with_and_without_other_arguments() {
        let said = |text: &str| parse(text).err().map(|error| (error.kind(), error.to_string()));
        let short = said("emend -V");
        assert!(short.as_ref().is_some_and(|(kind, _)| *kind == ErrorKind::DisplayVersion));
        assert_eq!(said("emend --version"), short);
        assert_eq!(said("emend --json --version"), short);
    }

    #[test]
    fn global_options_may_precede_and_follow_the_command() {
        let read = parse("emend --session edit read a --json").unwrap();
        assert!(
            read.global.json
                && read.global.session.as_deref() == Some("edit")
                && matches!(read.command, Command::Read(_))
        );
        let tools = parse("emend tools edit").unwrap().command;
        assert!(matches!(tools, Command::Tools(args) if args.name.as_deref() == Some("edit")));
        for text in ["emend --no edit a", "emend --json=x edit a", "emend --session"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
