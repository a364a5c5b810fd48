//! The options of `emend apply` that are those of `git apply`.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// Options for patches.
#[derive(Args)]
pub(crate) struct PatchArgs {
    /// Merge with the version that the patch was made for, which git finds by the index line; refuse conflicts
    #[arg(long = "3way", short = '3')]
    pub(crate) three_way: bool,
    /// Apply the hunks that can be applied, and write the others to FILE.rej beside each file
    #[arg(long)]
    pub(crate) reject: bool,
    /// Lines of context that must match on each side; those beyond may differ if the place is unique
    #[arg(short = 'C', value_name = "N")]
    pub(crate) context: Option<usize>,
    /// Trailing whitespace, spaces before tabs, and empty lines at the end of a file [default: nowarn]
    #[arg(long, value_name = "WORD", value_parser = ["nowarn", "warn", "fix", "error"])]
    pub(crate) whitespace: Option<String>,
    #[command(flatten)]
    pub(crate) only: NamePatterns,
}

/// Patterns in the order of the command line, with `!` before those that exclude files.
pub(crate) struct NamePatterns(pub(crate) Vec<String>);

/// The two options, and the prefix that each gives its patterns.
const PATTERNS: [(&str, &str); 2] = [("include", ""), ("exclude", "!")];

impl Args for NamePatterns {
    fn augment_args(command: Command) -> Command {
        command
            .arg(pattern_option("include", "Change only files whose names match; * also matches slashes (repeatable)"))
            .arg(pattern_option("exclude", "Exclude files whose names match; the first pattern that matches decides"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Returns an option that takes patterns and may be repeated.
fn pattern_option(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("PATTERN").action(ArgAction::Append).help(help)
}

impl FromArgMatches for NamePatterns {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut all: Vec<(usize, String)> = Vec::new();
        for (name, mark) in PATTERNS {
            let places = matches.indices_of(name).into_iter().flatten();
            let texts = matches.get_many::<String>(name).into_iter().flatten();
            all.extend(places.zip(texts).map(|(at, text)| (at, format!("{mark}{text}"))));
        }
        all.sort_by_key(|(at, _)| *at);
        Ok(NamePatterns(all.into_iter().map(|(_, text)| text).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
