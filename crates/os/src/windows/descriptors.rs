//! Limits of open files. Windows has none that a batch could reach.

use super::fd::AsFd;

/// Prepares for this many open files.
pub fn grow_table(_files: usize, _any: impl AsFd) {}

/// Returns the number of files that the process may have open.
pub const fn limit() -> usize {
    1 << 20
}

/// Raises the limit.
pub const fn raise_limit(_files: usize) {}

/// Returns about the number of open files.
pub fn lowest_free(_any: impl AsFd) -> usize {
    64
}

/// True if standard input was closed when this process started. Windows starts no process in that state.
pub const fn is_stdin_absent() -> bool {
    false
}
