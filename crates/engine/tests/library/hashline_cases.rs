//! Both dialects of hashline compared with the reference, through the engine: the shared cases.
#![allow(clippy::panic, reason = "tests")]

use crate::fixture::{EngineFixture, text_tree};
use emendate::core::{Code, Error, ShortTag, Snapshot};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;

type Files = BTreeMap<String, String>;

#[derive(Deserialize)]
struct Case {
    id: String,
    path: String,
    content: String,
    patch: String,
    /// The text that was read.
    base: Option<String>,
    #[serde(default)]
    files: Files,
    fallback: Option<String>,
    /// `false`: nothing was read.
    record: Option<bool>,
    /// `none`: the syntax of the file is unknown.
    block: Option<String>,
    reference: Reference,
}

#[derive(Deserialize)]
struct Reference {
    ok: bool,
    content: Option<String>,
    #[serde(default)]
    files: Files,
}

/// A case whose result differs intentionally.
#[derive(Deserialize)]
struct Difference {
    id: String,
    dialect: String,
    /// The content of the file afterwards; `null`: refused.
    ours: Option<String>,
    why: String,
}

const SEED: &str = include_str!("../cases/hashline_seed.jsonl");
const CURRENT: &str = include_str!("../cases/hashline_current.jsonl");
const DIFFERENCES: &str = include_str!("../cases/hashline_differences.json");

fn cases(text: &str) -> impl Iterator<Item = Case> {
    text.lines().map(|line| {
        let mut case: Case = serde_json::from_str(line).unwrap();
        if case.block.as_deref() == Some("none") {
            // An unknown language.
            let path = case.path.replace(".ts", ".none");
            case.patch = case.patch.replace(&case.path, &path);
            case.path = path;
        }
        case
    })
}

/// Runs a case through the engine: every file is read in the line format, then changed, then edited.
fn answer(case: &Case) -> Result<Files, Error> {
    let fixture = EngineFixture::new();
    let mut files = case.files.clone();
    files.insert(case.path.clone(), case.content.clone());
    let mut patch = case.patch.clone();
    for (path, text) in &files {
        let seen = case.base.as_ref().filter(|_| *path == case.path).unwrap_or(text);
        let place = fixture.put(path, seen);
        let tag = ShortTag::of(Snapshot::open(seen.as_bytes().to_vec(), None).unwrap().text()).to_string();
        if case.record != Some(false) {
            let input = json!({ "file_path": place, "format": "hashline" });
            let read = fixture.call("read", input).result.unwrap();
            assert_eq!(read.data["header"], format!("¶{path}#{tag}"));
        }
        fixture.put(path, text);
        patch = patch.replace(&format!("{{{{tag:{path}}}}}"), &tag);
        if *path == case.path {
            patch = patch.replace("#TAG", &format!("#{tag}"));
        }
    }
    let mut input = json!({ "input": patch, "format": "hashline" });
    if let Some(file) = &case.fallback {
        input["file"] = file.as_str().into();
    }
    let before = text_tree(&fixture.root);
    let result = fixture.call("apply", input).result;
    let after = text_tree(&fixture.root);
    if result.is_err() {
        assert_eq!(after, before, "{}: refused, and something was written", case.id);
    }
    result.map(|_| after)
}

/// The result of the reference; `None` if it refused. An edit without effect is an error only here.
fn theirs(case: &Case) -> Option<Files> {
    let mut files = case.files.clone();
    files.insert(case.path.clone(), case.content.clone());
    if case.reference.ok {
        let moved = case.reference.content.is_none();
        let to = moved.then(|| case.patch.split("MV ").nth(1).unwrap().trim().to_owned());
        let content = case.reference.content.clone().unwrap_or_else(|| case.content.clone());
        files.remove(&case.path);
        files.insert(to.unwrap_or_else(|| case.path.clone()), content);
        files.extend(case.reference.files.clone());
        return Some(files);
    }
    None
}

fn check(text: &str, dialect: &str) {
    let list: Vec<Difference> = serde_json::from_str(DIFFERENCES).unwrap();
    let mut wrong = Vec::new();
    for case in cases(text) {
        let ours = answer(&case);
        let differs = match (theirs(&case), &ours) {
            (Some(theirs), Ok(ours)) => theirs != *ours,
            (None, Ok(_)) => true,
            (Some(theirs), Err(error)) => {
                error.code() != Code::EditNoChange || theirs.get(&case.path) != Some(&case.content)
            }
            (None, Err(_)) => false,
        };
        let listed = list.iter().find(|it| it.dialect == dialect && it.id == case.id);
        match (differs, listed) {
            (false, None) => {}
            (true, Some(it)) if it.ours.as_ref() == ours.as_ref().ok().map(|files| &files[&case.path]) => {
                assert!(it.why.len() > 20, "{}: the reason is missing", case.id);
            }
            (true, _) => wrong.push(format!("{}: {ours:?}\n   not {:?}", case.id, theirs(&case))),
            (false, Some(_)) => wrong.push(format!("{}: agrees, but is in the list", case.id)),
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn seed_cases_agree_with_the_reference() {
    check(SEED, "seed");
}

#[test]
fn current_cases_agree_with_the_reference() {
    check(CURRENT, "current");
}
