//! Our emulation of the tool of Codex, through the engine, beside the tool itself. Installs it under `target/` when it is
//! not there.

use oracles::codex::{self, Kind};
use std::path::Path;

#[test]
fn random_patches_end_alike() {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    let counts = codex::play(&peers, 1, 600).unwrap_or_else(|what| panic!("{what}"));
    for kind in [Kind::Applied, Kind::Refused, Kind::Partial, Kind::Overwrites] {
        assert!(counts.get(&kind).is_some_and(|count| *count >= 5), "{kind:?}: {counts:?}");
    }
}
