//! `emend config`: what is in force, and the schema of the file.

use crate::desk::Desk;
use crate::{help, show};
use clap::Subcommand;
use emendate::core::Result;
use emendate::{Config, FORMATTERS};
use serde_json::Value;

/// What is shown of the configuration.
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
}

/// Prints what is asked for; the exit status.
///
/// Errors: a configuration that is wrong.
pub(crate) fn run(desk: &Desk<'_>, command: &ConfigCommand) -> Result<u8> {
    match command {
        ConfigCommand::Schema => {
            show::page(&serde_json::to_string_pretty(&Config::schema()).unwrap_or_default())?;
        }
        ConfigCommand::Formatters => {
            let line = |(name, words): &(&str, &[&str])| {
                let mark = if installed(words[0]) { '✓' } else { ' ' };
                format!("{mark} {name:<14} {}\n", words.join(" "))
            };
            show::page(&FORMATTERS.iter().map(line).collect::<String>())?;
        }
        ConfigCommand::Show { origin } => {
            let engine = desk.open()?;
            let rows = engine.config().shown();
            if desk.global.json {
                show::value(&rows)?;
            } else {
                let line = |row: &Value| {
                    let value = format!("{} = {}", row["key"].as_str().unwrap_or_default(), row["value"]);
                    let from = row["origin"].as_str().unwrap_or_default();
                    if *origin { format!("{value:<48}  # {from}\n") } else { format!("{value}\n") }
                };
                show::page(&rows.as_array().into_iter().flatten().map(line).collect::<String>())?;
            }
            show::notices(&engine);
        }
    }
    Ok(0)
}

/// True when the search path has a program of that name.
fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
