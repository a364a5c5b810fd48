//! Detection of network file systems.

use std::path::Path;

/// Magic numbers of file systems that processes on several machines may share, or without shared memory maps.
#[cfg(target_os = "linux")]
const NETWORK_FILE_SYSTEMS: [u64; 16] = [
    0x6969,      // NFS
    0x517B,      // SMB
    0xFF53_4D42, // CIFS
    0xFE53_4D42, // SMB 2
    0x6573_5546, // FUSE, which may be sshfs
    0x0102_1997, // 9P
    0x00C3_6400, // Ceph
    0x5346_414F, // AFS
    0x6B41_4653, // kAFS
    0x7375_7245, // Coda
    0x564C,      // NCP
    0x0BD0_0BD0, // Lustre
    0x4750_4653, // GPFS
    0x7461_636F, // OCFS2
    0x0116_1970, // GFS2
    0x786F_4256, // VirtualBox shared folders
];

/// True if the directory is on a network file system; false if unknown.
#[cfg(target_os = "linux")]
pub fn is_network_file_system(folder: &Path) -> bool {
    // The field's type differs between architectures; the numbers have 32 bits.
    #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "magic numbers have 32 bits")]
    rustix::fs::statfs(folder).is_ok_and(|found| NETWORK_FILE_SYSTEMS.contains(&u64::from(found.f_type as u32)))
}

/// Names of such file systems on macOS and BSD.
#[cfg(not(target_os = "linux"))]
const NETWORK_FILE_SYSTEMS: [&str; 8] = ["nfs", "smbfs", "afpfs", "webdav", "fusefs", "macfuse", "osxfuse", "ftp"];

/// True if the directory is on a network file system; false if unknown.
#[cfg(not(target_os = "linux"))]
pub fn is_network_file_system(folder: &Path) -> bool {
    // The bytes of a name have a sign on some systems.
    #[allow(clippy::cast_sign_loss, reason = "the bytes of a name")]
    rustix::fs::statfs(folder).is_ok_and(|found| {
        let name = found.f_fstypename.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0);
        let name: Vec<u8> = name.collect();
        NETWORK_FILE_SYSTEMS.iter().any(|known| known.as_bytes() == name)
    })
}
