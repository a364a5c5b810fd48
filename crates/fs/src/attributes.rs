//! File metadata other than content and mode.

/// Owner and extended attributes of a regular file, saved to restore them later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileAttributes {
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Name and value of each extended attribute, including ACLs. Excludes signatures that the kernel computes over the
    /// content, and file capabilities, which would grant rights that the user lacks.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}
