//! Checks that the runner notices everything that a scene does not mention. A runner that accepts anything proves
//! nothing.

use scenes::driver::Kind;
use scenes::parse::parse;
use scenes::play::play;

/// Returns the failures that the library driver finds in a scene.
fn failures(steps: &str) -> Vec<String> {
    let scene = parse(&format!("# A title\n{steps}")).unwrap_or_else(|error| panic!("{error}"));
    play(&scene, Kind::Library, None).failures
}

/// A correct scene: one edit of `a.txt`.
const EDIT: &str = "\
file a.txt
| one
call read {\"file_path\": \"$ROOT/a.txt\"}
ok
|      1\tone
call edit {\"file_path\": \"$ROOT/a.txt\", \"old_string\": \"one\", \"new_string\": \"1\"}
ok
| The file $ROOT/a.txt has been updated: 1 replacement, +1 -1 lines.
| >     1\t1
data {\"replacements\": 1, \"missing\": null}
";

#[test]
fn correct_scene_has_no_failures() {
    assert_eq!(failures(&format!("{EDIT}after a.txt\n| 1\n")), Vec::<String>::new());
}

// The messages have paths as on Unix.
#[cfg(unix)]
#[test]
fn every_deviation_is_a_failure() {
    let said = format!("{EDIT}after a.txt\n| 1\n");
    for (steps, part) in [
        (EDIT.to_owned(), "at the end, root/a.txt"),
        (format!("{EDIT}after a.txt\n| 2\n"), "a.txt: wanted"),
        (format!("{EDIT}after a.txt\n| 1\n\\ no final newline\n"), "a.txt: wanted"),
        (format!("{EDIT}after a.txt mode=601\n| 1\n"), "mode 601 is wanted"),
        (format!("{EDIT}after a.txt gone\n"), "nothing is wanted"),
        (said.replace("\"replacements\": 1", "\"replacements\": 2"), "data wanted"),
        (said.replace("| >     1\t1\n", ""), "text wanted"),
        (said.replace("+1 -1 lines.", "+1 -1 lines"), "text wanted"),
        (said.replace("ok\n| The", "error match.not_found 8\n| The"), "is wanted, the reply is `ok`"),
        (said.replace("ok\n|      1\tone\n", "\n"), "no reply is written down"),
        (
            "call write {\"file_path\": \"$ROOT/new/a\", \"content\": \"\"}\nok\n...\n".to_owned(),
            "root/new/a: nothing is wanted",
        ),
        (
            "call write {\"file_path\": \"$ROOT/new/a\", \"content\": \"\"}\nok\n...\n".to_owned(),
            "root/new: nothing is wanted",
        ),
        ("call dance {}\nerror call.unknown_tool 1\n...\n".to_owned(), "`error call.unknown_tool`"),
        ("append a.txt\n| x\n".to_owned(), "line 2"),
        ("call edit {\"a\": \"$TAG\"}\n".to_owned(), "no reply had that $TAG"),
    ] {
        let found = failures(&steps);
        assert!(found.iter().any(|failure| failure.contains(part)), "{part} is not in {found:#?}\nof\n{steps}");
    }
}

#[cfg(unix)]
#[test]
fn changes_from_outside_are_not_leftovers() {
    let steps = "file a.txt\n| one\ndir d\nlink l -> a.txt\nfile ../outside/b\n| x\n";
    assert_eq!(failures(steps), Vec::<String>::new());
    let read = "call read {\"file_path\": \"$ROOT/a.txt\"}\nok\n...\n";
    let later =
        "append a.txt\n| two\nfile new/c\n| y\nfile a.txt by-rename\n| z\nchmod a.txt 600\ndelete d\ntouch a.txt\n";
    assert_eq!(failures(&format!("{steps}{read}{later}")), Vec::<String>::new());
}

#[test]
fn events_are_compared_after_the_process_ends() {
    let setting = "file ../home/.config/emendate/config.toml\n| [events]\n| file = \"~/e\"\n";
    let calls = "call read {\"file_path\": \"$ROOT/gone\"}\nerror file.not_found\n...\n";
    let with = |lines: &str| failures(&format!("{setting}{calls}events ../home/e\n{lines}"));
    assert_eq!(with("| {\"tool\": \"read\", \"ok\": false, \"tier\": null}\n"), Vec::<String>::new());
    for wrong in ["", "| {\"tool\": \"edit\"}\n", "| {\"tool\": null}\n", "| {}\n| {}\n"] {
        let found = with(wrong);
        assert!(found.len() == 1 && found[0].contains("events wanted"), "{wrong}: {found:?}");
    }
    let found = failures(&format!("{calls}events ../home/e\n"));
    assert!(found.len() == 1 && found[0].contains("../home/e: "), "{found:?}");
}
