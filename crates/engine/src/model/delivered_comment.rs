//! Comments whose delivery is not recorded yet.

/// A comment that a reply of this process contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeliveredComment {
    /// The root whose history has it.
    pub(crate) root: usize,
    /// The number of the comment in that history.
    pub(crate) number: u64,
    /// The session of the reply.
    pub(crate) session: String,
}
