//! The order of the changes in a printed text, whose readers apply them one after another.

use super::FileDelta;
use std::collections::HashSet;

/// Returns the changes in an order in which each finds what it needs: what is removed, what is moved, and then the rest.
/// A file in the place of one that was moved away is a new file.
pub(super) fn in_sequence<'a>(deltas: &[FileDelta<'a>]) -> Vec<FileDelta<'a>> {
    let sources: HashSet<&str> = deltas.iter().filter_map(|delta| delta.from).collect();
    let removed: HashSet<&str> = deltas.iter().filter(|it| it.after.is_none()).map(|it| it.path).collect();
    let is_reused = |it: &FileDelta<'_>| it.after.is_some() && (sources.contains(it.path) || removed.contains(it.path));
    if !deltas.iter().any(is_reused) {
        return deltas.to_vec();
    }
    let as_new = |delta: &FileDelta<'a>| match delta.from {
        None if delta.after.is_some() && sources.contains(delta.path) => {
            FileDelta { before: None, modes: (None, delta.modes.1), ..*delta }
        }
        _ => *delta,
    };
    let mut out: Vec<FileDelta<'a>> = deltas.iter().map(as_new).collect();
    out.sort_by_key(|it| (it.after.is_some(), it.from.is_none()));
    out
}
