//! `emend config`: the effective settings, and the schema of the file.

use crate::context::CliContext;
use crate::programs::installed;
use crate::{help, output, styled};
use clap::Subcommand;
use emendate::core::Result;
use emendate::{Config, FORMATTERS, LANGUAGE_SERVERS};
use serde_json::json;

/// The part of the configuration to show.
#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting in force
    #[command(after_help = help::CONFIG)]
    Show {
        /// Say where each comes from
        #[arg(long)]
        origin: bool,
    },
    /// Print the JSON schema of emend.toml
    Schema,
    /// List the formatters that are known by name, and which of them are installed
    Formatters,
    /// List the language servers that are known by name, and which of them are installed
    Servers,
}

/// Prints the requested part; returns the exit status.
///
/// Errors: an invalid configuration.
pub(crate) fn run(context: &CliContext<'_>, command: &ConfigCommand) -> Result<u8> {
    match command {
        ConfigCommand::Schema if context.global.json => output::value(&json!(Config::schema()))?,
        ConfigCommand::Schema => {
            output::page(&serde_json::to_string_pretty(&Config::schema()).unwrap_or_default())?;
        }
        ConfigCommand::Formatters => print_programs(context, FORMATTERS.iter().copied())?,
        ConfigCommand::Servers => print_programs(context, LANGUAGE_SERVERS.iter().map(|it| (it.name, it.argv)))?,
        ConfigCommand::Show { origin } => {
            let engine = context.open()?;
            let rows = engine.config().shown();
            if context.global.json {
                output::value(&rows)?;
            } else {
                output::page(
                    &rows
                        .as_array()
                        .into_iter()
                        .flatten()
                        .map(|row| {
                            let value = format!("{} = {}", row["key"].as_str().unwrap_or_default(), row["value"]);
                            let from = row["origin"].as_str().unwrap_or_default();
                            if *origin { format!("{value:<48}  # {from}\n") } else { format!("{value}\n") }
                        })
                        .collect::<String>(),
                )?;
            }
            output::notices(&engine);
        }
    }
    Ok(0)
}

/// Prints programs by name, each with a mark if it is installed, or as a JSON array.
fn print_programs<'a>(
    context: &CliContext<'_>,
    programs: impl Iterator<Item = (&'a str, &'a [&'a str])>,
) -> Result<()> {
    let is_installed = |command: &[&str]| command.first().is_some_and(|word| installed(word));
    if context.global.json {
        let row = |(name, command)| json!({ "name": name, "command": command, "installed": is_installed(command) });
        return output::value(&programs.map(row).collect());
    }
    let row = |(name, command): (&str, &[&str])| {
        let mark = if is_installed(command) { '✓' } else { ' ' };
        (format!("{mark} {name}"), command.join(" "))
    };
    output::page(&styled::columns("", programs.map(row)))
}
