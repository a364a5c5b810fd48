//! Spliced files: their bytes and metadata, and refusals.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests make and look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub, reason = "tests")]

mod fixture;

use emendate_core::{Code, ContentId};
use emendate_fs::{
    Durability, FileSource, FileWrite, MemoryStore, NewState, Precondition, SpliceChunk, Store, WriteMethod,
    WriteReport,
};
use fixture::StoreFixture;
use proptest::prelude::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

fn source(store: &dyn Store, path: &Path) -> FileSource {
    store.source(&store.resolve_path(path).unwrap()).unwrap().unwrap()
}

fn content(source: &FileSource) -> ContentId {
    let mut all = Vec::new();
    source
        .for_each_chunk(1000, |chunk| {
            all.extend_from_slice(chunk);
            Ok(())
        })
        .unwrap();
    ContentId::of(&all)
}

/// Replaces a file by these chunks; `before` runs right before the commit.
fn splice(
    store: &dyn Store,
    path: &Path,
    pieces: &[SpliceChunk<'_>],
    durability: Durability,
    before: impl FnOnce(),
) -> emendate_core::Result<(WriteReport, Option<ContentId>)> {
    let place = store.resolve_path(path)?;
    let source = source(store, path);
    let expect = Precondition::Content { source: &source, content: content(&source) };
    let writes = [FileWrite {
        path: &place,
        precondition: expect,
        new_state: NewState::Spliced { source: &source, chunks: pieces },
    }];
    let staged = store.stage(&writes, durability)?;
    let ahead = staged.preview();
    before();
    let written = staged.commit()?.remove(0);
    assert_eq!(ahead.metadata[0].size, written.meta.size);
    Ok((written, ahead.spliced_content))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn spliced_file_equals_its_chunks_in_order(
        size in 0_usize..3_000_000,
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), "[x-z]{0,20}"), 0..4),
        level in 0_usize..3,
    ) {
        let fixture = StoreFixture::new();
        let memory = MemoryStore::new(&fixture.root);
        let old: Vec<u8> = (0..size).map(|at| b"a line of text\n"[at % 15] ^ u8::try_from(at / 15 % 4).unwrap()).collect();
        std::fs::write(fixture.path("f"), &old).unwrap();
        memory.put("f", old.clone());
        let mut pieces = Vec::new();
        let mut want = Vec::new();
        for (from, to, new) in &cuts {
            let (from, to) = (from.index(size + 1), to.index(size + 1));
            let (from, to) = (from.min(to), from.max(to));
            pieces.push(SpliceChunk::Copied { at: from as u64, len: (to - from) as u64 });
            pieces.push(SpliceChunk::New(new.as_bytes()));
            want.extend_from_slice(&old[from..to]);
            want.extend_from_slice(new.as_bytes());
        }
        let stores: [&dyn Store; 2] = [&fixture.store, &memory];
        for store in stores {
            let (_, spliced) = splice(store, &fixture.path("f"), &pieces, Durability::ALL[level], || ()).unwrap();
            prop_assert_eq!(spliced, Some(ContentId::of(&want)));
        }
        prop_assert!(std::fs::read(fixture.path("f")).unwrap() == want);
        prop_assert!(memory.get("f").unwrap() == want);
        fixture.clean();
    }
}

