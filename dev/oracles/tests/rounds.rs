//! The rounds themselves: git applies their patches, and gets what they mean.

use oracles::git;
use oracles::make::{self, Files};

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
