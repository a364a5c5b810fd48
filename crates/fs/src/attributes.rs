//! What a file has beside its bytes and its mode.

/// Owner and extended attributes of a regular file, for a file that is to have them again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Name and value of each extended attribute, ACLs among them. Not those that a kernel makes for a content, and not
    /// those that give a program more rights than its user has.
    pub named: Vec<(Vec<u8>, Vec<u8>)>,
}
