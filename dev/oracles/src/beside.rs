//! Compares the engine with `git apply`, GNU patch and Codex's tool on correct patches: both must produce the same
//! tree, or differ in a listed way.

use crate::codex::Codex;
use crate::luck::Luck;
use crate::make::{self, Files, Round};
use crate::ours::Ours;
use crate::patch::Operation;
use crate::tree::{self, Tree};
use crate::{Counts, git, gnu, in_parallel};
use serde_json::json;
use std::path::Path;

/// A tool to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// `git apply`, with unified diffs.
    Git,
    /// GNU `patch`, with unified diffs.
    Gnu,
    /// The `apply_patch` of Codex, with its own patches.
    Codex,
}

/// The outcome of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Both produced the intended tree.
    Alike,
    /// Only the engine produced the intended tree; the tool refused.
    OnlyOurs,
    /// The tool applied a hunk in another place.
    OtherPlace,
    /// The tool ignored context and applied a hunk in a wrong place.
    Fuzz,
    /// The tool leaves an empty file that the patch deletes.
    EmptyFile,
    /// The tool deletes a file that the patch moves to its own path.
    SamePath,
    /// The tool adds a line end to the last line.
    LineEnd,
    /// The engine refused and asked which place is meant; the tool took the right one.
    Asked,
    /// The engine refused and asked; the tool took a wrong place.
    AskedRightly,
    /// The line numbers are wrong and the old lines occur at or near them: both applied the hunk there.
    MisledAlike,
    /// The line numbers are wrong and only the engine applied the hunk there.
    Misled,
    /// The engine refused for a reason of its own.
    Cautious,
    /// Both refused.
    Neither,
}

/// Every kind with its meaning, as listed in docs/formats/oracles.md.
pub static KINDS: &[(Kind, &str)] = &[
    (Kind::Alike, "both made the intended change"),
    (Kind::OnlyOurs, "the tool refused; Emendate made the intended change"),
    (Kind::OtherPlace, "the old lines occur in several places, and the tool took a wrong one, Emendate the right one"),
    (Kind::Fuzz, "the tool ignored context and took a wrong place; without that option it agrees or refuses"),
    (Kind::EmptyFile, "the patch deletes a file, and the tool leaves it empty"),
    (Kind::SamePath, "the tool deleted a file that was moved to its own path"),
    (Kind::LineEnd, "the tool added a line end to a last line without one; Emendate kept the line"),
    (
        Kind::Asked,
        "the old lines occur in several places; Emendate asked which one is meant, the tool took the right one",
    ),
    (Kind::AskedRightly, "the same, but the tool took a wrong place, or refused"),
    (Kind::MisledAlike, "the numbers are wrong and the old lines also occur where they point: both changed that place"),
    (Kind::Misled, "the same, but only Emendate changed that place"),
    (Kind::Cautious, "the patch would change nothing, or its additions are already there; Emendate said so"),
    (Kind::Neither, "both refused"),
];

/// The tools and folder of one thread.
struct ToolSet {
    ours: Ours,
    codex: Codex,
    folder: tempfile::TempDir,
}

/// Plays rounds with every tool.
///
/// Errors: a description of the first difference that is not listed.
pub fn play(peers: &Path, seed: u64, rounds: u64) -> Result<Counts<(Tool, Kind)>, String> {
    let start = || {
        let (ours, codex, folder) = (Ours::new(), Codex::install(peers), tempfile::tempdir());
        let text = |error: std::io::Error| error.to_string();
        Ok(ToolSet { ours: ours.map_err(text)?, codex: codex.map_err(text)?, folder: folder.map_err(text)? })
    };
    in_parallel(seed, rounds, start, one)
}

