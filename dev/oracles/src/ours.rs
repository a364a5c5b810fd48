//! The engine itself on tame rounds: what it writes must be what the patch means.

use crate::make::{self, Files};
use crate::tree::{self, Tree};
use emendate::{Caller, Config, Engine, State};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// The texts of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// `apply_patch`.
    V4a,
    /// `unified_diff`.
    Unified,
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for ch in text.chars() {
        match ch {
            '"' | '\\' => out.extend(['\\', ch]),
            '\u{0}'..='\u{1F}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(ch));
            }
            ch => out.push(ch),
        }
    }
    out.push('"');
    out
}

/// The tree after `apply`, every file read before; or the code of the error.
///
/// Errors: those of the disk.
pub fn apply(before: &Tree, text: &str) -> io::Result<Result<Tree, String>> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?.join("tree");
    tree::put(&root, before)?;
    let engine = Engine::open(std::slice::from_ref(&root), State::Memory, Config::default());
    let engine = engine.map_err(|error| io::Error::other(error.to_string()))?;
    let caller = Caller { cwd: Some(root.clone()), ..Caller::default() };
    let name = |path: &Path| quoted(&path.to_string_lossy());
    for path in before.keys() {
        engine.call_json(&caller, "read", &format!("{{\"file_path\":{}}}", name(&root.join(path))));
    }
    let input = format!("{{\"input\":{},\"directory\":{}}}", quoted(text), name(&root));
    let reply = engine.call_json(&caller, "apply", &input);
    let after = tree::take(&root)?;
    if reply.exit() == 0 {
        return Ok(Ok(after));
    }
    if after != *before {
        return Err(io::Error::other(format!("a refused patch left something behind\n{text}\n{}", reply.text())));
    }
    Ok(Err(reply.text().lines().next().unwrap_or_default().to_owned()))
}

/// Plays tame rounds; counts the right ones and what was refused, by its message without numbers and names.
///
/// Errors: the first wrong tree, in words.
pub fn play(text: Text, seed: u64, rounds: u64) -> Result<BTreeMap<String, u64>, String> {
    let mut out = BTreeMap::new();
    for number in seed..seed + rounds {
        let round = make::round(number, Files::Tame);
        let patch = if text == Text::V4a { round.patch.to_v4a() } else { round.patch.to_unified() };
        let Some(truth) = round.truth() else { continue };
        let kind = match apply(&round.tree, &patch).map_err(|error| format!("round {number}: {error}"))? {
            Ok(after) if after == truth => "right".to_owned(),
            Ok(after) => return Err(format!("round {number}\n{patch}\nbefore {:?}\nafter {after:?}", round.tree)),
            Err(message) => {
                let plain = message.rsplit(": ").next().unwrap_or_default();
                plain.chars().filter(|ch| !ch.is_ascii_digit()).collect()
            }
        };
        *out.entry(kind).or_insert(0) += 1;
    }
    Ok(out)
}
