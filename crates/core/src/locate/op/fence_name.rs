//! The origin of the name of a whole file, as plain data.

/// The origin of the name of a whole file in a fence without a name above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FenceName {
    /// The call names the file.
    Call,
    /// The call names the file, but this comment at the beginning of the text, or word above it, names another one.
    Contradicted(String),
    /// This comment at the beginning of the text names the file.
    Comment(String),
    /// This comment repeats the name that is above the fence.
    Repeated(String),
}
