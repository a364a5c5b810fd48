//! Both dialects of hashline from outside: the shared cases and the laws of the format page.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use emendate_core::formats::Format;
use emendate_core::formats::hashline::Hashline;
use emendate_core::formats::stream::{self, Manner};
use emendate_core::rows::{self, Registers};
use emendate_core::{Ask, ChangeSet, Code, Error, FileRequest, Handle, Op, Settings, ShortTag, Snapshot, resolve};
use serde::Deserialize;
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
    reference: Reference,
}

#[derive(Deserialize)]
struct Reference {
    ok: bool,
    content: Option<String>,
    #[serde(default)]
    files: Files,
}

/// A case that is answered otherwise on purpose.
#[derive(Deserialize)]
struct Difference {
    id: String,
    dialect: String,
    /// What the file holds after; `null`: refused.
    ours: Option<String>,
    why: String,
}

const SEED: &str = include_str!("cases/hashline_seed.jsonl");
const CURRENT: &str = include_str!("cases/hashline_current.jsonl");
const DIFFERENCES: &str = include_str!("cases/hashline_differences.json");

fn cases(text: &str) -> impl Iterator<Item = Case> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// Does what the engine does, without disk or sessions: every file's version was read as `seen`, and is now `files`.
fn applied(patch: &str, fallback: Option<&str>, seen: &Files, files: &Files) -> Result<Files, Error> {
    let manner = Manner { file: fallback.map(str::to_owned), ..Manner::default() };
    let request = stream::read(Hashline::SEED.machine(&manner).unwrap(), patch)?;
    let mut after = files.clone();
    let mut registers = Registers::default();
    for FileRequest { path, base, ask, .. } in request.files {
        let missing = || Error::new(Code::FileMissing, format!("File not found: {path}."));
        let now = snapshot(files.get(&path).ok_or_else(missing)?);
        let (ops, to) = match ask {
            Ask::Edit { ops, .. } => (ops, None),
            Ask::Move { to, ops } => (ops, Some(to)),
            Ask::Delete { .. } => {
                after.remove(&path);
                continue;
            }
            other => panic!("{other:?}"),
        };
        let Some(Handle::Lines(_, tag)) = base else { panic!("no tag") };
        let text = edited(&now, seen.get(&path), tag, &ops, &mut registers)?;
        after.remove(&path);
        after.insert(to.unwrap_or(path), text);
    }
    Ok(after)
}

fn edited(
    now: &Snapshot,
    seen: Option<&String>,
    tag: ShortTag,
    ops: &[Op],
    registers: &mut Registers,
) -> Result<String, Error> {
    let mut notes = Vec::new();
    if ops.is_empty() {
        return Ok(String::from_utf8(now.raw().to_vec()).unwrap());
    }
    let fresh = ShortTag::of(now.text()) == tag;
    let ops = if fresh || rows::anywhere(ops) {
        rows::fill(now, ops, registers, &mut notes)?.into_owned()
    } else {
        let unknown = || Error::new(Code::StaleUnknownTag, "not from this session");
        let seen = seen.map(|text| snapshot(text)).filter(|seen| ShortTag::of(seen.text()) == tag);
        let seen = seen.ok_or_else(unknown)?;
        let ops = rows::fill(&seen, ops, registers, &mut notes)?;
        let theirs = ChangeSet::between(&seen, now);
        let changed = |blocked| Error::new(Code::StaleChanged, format!("{blocked:?}"));
        rows::carry(&seen, now, &theirs, &ops).map_err(changed)?.ops
    };
    if ops.is_empty() {
        return Ok(String::from_utf8(now.raw().to_vec()).unwrap());
    }
    let resolved = resolve(now, &ops, emendate_core::Order::Together, Settings::default())?;
    Ok(String::from_utf8(resolved.changes.apply(now)).unwrap())
}

fn answer(case: &Case) -> Result<Files, Error> {
    let files: Files = case
        .files
        .iter()
        .map(|(path, text)| (path.clone(), text.clone()))
        .chain([(case.path.clone(), case.content.clone())])
        .collect();
    let mut seen = files.clone();
    seen.insert(case.path.clone(), case.base.clone().unwrap_or_else(|| case.content.clone()));
    let mut patch = case.patch.clone();
    for (path, text) in &seen {
        patch = patch.replace(&format!("{{{{tag:{path}}}}}"), &tag(text));
    }
    let patch = patch.replace("#TAG", &format!("#{}", tag(&seen[&case.path])));
    applied(&patch, case.fallback.as_deref(), &seen, &files)
}

fn tag(text: &str) -> String {
    ShortTag::of(snapshot(text).text()).to_string()
}

fn snapshot(text: &str) -> Snapshot {
    Snapshot::open(text.as_bytes().to_vec(), None).unwrap()
}

/// What the reference did, as files; `None` when it refused. An edit without effect is an error here and none there.
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
fn seed_cases() {
    check(SEED, "seed");
}

#[test]
fn current_cases() {
    check(CURRENT, "current");
}
