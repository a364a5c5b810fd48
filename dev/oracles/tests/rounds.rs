//! The rounds themselves: git applies their patches and gets what they mean, and so does the engine.

use oracles::git;
use oracles::make::{self, Files};
use oracles::ours::{self, Text};

#[test]
fn git_agrees_with_what_a_patch_means() {
    let mut applied = 0;
    for seed in 1..=400 {
        let round = make::round(seed, Files::Tame);
        // Two operations on one path: git takes them together, we in turn.
        let Some(truth) = round.truth() else { continue };
        let text = round.patch.to_unified();
        let theirs = git::apply(&round.tree, &text).unwrap();
        assert_eq!(theirs.as_ref(), Some(&truth), "round {seed}\n{:?}\n{text}", round.tree);
        applied += 1;
    }
    assert!(applied >= 300, "{applied}");
}

/// What is written is what the patch means, or nothing is.
fn never_wrong(text: Text) -> Result<(), String> {
    let counts = ours::play(text, 1, 250)?;
    let all: u64 = counts.values().sum();
    assert!(counts.get("right").is_some_and(|right| right * 100 >= all * 95), "{counts:?}");
    Ok(())
}

#[test]
fn v4a_patches_get_what_they_mean() -> Result<(), String> {
    never_wrong(Text::V4a)
}

#[test]
fn unified_patches_get_what_they_mean() -> Result<(), String> {
    never_wrong(Text::Unified)
}
