//! File metadata as the file system reports it.

/// Identity and metadata of a file at one moment, from `fstat`. Equal metadata suggests an unchanged file but does not
/// prove it: contents decide (see [`FileVersion::racy`](crate::FileVersion)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileMeta {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Size in bytes.
    pub size: u64,
    /// Last modification, nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Last status change, nanoseconds since the epoch.
    pub ctime_ns: i64,
    /// Type and permission bits.
    pub mode: u32,
    /// Number of hard links.
    pub links: u64,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl FileMeta {
    /// True if both are the same inode.
    pub fn same_file(&self, other: &FileMeta) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }

    /// True for a directory.
    pub fn is_dir(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }

    /// True for a symbolic link.
    pub fn is_link(&self) -> bool {
        self.mode & 0o170_000 == 0o120_000
    }
}
