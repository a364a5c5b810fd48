//! Every scene through every driver.
#![allow(clippy::panic, clippy::disallowed_methods, reason = "a test")]

use scenes::driver::{KINDS, emend};
use scenes::suite;

#[test]
fn every_scene_through_every_driver() {
    let files = suite::files(&suite::repository());
    assert!(files.len() >= 60, "only {} scenes", files.len());
    let emend = emend().unwrap_or_else(|error| panic!("{error}"));
    let report = suite::run(&files, &KINDS, Some(&emend));
    let failures = report.failures.join("\n\n");
    assert!(report.failures.is_empty(), "{} failures in {} plays:\n\n{failures}", report.failures.len(), report.plays);
}

#[test]
fn scenes_of_known_faults_can_be_read() {
    for path in suite::files(&suite::repository().join("known")) {
        let source = std::fs::read_to_string(&path).unwrap_or_default();
        let scene = scenes::parse::parse(&source);
        assert!(scene.is_ok(), "{}: {scene:?}", path.display());
    }
}
