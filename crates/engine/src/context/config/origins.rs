//! The origins of settings: each setting is set together with the name of the file that has it.

use crate::context::config::rule::{RuleSource, word_if_any};
use crate::model::call_context::OptionValue;
use emendate_core::Result;
use std::collections::BTreeMap;

/// The origins of settings that are not the built-in ones, by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins(BTreeMap<&'static str, String>);

impl Origins {
    /// Records the origin of a setting.
    pub(super) fn note(&mut self, key: &'static str, origin: &str) {
        self.0.insert(key, origin.to_owned());
    }

    /// Returns the origin of a setting.
    pub(super) fn of(&self, key: &str) -> &str {
        self.0.get(key).map_or("built in", |origin| origin)
    }

    /// Sets a setting to the value in a file, if it has one.
    pub(super) fn set<T>(&mut self, slot: &mut T, key: &'static str, value: Option<T>, source: RuleSource<'_>) {
        if let Some(value) = value {
            *slot = value;
            self.note(key, source.origin);
        }
    }

    /// Sets a setting to the named value in a file, if it has one.
    ///
    /// Errors: `call.invalid` for an unknown name.
    pub(super) fn set_word<W: OptionValue>(
        &mut self,
        slot: &mut W,
        key: &'static str,
        text: Option<&str>,
        source: RuleSource<'_>,
    ) -> Result<()> {
        self.set(slot, key, word_if_any(source, key, text)?, source);
        Ok(())
    }

    /// Does the same, except that a project can only make the setting stricter. Returns false if its value is looser and
    /// has no effect.
    ///
    /// Errors: `call.invalid` for an unknown name.
    pub(super) fn tighten_word<W: OptionValue + PartialOrd>(
        &mut self,
        slot: &mut W,
        key: &'static str,
        text: Option<&str>,
        source: RuleSource<'_>,
    ) -> Result<bool> {
        let value = word_if_any(source, key, text)?;
        let is_looser = !source.trusted && value.as_ref().is_some_and(|value| *value < *slot);
        self.set(slot, key, value.filter(|value| source.trusted || *value > *slot), source);
        Ok(!is_looser)
    }

    /// Sets a limit to the value in a file, except that a project can only lower it.
    pub(super) fn lower<T: PartialOrd>(
        &mut self,
        slot: &mut T,
        key: &'static str,
        value: Option<T>,
        source: RuleSource<'_>,
    ) {
        self.set(slot, key, value.filter(|value| source.trusted || *value < *slot), source);
    }
}
