//! A search and a replacement see every file that a plain walk with the same ignore rules sees, or report what they
//! skip.

use emendate::{CallContext, Config, Engine, StateLocation, UnreadPolicy};
use ignore::WalkBuilder;
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use rustix::fs::{CWD, Mode, OFlags};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pieces of rules of ignore files, and of names of files.
const RULE_PIECES: [&str; 32] = [
    "a", "b", "ab", "x", "é", "*", "**", "***", "?", "/", "/", "/**/", "[ab]", "[!a]", "[^b]", "[a/b]", "[a-c]",
    "[!/]", "[[:alpha:]]", "[]-]", "\\a", "\\*", "\\/", "\\ ", "{a,b}", "[", "!", "#", " ", "\t", "\r", "\u{a0}",
];
const NAME_PIECES: [&str; 14] = ["a", "b", "ab", "x", "é", "*", "?", "{a,b}", "[ab]", "!", "#", " ", "\u{a0}", "-"];

const NAMES: [&str; 9] = ["a", "b.rs", "c.txt", ".hidden", "build", "x y", "d.rs", "ä", "sub"];
const RULES: [&str; 12] =
    ["*.rs", "!b.rs", "/a", "build/", "**/c.txt", "!.hidden", "sub/**", "x\\ y", "*", "!*/", "# no rule", "sub/*.rs"];

fn person() -> CallContext {
    CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() }
}

fn engine(root: &Path) -> Engine {
    Engine::open(&[root.to_owned()], StateLocation::Memory, Config::default()).unwrap()
}

/// A file by the numbers of its names, or an ignore file of a directory with the numbers of its rules.
#[derive(Clone, Debug)]
enum Made {
    File(Vec<usize>),
    Rules(Vec<usize>, bool, Vec<usize>),
}

fn made() -> impl Strategy<Value = Made> {
    let path = || vec(0..NAMES.len(), 1..4);
    prop_oneof![
        5 => path().prop_map(Made::File),
        1 => (vec(0..NAMES.len(), 0..3), any::<bool>(), vec(0..RULES.len(), 1..4))
            .prop_map(|(path, git, rules)| Made::Rules(path, git, rules)),
    ]
}

fn path(root: &Path, names: &[usize]) -> PathBuf {
    names.iter().fold(root.to_owned(), |path, name| path.join(NAMES[*name]))
}

fn make(root: &Path, all: &[Made]) {
    for made in all {
        let (path, text) = match made {
            Made::File(names) => (path(root, names), "needle\n".to_owned()),
            Made::Rules(folder, git, rules) => {
                let rules: String = rules.iter().map(|rule| format!("{}\n", RULES[*rule])).collect();
                (path(root, folder).join(if *git { ".gitignore" } else { ".ignore" }), rules)
            }
        };
        // A path that is already a file cannot become a directory, and vice versa.
        if path.parent().is_some_and(|folder| fs::create_dir_all(folder).is_ok()) && !path.is_dir() {
            fs::write(path, text).unwrap();
        }
    }
}

/// The files with the text that a plain walk finds. There, a negated rule would include hidden files as well.
fn plain(root: &Path, hidden: bool, all: bool) -> BTreeSet<PathBuf> {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false).ignore(!all).git_ignore(!all).parents(false).git_global(false).git_exclude(false);
    let files = walk.require_git(false).build().map(Result::unwrap).filter(|it| it.file_type().unwrap().is_file());
    let is_hidden = |path: &Path| {
        let names = path.strip_prefix(root).unwrap().components();
        names.into_iter().any(|name| name.as_os_str().as_encoded_bytes().starts_with(b"."))
    };
    let files = files.map(ignore::DirEntry::into_path).filter(|path| hidden || !is_hidden(path));
    files.filter(|path| fs::read(path).unwrap() == b"needle\n").collect()
}

