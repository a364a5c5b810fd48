//! Language detection: by file name, else by the program in the first line.

use crate::grammar::Grammar;
use crate::grammars::GRAMMARS;
use crate::grammars::full_build::OF_FULL;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::Path;

/// A language in this build.
#[derive(Clone, Copy)]
pub struct Language(pub(crate) &'static Grammar);

impl Language {
    /// Returns the language of the file at `path`; `first_line` is checked for `#!` if the name is unknown.
    pub fn of(path: &Path, first_line: &str) -> Option<Language> {
        let name = path.file_name()?.to_str()?;
        let extension = path.extension().and_then(|it| it.to_str()).map(str::to_ascii_lowercase);
        let known = GRAMMARS.iter().copied();
        let found = known
            .clone()
            .find(|it| it.files.contains(&name))
            .or_else(|| known.clone().find(|it| extension.as_deref().is_some_and(|end| it.extensions.contains(&end))));
        found
            .or_else(|| {
                // `#!/usr/bin/env -S python3 -u` and `#!/bin/sh` alike: the last component of each word, without a
                // version.
                let words = first_line.strip_prefix("#!")?.split_whitespace().filter(|word| !word.starts_with('-'));
                let programs = words.map(|word| word.rsplit('/').next().unwrap_or(word));
                let program = programs.map(|it| it.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'));
                let program = program.clone().find(|it| *it != "env")?;
                known.clone().find(|it| it.programs.contains(&program))
            })
            .map(Language)
    }

    /// Returns the language of the file at `path` if only the `full` build has its grammar and this one has not.
    pub fn not_built(path: &Path) -> Option<&'static str> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let found = OF_FULL.iter().find(|(_, extensions)| extensions.contains(&&*extension));
        found.map(|(name, _)| *name).filter(|name| Language::from_name(name).is_none())
    }

    /// Returns all languages in this build, by name.
    pub fn all() -> impl Iterator<Item = Language> {
        GRAMMARS.iter().copied().map(Language)
    }

    /// Returns the language of that name, e.g. `rust`.
    pub fn from_name(name: &str) -> Option<Language> {
        Language::all().find(|it| it.name() == name)
    }

    /// Returns the literal tokens of its grammar: keywords, brackets, operators.
    pub fn tokens(self) -> Vec<String> {
        let grammar = (self.0.load)();
        let ids = 0..u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
        let literal = ids.filter(|id| !grammar.node_kind_is_named(*id) && grammar.node_kind_is_visible(*id));
        literal.filter_map(|id| grammar.node_kind_for_id(id).map(str::to_owned)).collect()
    }

    /// The name of the language, e.g. `rust`.
    pub fn name(self) -> &'static str {
        self.0.name
    }
}

impl std::fmt::Debug for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Language) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Language {}

impl Serialize for Language {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Language {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Language, D::Error> {
        let name = String::deserialize(deserializer)?;
        Language::from_name(&name).ok_or_else(|| D::Error::custom("no language of that name is built in"))
    }
}