const ALL_BUT_ONE: [SpliceChunk<'static>; 2] = [SpliceChunk::New(b"A"), SpliceChunk::Copied { at: 1, len: 2 }];

#[test]
fn spliced_file_keeps_metadata() {
    let fixture = StoreFixture::new();
    fixture.put("f", "abc");
    fixture.mode("f", 0o640);
    let (written, _) = splice(&fixture.store, &fixture.path("f"), &ALL_BUT_ONE, Durability::Power, || ()).unwrap();
    assert_eq!((fixture.text("f").as_str(), written.method), ("Abc", WriteMethod::Exchanged));
    assert_eq!(std::fs::metadata(fixture.path("f")).unwrap().permissions().mode() & 0o777, 0o640);
    fixture.clean();
}

#[test]
fn concurrent_change_stays() {
    type Change = fn(&StoreFixture);
    let changes: [(&str, Change); 5] = [
        ("written", |fixture| std::fs::write(fixture.path("f"), "xyz").unwrap()),
        ("cut", |fixture| {
            std::fs::OpenOptions::new().write(true).open(fixture.path("f")).unwrap().set_len(1).unwrap();
        }),
        ("replaced", |fixture| {
            std::fs::write(fixture.path("g"), "abc").unwrap();
            std::fs::rename(fixture.path("g"), fixture.path("f")).unwrap();
        }),
        ("removed", |fixture| std::fs::remove_file(fixture.path("f")).unwrap()),
        ("linked", |fixture| {
            std::fs::rename(fixture.path("f"), fixture.path("g")).unwrap();
            std::os::unix::fs::symlink("g", fixture.path("f")).unwrap();
        }),
    ];
    for (name, change) in changes {
        for level in fixture::LEVELS {
            let fixture = StoreFixture::new();
            fixture.put("f", "abc");
            let mut then = None;
            let result = std::thread::scope(|scope| {
                splice(&fixture.store, &fixture.path("f"), &ALL_BUT_ONE, level, || {
                    // A program that opens the file for writing blocks on our lease, so it must be another process.
                    let waits = matches!(name, "written" | "cut") && !leases(&fixture).is_empty();
                    let done = scope.spawn(|| change(&fixture));
                    if waits {
                        while !leases(&fixture).contains("BREAKING") {
                            std::thread::yield_now();
                        }
                    } else {
                        done.join().unwrap();
                        then = Some(std::fs::read_to_string(fixture.path("f")).ok());
                    }
                })
            });
            assert_eq!(result.unwrap_err().code(), Code::ConflictRaced, "{name} {level:?}");
            let now = std::fs::read_to_string(fixture.path("f")).ok();
            match name {
                "written" => assert_eq!(now.as_deref(), Some("xyz")),
                "cut" => assert_eq!(now.as_deref(), Some("a")),
                _ => assert_eq!(Some(now), then, "{name}"),
            }
            fixture.clean();
        }
    }
}

#[test]
fn change_before_the_lease_stays() {
    for level in fixture::LEVELS {
        let fixture = StoreFixture::new();
        fixture.put("f", "abc");
        // Open for writing, so that no lease is available.
        let writer = std::fs::OpenOptions::new().write(true).open(fixture.path("f")).unwrap();
        let result = splice(&fixture.store, &fixture.path("f"), &ALL_BUT_ONE, level, || {
            std::io::Write::write_all(&mut &writer, b"xyz").unwrap();
            drop(writer);
        });
        assert_eq!(result.unwrap_err().code(), Code::ConflictRaced, "{level:?}");
        assert_eq!(fixture.text("f"), "xyz");
        fixture.clean();
    }
}

/// Returns the kernel's list of leases on the file.
fn leases(fixture: &StoreFixture) -> String {
    let inode = std::fs::metadata(fixture.path("f")).unwrap().ino();
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let of_file = |line: &&str| line.contains("LEASE") && line.contains(&format!(":{inode} "));
    locks.lines().filter(of_file).collect()
}

#[test]
fn splice_that_needs_an_in_place_write_is_refused() {
    let fixture = StoreFixture::new();
    fixture.put("f", "abc");
    std::fs::hard_link(fixture.path("f"), fixture.path("g")).unwrap();
    let error = splice(&fixture.store, &fixture.path("f"), &ALL_BUT_ONE, Durability::Power, || ()).unwrap_err();
    assert_eq!((error.code(), error.data().contains_key("in_place")), (Code::FileTooLarge, true));
    std::fs::remove_file(fixture.path("g")).unwrap();
    let open = std::fs::OpenOptions::new().append(true).open(fixture.path("f")).unwrap();
    let error = splice(&fixture.store, &fixture.path("f"), &ALL_BUT_ONE, Durability::Power, || ()).unwrap_err();
    assert_eq!((error.code(), error.data().contains_key("in_place")), (Code::FileTooLarge, true));
    drop(open);
    assert_eq!(fixture.text("f"), "abc");
    fixture.clean();
    // One of several files.
    fixture.put("h", "abc");
    let (one, other) = (fixture.place("f"), fixture.place("h"));
    let (first, second) = (source(&fixture.store, &fixture.path("f")), source(&fixture.store, &fixture.path("h")));
    let file_write = |place, source| {
        let expect = Precondition::Content { source, content: ContentId::of(b"abc") };
        FileWrite { path: place, precondition: expect, new_state: NewState::Spliced { source, chunks: &ALL_BUT_ONE } }
    };
    let writes = [file_write(&one, &first), file_write(&other, &second)];
    assert_eq!(fixture.store.stage(&writes, Durability::Power).unwrap_err().code(), Code::FileTooLarge);
    fixture.clean();
}

#[test]
fn truncated_source_is_reported() {
    let fixture = StoreFixture::new();
    fixture.put("f", &"x".repeat(5000));
    // A writer has the file open, so no lease blocks it.
    let open = std::fs::OpenOptions::new().write(true).open(fixture.path("f")).unwrap();
    let source = source(&fixture.store, &fixture.path("f"));
    let mut chunks = 0;
    let cut = |_: &[u8]| {
        chunks += 1;
        open.set_len(1500).unwrap();
        Ok(())
    };
    assert_eq!(source.for_each_chunk(1000, cut).unwrap_err().code(), Code::ConflictRaced);
    assert_eq!(chunks, 2);
    let place = fixture.place("f");
    let expect = Precondition::Content { source: &source, content: ContentId::of(&[b'x'; 5000]) };
    let pieces = [SpliceChunk::Copied { at: 0, len: 5000 }];
    let writes = [FileWrite {
        path: &place,
        precondition: expect,
        new_state: NewState::Spliced { source: &source, chunks: &pieces },
    }];
    assert_eq!(fixture.store.stage(&writes, Durability::Power).unwrap_err().code(), Code::ConflictRaced);
    fixture.clean();
}
