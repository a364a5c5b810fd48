//! Plays every scene, and the shared cases, through every driver.
#![allow(clippy::panic, clippy::disallowed_methods, clippy::unwrap_used, reason = "tests look at the disk")]

mod cases;
mod runner;

use scenes::driver::{KINDS, emend};
use scenes::suite;

#[test]
fn every_scene_passes_through_every_driver() {
    let files = suite::files(&suite::repository());
    assert!(files.len() >= 60, "only {} scenes", files.len());
    let emend = emend().unwrap_or_else(|error| panic!("{error}"));
    let report = suite::run(&files, &KINDS, Some(&emend));
    let failures = report.failures.join("\n\n");
    assert!(report.failures.is_empty(), "{} failures in {} plays:\n\n{failures}", report.failures.len(), report.plays);
}
