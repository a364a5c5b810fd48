//! A battery for each cause by which an edit was once wrong or refused needlessly: files, a call, and the bytes after.

use crate::fixture::{EngineFixture, code};
use data_encoding::BASE64;
use emendate::Config;
use emendate::core::{ShortTag, Snapshot};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The entry at a path.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
enum Entry {
    Text(String),
    Bytes { b64: String },
    Link { link: String },
}

type Tree = BTreeMap<String, Entry>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// The cause and a number, e.g. `A/3`.
    id: String,
    why: String,
    #[serde(default)]
    files: Tree,
    /// Files that get other bytes after they were read, with these bytes.
    #[serde(default)]
    then: Tree,
    tool: String,
    /// The arguments; `{root}` is replaced by the directory.
    call: Value,
    /// The entries that differ after the call; `null`: the entry is gone. Missing: the call is refused.
    after: Option<BTreeMap<String, Option<Entry>>>,
    /// The codes that a refusal may have. Beside `after`: the call may be refused as well.
    #[serde(default)]
    refused: Vec<String>,
    /// Texts that the reply contains.
    #[serde(default)]
    says: Vec<String>,
    /// The caller is a person, who may edit unread files.
    #[serde(default)]
    trusted: bool,
}

/// Read at run time, so that a new case needs no build. `EMEND_CASES` names another file, for cases that are being written.
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/causes.jsonl");

fn put(fixture: &EngineFixture, tree: &Tree) {
    for (name, entry) in tree {
        let path = fixture.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match entry {
            Entry::Text(text) => fs::write(path, text).unwrap(),
            Entry::Bytes { b64 } => fs::write(path, BASE64.decode(b64.as_bytes()).unwrap()).unwrap(),
            Entry::Link { link } => symlink(link, path).unwrap(),
        }
    }
}

/// All files and links below a directory.
fn tree(root: &Path) -> Tree {
    let mut out = Tree::new();
    let mut folders: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_symlink() {
                out.insert(name, Entry::Link { link: fs::read_link(&path).unwrap().to_str().unwrap().to_owned() });
            } else if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                let entry = match String::from_utf8(bytes) {
                    Ok(text) => Entry::Text(text),
                    Err(error) => Entry::Bytes { b64: BASE64.encode(error.as_bytes()) },
                };
                out.insert(name, entry);
            }
        }
    }
    out
}

/// Replaces a word in all texts.
fn placed(value: &Value, word: &str, by: &str) -> Value {
    match value {
        Value::String(text) => text.replace(word, by).into(),
        Value::Array(list) => list.iter().map(|it| placed(it, word, by)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, it)| (key.clone(), placed(it, word, by))).collect(),
        other => other.clone(),
    }
}

/// Plays a case; returns what differs from its expectation.
fn differs(case: &Case) -> Option<String> {
    let mut fixture = EngineFixture::new();
    if case.trusted {
        fixture = EngineFixture::trusted(Config::default());
    }
    put(&fixture, &case.files);
    let mut call = placed(&case.call, "{root}", fixture.root.to_str().unwrap());
    for (name, entry) in &case.files {
        let mut read = json!({ "file_path": fixture.path(name) });
        if call["format"] == "hashline" {
            read["format"] = "hashline".into();
        }
        let reply = fixture.call("read", read);
        if let (Entry::Text(text), Ok(read)) = (entry, &reply.result) {
            let short = ShortTag::of(Snapshot::open(text.clone().into_bytes(), None).unwrap().text()).to_string();
            call = placed(&call, &format!("{{tag:{name}}}"), &short);
            call = placed(&call, &format!("{{tag8:{name}}}"), read.data["tag"].as_str().unwrap_or_default());
        }
    }
    put(&fixture, &case.then);
    let before = tree(&fixture.root);
    if case.tool == "apply" && call.get("directory").is_none() && call.is_object() {
        call["directory"] = json!(fixture.root);
    }
    let reply = fixture.call(&case.tool, call);
    let now = tree(&fixture.root);
    let said = reply.text();
    if let Some(missing) = case.says.iter().find(|it| !said.contains(it.as_str())) {
        return Some(format!("does not say {missing:?}: {said}"));
    }
    if reply.result.is_err() {
        if now != before {
            return Some(format!("REFUSED, AND WRITTEN: {now:?}"));
        }
        let listed = case.refused.iter().any(|it| it == code(&reply));
        let may = case.after.is_none() && case.refused.is_empty();
        return (!listed && !may).then(|| format!("REFUSED {}: {said}", code(&reply)));
    }
    let mut expected = before;
    for (name, entry) in case.after.iter().flatten() {
        match entry {
            Some(entry) => expected.insert(name.clone(), entry.clone()),
            None => expected.remove(name),
        };
    }
    (case.after.is_none() || now != expected).then(|| {
        let wrong: BTreeMap<_, _> = now.iter().filter(|(name, it)| expected.get(*name) != Some(it)).collect();
        format!("WRONG: {wrong:#?}\n{said}")
    })
}

#[test]
fn every_cause_is_mended() {
    let mut names = BTreeSet::new();
    let mut wrong = Vec::new();
    let path = std::env::var("EMEND_CASES").unwrap_or_else(|_| CASES.to_owned());
    for line in fs::read_to_string(path).unwrap().lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        assert!(names.insert(case.id.clone()), "{} twice", case.id);
        if let Some(difference) = differs(&case) {
            wrong.push(format!("== {} ({})\n{difference}", case.id, case.why));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), names.len(), wrong.join("\n"));
}
