//! `emend config`: what is in force, and the schema of the file.

use crate::desk::Desk;
use crate::{help, show};
use clap::Subcommand;
use emendate::Config;
use emendate::core::Result;
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
}

/// Prints what is asked for; the exit status.
///
/// Errors: a configuration that is wrong.
pub(crate) fn run(desk: &Desk<'_>, command: &ConfigCommand) -> Result<u8> {
    match command {
        ConfigCommand::Schema => {
            show::page(&serde_json::to_string_pretty(&Config::schema()).unwrap_or_default())?;
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
