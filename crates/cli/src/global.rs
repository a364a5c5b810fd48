//! Options that every command knows.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use clap::{Args, ValueEnum};
use emendate::fs::Durability;
use emendate::{OptionValue, StalePolicy, UnreadPolicy};
use std::path::PathBuf;

/// Options that every command knows, before or after its name.
#[derive(Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct GlobalArgs {
    /// Directory that may be accessed (repeatable) [default: the enclosing git repository, else the current directory]
    ///
    /// The variable EMEND_ROOT holds one or more directories, separated by colons.
    #[arg(long, global = true, value_name = "DIR", hide_short_help = true)]
    pub(crate) root: Vec<PathBuf>,
    /// Session whose reads count, and whose operations undo takes back [default: one per terminal, server or conversation of Claude Code]
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "EMEND_SESSION",
        hide_short_help = true,
        hide_env_values = true
    )]
    pub(crate) session: Option<String>,
    /// Turn that the command belongs to, by any name; `emend undo --turn` takes back all of the last one
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "EMEND_TURN",
        hide_short_help = true,
        hide_env_values = true
    )]
    pub(crate) turn_name: Option<String>,
    /// Directory where sessions are stored; `none` keeps them in memory, so nothing can be undone later [default: $XDG_STATE_HOME/emendate]
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "EMEND_STATE",
        hide_short_help = true,
        hide_env_values = true
    )]
    pub(crate) state: Option<PathBuf>,
    /// Whether files may be edited that this session has not read [default: deny for call, serve and mcp, else allow]
    #[arg(long, global = true, value_name = "WORD", env = "EMEND_UNREAD", hide_short_help = true, hide_env_values = true,
          value_parser = words::<UnreadPolicy>())]
    pub(crate) unread: Option<UnreadPolicy>,
    /// Treatment of a file that changed since it was read [default: merge]
    #[arg(long, global = true, value_name = "WORD", env = "EMEND_ON_STALE", hide_short_help = true, hide_env_values = true,
          value_parser = words::<StalePolicy>())]
    pub(crate) on_stale: Option<StalePolicy>,
    /// Show what would change; write nothing
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,
    /// Print nothing about a change that succeeded, and no notes
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Print times in UTC, instead of the local time
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) utc: bool,
    /// Print one JSON object, as `emend call` does
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Show old and new side by side, as wide as the terminal (or COLUMNS)
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) side_by_side: bool,
    /// Colours; NO_COLOR, CLICOLOR and FORCE_COLOR count for auto
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        env = "EMEND_COLOR",
        hide_short_help = true,
        value_enum,
        default_value = "auto",
        hide_env_values = true
    )]
    pub(crate) color: ColorMode,
    /// Show output that is longer than the terminal with a pager, for every command [default: for those that only show]
    ///
    /// The pager is $EMEND_PAGER, `terminal.pager` of your config.toml, $PAGER, or less.
    #[arg(long, global = true, hide_short_help = true, overrides_with = "no_pager")]
    pub(crate) paginate: bool,
    /// Never show output with a pager
    #[arg(long, global = true, hide_short_help = true, overrides_with = "paginate")]
    pub(crate) no_pager: bool,
    /// Allow what this rule covers, even if it is guarded (repeatable), e.g. '.github/**' or 'Read(.env)'
    ///
    /// The variables EMEND_ALLOW, EMEND_ASK and EMEND_DENY hold rules, separated by colons.
    #[arg(long, global = true, value_name = "RULE", hide_short_help = true)]
    pub(crate) allow: Vec<String>,
    /// Ask at the terminal before changing what this rule covers (repeatable), e.g. 'Edit(docs/**)', or 'Write(**/*.md)' for new documentation
    #[arg(long, global = true, value_name = "RULE", hide_short_help = true)]
    pub(crate) ask: Vec<String>,
    /// Refuse what this rule covers (repeatable), e.g. 'secrets/**', or 'Write(**/*.md)' for new documentation
    #[arg(long, global = true, value_name = "RULE", hide_short_help = true)]
    pub(crate) deny: Vec<String>,
    /// File to write one line of JSON to for each call, or `none` [default: events.file of the configuration]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "EMEND_EVENTS",
        hide_short_help = true,
        hide_env_values = true
    )]
    pub(crate) events: Option<String>,
    /// The model behind the calls, for `emend stats` and events
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "EMEND_MODEL",
        hide_short_help = true,
        hide_env_values = true
    )]
    pub(crate) model: Option<String>,
    /// Event that a completed change survives [default: power, a power cut; process: only the death of this process]
    #[arg(long, global = true, value_name = "LEVEL", env = "EMEND_DURABILITY", hide_short_help = true, hide_env_values = true,
          value_parser = PossibleValuesParser::new(levels()).try_map(|word| word.parse::<Durability>()))]
    pub(crate) durability: Option<Durability>,
}

/// The levels of durability, each with its former names.
fn levels() -> [PossibleValue; 3] {
    Durability::ALL.map(|level| PossibleValue::new(level.as_str()).aliases(level.synonyms()))
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorMode {
    /// On a terminal that can
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Returns a parser for the values of an option, by the engine's names for them.
fn words<T: OptionValue + Send + Sync>() -> impl clap::builder::TypedValueParser<Value = T> {
    names::<T>().try_map(|word| T::parse("value", &word))
}

/// Returns the names of an option's values.
pub(crate) fn names<T: OptionValue>() -> PossibleValuesParser {
    PossibleValuesParser::new(T::NAMED_VALUES.iter().map(|(name, _)| *name))
}
