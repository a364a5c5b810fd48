//! Arguments of `emend mcp`, `emend setup`, `emend mcp install` and `emend mcp uninstall`.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

use super::{HttpArgs, profile_parser};
use crate::elsewhere::RemotePlace;
use crate::help;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueEnum};
use emendate::{PROFILES, Profile};
use emendate_clients::{CLIENTS, Client, client};
use std::path::PathBuf;

/// `emend mcp`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    /// Set of tools to offer, and their names
    #[arg(long, value_name = "P", env = "EMEND_PROFILE", default_value = PROFILES[0].name, hide_env_values = true, value_parser = profile_parser())]
    pub(crate) profile: &'static Profile,
    /// Add structured content to text results
    #[arg(long)]
    pub(crate) structured: bool,
    /// Let the kernel confine the process to the roots and the state directory (Landlock)
    #[arg(long)]
    pub(crate) restrict: bool,
    /// Serve the review page too; see `emend review`
    #[cfg(feature = "http")]
    #[arg(long)]
    pub(crate) review: bool,
    /// Run the engine elsewhere: ssh:HOST, docker:NAME or devcontainer
    #[arg(long = "in", value_name = "PLACE")]
    pub(crate) place: Option<RemotePlace>,
    /// Program to copy there, for another system than this one
    #[arg(long, value_name = "FILE", requires = "place", hide_short_help = true)]
    pub(crate) program: Option<PathBuf>,
    #[cfg(feature = "http")]
    #[command(flatten)]
    pub(crate) http: HttpArgs,
}

/// Other commands of `emend mcp`.
#[derive(Subcommand)]
pub(crate) enum McpCommand {
    /// Add this server to the configuration of a client
    #[command(after_help = help::INSTALL)]
    Install(InstallArgs),
    /// Remove this server from the configuration of a client
    #[command(after_help = help::INSTALL)]
    Uninstall(ClientArgs),
}

/// A client and which of its files.
#[derive(Args)]
pub(crate) struct ClientArgs {
    /// The client
    #[arg(value_name = "CLIENT", value_parser = client_parser())]
    pub(crate) client: &'static Client,
    /// The file for all your sessions, or the one in the project
    #[arg(long, value_name = "SCOPE", value_enum, default_value = "user")]
    pub(crate) scope: ScopeArg,
    /// Change configuration files that are symbolic links to elsewhere
    #[arg(long)]
    pub(crate) follow_links: bool,
}

/// `emend mcp install`.
#[derive(Args)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    pub(crate) at: ClientArgs,
    /// Set of tools to offer, and their names [default: default; with --replace-builtins, the names that the client has]
    #[arg(long, value_name = "P", value_parser = profile_parser())]
    pub(crate) profile: Option<&'static Profile>,
    /// Replace the client's own tools for editing by these, and add its hooks
    #[arg(long)]
    pub(crate) replace_builtins: bool,
    /// Create the file even if the client does not seem to be installed
    #[arg(long)]
    pub(crate) force: bool,
}

/// The sessions that get the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    /// All of yours
    User,
    /// Those in this project, for all who work on it
    Project,
}

fn client_parser() -> impl clap::builder::TypedValueParser<Value = &'static Client> {
    PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
        .try_map(|name| client(&name).ok_or("there is no such client"))
}

/// `emend setup`.
#[derive(Args)]
pub(crate) struct SetupArgs {
    /// A client (repeatable) [default: all that are installed]
    #[arg(long = "client", value_name = "NAME", value_parser = client_parser())]
    pub(crate) clients: Vec<&'static Client>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Remove everything of emend from the clients' files, which are then byte for byte as before
    #[arg(long)]
    pub(crate) undo: bool,
    /// Leave the clients' own editing tools as they are, beside these
    #[arg(long, conflicts_with = "undo")]
    pub(crate) keep_builtins: bool,
    /// Change configuration files that are symbolic links to elsewhere
    #[arg(long)]
    pub(crate) follow_links: bool,
}
