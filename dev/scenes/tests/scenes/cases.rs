//! Plays the shared cases through every driver: library, one command per call, NDJSON and MCP.

use emendate_os::files::mode_of;
use scenes::driver::{self, Driver, KINDS, Kind, Stage};
use scenes::system;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/core/tests/cases").join(name);
    let mut cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    // Other systems have no links and modes.
    let needs_unix = |case: &Value| ["\"link\":", "\"executable\":"].iter().any(|it| case.to_string().contains(it));
    cases.retain(|case| system::IS_UNIX || !needs_unix(case));
    cases
}

/// An open driver and its directory, which is removed with it.
struct OpenDriver {
    _dir: tempfile::TempDir,
    root: PathBuf,
    driver: Box<dyn Driver>,
}

fn open_driver(kind: Kind) -> OpenDriver {
    let dir = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let path = emendate_os::paths::canonical(dir.path()).unwrap().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let emend = (!matches!(kind, Kind::Library)).then(|| driver::emend().unwrap());
    let stage = Stage { emend, root: folder("root"), state: folder("state"), home: folder("home") };
    OpenDriver { driver: kind.open(&stage).unwrap(), root: stage.root, _dir: dir }
}

/// Plays cases through all drivers in parallel, and fails with a list of everything that went wrong.
fn through_every_door(play: fn(Kind) -> Vec<String>) {
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let plays: Vec<_> = KINDS.into_iter().map(|kind| scope.spawn(move || play(kind))).collect();
        plays.into_iter().flat_map(|play| play.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Plays every search/replace case.
fn replacements(kind: Kind) -> Vec<String> {
    let OpenDriver { root, mut driver, _dir } = open_driver(kind);
    let mut wrong = Vec::new();
    for (number, case) in cases("search_replace.json").iter().enumerate() {
        let path = root.join(format!("case{number}.txt"));
        let content = case["content"].as_str().unwrap();
        fs::write(&path, content).unwrap();
        let mut edit = json!({ "file_path": path, "old_string": case["old"], "new_string": case["new"] });
        if let Some(all) = case.get("replace_all") {
            edit["replace_all"] = all.clone();
        }
        driver.call("read", &json!({ "file_path": path }).to_string()).unwrap();
        let reply = driver.call("edit", &edit.to_string()).unwrap();
        let found = String::from_utf8(fs::read(&path).unwrap()).unwrap();
        let right = match case["expected"].as_str().unwrap() {
            "reject" => reply.error.is_some() && found == content,
            expected => reply.error.is_none() && found == expected,
        };
        if !right {
            wrong.push(format!("{} [{}]: {found:?}: {}", case["name"], kind.name(), reply.text));
        }
    }
    driver.close().unwrap();
    wrong
}

/// The file system entry at a path.
#[derive(Clone, PartialEq, Eq)]
enum Entry {
    File { bytes: Vec<u8>, executable: bool },
    Link(PathBuf),
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Entry::File { bytes, executable } => {
                write!(out, "{}{:?}", if *executable { "+x " } else { "" }, String::from_utf8_lossy(bytes))
            }
            Entry::Link(target) => write!(out, "-> {}", target.display()),
        }
    }
}

type Files = BTreeMap<PathBuf, Entry>;

/// Parses an entry of a case: its text, or an object with `hex`, `link`, or `text` with optional `encoding` and
/// `executable`.
fn entry(value: &Value) -> Entry {
    if let Some(target) = value["link"].as_str() {
        return Entry::Link(target.into());
    }
    let text = value.as_str().or_else(|| value["text"].as_str());
    let bytes = match (text, value["encoding"].as_str()) {
        (None, _) => bytes_of(value["hex"].as_str().unwrap()),
        (Some(text), None) => text.as_bytes().to_vec(),
        (Some(text), Some("utf-16le")) => wide(text, u16::to_le_bytes),
        (Some(text), Some("utf-16be")) => wide(text, u16::to_be_bytes),
        (Some(text), Some(encoding)) => {
            assert_eq!(encoding, "latin-1");
            text.chars().map(|ch| u8::try_from(ch).unwrap()).collect()
        }
    };
    Entry::File { bytes, executable: value["executable"] == true }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn wide(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(order).collect()
}

fn put(path: &Path, entry: &Entry) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match entry {
        Entry::Link(target) => system::link(target, path).unwrap(),
        Entry::File { bytes, executable } => {
            fs::write(path, bytes).unwrap();
            if system::IS_UNIX {
                system::set_mode(path, if *executable { 0o755 } else { 0o644 }).unwrap();
            }
        }
    }
}

