//! Fast path through the arguments, for the commands that are run most often.

use super::{
    ApplyArgs, CallArgs, Cli, Command, EditArgs, McpArgs, MultiEditArgs, ReadArgs, SearchArgs, ServeArgs, WriteArgs,
    replace,
};
use crate::global::GlobalArgs;
use clap::{ArgMatches, Args as _, FromArgMatches as _};
use std::ffi::OsString;

/// A frequently run command by itself.
struct FrequentCommand {
    name: &'static str,
    /// Adds its arguments to a definition.
    augment: fn(clap::Command) -> clap::Command,
    /// Reads its arguments.
    command: fn(&mut ArgMatches) -> Result<Command, clap::Error>,
}

/// Creates one of them from the names of its variant and of its arguments.
macro_rules! often {
    ($name:literal, $variant:ident, $arguments:ty) => {
        FrequentCommand {
            name: $name,
            augment: <$arguments>::augment_args,
            command: |matches| <$arguments>::from_arg_matches_mut(matches).map(Command::$variant),
        }
    };
}

static FREQUENT_COMMANDS: [FrequentCommand; 10] = [
    often!("read", Read, ReadArgs),
    often!("search", Search, SearchArgs),
    often!("edit", Edit, EditArgs),
    often!("multi-edit", MultiEdit, MultiEditArgs),
    often!("write", Write, WriteArgs),
    often!("apply", Apply, ApplyArgs),
    often!("replace", Replace, replace::ReplaceArgs),
    often!("call", Call, CallArgs),
    often!("serve", Serve, ServeArgs),
    often!("mcp", Mcp, McpArgs),
];

/// Parses with a definition that contains only the given command, with the global options as its own: defining all
/// commands and propagating the options takes longer than the rest of a small edit. Anything that this does not accept,
/// help included, is left to the full definition.
pub(super) fn parse(line: &[OsString]) -> Option<Cli> {
    let bare = GlobalArgs::augment_args(clap::Command::new("emend").disable_help_flag(true));
    let at = command_at(&bare, line)?;
    let often = FREQUENT_COMMANDS.iter().find(|often| line[at] == often.name)?;
    let words = line.iter().enumerate().filter_map(|(nth, word)| (nth != at).then_some(word));
    let mut matches = (often.augment)(bare).try_get_matches_from(words).ok()?;
    let global = GlobalArgs::from_arg_matches_mut(&mut matches).ok()?;
    Some(Cli { global, command: (often.command)(&mut matches).ok()? })
}

/// Returns the position of the command's name after global options. `None` if such an option also comes after the name,
/// where it would override the first one, or if the name is not found.
fn command_at(bare: &clap::Command, line: &[OsString]) -> Option<usize> {
    let mut at = 1;
    let mut before: Vec<&str> = Vec::new();
    loop {
        let word = line.get(at)?.to_str()?;
        let Some(option) = word.strip_prefix("--") else { break };
        let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        let argument = bare.get_arguments().find(|argument| argument.get_long() == Some(name))?;
        before.push(name);
        at += if argument.get_action().takes_values() && value.is_none() { 2 } else { 1 };
    }
    let again = |word: &OsString| {
        let option = word.to_str().and_then(|word| word.strip_prefix("--"));
        option.is_some_and(|option| before.contains(&option.split('=').next().unwrap_or(option)))
    };
    (!line[at..].iter().any(again)).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, Command};
    use super::{FREQUENT_COMMANDS, FrequentCommand, GlobalArgs, parse};
    use clap::{Args as _, CommandFactory as _, Parser as _};
    use std::ffi::OsString;

    fn line(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn definition_is_valid_and_contains_the_shortcuts() {
        Cli::command().debug_assert();
        let whole = Cli::command();
        for FrequentCommand { name, augment, .. } in &FREQUENT_COMMANDS {
            let ids = |command: &clap::Command| -> Vec<String> {
                command.get_arguments().map(|argument| argument.get_id().to_string()).collect()
            };
            let part = augment(clap::Command::new(name));
            assert_eq!(ids(&part), ids(whole.find_subcommand(name).unwrap()), "{name}");
            GlobalArgs::augment_args(part).debug_assert();
        }
    }

    #[test]
    fn version_does_not_depend_on_other_arguments() {
        let said = |text: &str| Cli::parse_line(&line(text)).err().map(|error| (error.kind(), error.to_string()));
        let short = said("emend -V");
        assert!(short.as_ref().is_some_and(|(kind, _)| *kind == clap::error::ErrorKind::DisplayVersion));
        assert_eq!(said("emend --version"), short);
        assert_eq!(said("emend --json --version"), short);
    }

    #[test]
    fn only_complete_commands_take_the_shortcut() {
        for text in ["emend edit a --old b --new c", "emend --json read a", "emend --session edit edit a", "emend mcp"]
        {
            assert!(parse(&line(text)).is_some(), "{text}");
        }
        for text in
            ["emend", "emend edit -h", "emend read --help", "emend tools edit", "emend edit a --no", "emend help edit"]
        {
            assert!(parse(&line(text)).is_none(), "{text}");
        }
        for text in ["emend --root a edit b --root c", "emend --json=x edit a", "emend --no edit a", "emend --session"]
        {
            assert!(parse(&line(text)).is_none(), "{text}");
        }
        let tools = Cli::parse_line(&line("emend tools edit")).unwrap().command;
        assert!(matches!(tools, Command::Tools(args) if args.name.as_deref() == Some("edit")));
        let read = Cli::parse_line(&line("emend --session edit read a --json")).unwrap();
        assert!(read.global.json && read.global.session == "edit");
    }

    #[test]
    fn shortcut_agrees_with_the_full_definition() {
        for text in [
            "emend --root a --root=b --json --session edit edit c --old d --new e",
            "emend edit c --old d --new e --root a --allow f --allow g --durability none",
            "emend --allow x --deny y edit c --old d --new e --deny-not-an-option",
            "emend --color never edit --old d --new e -- --json",
        ] {
            let said = |cli: Cli| {
                let Command::Edit(edit) = &cli.command else { panic!("{text}") };
                let global = &cli.global;
                let words =
                    (&global.root, &global.session, global.json, &global.allow, &global.deny, global.durability);
                format!("{:?} {:?} {:?} {:?} {words:?}", edit.path, edit.old, edit.new, global.color)
            };
            let whole = Cli::try_parse_from(line(text)).map(said).ok();
            assert_eq!(parse(&line(text)).map(said), whole, "{text}");
        }
    }
}
