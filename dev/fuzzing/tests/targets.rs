//! Runs every fuzz target on random bytes. `fuzz/` runs the targets for longer, guided by coverage.
#![allow(
    unused_attributes,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::type_complexity,
    clippy::collapsible_if,
    clippy::redundant_closure_for_method_calls,
    clippy::redundant_closure,
    clippy::needless_pass_by_value,
    clippy::many_single_char_names,
    reason = "the targets are written for libFuzzer"
)]

extern crate fuzzing as libfuzzer_sys;

use proptest::prelude::*;
use std::collections::BTreeSet;

#[path = "../../../fuzz/fuzz_targets/anchors.rs"]
mod anchors;
#[path = "../../../fuzz/fuzz_targets/apply_patch.rs"]
mod apply_patch;
#[path = "../../../fuzz/fuzz_targets/config.rs"]
mod config;
#[path = "../../../fuzz/fuzz_targets/decode.rs"]
mod decode;
#[path = "../../../fuzz/fuzz_targets/formats.rs"]
mod formats;
#[path = "../../../fuzz/fuzz_targets/hashline.rs"]
mod hashline;
#[path = "../../../fuzz/fuzz_targets/matcher.rs"]
mod matcher;
#[path = "../../../fuzz/fuzz_targets/notebook.rs"]
mod notebook;
#[path = "../../../fuzz/fuzz_targets/schema.rs"]
mod schema;
#[path = "../../../fuzz/fuzz_targets/stream.rs"]
mod stream;
#[path = "../../../fuzz/fuzz_targets/unified_diff.rs"]
mod unified_diff;

/// Words that formats treat specially; they are inserted between random bytes.
const WORDS: &[&str] = &[
    "a\n", "b\n", "\n", "\r\n", "    ", "{", "}", "[", "]", "\"", ":", ",", "@@", "--- a/f\n", "+++ b/f\n",
    "@@ -1,2 +1,2 @@\n", "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", "*** Begin Patch\n",
    "*** Update File: f\n", "*** End Patch\n", "```\n", "f\n", "\u{b6}f#1A2B\n", "replace 1..2:\n", "+a\n", "-a\n",
    " a\n", "\\u0061", "é", "\u{10ffff}",
];

fn input() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(WORDS).prop_map(|word| word.as_bytes().to_vec());
    let part = prop_oneof![word, prop::collection::vec(any::<u8>(), 0..8)];
    prop::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
}

/// Defines a test for each target, and the list of their names.
macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        const TARGETS: &[&str] = &[$(stringify!($name)),*];

        proptest! {
            $(
                #[test]
                fn $name(bytes in input()) {
                    $name::run(&bytes);
                }
            )*
        }
    };
}

targets!(anchors, apply_patch, config, decode, formats, hashline, matcher, notebook, schema, stream, unified_diff);

#[test]
fn every_target_is_tested() {
    let manifest: toml::Table = include_str!("../../../fuzz/Cargo.toml").parse().unwrap();
    let bins = manifest["bin"].as_array().unwrap();
    let names: BTreeSet<&str> = bins.iter().filter_map(|bin| bin["name"].as_str()).collect();
    assert_eq!(names, TARGETS.iter().copied().collect());
}
