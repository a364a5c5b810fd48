//! The calls keep the promises of POSIX on every system.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests play the outside world"
)]

use emendate_os::fd::{AsFd, OwnedFd};
use emendate_os::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use emendate_os::io::Errno;
use emendate_os::{files, fs, io, paths};
use std::path::Path;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NEW: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn folder() -> (tempfile::TempDir, OwnedFd) {
    let temp = tempfile::tempdir().unwrap();
    let open = fs::open(temp.path(), DIRECTORY, Mode::empty()).unwrap();
    (temp, open)
}

fn look(folder: impl AsFd, name: &str) -> Result<Stat, Errno> {
    fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn create(folder: impl AsFd, name: &str, text: &str) -> OwnedFd {
    let file = fs::openat(folder, name, NEW, Mode::from_raw_mode(0o600)).unwrap();
    assert_eq!(io::pwritev(&file, &[std::io::IoSlice::new(text.as_bytes())], 0).unwrap(), text.len());
    file
}

fn names(folder: impl AsFd) -> Vec<String> {
    let list = fs::openat(folder, ".", DIRECTORY, Mode::empty()).unwrap();
    let names = Dir::new(list).unwrap().map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned());
    let mut names: Vec<String> = names.filter(|name| name != "." && name != "..").collect();
    names.sort();
    names
}

fn text(temp: &Path, name: &str) -> String {
    std::fs::read_to_string(temp.join(name)).unwrap()
}

#[test]
fn names_are_opened_below_an_open_directory() {
    let (temp, open) = folder();
    drop(create(&open, "a", "one"));
    assert_eq!(fs::openat(&open, "a", NEW, Mode::empty()).map(drop), Err(Errno::EXIST));
    assert_eq!(fs::openat(&open, "b", READ, Mode::empty()).map(drop), Err(Errno::NOENT));
    fs::mkdirat(&open, "d", Mode::from_raw_mode(0o700)).unwrap();
    assert_eq!(fs::mkdirat(&open, "d", Mode::from_raw_mode(0o700)), Err(Errno::EXIST));
    let inner = fs::openat(&open, "d", DIRECTORY, Mode::empty()).unwrap();
    drop(create(&inner, "c", "two"));
    assert_eq!(look(&open, "d/c").unwrap().st_size, 3);
    assert_eq!(fs::openat(&open, "a", DIRECTORY, Mode::empty()).map(drop), Err(Errno::NOTDIR));
    assert_eq!(names(&open), ["a", "d"]);
    assert_eq!(names(&inner), ["c"]);
    // The directory is the same one under another name.
    std::fs::rename(temp.path().join("d"), temp.path().join("e")).unwrap();
    drop(create(&inner, "f", "three"));
    assert_eq!(text(temp.path(), "e/f"), "three");
}

#[test]
fn reads_and_writes_have_positions_of_their_own() {
    let (temp, open) = folder();
    let file = create(&open, "a", "0123456789");
    let slices = [std::io::IoSlice::new(b"ab"), std::io::IoSlice::new(b"cd")];
    assert_eq!(io::pwritev(&file, &slices, 3).unwrap(), 4);
    fs::ftruncate(&file, 9).unwrap();
    fs::fdatasync(&file).unwrap();
    fs::fsync(&open).unwrap();
    let file = fs::openat(&open, "a", READ, Mode::empty()).unwrap();
    let mut buffer = [0; 4];
    assert_eq!(io::pread(&file, &mut buffer[..], 7).unwrap(), 2);
    assert_eq!(io::pread(&file, &mut buffer[..], 9).unwrap(), 0);
    fs::seek(&file, fs::SeekFrom::Start(0)).unwrap();
    let mut whole = Vec::with_capacity(20);
    assert_eq!(io::read(&file, emendate_os::buffer::spare_capacity(&mut whole)).unwrap(), 9);
    assert_eq!(whole, b"012abcd78");
    assert_eq!(text(temp.path(), "a"), "012abcd78");
}

#[test]
fn a_rename_replaces_or_refuses() {
    let (temp, open) = folder();
    drop(create(&open, "a", "one"));
    drop(create(&open, "b", "two"));
    assert_eq!(fs::renameat_with(&open, "a", &open, "b", RenameFlags::NOREPLACE), Err(Errno::EXIST));
    fs::renameat_with(&open, "a", &open, "c", RenameFlags::NOREPLACE).unwrap();
    fs::renameat(&open, "c", &open, "b").unwrap();
    assert_eq!((names(&open), text(temp.path(), "b")), (vec!["b".to_owned()], "one".to_owned()));
    assert_eq!(fs::renameat(&open, "x", &open, "y"), Err(Errno::NOENT));
}

