//! Reading: contents, refusals and metadata.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests make and look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub, reason = "tests")]

mod fixture;

use emendate_core::Code;
use emendate_fs::{Durability, FileWrite, NewState, Store};
use fixture::{LIMIT, StoreFixture, ends, refused};
use rustix::fs::{CWD, FileType, Mode};
use std::os::unix::net::UnixListener;
use std::path::Path;

#[test]
fn file_is_read_unchanged() {
    let fixture = StoreFixture::new();
    let store = &fixture.store;
    fixture.put("a", "hello\r\n\0");
    let version = fixture.version("a");
    assert_eq!(version.bytes, b"hello\r\n\0");
    assert!(version.racy, "just written");
    assert_eq!(store.metadata(&fixture.place("a")).unwrap(), Some(version.meta));
    assert_eq!((version.meta.size, version.meta.links), (8, 1));
    for missing in ["none", "no/such/folder"] {
        assert_eq!(store.read(&fixture.place(missing), LIMIT, Vec::new()).unwrap(), None);
        assert_eq!(store.metadata(&fixture.place(missing)).unwrap(), None);
    }
    assert!(store.siblings(&fixture.place("no/such/folder")).unwrap().is_empty());
    assert_eq!(store.siblings(&fixture.place("none")).unwrap(), ["a"]);

    // The buffer's capacity is reused, its content is not.
    let buffer = Vec::with_capacity(1 << 16);
    let at = buffer.as_ptr();
    let version = store.read(&fixture.place("a"), LIMIT, buffer).unwrap().unwrap();
    assert_eq!((version.bytes.as_ptr(), version.bytes.len()), (at, 8));
    fixture.put("empty", "");
    assert!(store.read(&fixture.place("empty"), 0, vec![1, 2, 3]).unwrap().unwrap().bytes.is_empty());
    let big = "0123456789abcdef".repeat(1 << 15);
    fixture.put("big", &big);
    assert_eq!(fixture.version("big").bytes, big.as_bytes());
}

#[test]
fn old_file_is_not_racy() {
    let fixture = StoreFixture::new();
    fixture.put("a", "x");
    std::thread::sleep(std::time::Duration::from_millis(30));
    let fine = fixture.store.probe(0).unwrap();
    let racy = fixture.version("a").racy;
    // Where stamps are coarse, 30 ms prove nothing.
    let known = ["ext4", "xfs", "btrfs", "tmpfs"].contains(&fine.file_system.as_str());
    assert!(!racy || !known || !fine_kernel(), "{fine:?}");
    // Change times cannot be set back, so an old modification time alone does not make a file look old.
    std::fs::File::options().write(true).open(fixture.path("a")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    assert!(fixture.version("a").racy);
}

fn fine_kernel() -> bool {
    let name = rustix::system::uname();
    let mut numbers = name.release().to_str().unwrap().split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap(), numbers.next().unwrap()) >= (6, 13)
}

#[test]
fn size_limit_error_names_the_limit() {
    let fixture = StoreFixture::new();
    fixture.put("a", "0123456789");
    let place = fixture.place("a");
    assert!(fixture.store.read(&place, 10, Vec::new()).is_ok());
    let text = refused(fixture.store.read(&place, 9, Vec::new()), Code::FileTooLarge);
    assert!(text.contains("10 bytes") && text.contains("limit is 9 bytes"), "{text}");
    // A sparse giant file costs nothing to create or to refuse.
    let sparse = std::fs::File::create(fixture.path("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let text = refused(fixture.store.read(&fixture.place("sparse"), LIMIT, Vec::new()), Code::FileTooLarge);
    assert!(text.contains("1099511627776") && text.contains("1048576"), "{text}");
    // Files without a reliable size are stopped while they are read.
    let proc = emendate_fs::LocalStore::open(&["/proc".into()]).unwrap();
    let place = proc.resolve_path(Path::new("/proc/cpuinfo")).unwrap();
    refused(proc.read(&place, 16, Vec::with_capacity(1 << 16)), Code::FileTooLarge);
}

#[test]
fn only_regular_files_are_read_without_blocking() {
    ends(|| {
        let fixture = StoreFixture::new();
        std::fs::create_dir(fixture.path("folder")).unwrap();
        let fifos = ["fifo", "fifo 2", "fifo 3", "fifo 4", "fifo 5"];
        for name in fifos {
            rustix::fs::mknodat(CWD, fixture.path(name), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        }
        let _socket = UnixListener::bind(fixture.path("socket")).unwrap();
        for name in fifos.iter().chain(&["folder", "socket", "."]) {
            let place = fixture.place(name);
            refused(fixture.store.read(&place, LIMIT, Vec::new()), Code::PathNotRegular);
            refused(fixture.store.metadata(&place), Code::PathNotRegular);
            refused(fixture.edit(name, "x"), Code::PathNotRegular);
        }
        // A pipe that gets a file's name after the read is detected by the write.
        fixture.put("a", "old");
        let (place, old) = (fixture.place("a"), fixture.version("a"));
        let write = [FileWrite {
            path: &place,
            precondition: fixture::expect(Some(&old)),
            new_state: NewState::content(&[b"new"]),
        }];
        let staged = fixture.store.stage(&write, Durability::Power).unwrap();
        std::fs::rename(fixture.path("fifo"), fixture.path("a")).unwrap();
        refused(staged.commit(), Code::ConflictRaced);
        refused(fixture.store.stage(&write, Durability::Power).map(drop), Code::PathNotRegular);
        // The next edit still works.
        fixture.edit("new", "x").unwrap();
        let dev = emendate_fs::LocalStore::open(&["/dev".into()]).unwrap();
        for name in ["/dev/null", "/dev/zero"] {
            let place = dev.resolve_path(Path::new(name)).unwrap();
            refused(dev.read(&place, LIMIT, Vec::new()), Code::PathNotRegular);
            refused(dev.metadata(&place), Code::PathNotRegular);
        }
        fixture.clean();
    });
}

#[test]
fn probe_leaves_no_files() {
    let fixture = StoreFixture::new();
    let probe = fixture.store.probe(0).unwrap();
    assert!(probe.writable && !probe.file_system.is_empty(), "{probe:?}");
    assert_eq!(std::fs::read_dir(&fixture.root).unwrap().count(), 0);
    refused(fixture.store.probe(1), Code::PathInvalid);
    let proc = emendate_fs::LocalStore::open(&["/proc".into()]).unwrap();
    let probe = proc.probe(0).unwrap();
    let found = (probe.file_system.as_str(), probe.exchange, probe.leases, probe.writable);
    assert_eq!(found, ("proc", false, false, false));
}
