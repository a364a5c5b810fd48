//! Values that a patch has for the old and for the new side of a file.

use std::mem::swap;

/// A value of the old and one of the new side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BothSides<T> {
    pub(super) old: T,
    pub(super) new: T,
}

impl<T> BothSides<T> {
    /// Exchanges the sides.
    pub(super) fn reverse(&mut self) {
        swap(&mut self.old, &mut self.new);
    }
}

impl<T> BothSides<Option<T>> {
    /// Returns both values, if both sides have one.
    pub(super) fn both(&self) -> Option<(&T, &T)> {
        self.old.as_ref().zip(self.new.as_ref())
    }

    /// True if at least one side has a value.
    pub(super) fn has_any(&self) -> bool {
        self.old.is_some() || self.new.is_some()
    }
}

impl BothSides<Option<String>> {
    /// Returns both names, if both sides have one.
    pub(super) fn names(&self) -> Option<(&str, &str)> {
        self.old.as_deref().zip(self.new.as_deref())
    }
}

impl<T> From<Option<(T, T)>> for BothSides<Option<T>> {
    fn from(both: Option<(T, T)>) -> BothSides<Option<T>> {
        let (old, new) = both.unzip();
        BothSides { old, new }
    }
}
