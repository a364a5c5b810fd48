//! The store on Windows: names, attributes, and files that other programs have open.
#![cfg(windows)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests make and look at files")]

use emendate_core::{Code, Error};
use emendate_fs::{Durability, FileWrite, LocalStore, NewState, Precondition, Store as _, WriteReport};
use std::fs::{self, OpenOptions};
use std::os::windows::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

const HIDDEN: u32 = 2;

fn store() -> (tempfile::TempDir, PathBuf, LocalStore) {
    let temp = tempfile::tempdir().unwrap();
    let local = LocalStore::open(&[temp.path().to_owned()]).unwrap();
    let local = local.with_journal(&std::env::temp_dir().join("emendate-test-journal")).unwrap();
    let root = local.roots()[0].canonical.clone();
    (temp, root, local)
}

/// Writes a text to a file, which is expected to be as it is.
fn write(local: &LocalStore, path: &Path, text: &str) -> Result<WriteReport, Error> {
    let place = local.resolve_path(path)?;
    let old = local.read(&place, 1000, Vec::new())?;
    let precondition =
        old.as_ref().map_or(Precondition::Missing, |old| Precondition::Version { bytes: &old.bytes, meta: &old.meta });
    let pieces = [text.as_bytes()];
    let write = FileWrite { path: &place, precondition, new_state: NewState::content(&pieces) };
    Ok(local.stage(&[write], Durability::Power)?.commit()?.remove(0))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_are_created_replaced_and_removed() {
    let (_temp, root, local) = store();
    write(&local, &root.join(r"a\b\c.txt"), "one").unwrap();
    let report = write(&local, &root.join("a/b/c.txt"), "two").unwrap();
    assert_eq!(fs::read(root.join(r"a\b\c.txt")).unwrap(), b"two", "{report:?}");
    let place = local.resolve_path(&root.join("a/b/c.txt")).unwrap();
    let old = local.read(&place, 1000, Vec::new()).unwrap().unwrap();
    let precondition = Precondition::Version { bytes: &old.bytes, meta: &old.meta };
    let other = local.resolve_path(&root.join("d.txt")).unwrap();
    let writes = [
        FileWrite { path: &place, precondition, new_state: NewState::Absent },
        FileWrite { path: &other, precondition: Precondition::Missing, new_state: NewState::content(&[b"three"]) },
    ];
    local.stage(&writes, Durability::Power).unwrap().commit().unwrap();
    local.run_deferred();
    assert_eq!((names(&root), names(&root.join(r"a\b"))), (vec!["a".to_owned(), "d.txt".to_owned()], Vec::new()));
}

#[test]
fn a_batch_that_fails_leaves_everything_as_it_was() {
    let (_temp, root, local) = store();
    let [a, b] = ["a.txt", "b.txt"].map(|name| root.join(name));
    fs::write(&a, "one").unwrap();
    fs::write(&b, "two").unwrap();
    let places = [&a, &b].map(|path| local.resolve_path(path).unwrap());
    let olds = places.each_ref().map(|place| local.read(place, 1000, Vec::new()).unwrap().unwrap());
    let writes: Vec<FileWrite<'_>> = places
        .iter()
        .zip(&olds)
        .map(|(path, old)| FileWrite {
            path,
            precondition: Precondition::Version { bytes: &old.bytes, meta: &old.meta },
            new_state: NewState::content(&[b"new"]),
        })
        .collect();
    let staged = local.stage(&writes, Durability::Power).unwrap();
    fs::write(&b, "theirs").unwrap();
    assert_eq!(staged.commit().unwrap_err().code(), Code::ConflictRaced);
    assert_eq!((fs::read(&a).unwrap(), fs::read(&b).unwrap()), (b"one".to_vec(), b"theirs".to_vec()));
    assert_eq!(names(&root), ["a.txt", "b.txt"]);
}

#[test]
fn another_spelling_leads_to_the_name_as_stored() {
    let (_temp, root, local) = store();
    fs::create_dir(root.join("Folder")).unwrap();
    fs::write(root.join(r"Folder\File.txt"), "one").unwrap();
    let text = root.to_str().unwrap();
    for spelling in [r"\FOLDER\FILE.TXT", "/folder/file.txt", r"\Folder\..\folder\File.txt"] {
        let place = local.resolve_path(Path::new(&format!("{text}{spelling}"))).unwrap();
        assert_eq!(place.absolute(), root.join(r"Folder\File.txt"), "{spelling}");
    }
    let verbatim = local.resolve_path(Path::new(&format!(r"\\?\{text}\folder\file.txt"))).unwrap();
    assert_eq!(verbatim.absolute(), root.join(r"Folder\File.txt"));
    write(&local, &root.join(r"FOLDER\FILE.TXT"), "two").unwrap();
    // The old file is closed already: until then, Wine keeps its name.
    assert_eq!(names(&root.join("Folder")), ["File.txt"]);
}

#[test]
fn names_of_devices_streams_and_trailing_dots_are_refused() {
    let (_temp, root, local) = store();
    for name in ["NUL", "con.txt", "a.", "a ", "a.txt:stream", "a?b", r"COM1\x", r"x.\y"] {
        let error = local.resolve_path(Path::new(&format!(r"{}\{name}", root.display()))).unwrap_err();
        assert_eq!(error.code(), Code::PathInvalid, "{name}");
        assert!(error.message().contains("Windows"), "{}", error.message());
    }
    assert!(names(&root).is_empty());
}

#[test]
fn the_read_only_attribute_is_respected() {
    let (_temp, root, local) = store();
    let path = root.join("a.txt");
    fs::write(&path, "one").unwrap();
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions.clone()).unwrap();
    assert_eq!(write(&local, &path, "two").unwrap_err().code(), Code::IoPermission);
    assert_eq!(fs::read(&path).unwrap(), b"one");
    #[expect(clippy::permissions_set_readonly_false, reason = "Windows has one attribute")]
    permissions.set_readonly(false);
    fs::set_permissions(&path, permissions).unwrap();
    write(&local, &path, "two").unwrap();
}

