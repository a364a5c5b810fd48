//! Reading: contents, refusals and metadata.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests make and look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub, reason = "tests")]

mod rig;

use emendate_core::Code;
use emendate_fs::{Durability, FileWrite, NewState, Store};
use rig::{LIMIT, Rig, ends, refused};
use rustix::fs::{CWD, FileType, Mode};
use std::os::unix::net::UnixListener;
use std::path::Path;

#[test]
fn file_is_read_unchanged() {
    let rig = Rig::new();
    let store = &rig.store;
    rig.put("a", "hello\r\n\0");
    let version = rig.version("a");
    assert_eq!(version.bytes, b"hello\r\n\0");
    assert!(version.racy, "just written");
    assert_eq!(store.metadata(&rig.place("a")).unwrap(), Some(version.meta));
    assert_eq!((version.meta.size, version.meta.links), (8, 1));
    for missing in ["none", "no/such/folder"] {
        assert_eq!(store.read(&rig.place(missing), LIMIT, Vec::new()).unwrap(), None);
        assert_eq!(store.metadata(&rig.place(missing)).unwrap(), None);
    }
    assert!(store.siblings(&rig.place("no/such/folder")).unwrap().is_empty());
    assert_eq!(store.siblings(&rig.place("none")).unwrap(), ["a"]);

    // The buffer's capacity is reused, its content is not.
    let buffer = Vec::with_capacity(1 << 16);
    let at = buffer.as_ptr();
    let version = store.read(&rig.place("a"), LIMIT, buffer).unwrap().unwrap();
    assert_eq!((version.bytes.as_ptr(), version.bytes.len()), (at, 8));
    rig.put("empty", "");
    assert!(store.read(&rig.place("empty"), 0, vec![1, 2, 3]).unwrap().unwrap().bytes.is_empty());
    let big = "0123456789abcdef".repeat(1 << 15);
    rig.put("big", &big);
    assert_eq!(rig.version("big").bytes, big.as_bytes());
}

#[test]
fn old_file_is_not_racy() {
    let rig = Rig::new();
    rig.put("a", "x");
    std::thread::sleep(std::time::Duration::from_millis(30));
    let fine = rig.store.probe(0).unwrap();
    let racy = rig.version("a").racy;
    // Where stamps are coarse, 30 ms prove nothing.
    let known = ["ext4", "xfs", "btrfs", "tmpfs"].contains(&fine.file_system.as_str());
    assert!(!racy || !known || !fine_kernel(), "{fine:?}");
    // Change times cannot be set back, so an old modification time alone does not make a file look old.
    std::fs::File::options().write(true).open(rig.path("a")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    assert!(rig.version("a").racy);
}

fn fine_kernel() -> bool {
    let name = rustix::system::uname();
    let mut numbers = name.release().to_str().unwrap().split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap(), numbers.next().unwrap()) >= (6, 13)
}

#[test]
fn size_limit_error_names_the_limit() {
    let rig = Rig::new();
    rig.put("a", "0123456789");
    let place = rig.place("a");
    assert!(rig.store.read(&place, 10, Vec::new()).is_ok());
    let text = refused(rig.store.read(&place, 9, Vec::new()), Code::FileTooLarge);
    assert!(text.contains("10 bytes") && text.contains("limit is 9 bytes"), "{text}");
    // A sparse giant file costs nothing to create or to refuse.
    let sparse = std::fs::File::create(rig.path("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let text = refused(rig.store.read(&rig.place("sparse"), LIMIT, Vec::new()), Code::FileTooLarge);
    assert!(text.contains("1099511627776") && text.contains("1048576"), "{text}");
    // Files without a reliable size are stopped while they are read.
    let proc = emendate_fs::LocalStore::open(&["/proc".into()]).unwrap();
    let place = proc.resolve_path(Path::new("/proc/cpuinfo")).unwrap();
    refused(proc.read(&place, 16, Vec::with_capacity(1 << 16)), Code::FileTooLarge);
}

#[test]
fn only_regular_files_are_read_without_blocking() {
    ends(|| {
        let rig = Rig::new();
        std::fs::create_dir(rig.path("folder")).unwrap();
        let fifos = ["fifo", "fifo 2", "fifo 3", "fifo 4", "fifo 5"];
        for name in fifos {
            rustix::fs::mknodat(CWD, rig.path(name), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        }
        let _socket = UnixListener::bind(rig.path("socket")).unwrap();
        for name in fifos.iter().chain(&["folder", "socket", "."]) {
            let place = rig.place(name);
            refused(rig.store.read(&place, LIMIT, Vec::new()), Code::PathNotRegular);
            refused(rig.store.metadata(&place), Code::PathNotRegular);
            refused(rig.edit(name, "x"), Code::PathNotRegular);
        }
        // A pipe that gets a file's name after the read is detected by the write.
        rig.put("a", "old");
        let (place, old) = (rig.place("a"), rig.version("a"));
        let write = [FileWrite {
            path: &place,
            precondition: rig::expect(Some(&old)),
            new_state: NewState::content(&[b"new"]),
        }];
        let staged = rig.store.stage(&write, Durability::Power).unwrap();
        std::fs::rename(rig.path("fifo"), rig.path("a")).unwrap();
        refused(staged.commit(), Code::ConflictRaced);
        refused(rig.store.stage(&write, Durability::Power).map(drop), Code::PathNotRegular);
        // The next edit still works.
        rig.edit("new", "x").unwrap();
        let dev = emendate_fs::LocalStore::open(&["/dev".into()]).unwrap();
        for name in ["/dev/null", "/dev/zero"] {
            let place = dev.resolve_path(Path::new(name)).unwrap();
            refused(dev.read(&place, LIMIT, Vec::new()), Code::PathNotRegular);
            refused(dev.metadata(&place), Code::PathNotRegular);
        }
        rig.clean();
    });
}

#[test]
fn probe_leaves_no_files() {
    let rig = Rig::new();
    let probe = rig.store.probe(0).unwrap();
    assert!(probe.writable && !probe.file_system.is_empty(), "{probe:?}");
    assert_eq!(std::fs::read_dir(&rig.root).unwrap().count(), 0);
    refused(rig.store.probe(1), Code::PathInvalid);
    let proc = emendate_fs::LocalStore::open(&["/proc".into()]).unwrap();
    let probe = proc.probe(0).unwrap();
    let found = (probe.file_system.as_str(), probe.exchange, probe.leases, probe.writable);
    assert_eq!(found, ("proc", false, false, false));
}
