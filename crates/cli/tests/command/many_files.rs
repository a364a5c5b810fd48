//! Tests that replies about very many files are bounded, state how many files they omit, and lead to the rest.

use crate::workspace::TestWorkspace;
use serde_json::{Value, json};

/// Files of the operation, and those that a reply lists.
const FILES: usize = 130;
const OPERATION_DIFFS_MAX: usize = 100;

/// Creates a workspace in which one operation changed all files.
fn changed() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    for nth in 0..FILES {
        workspace.put(&format!("src/{nth:04}.txt"), "one\n");
    }
    workspace.run(&["replace", "one", "two", "src"]).exits(0);
    workspace
}

/// Returns the number of diffs in a text.
fn diffs(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("+++ ")).count()
}

#[test]
fn person_sees_the_first_files_and_how_to_see_the_others() {
    let workspace = changed();
    let undone = workspace.run(&["undo"]).exits(0).out;
    assert_eq!(diffs(&undone), OPERATION_DIFFS_MAX);
    let hint = undone.lines().last().unwrap();
    assert!(hint.starts_with("note: 30 more files are not listed: emend show 2-"), "{hint}");
    let (_, command) = hint.split_once("emend ").unwrap();
    let (command, _) = command.split_once(',').unwrap();
    let rest = workspace.run(&command.split(' ').collect::<Vec<_>>()).exits(0).out;
    assert_eq!(diffs(&rest), FILES - OPERATION_DIFFS_MAX);
    assert!(rest.contains("0129.txt") && !rest.contains("more files are not listed"), "{rest}");
    assert_eq!(diffs(&workspace.run(&["redo"]).exits(0).out), OPERATION_DIFFS_MAX);
    assert_eq!(diffs(&workspace.run(&["show"]).exits(0).out), OPERATION_DIFFS_MAX);
    assert_eq!(diffs(&workspace.run(&["show", "--all"]).exits(0).out), FILES);
    assert_eq!(diffs(&workspace.run(&["show", "-n", "3"]).exits(0).out), 3);
    let between = workspace.run(&["diff", "1^..1"]).exits(0).out;
    assert_eq!(diffs(&between), OPERATION_DIFFS_MAX);
    assert!(between.ends_with("repeat the command with --from 100, or --all\n"), "{between}");
    let list = workspace.run(&["history"]).exits(0).out;
    assert!(list.contains("… and 120 more files"), "{list}");
}

#[test]
fn programs_and_models_get_a_count_and_the_next_call() {
    let workspace = changed();
    let undo = workspace.call("undo", &json!({})).exits(0).json();
    let listed =
        |reply: &Value| (reply["data"]["files"].as_array().unwrap().len(), reply["data"]["filesTotal"].clone());
    assert_eq!(listed(&undo), (OPERATION_DIFFS_MAX, json!(FILES)));
    let omitted = undo["data"]["omitted"]["fields"].as_array().unwrap();
    assert!(omitted.iter().any(|it| it["field"] == "files" && it["of"] == FILES), "{omitted:?}");
    let text = undo["text"].as_str().unwrap();
    let id = undo["data"]["operation"].as_str().unwrap();
    assert!(text.contains("30 more files are not listed here, of 130."), "{text}");
    assert!(text.contains(&format!("Call history with id \"{id}\" and from \"100\"")), "{text}");
    let first = workspace.call("history", &json!({ "id": id })).exits(0).json();
    assert_eq!(listed(&first), (OPERATION_DIFFS_MAX, json!(FILES)));
    let rest = workspace.call("history", &json!({ "id": id, "from": first["data"]["next"] })).exits(0).json();
    assert_eq!((listed(&rest), rest["data"].get("next")), ((FILES - OPERATION_DIFFS_MAX, json!(FILES)), None));
    let wrong = workspace.call("history", &json!({ "id": id, "from": "x" })).exits(2).json();
    assert!(wrong["next"].as_str().unwrap().contains("Omit \"from\""), "{wrong}");
    let behind = workspace.run(&["show", id, "--from", "130"]).exits(2).err;
    assert!(behind.contains("none follows the first 130") && behind.contains("Omit --from"), "{behind}");
    let total = workspace.run(&["stats", "--json"]).exits(0).json();
    assert!(total["data"]["total"]["calls"].is_u64(), "{total}");
}
