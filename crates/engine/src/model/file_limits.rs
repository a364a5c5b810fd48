//! Sizes from which files are handled in parts.

/// Bytes above which a file is not loaded whole unless necessary.
pub const STREAM_FROM_BYTES: u64 = 4 << 20;
/// Bytes of the largest file that is loaded whole.
pub const WHOLE_FILE_BYTES_MAX: u64 = 256 << 20;
