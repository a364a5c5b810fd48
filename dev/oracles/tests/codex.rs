//! Our emulation of the tool of Codex beside the tool itself. Installs it under `target/` when it is not there.

use oracles::codex::{self, Codex, Kind};
use oracles::tree::Tree;
use std::path::Path;

fn installed() -> Codex {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    Codex::install(&peers).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn random_patches_end_alike() {
    let codex = installed();
    let counts = codex::play(&codex, 1, 1_000).unwrap_or_else(|what| panic!("{what}"));
    for kind in [Kind::Applied, Kind::Refused, Kind::Partial, Kind::Overwrites] {
        assert!(counts.get(&kind).is_some_and(|count| *count >= 10), "{kind:?}: {counts:?}");
    }
}
