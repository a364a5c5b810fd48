//! Compares our emulation of the patch tool of Codex with the tool itself. Installs it under `target/` when it is not
//! there.

use emendate::core::Snapshot;
use emendate::core::print::{FileDelta, PrintFormat};
use external::or_skip;
use oracles::codex::emulation::{self, CodexChange, CodexChangeKind, CodexPathState};
use oracles::codex::{self, Codex, Kind};
use proptest::prelude::*;
use std::path::Path;

#[test]
fn random_patches_end_alike() {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    if or_skip(Codex::install(&peers)).is_none() {
        return;
    }
    let counts = codex::play(&peers, 1, 600).unwrap_or_else(|what| panic!("{what}"));
    for kind in [Kind::Applied, Kind::Refused, Kind::Partial] {
        assert!(counts.get(&kind).is_some_and(|count| *count >= 5), "{kind:?}: {counts:?}");
    }
}

/// A text of lines that look like parts of a patch, and another one that shares most of them.
fn pair() -> impl Strategy<Value = (String, String)> {
    let line = prop::sample::select(vec![
        "a", "b", "", "    c", "}", "@@", "--- a", "+++ b", "*** End Patch", "*** End of File", "é…", "-x", "+x",
    ]);
    let lines = prop::collection::vec(line.clone(), 0..30);
    let edits = prop::collection::vec((0usize..30, 0usize..3, prop::collection::vec(line, 0..3)), 1..4);
    (lines, edits).prop_map(|(old, edits)| {
        let mut new = old.clone();
        for (at, remove, add) in edits {
            let at = at.min(new.len());
            new.splice(at..(at + remove).min(new.len()), add);
        }
        (text(&old), text(&new))
    })
}

fn text(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

proptest! {
    #[test]
    fn the_tool_of_codex_reads_a_printed_patch_the_same_way((old, new) in pair()) {
        let (before, after) = (Snapshot::from_text(&old), Snapshot::from_text(&new));
        let format = PrintFormat::target_by_name("apply_patch").unwrap();
        let Ok(patch) = format.print(&[FileDelta::edited("a.rs", &before, &after)]) else { return Ok(()) };
        prop_assume!(old != new);
        let done = emulation::apply(&patch, "/w", |_| CodexPathState::File(old.clone().into_bytes()));
        let done = done.map_err(|failure| TestCaseError::fail(format!("{}\n{patch}", failure.stderr)))?;
        let [CodexChange { how: CodexChangeKind::Edited(bytes), .. }] = &*done.changes else { panic!("{done:?}") };
        prop_assert_eq!(std::str::from_utf8(bytes).unwrap(), new, "{}", patch);
    }
}
