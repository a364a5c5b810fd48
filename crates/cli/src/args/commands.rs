//! The commands. Each is a row: its help, its name, its arguments, and the text below its help.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

#[cfg(feature = "http")]
use super::ReviewArgs;
use super::{
    ApplyArgs, ApproveArgs, BulkArgs, CallArgs, CheckArgs, CommentArgs, CommentsArgs, ConvertArgs, CorrectArgs,
    DenyArgs, DiffArgs, EditArgs, GcArgs, HistoryArgs, HookArgs, MarkArgs, McpArgs, MultiEditArgs, NotebookEditArgs,
    OutlineArgs, PendingArgs, PreviewArgs, PromptArgs, ReadArgs, RestoreArgs, ReviewedArgs, RewindArgs, SchemaArgs,
    SearchArgs, ServeArgs, SetupArgs, ShowArgs, SnapshotArgs, StatsArgs, ToolsArgs, UndoArgs, WriteArgs,
    replace::ReplaceArgs,
};
use crate::config::ConfigCommand;
use crate::help;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Error, FromArgMatches, Subcommand};
use std::sync::LazyLock;

/// Defines [`Command`] from rows. The macro of clap would define the options of all commands at every start, which takes
/// longer than an edit; here they are defined for the command that is called, or whose names are looked up.
macro_rules! commands {
    ($(
        #[doc = $about:literal]
        $(#[cfg($cfg:meta)])?
        $name:literal => $variant:ident($args:ty) below $text:expr,
    )*) => {
        /// A command with its arguments.
        pub(crate) enum Command {
            $(#[doc = $about] $(#[cfg($cfg)])? $variant($args),)*
        }

        impl Subcommand for Command {
            fn augment_subcommands(command: clap::Command) -> clap::Command {
                $(
                    $(#[cfg($cfg)])?
                    let command = command.subcommand(
                        row($name, $about, $text).defer(|command| with_arguments::<$args>(command, $about)),
                    );
                )*
                command
            }

            fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
                Command::augment_subcommands(command)
            }

            fn has_subcommand(name: &str) -> bool {
                Command::definition(name).is_some()
            }
        }

        impl FromArgMatches for Command {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Command, Error> {
                Command::from_arg_matches_mut(&mut matches.clone())
            }

            fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Command, Error> {
                let (name, mut matches) = matches.remove_subcommand().unwrap_or_default();
                match &*name {
                    $($(#[cfg($cfg)])? $name => <$args>::from_arg_matches_mut(&mut matches).map(Command::$variant),)*
                    _ => Err(Error::raw(ErrorKind::MissingSubcommand, "a command is required")),
                }
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
                *self = Command::from_arg_matches(matches)?;
                Ok(())
            }
        }

        impl Command {
            /// Returns the definition of a command with its own options.
            pub(crate) fn definition(name: &str) -> Option<&'static clap::Command> {
                match name {
                    $($(#[cfg($cfg)])? $name => {
                        static DEFINITION: LazyLock<clap::Command> =
                            LazyLock::new(|| with_arguments::<$args>(row($name, $about, $text), $about));
                        Some(&DEFINITION)
                    })*
                    _ => None,
                }
            }
        }
    };
}

/// Returns a command without its options, as the list of commands shows it.
fn row(name: &'static str, about: &'static str, text: &'static str) -> clap::Command {
    clap::Command::new(name).about(about.trim()).after_help(text)
}

/// Adds the options to a command.
fn with_arguments<A: Args>(command: clap::Command, about: &'static str) -> clap::Command {
    // The arguments bring the comment of their type.
    help::shortened(A::augment_args(command).about(about.trim()).long_about(None), "")
}

commands! {
    /// Show lines of a text file, and remember what was shown
    "read" => Read(ReadArgs) below help::READ,
    /// List the definitions in a source file, with their lines
    "outline" => Outline(OutlineArgs) below help::OUTLINE,
    /// Report the problems that the grammar and the language servers find in files
    "check" => Check(CheckArgs) below help::CHECK,
    /// Find lines by a regular expression or plain text; lines that are shown count as read
    "search" => Search(SearchArgs) below help::SEARCH,
    /// Replace text in a file
    "edit" => Edit(EditArgs) below help::EDIT,
    /// Make several replacements in one file, all or nothing
    "multi-edit" => MultiEdit(MultiEditArgs) below help::MULTI_EDIT,
    /// Replace, insert or delete cells of a Jupyter notebook
    "notebook-edit" => NotebookEdit(NotebookEditArgs) below help::NOTEBOOK_EDIT,
    /// Create a file, or replace its whole text
    "write" => Write(WriteArgs) below help::WRITE,
    /// Apply edits written as text, as models write them into a reply, all or nothing
    "apply" => Apply(ApplyArgs) below help::APPLY,
    /// Replace a text in every file below a directory, all or nothing
    "replace" => Replace(ReplaceArgs) below help::REPLACE,
    /// Undo an operation in all of its files
    "undo" => Undo(UndoArgs) below help::UNDO,
    /// Redo an operation that was undone
    "redo" => Redo(UndoArgs) below help::REDO,
    /// List operations: time, session, tool, files
    "history" => History(HistoryArgs) below help::HISTORY,
    /// Show one operation as a diff
    "show" => Show(ShowArgs) below help::SHOW,
    /// Show what changed between two operations
    "diff" => Diff(DiffArgs) below help::DIFF,
    /// Restore a file to its state after an operation
    "restore" => Restore(RestoreArgs) below help::RESTORE,
    /// Give this moment a name
    "mark" => Mark(MarkArgs) below help::MARK,
    /// Take back what you did since a mark, and keep what others did
    "rewind" => Rewind(RewindArgs) below help::REWIND,
    /// Record the files that any program changed, created or deleted since the last snapshot
    "snapshot" => Snapshot(SnapshotArgs) below help::SNAPSHOT,
    /// Show what was changed in the browser, and keep, undo or correct it there
    #[cfg(feature = "http")]
    "review" => Review(ReviewArgs) below help::REVIEW,
    /// Comment on an operation: the next reply to its session delivers it
    "comment" => Comment(CommentArgs) below help::COMMENT,
    /// List comments, or delete one
    "comments" => Comments(CommentsArgs) below help::COMMENTS,
    /// Mark hunks of an operation as reviewed, or list those that are
    "reviewed" => Reviewed(ReviewedArgs) below help::REVIEWED,
    /// List the changes that wait for a person, or show one with its diff
    "pending" => Pending(PendingArgs) below help::PENDING,
    /// Approve a change that waits, which is then written
    "approve" => Approve(ApproveArgs) below help::APPROVE,
    /// Decline a change that waits
    "deny" => Deny(DenyArgs) below help::DENY,
    /// Change the text of a change that waits before it is written
    "correct" => Correct(CorrectArgs) below help::CORRECT,
    /// Delete old history by age and size
    "gc" => Gc(GcArgs) below help::GC,
    /// Call a tool with JSON and get JSON: the stable interface for programs
    "call" => Call(CallArgs) below help::CALL,
    /// Answer tool calls from standard input, one JSON object per line
    "serve" => Serve(ServeArgs) below help::SERVE,
    /// Serve the Model Context Protocol on standard input and output, or add this server to a client
    "mcp" => Mcp(McpArgs) below help::MCP,
    /// Find the agents on this machine and set them up: server, hooks, and these tools in place of their own
    "setup" => Setup(SetupArgs) below help::SETUP,
    /// List the tools, or show one as it is described to a model
    "tools" => Tools(ToolsArgs) below help::TOOLS,
    /// Rewrite edits in another format, as they apply to the files; nothing is written
    "convert" => Convert(ConvertArgs) below help::CONVERT,
    /// Apply, compare, convert or reward the edits of many rows of JSON; the texts are in the rows
    "bulk" => Bulk(BulkArgs) below help::BULK,
    /// Show edits while they arrive on standard input; nothing is written
    "preview" => Preview(PreviewArgs) below help::PREVIEW,
    /// Print the text that teaches an edit format to a model
    "prompt" => Prompt(PromptArgs) below help::PROMPT,
    /// Print the JSON schema or the grammar of an edit format
    "schema" => Schema(SchemaArgs) below help::SCHEMA,
    /// See a lenient match, a patch, a refusal and an undo on a small file
    "tour" => Tour(NoArgs) below help::TOUR,
    /// Count calls and successes by tool, format, tier, model and code
    "stats" => Stats(StatsArgs) below help::STATS,
    /// Check roots, file systems, configuration and session store
    "doctor" => Doctor(NoArgs) below help::DOCTOR,
    /// Run as a hook of a client: its reads count, and its edits are checked before they run
    "hook" => Hook(HookArgs) below help::HOOK,
    /// Show the settings in force, or the schema of emend.toml
    "config" => Config(ConfigArgs) below "",
    /// Trust the project's emend.toml like your own until it changes
    "trust" => Trust(TrustArgs) below help::TRUST,
    /// Print a completion script for a shell
    "completions" => Completions(CompletionsArgs) below help::COMPLETIONS,
    /// Print the manual page
    "man" => Man(ManArgs) below help::MAN,
}

impl Command {
    /// True for a command that only shows something, and ends.
    pub(crate) fn only_shows(&self) -> bool {
        match self {
            Command::History(args) => !args.follow,
            Command::Read(_)
            | Command::Outline(_)
            | Command::Search(_)
            | Command::Check(_)
            | Command::Show(_)
            | Command::Diff(_)
            | Command::Comments(_)
            | Command::Tools(_)
            | Command::Stats(_)
            | Command::Prompt(_)
            | Command::Schema(_)
            | Command::Config(_) => true,
            _ => false,
        }
    }
}

/// A command without arguments.
#[derive(Args)]
pub(crate) struct NoArgs {}

/// `emend config`.
#[derive(Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

/// `emend trust`.
#[derive(Args)]
pub(crate) struct TrustArgs {
    /// Revoke the trust
    #[arg(long)]
    pub(crate) revoke: bool,
}

/// `emend completions`.
#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// `emend man`.
#[derive(Args)]
pub(crate) struct ManArgs {
    /// The page of this command; without it, the page of `emend`
    pub(crate) command: Option<String>,
}