#[test]
fn attributes_and_streams_survive_an_edit() {
    let (_temp, root, local) = store();
    let path = root.join("a.txt");
    fs::write(&path, "one").unwrap();
    let hidden = OpenOptions::new().write(true).create(true).truncate(true).attributes(HIDDEN).open(root.join("h.txt"));
    drop(hidden.unwrap());
    let stream = format!("{}:note", path.display());
    let had_stream = fs::write(&stream, "beside").is_ok();
    let was_hidden = fs::metadata(root.join("h.txt")).unwrap().file_attributes() & HIDDEN;
    write(&local, &path, "two").unwrap();
    write(&local, &root.join("h.txt"), "three").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert_eq!(fs::metadata(root.join("h.txt")).unwrap().file_attributes() & HIDDEN, was_hidden);
    if had_stream {
        // Wine takes the name for that of another file, which stays as well.
        assert_eq!(fs::read(&stream).unwrap(), b"beside");
    }
}

#[test]
fn a_file_that_another_program_does_not_share_is_refused_unchanged() {
    let (_temp, root, local) = store();
    let path = root.join("a.txt");
    fs::write(&path, "one").unwrap();
    let place = local.resolve_path(&path).unwrap();
    let old = local.read(&place, 1000, Vec::new()).unwrap().unwrap();
    let precondition = Precondition::Version { bytes: &old.bytes, meta: &old.meta };
    let writes = [FileWrite { path: &place, precondition, new_state: NewState::content(&[b"two"]) }];
    let other = OpenOptions::new().read(true).share_mode(0).open(&path).unwrap();
    let error = local.stage(&writes, Durability::Power).and_then(|staged| staged.commit()).unwrap_err();
    assert!(error.message().contains("Another program has the file open"), "{}", error.message());
    drop(other);
    assert_eq!((fs::read(&path).unwrap(), names(&root)), (b"one".to_vec(), vec!["a.txt".to_owned()]));
    local.stage(&writes, Durability::Power).unwrap().commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
}

#[test]
fn a_path_may_be_long() {
    let (_temp, root, local) = store();
    let path = (0..6).fold(root, |path, _| path.join("d".repeat(60))).join("a.txt");
    assert!(path.as_os_str().len() > 300);
    write(&local, &path, "one").unwrap();
    write(&local, &path, "two").unwrap();
    let place = local.resolve_path(&path).unwrap();
    assert_eq!(local.read(&place, 1000, Vec::new()).unwrap().unwrap().bytes, b"two");
}