#[test]
fn second_names_lead_to_one_file() {
    let (temp, open) = folder();
    drop(create(&open, "a", "one"));
    fs::linkat(&open, "a", &open, "b", AtFlags::empty()).unwrap();
    assert_eq!(fs::linkat(&open, "a", &open, "b", AtFlags::empty()), Err(Errno::EXIST));
    let (a, b) = (look(&open, "a").unwrap(), look(&open, "b").unwrap());
    assert_eq!((a.st_dev, a.st_ino, a.st_nlink), (b.st_dev, b.st_ino, 2));
    assert_eq!(files::id_at(&temp.path().join("a")), files::id_at(&temp.path().join("b")));
    fs::unlinkat(&open, "a", AtFlags::empty()).unwrap();
    assert_eq!(text(temp.path(), "b"), "one");
    assert_eq!(fs::unlinkat(&open, "a", AtFlags::empty()), Err(Errno::NOENT));
    fs::mkdirat(&open, "d", Mode::from_raw_mode(0o700)).unwrap();
    assert_eq!(fs::unlinkat(&open, "d", AtFlags::empty()), Err(Errno::ISDIR));
    drop(create(fs::openat(&open, "d", DIRECTORY, Mode::empty()).unwrap(), "x", ""));
    assert_eq!(fs::unlinkat(&open, "d", AtFlags::REMOVEDIR), Err(Errno::NOTEMPTY));
}

