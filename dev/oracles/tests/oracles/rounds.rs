//! Checks that the rounds have the results that they describe, and that the engine produces these, like the external
//! tools.

use external::{has, or_skip};
use oracles::beside::{self, KINDS, Kind, Tool};
use oracles::codex::Codex;
use oracles::git;
use oracles::make::{self, Files};
use std::path::Path;

#[test]
fn git_agrees_with_what_a_patch_means() {
    if !has(&["git"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut applied = 0;
    for seed in 1..=300 {
        let round = make::round(seed, if seed % 2 == 0 { Files::Tame } else { Files::Unended });
        // Two operations on one path: git applies them together, and we apply them in turn.
        let Some(truth) = round.truth(true) else { continue };
        let text = round.patch.to_unified();
        let theirs = git::apply(&folder.path().join("tree"), &round.tree, &text).unwrap();
        assert_eq!(theirs.as_ref(), Some(&truth), "round {seed}\n{:?}\n{text}", round.tree);
        applied += 1;
    }
    assert!(applied >= 250, "{applied}");
}

#[test]
fn every_difference_is_of_a_listed_kind() {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    if !has(&["git", "patch"]) || or_skip(Codex::install(&peers)).is_none() {
        return;
    }
    let counts = beside::play(&peers, 1, 700).unwrap_or_else(|what| panic!("{what}"));
    let count = |tool, kind| counts.get(&(tool, kind)).copied().unwrap_or(0);
    for (tool, least) in [(Tool::Git, 95), (Tool::Gnu, 85), (Tool::Codex, 65)] {
        let all: u64 = counts.iter().filter(|((of, _), _)| *of == tool).map(|(_, count)| count).sum();
        assert!(all >= 600 && count(tool, Kind::Alike) * 100 >= all * least, "{counts:?}");
        // An edit that other tools apply correctly should seldom make Emendate ask a question.
        assert!(count(tool, Kind::Asked) * 100 <= all && count(tool, Kind::Neither) * 100 <= all, "{counts:?}");
    }
}

#[test]
fn every_kind_is_documented() {
    let page = include_str!("../../../../docs/formats/oracles.md");
    for (kind, meaning) in KINDS {
        assert!(page.contains(&format!("| {kind:?} | {meaning} |")), "{kind:?}");
    }
}