fn files_below(folder: &Path) -> Files {
    let mut out = Files::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for found in fs::read_dir(&at).unwrap() {
            let path = found.unwrap().path();
            let kind = path.symlink_metadata().unwrap();
            if kind.is_dir() {
                open.push(path);
                continue;
            }
            let entry = if kind.is_symlink() {
                Entry::Link(fs::read_link(&path).unwrap())
            } else {
                Entry::File { bytes: fs::read(&path).unwrap(), executable: mode_of(&kind) & 0o100 != 0 }
            };
            out.insert(path.strip_prefix(folder).unwrap().to_owned(), entry);
        }
    }
    out
}

fn tree(value: &Value) -> Files {
    value.as_object().unwrap().iter().map(|(name, value)| (name.into(), entry(value))).collect()
}

/// Plays every patch case of a file with format detection. The listed tree is expected, or an error and an unchanged
/// tree.
fn patches(kind: Kind, name: &str, every: usize) -> Vec<String> {
    let OpenDriver { root, mut driver, _dir } = open_driver(kind);
    let mut wrong = Vec::new();
    for (number, case) in cases(name).iter().enumerate().step_by(every) {
        let folder = root.join(format!("case{number}"));
        let before = tree(&case["input"]);
        for (name, entry) in &before {
            put(&folder.join(name), entry);
        }
        for name in before.keys() {
            let mut read = json!({ "file_path": folder.join(name) });
            if let Some(encoding) = case["call"].get("encoding") {
                read["encoding"] = encoding.clone();
            }
            driver.call("read", &read.to_string()).unwrap();
        }
        let mut apply = json!({ "input": case["patch"], "directory": folder });
        for (field, value) in case["call"].as_object().into_iter().flatten() {
            apply[field] = value.clone();
        }
        let outside = files_below(&root).len();
        let reply = driver.call("apply", &apply.to_string()).unwrap();
        let refused = case["expected"] == "reject";
        let expected = if refused { before.clone() } else { tree(&case["expected"]) };
        let after = files_below(&folder);
        let stray = files_below(&root).len() - after.len() != outside - before.len();
        if refused != reply.error.is_some() || after != expected || stray {
            let changed: Files = after.into_iter().filter(|(name, entry)| before.get(name) != Some(entry)).collect();
            wrong.push(format!("{} [{}]: {changed:?}: {}", case["name"], kind.name(), reply.text));
        }
        // Files that are left behind would slow down all following cases.
        fs::remove_dir_all(&folder).unwrap();
    }
    driver.close().unwrap();
    wrong
}

/// Plays our own cases: all of them through the library, every seventh through the other drivers.
fn more_patches(kind: Kind) -> Vec<String> {
    const ONE_IN: usize = 7;
    patches(kind, "more_patches.json", if matches!(kind, Kind::Library) { 1 } else { ONE_IN })
}

#[test]
fn replacements_agree_through_every_driver() {
    assert!(cases("search_replace.json").len() >= 96);
    through_every_door(replacements);
}

#[test]
fn patches_agree_through_every_driver() {
    assert!(cases("patches.json").len() >= 42);
    through_every_door(|kind| patches(kind, "patches.json", 1));
}

#[test]
fn our_own_patches_agree_through_every_driver() {
    assert!(cases("more_patches.json").len() >= 700);
    through_every_door(more_patches);
}
