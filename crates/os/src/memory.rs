//! Free memory that allocators keep.

use std::sync::OnceLock;

static ALLOCATOR_TRIM: OnceLock<fn()> = OnceLock::new();

/// Names the function by which the allocator of the program returns free memory to the system. For programs with an
/// allocator of their own; only the first call counts.
pub fn set_allocator_trim(trim: fn()) {
    let _ = ALLOCATOR_TRIM.set(trim);
}

/// Returns memory that allocators hold but nobody uses to the system. Takes milliseconds, so only large calls should
/// end with it.
pub fn return_free_memory() {
    if let Some(trim) = ALLOCATOR_TRIM.get() {
        trim();
    }
    crate::platform::trim_c_memory();
}