fn found(root: &Path, tool: &str, input: Value) -> BTreeSet<PathBuf> {
    let reply = engine(root).call(&person(), tool, input).to_json();
    let files = reply["data"]["files"].as_array().cloned().unwrap_or_default();
    files.iter().map(|file| PathBuf::from(file["filePath"].as_str().unwrap())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.min(96), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn files_of_a_plain_walk_are_found(all in vec(made(), 1..25), hidden in any::<bool>(), no_ignore in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        let root = emendate_os::paths::canonical(dir.path()).unwrap();
        make(&root, &all);
        let expected = plain(&root, hidden, no_ignore);
        let search = json!({ "path": root, "pattern": "needle", "hidden": hidden, "no_ignore": no_ignore, "limit": 1000 });
        assert_eq!(found(&root, "search", search), expected);
        let replace = json!({ "path": root, "old_string": "needle", "new_string": "pin", "hidden": hidden,
            "no_ignore": no_ignore, "dry_run": true });
        assert_eq!(found(&root, "replace_in_files", replace), expected);
    }
}

/// The files that a tree has, apart from ignored ones.
fn not_ignored(root: &Path) -> BTreeSet<String> {
    let mut git = Command::new("git");
    git.args(["-c", "core.excludesFile=", "ls-files", "-z", "--others", "--exclude-standard"]).current_dir(root);
    let listed = String::from_utf8(git.output().unwrap().stdout).unwrap();
    listed.split_terminator('\0').map(str::to_owned).collect()
}

fn joined(pieces: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    vec(0..pieces.len(), 1..=most).prop_map(|chosen| chosen.into_iter().map(|nth| pieces[nth]).collect())
}

/// A rule of an ignore file. git up to 2.51 reads `a**/b` with a plain beginning as if it were `a/**/b`, against its
/// documentation, so two stars always follow a slash here.
fn rule() -> impl Strategy<Value = String> {
    (prop_oneof![3 => Just(""), 1 => Just("!"), 1 => Just("/")], joined(&RULE_PIECES, 5), any::<bool>())
        .prop_map(|(start, rule, is_directory)| format!("{start}{rule}{}", if is_directory { "/" } else { "" }))
        .prop_filter("two stars after a plain beginning", |rule| {
            rule.find("**").is_none_or(|at| at == 0 || rule[..at].ends_with(['/', '!']))
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.min(64), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ignore_files_mean_what_they_mean_to_git(
        rules in vec(vec(rule(), 1..4), 1..3),
        end in prop_oneof![Just(""), Just("\n"), Just("\r"), Just("\r\n")],
        files in vec(vec(joined(&NAME_PIECES, 2), 1..4), 1..40),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let root = emendate_os::paths::canonical(dir.path()).unwrap();
        assert!(Command::new("git").args(["init", "-q"]).current_dir(&root).status().unwrap().success());
        for (folder, rules) in ["", "a"].iter().zip(&rules) {
            fs::create_dir_all(root.join(folder)).unwrap();
            fs::write(root.join(folder).join(".gitignore"), rules.join("\n") + end).unwrap();
        }
        for names in files {
            let path = names.iter().fold(root.clone(), |path, name| path.join(name));
            if path.parent().is_some_and(|folder| fs::create_dir_all(folder).is_ok()) && !path.exists() {
                fs::write(path, "").unwrap();
            }
        }
        let listed = engine(&root).call(&person(), "list", json!({ "path": root, "hidden": true })).to_json();
        let listed: BTreeSet<String> = serde_json::from_value(listed["data"]["entries"].clone()).unwrap();
        assert_eq!(listed, not_ignored(&root), "{rules:?} {end:?}");
    }
}

/// More entries than a directory listing once returned; the text is in the last one.
#[test]
fn large_directory_is_searched_completely() {
    let dir = tempfile::tempdir().unwrap();
    let root = emendate_os::paths::canonical(dir.path()).unwrap();
    let count = 100_050;
    let folder = rustix::fs::open(&root, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    // One file under many names costs no blocks.
    fs::write(root.join("empty"), "").unwrap();
    for nth in 0..count {
        let made =
            rustix::fs::linkat(CWD, root.join("empty"), &folder, format!("{nth:06}"), rustix::fs::AtFlags::empty());
        if made.is_err() {
            fs::remove_file(root.join("empty")).unwrap();
            fs::write(root.join("empty"), "").unwrap();
        }
    }
    for name in ["000000", "zzz"] {
        let _ = fs::remove_file(root.join(name));
        fs::write(root.join(name), "needle\n").unwrap();
    }
    let search = json!({ "path": root, "pattern": "needle", "glob": ["000000", "zzz"] });
    let expected: BTreeSet<PathBuf> = ["000000", "zzz"].iter().map(|name| root.join(name)).collect();
    assert_eq!(found(&root, "search", search), expected);
}

/// Paths that are too long are reported by a search and refused by a replacement, which is all or nothing.
#[test]
fn paths_that_are_too_long_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let root = emendate_os::paths::canonical(dir.path()).unwrap();
    fs::write(root.join("short"), "needle\n").unwrap();
    let mut folder = rustix::fs::open(&root, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    let name = "n".repeat(250);
    for _ in 0..17 {
        rustix::fs::mkdirat(&folder, &name, Mode::RWXU).unwrap();
        folder = rustix::fs::openat(&folder, &name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    // At most sixteen of these names fit.
    let deepest = (0..15).fold(root.clone(), |path, _| path.join(&name));
    let view = engine(&root).call(&person(), "text_editor", json!({ "command": "view", "path": deepest }));
    assert!(view.text().contains("Note: 1 with a path of more than 4095 bytes"), "{}", view.text());
    let search = engine(&root).call(&person(), "search", json!({ "path": root, "pattern": "needle" }));
    assert!(search.text().contains("1 path of more than 4095 bytes"), "{}", search.text());
    for (tool, input) in [
        ("list", json!({ "path": root })),
        ("outline", json!({ "file_path": root })),
        ("check", json!({ "paths": [root] })),
    ] {
        let told = engine(&root).call(&person(), tool, input);
        assert!(told.text().contains("1 path of more than 4095 bytes"), "{tool}: {}", told.text());
    }
    let replace = |glob: Value| {
        let input = json!({ "path": root, "old_string": "needle", "new_string": "pin", "glob": glob });
        engine(&root).call(&person(), "replace_in_files", input)
    };
    let refused = replace(json!([]));
    assert_eq!(refused.result.as_ref().unwrap_err().code().as_str(), "call.too_large", "{}", refused.text());
    assert!(replace(json!([format!("!{name}/**")])).result.is_ok());
}
