//! The origins of settings: each setting is set together with the name of the file that has it.

use crate::context::config::rule::{RuleSource, word_if_any};
use crate::model::call_context::OptionValue;
use emendate_core::Result;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// The origins of settings that are not the built-in ones, by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    names: BTreeMap<&'static str, String>,
    /// Settings that the user's own file has.
    own: BTreeSet<&'static str>,
    /// Settings without an effect, because a project would make them looser.
    looser: Vec<&'static str>,
}

impl Origins {
    /// Records the origin of a setting.
    pub(super) fn note(&mut self, key: &'static str, origin: &str) {
        self.names.insert(key, origin.to_owned());
    }

    /// Returns the origin of a setting.
    pub(super) fn of(&self, key: &str) -> &str {
        self.names.get(key).map_or("built in", |origin| origin)
    }

    /// Sets a setting to the value in a file, if it has one.
    pub(super) fn set<T>(&mut self, slot: &mut T, key: &'static str, value: Option<T>, source: RuleSource<'_>) {
        if let Some(value) = value {
            *slot = value;
            self.note(key, source.origin);
            if source.trusted {
                self.own.insert(key);
            }
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

    /// Does the same, except that a project can only make the setting stricter.
    ///
    /// Errors: `call.invalid` for an unknown name.
    pub(super) fn tighten_word<W: OptionValue + PartialOrd>(
        &mut self,
        slot: &mut W,
        key: &'static str,
        text: Option<&str>,
        source: RuleSource<'_>,
    ) -> Result<()> {
        let value = word_if_any(source, key, text)?;
        self.tighten(slot, key, value, source, W::partial_cmp);
        Ok(())
    }

    /// Sets a limit to the value in a file, except that a project can only lower it.
    pub(super) fn lower<T: PartialOrd>(
        &mut self,
        slot: &mut T,
        key: &'static str,
        value: Option<T>,
        source: RuleSource<'_>,
    ) {
        self.tighten(slot, key, value, source, |value, now| now.partial_cmp(value));
    }

    /// Sets a setting to the value in a file, except that a project can only make stricter what the user's own file sets.
    pub(super) fn keep_own<T>(
        &mut self,
        slot: &mut T,
        key: &'static str,
        value: Option<T>,
        source: RuleSource<'_>,
        strictness: fn(&T) -> u8,
    ) {
        if self.own.contains(key) {
            self.tighten(slot, key, value, source, |value, now| strictness(value).partial_cmp(&strictness(now)));
        } else {
            self.set(slot, key, value, source);
        }
    }

    /// Sets a setting to the value in a file, if that is the user's own or makes it stricter, as `compare` says.
    fn tighten<T>(
        &mut self,
        slot: &mut T,
        key: &'static str,
        value: Option<T>,
        source: RuleSource<'_>,
        compare: impl Fn(&T, &T) -> Option<Ordering>,
    ) {
        let Some(value) = value else { return };
        match compare(&value, slot) {
            order if source.trusted || order == Some(Ordering::Greater) => self.set(slot, key, Some(value), source),
            Some(Ordering::Equal) => {}
            _ => self.looser.push(key),
        }
    }

    /// Takes the keys of settings that a project cannot make looser.
    pub(super) fn take_looser(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.looser)
    }
}
