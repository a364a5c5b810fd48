//! Compares the functions on text in memory with the engine: the same patches of the same files have the same effect.

use super::patches::{Tree, applied};
use emendate::core::{ApplyOptions, apply, apply_files, edit};
use proptest::prelude::*;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct PatchCase {
    name: String,
    input: BTreeMap<String, serde_json::Value>,
    patch: String,
}

#[derive(Deserialize)]
struct EditCase {
    name: String,
    content: String,
    old: String,
    new: String,
    #[serde(default)]
    replace_all: bool,
    expected: String,
}

/// Applies a patch in memory: returns the new tree, or the unchanged one and the error.
fn applied_in_memory(before: &Tree, patch: &str) -> (Tree, Result<(), String>) {
    let mut tree = before.clone();
    match apply_files(before, patch, &ApplyOptions::new()) {
        Ok(applied) => applied.write_to(&mut tree),
        Err(error) => return (tree, Err(error.to_string())),
    }
    (tree, Ok(()))
}

/// Returns the difference between both, if there is one.
fn difference(before: &Tree, patch: &str) -> Option<String> {
    let ((disk, said), (memory, told)) = (applied(before, patch), applied_in_memory(before, patch));
    let same = disk == memory && said.is_ok() == told.is_ok();
    (!same).then(|| format!("{patch}\nengine: {said:?}\n{disk:?}\nmemory: {told:?}\n{memory:?}"))
}

/// Marks of patches that make something else than text.
const NOT_TEXT: &[&str] = &["mode 120000", "GIT binary patch"];

/// The patches of some cases whose files are all text, with these files.
fn cases(text: &str) -> Vec<(PatchCase, Tree)> {
    let cases: Vec<PatchCase> = serde_json::from_str(text).unwrap();
    let files = |case: &PatchCase| {
        case.input.iter().map(|(path, text)| Some((path.clone(), text.as_str()?.to_owned()))).collect::<Option<Tree>>()
    };
    let cases = cases.into_iter().filter(|case| !NOT_TEXT.iter().any(|mark| case.patch.contains(mark)));
    cases.filter_map(|case| files(&case).map(|files| (case, files))).collect()
}

#[test]
fn patches_of_the_cases_have_the_same_effect() {
    let mut wrong = Vec::new();
    let few = cases(include_str!("../../../core/tests/cases/patches.json"));
    let many = cases(include_str!("../../../core/tests/cases/more_patches.json"));
    assert!(few.len() >= 40 && many.len() >= 600, "{} {}", few.len(), many.len());
    for (case, files) in few.iter().chain(many.iter().step_by(3)) {
        wrong.extend(difference(files, &case.patch).map(|what| format!("{}: {what}", case.name)));
        if let [(path, text)] = &*files.iter().collect::<Vec<_>>()
            && let Ok(one) = apply(text, &case.patch, &ApplyOptions::new())
            && one.new_path.is_none()
        {
            let (tree, said) = applied_in_memory(files, &case.patch);
            if said.is_ok() && tree.get(*path) != Some(&one.text) {
                wrong.push(format!("{}: one text becomes {:?}, among files {tree:?}", case.name, one.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn edits_of_the_cases_have_the_expected_text() {
    let cases: Vec<EditCase> =
        serde_json::from_str(include_str!("../../../core/tests/cases/search_replace.json")).unwrap();
    assert!(cases.len() >= 96);
    for case in cases {
        let options = ApplyOptions::new().replace_all(case.replace_all);
        let text = edit(&case.content, &case.old, &case.new, &options).map(|edited| edited.text);
        assert_eq!(text.unwrap_or("reject".to_owned()), case.expected, "{}", case.name);
    }
}

/// A section of a Codex patch or a git diff about one of four files.
fn section(codex: bool) -> impl Strategy<Value = String> {
    let path = prop::sample::select(vec!["a.txt", "b.rs", "dir/c.txt", "new.txt"]);
    let word = prop::sample::select(vec!["one", "two", "three", "four", "five", "six"]);
    (path.clone(), path, word, 0..7_u32).prop_map(move |(path, to, word, kind)| match (kind, codex) {
        (0, true) => format!("*** Add File: {path}\n+{word}\n"),
        (1, true) => format!("*** Delete File: {path}\n"),
        (2, true) => format!("*** Update File: {path}\n*** Move to: {to}\n@@\n-{word}\n+{word}!\n"),
        (_, true) => format!("*** Update File: {path}\n@@\n-{word}\n+{word}+\n"),
        (0, false) => format!("diff --git a/{path} b/{to}\nsimilarity index 100%\ncopy from {path}\ncopy to {to}\n"),
        (1 | 2, false) => {
            format!("diff --git a/{path} b/{to}\nsimilarity index 100%\nrename from {path}\nrename to {to}\n")
        }
        (3, false) => format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{word}\n"
        ),
        (_, false) => format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{word}\n+{word}+\n"),
    })
}

fn patch() -> impl Strategy<Value = String> {
    any::<bool>().prop_flat_map(|codex| {
        prop::collection::vec(section(codex), 1..5).prop_map(move |sections| {
            let text = sections.concat();
            if codex { codex_patch(&text) } else { text }
        })
    })
}

fn codex_patch(sections: &str) -> String {
    format!("*** Begin Patch\n{sections}*** End Patch\n")
}

/// Returns some files that the sections are about.
fn some_files() -> Tree {
    let files = [("a.txt", "one\ntwo\nthree\n"), ("b.rs", "four\r\nfive\r\n"), ("dir/c.txt", "six")];
    files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect()
}

proptest! {
    #[test]
    fn random_sections_have_the_same_effect(patch in patch()) {
        if let Some(what) = difference(&some_files(), &patch) {
            prop_assert!(false, "{}", what);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn patch_is_its_sections_one_by_one(sections in prop::collection::vec(section(true), 2..6)) {
        // A file that one call removes and adds again keeps its line ends.
        let mut tree: Tree = some_files().into_iter().map(|(path, text)| (path, text.replace('\r', ""))).collect();
        let (made, said) = applied_in_memory(&tree, &codex_patch(&sections.concat()));
        for section in &sections {
            let (next, alone) = applied_in_memory(&tree, &codex_patch(section));
            // Sections may be possible only together: two files that swap places.
            if alone.is_err() {
                return Ok(());
            }
            tree = next;
        }
        prop_assert_eq!(said, Ok(()));
        prop_assert_eq!(made, tree);
    }
}
