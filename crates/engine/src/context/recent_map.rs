//! A map for what is remembered only as long as there is room.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

/// A map of at most `MAX` entries: one more forgets all others.
pub(crate) struct RecentMap<K, V, const MAX: usize>(Mutex<HashMap<K, V>>);

impl<K: Eq + Hash, V: Clone, const MAX: usize> RecentMap<K, V, MAX> {
    /// Returns what is remembered for a key.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Remembers a value, and returns the one before.
    pub(crate) fn put(&self, key: K, value: V) -> Option<V> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX && !known.contains_key(&key) {
            known.clear();
        }
        known.insert(key, value)
    }
}

impl<K, V, const MAX: usize> Default for RecentMap<K, V, MAX> {
    fn default() -> Self {
        RecentMap(Mutex::default())
    }
}