fn one(tools: &ToolSet, number: u64, out: &mut Counts<(Tool, Kind)>) -> Result<(), String> {
    let files = if number.is_multiple_of(4) { Files::Unended } else { Files::Tame };
    let mut round = make::round(number, files);
    if number.is_multiple_of(3) {
        round = round.shifted(&mut Luck::new(!number));
    }
    // Two operations on one path: other tools apply them together, the engine one after the other. Other rounds test
    // that.
    let (Some(truth), Some(kept)) = (round.truth(true), round.truth(false)) else { return Ok(()) };
    let text = |error: std::io::Error| error.to_string();
    let unified = round.patch.to_unified();
    let ours = ours(tools, &round.tree, &unified)?;
    let folder = tools.folder.path().join("tree");
    let theirs = git::apply(&folder, &round.tree, &unified).map_err(text)?;
    let mut count = |tool, kind: Result<Kind, String>, patch: &str| {
        let describe = |what| {
            let (before, meant) =
                (tree::shown(&round.tree), tree::shown(if tool == Tool::Codex { &kept } else { &truth }));
            format!("{tool:?}: {what}\n{patch}\nbefore\n{before}\nmeant\n{meant}")
        };
        *out.entry((tool, kind.map_err(describe)?)).or_insert(0) += 1;
        Ok::<(), String>(())
    };
    count(Tool::Git, verdict(&round, &truth, &ours, theirs.as_ref()), &unified)?;
    let gnu = |fuzz| gnu::apply(&folder, &round.tree, &unified, fuzz).map_err(text);
    let mut kind = verdict(&round, &truth, &ours, gnu(true)?.as_ref());
    if kind.is_err() && verdict(&round, &truth, &ours, gnu(false)?.as_ref()).is_ok() {
        kind = Ok(Kind::Fuzz);
    }
    count(Tool::Gnu, kind, &unified)?;
    let patch = round.patch.to_v4a();
    let ours = self::ours(tools, &round.tree, &patch)?;
    let theirs = tools.codex.run(&round.tree, &patch).map_err(text)?;
    let theirs = (theirs.exit == 0).then_some(theirs.tree);
    count(Tool::Codex, verdict(&round, &kept, &ours, theirs.as_ref()), &patch)
}

/// Returns the tree that the engine leaves, or the code of its error.
fn ours(tools: &ToolSet, before: &Tree, patch: &str) -> Result<Result<Tree, &'static str>, String> {
    let (reply, after) = tools.ours.apply(before, patch, json!({})).map_err(|error| error.to_string())?;
    Ok(reply.result.map(|_| after).map_err(|error| error.code().as_str()))
}

fn verdict(
    round: &Round,
    truth: &Tree,
    ours: &Result<Tree, &'static str>,
    theirs: Option<&Tree>,
) -> Result<Kind, String> {
    let right = theirs == Some(truth);
    let shifted = !round.shift.is_empty();
    match (ours, theirs) {
        (Ok(ours), _) if ours == truth && right => Ok(Kind::Alike),
        (Ok(ours), None) if ours == truth => Ok(Kind::OnlyOurs),
        (Ok(ours), Some(theirs)) if ours == truth && ended(theirs) == ended(truth) => Ok(Kind::LineEnd),
        (Ok(ours), Some(theirs)) if ours == truth && without_empty(theirs) == without_empty(truth) => {
            Ok(Kind::EmptyFile)
        }
        (Ok(ours), Some(theirs)) if ours == truth && loses(round, &ended(theirs), &ended(truth)) => Ok(Kind::SamePath),
        (Ok(ours), Some(_)) if ours == truth && round.repeats() => Ok(Kind::OtherPlace),
        (Ok(ours), Some(theirs)) if shifted && round.repeats() && ours == theirs => Ok(Kind::MisledAlike),
        (Ok(_), _) if shifted && round.repeats() => Ok(Kind::Misled),
        (Err("match.ambiguous"), _) if round.repeats() => Ok(if right { Kind::Asked } else { Kind::AskedRightly }),
        (Err("edit.no_change"), _) => Ok(Kind::Cautious),
        (Err(_), None) => Ok(Kind::Neither),
        _ => {
            let ours = ours.as_ref().map_or_else(|code| (*code).to_owned(), tree::shown);
            Err(format!("ours\n{ours}\ntheirs\n{}", theirs.map(tree::shown).unwrap_or_default()))
        }
    }
}

/// Returns true if `theirs` equals `truth` except for files that were moved to their own path.
fn loses(round: &Round, theirs: &Tree, truth: &Tree) -> bool {
    let stays = |path: &str| {
        let onto = |it: &Operation| matches!(it, Operation::Update { path: from, to: Some(to), .. } if from == to && to == path);
        !round.patch.0.iter().any(onto)
    };
    let rest: Tree =
        truth.iter().filter(|(path, _)| stays(path)).map(|(path, it)| (path.clone(), it.clone())).collect();
    rest == *theirs
}

/// Returns the tree without its empty files.
fn without_empty(tree: &Tree) -> Tree {
    tree.iter().filter(|(_, bytes)| !bytes.is_empty()).map(|(path, bytes)| (path.clone(), bytes.clone())).collect()
}

/// Returns the tree with a line end after every last line.
fn ended(tree: &Tree) -> Tree {
    let one = |(path, bytes): (&String, &Vec<u8>)| {
        let mut bytes = bytes.clone();
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        (path.clone(), bytes)
    };
    tree.iter().map(one).collect()
}