#[test]
fn metadata_tells_types_and_the_right_to_write() {
    let (_temp, open) = folder();
    let file = create(&open, "a", "one");
    assert_eq!(FileType::from_raw_mode(look(&open, ".").unwrap().st_mode), FileType::Directory);
    let stat = look(&open, "a").unwrap();
    assert_eq!(FileType::from_raw_mode(stat.st_mode), FileType::RegularFile);
    assert_ne!(stat.st_mode & 0o200, 0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!(now.abs_diff(u64::try_from(stat.st_mtime).unwrap()) < 3600, "{stat:?}");
    fs::fchmod(&file, Mode::from_raw_mode(0o444)).unwrap();
    assert_eq!(look(&open, "a").unwrap().st_mode & 0o222, 0);
    fs::fchmod(&file, Mode::from_raw_mode(0o644)).unwrap();
    assert_ne!(look(&open, "a").unwrap().st_mode & 0o200, 0);
    assert!(fs::fstatvfs(&open).unwrap().f_frsize > 0);
}

#[test]
fn locks_exclude_each_other_and_end_with_the_file() {
    let (temp, open) = folder();
    drop(create(&open, "a", "one"));
    let alone = FlockOperation::NonBlockingLockExclusive;
    for (name, flags) in [(".", DIRECTORY), ("a", READ)] {
        let [one, two] = [(); 2].map(|()| fs::openat(&open, name, flags, Mode::empty()).unwrap());
        fs::flock(&one, alone).unwrap();
        assert_eq!(fs::flock(&two, alone), Err(Errno::WOULDBLOCK), "{name}");
        fs::flock(&one, FlockOperation::Unlock).unwrap();
        fs::flock(&two, alone).unwrap();
        assert_eq!(fs::flock(&one, alone), Err(Errno::WOULDBLOCK), "{name}");
        drop(two);
        fs::flock(&one, alone).unwrap();
    }
    // Such a lock keeps nobody from reading and writing.
    let [one, two] =
        [(); 2].map(|()| std::fs::File::options().read(true).write(true).open(temp.path().join("a")).unwrap());
    files::try_lock(&one).unwrap();
    assert!(files::try_lock_shared(&two).is_err());
    files::FileExt::write_all_at(&two, b"two", 0).unwrap();
    let mut buffer = [0; 3];
    files::FileExt::read_exact_at(&one, &mut buffer, 0).unwrap();
    assert_eq!(&buffer, b"two");
    files::unlock(&one).unwrap();
    files::try_lock_shared(&one).unwrap();
    files::try_lock_shared(&two).unwrap();
}

#[test]
fn names_come_back_as_the_directory_stores_them() {
    let (_temp, open) = folder();
    drop(create(&open, "Name.txt", ""));
    let stored = |name: &str| paths::stored_name(open.as_fd(), name.into());
    assert_eq!(stored("Name.txt"), "Name.txt");
    assert_eq!(stored("other"), "other");
    // In a directory that ignores case, the name is found by another spelling, and is still this one.
    if look(&open, "NAME.TXT").is_ok() && cfg!(windows) {
        assert_eq!(stored("NAME.TXT"), "Name.txt");
    }
}

#[test]
fn a_removed_file_is_known_to_be_removed() {
    let (temp, open) = folder();
    drop(create(&open, "a", "one"));
    let file = std::fs::File::open(temp.path().join("a")).unwrap();
    assert!(!files::is_removed(&file).unwrap());
    fs::unlinkat(&open, "a", AtFlags::empty()).unwrap();
    // Wine keeps the name until the file is closed, and does not say that it is removed.
    if std::env::var_os("WINEPREFIX").is_none() {
        assert!(files::is_removed(&file).unwrap());
        assert_eq!(files::id_at(&temp.path().join("a")), None);
    }
    drop(file);
    assert_eq!(names(&open), <[&str; 0]>::default());
}

#[cfg(windows)]
mod windows {
    use std::ffi::OsStr;

    use super::{Errno, Mode, READ, create, folder, fs, text};
    use emendate_os::ffi::OsStrExt as _;

    #[test]
    fn names_of_devices_and_streams_are_refused() {
        let (_temp, open) = folder();
        for name in ["NUL", "con.txt", "COM1", "a.", "a ", "a:b", "a?", "b\\AUX"] {
            assert_eq!(fs::openat(&open, name, READ, Mode::empty()).map(drop), Err(Errno::INVAL), "{name}");
            assert_eq!(fs::mkdirat(&open, name, Mode::empty()), Err(Errno::INVAL), "{name}");
        }
    }

    #[test]
    fn a_file_that_another_program_does_not_share_is_busy() {
        use std::os::windows::fs::OpenOptionsExt as _;
        let (temp, open) = folder();
        drop(create(&open, "a", "one"));
        let other = std::fs::File::options().read(true).share_mode(0).open(temp.path().join("a")).unwrap();
        assert_eq!(fs::openat(&open, "a", READ, Mode::empty()).map(drop), Err(Errno::TXTBSY));
        drop(create(&open, "b", "two"));
        assert!(fs::renameat(&open, "b", &open, "a").is_err());
        drop(other);
        fs::renameat(&open, "b", &open, "a").unwrap();
        assert_eq!(text(temp.path(), "a"), "two");
    }

    #[test]
    fn a_path_may_be_long() {
        let (_temp, open) = folder();
        let part = "d".repeat(100);
        let mut here = open;
        for _ in 0..6 {
            fs::mkdirat(&here, &part, Mode::empty()).unwrap();
            here = fs::openat(&here, &part, super::DIRECTORY, Mode::empty()).unwrap();
        }
        drop(create(&here, "a", "deep"));
        assert_eq!(super::look(&here, "a").unwrap().st_size, 4);
    }

    #[test]
    fn attributes_are_read_and_written() {
        use std::os::windows::fs::MetadataExt as _;
        const HIDDEN: u32 = 2;
        let (temp, open) = folder();
        let file = create(&open, "a", "one");
        let name = b"windows.attributes";
        fs::fsetxattr(&file, name, &HIDDEN.to_le_bytes(), fs::XattrFlags::empty()).unwrap();
        let attributes = std::fs::metadata(temp.path().join("a")).unwrap().file_attributes();
        if attributes & HIDDEN != 0 {
            let mut value = [0; 4];
            assert_eq!(fs::fgetxattr(&file, name, &mut value).unwrap(), 4);
            assert_eq!(u32::from_le_bytes(value) & HIDDEN, HIDDEN);
            fs::fremovexattr(&file, name).unwrap();
            assert_eq!(std::fs::metadata(temp.path().join("a")).unwrap().file_attributes() & HIDDEN, 0);
        }
        let unknown = fs::fsetxattr(&file, b"user.x", b"1", fs::XattrFlags::empty());
        assert_eq!(unknown, Err(Errno::NOTSUP));
    }

    #[test]
    fn ill_formed_names_are_carried_without_loss() {
        use std::os::windows::ffi::{OsStrExt as _, OsStringExt as _};
        let (_temp, open) = folder();
        let name = std::ffi::OsString::from_wide(&[0x61, 0xD800, 0x62]);
        assert_eq!(OsStr::from_bytes(name.as_bytes()).encode_wide().collect::<Vec<_>>(), [0x61, 0xD800, 0x62]);
        // Wine stores names as UTF-8, and cannot have this one.
        if let Ok(file) = fs::openat(&open, &name, super::NEW, Mode::from_raw_mode(0o600)) {
            drop(file);
            assert_eq!(fs::statat(&open, &name, super::AtFlags::SYMLINK_NOFOLLOW).unwrap().st_size, 0);
        }
    }
}
