//! Tests several commands at the same time.

use crate::workspace::{TestWorkspace, feed};
use serde_json::{Value, json};

fn operations(workspace: &TestWorkspace) -> Vec<Value> {
    let ran = workspace.call("history", &json!({ "limit": 1000 }));
    let reply: Value = serde_json::from_str(&ran.out).unwrap();
    reply["data"]["operations"].as_array().unwrap().clone()
}

/// Each process undoes a different operation or reports that nothing is left, and later commands still work.
#[test]
fn simultaneous_undos_undo_one_operation_each() {
    for round in 0..6_usize {
        let workspace = TestWorkspace::with("start\n");
        let edits = 3 + round;
        let text = |lines: usize| {
            let lines = (0..lines).map(|nth| format!("line {nth}\n"));
            std::iter::once("start\n".to_owned()).chain(lines).collect::<String>()
        };
        for nth in 0..edits {
            workspace.feed(&["write", "a.txt"], text(nth + 1)).exits(0);
        }
        let at_once = 2 + round % 3;
        let rans = std::thread::scope(|scope| {
            let run = || feed(workspace.command(&["undo"]), b"");
            let all: Vec<_> = (0..at_once).map(|_| scope.spawn(run)).collect();
            all.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
        });
        let done = rans.iter().filter(|ran| ran.code == 0).count();
        assert_eq!(done, at_once.min(edits), "{rans:#?}");
        let left = edits - done;
        assert_eq!(workspace.get("a.txt"), text(left), "{rans:#?}");
        let undone = operations(&workspace).iter().filter(|it| it["undoneBy"].is_string()).count();
        assert_eq!(undone, done, "{rans:#?}");
        for _ in 0..left {
            workspace.run(&["undo"]).exits(0);
        }
        assert_eq!((workspace.get("a.txt"), workspace.run(&["undo"]).code), ("start\n".to_owned(), 10));
        // The same for redo.
        let rans = std::thread::scope(|scope| {
            let run = || feed(workspace.command(&["redo"]), b"");
            let all: Vec<_> = (0..2).map(|_| scope.spawn(run)).collect();
            all.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(rans.iter().all(|ran| ran.code == 0), "{rans:#?}");
        assert_eq!(workspace.get("a.txt"), text(2), "{rans:#?}");
    }
}
