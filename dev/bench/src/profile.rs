//! The instruction profile of a path, which `cargo xtask instructions --bless` wrote into the budgets (dev/counted).

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The purpose of functions, by the prefix of their names. Functions with the same purpose are added up.
// tidy: table
const KINDS: &[(&str, &str)] = &[
    ("__memcpy", "copies"),
    ("__memmove", "copies"),
    ("__memset", "fills"),
    ("__memcmp", "comparisons"),
    ("malloc", "allocation"),
    ("_int_", "allocation"),
    ("free", "allocation"),
    ("realloc", "allocation"),
    ("alloc::raw_vec", "allocation"),
    ("memchr::", "search by memchr"),
    ("core::slice::memchr", "search by memchr"),
    ("core::str::", "text"),
    ("<core::str::", "text"),
    ("<alloc::string::", "text"),
    ("xxhash_rust::", "the hash of the bytes"),
    ("<&mut serde_json::", "JSON"),
    ("serde_json::", "JSON"),
    ("core::hash::", "hash tables"),
    ("<core::hash::", "hash tables"),
    ("indexmap::", "hash tables"),
    ("<std::path::", "paths"),
    ("std::path::", "paths"),
];

/// The recorded counts of a path: all instructions, and those of each function with at least one percent of them.
#[derive(Deserialize)]
struct Counted {
    instructions: u64,
    functions: BTreeMap<String, u64>,
}

/// The profiles of all paths.
#[derive(Deserialize)]
pub(crate) struct Profiles(BTreeMap<String, Counted>);

impl Profiles {
    /// Reads the profiles.
    ///
    /// Errors: if the budgets file is missing or malformed.
    pub(crate) fn read() -> Result<Profiles, String> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../counted/budgets.toml");
        let text = std::fs::read_to_string(&file).map_err(|error| format!("budgets.toml: {error}"))?;
        toml::from_str(&text).map_err(|error| format!("budgets.toml: {error}"))
    }

    /// Describes the kinds of work with most of a path's instructions. Returns `None` if no path has this name.
    pub(crate) fn line(&self, path: &str) -> Option<String> {
        let counted = self.0.get(path)?;
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for (function, count) in &counted.functions {
            *kinds.entry(kind(function)).or_default() += count;
        }
        let mut kinds: Vec<(String, u64)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        kinds.truncate(7);
        let told: u64 = kinds.iter().map(|(_, count)| count).sum();
        kinds.push(("the rest".to_owned(), counted.instructions.saturating_sub(told)));
        let mut out = format!("`{path}`, {} thousand:", counted.instructions / 1000);
        for (nth, (kind, count)) in kinds.iter().enumerate() {
            let comma = if nth == 0 { "" } else { "," };
            // Writing to a String cannot fail.
            let _ = write!(out, "{comma} {kind} {} %", (count * 100 + counted.instructions / 2) / counted.instructions);
        }
        Some(out)
    }
}

/// Returns the purpose of a function. Each of our own functions is a kind by itself.
fn kind(function: &str) -> String {
    let known = KINDS.iter().find(|(begin, _)| function.starts_with(begin));
    known.map_or_else(|| format!("`{}`", function.replace('|', "\\|")), |(_, kind)| (*kind).to_owned())
}

#[cfg(test)]
mod tests {
    use super::Profiles;
    use crate::goals::GOALS;

    #[test]
    fn functions_of_a_kind_are_added_up() {
        let text = "[a]\ninstructions = 2000\n[a.functions]\nmalloc = 500\nfree = 300\n\"ours::find\" = 200\n";
        let profiles: Profiles = toml::from_str(text).unwrap();
        let line = profiles.line("a").unwrap();
        assert_eq!(line, "`a`, 2 thousand: allocation 40 %, `ours::find` 10 %, the rest 50 %");
        assert!(profiles.line("b").is_none());
    }

    #[test]
    fn every_path_of_a_goal_is_counted() {
        let profiles = Profiles::read().unwrap();
        for path in GOALS.iter().flat_map(|goal| goal.profile) {
            assert!(profiles.line(path).is_some(), "{path}");
        }
    }
}
