use super::{Extent, expand, is_elided};
use crate::locate::op::{Locator, Op};
use core::ops::Range;
use proptest::prelude::*;

/// Returns the text after the operations.
pub(super) fn applied(old: &str, ops: &[Op]) -> String {
    let mut out = old.to_owned();
    for op in ops.iter().rev() {
        let Locator::Exactly(span) = &op.at else { panic!("{op:?}") };
        out.replace_range(span.range(), &op.text);
    }
    out
}

pub(super) fn edit(old: &str, new: &str, extents: &[Extent]) -> String {
    applied(old, &expand(old, new, extents).unwrap_or_else(|why| panic!("{why}")).ops)
}

pub(super) fn refuse(old: &str, new: &str, extents: &[Extent]) -> String {
    match expand(old, new, extents) {
        Ok(expanded) => panic!("{}", applied(old, &expanded.ops)),
        Err(why) => why,
    }
}

fn extent(old: Range<usize>, new: Range<usize>) -> Extent {
    Extent { old, new }
}

const FILE: &str = "import a\n\ndef one():\n    x = 1\n    y = 2\n    return x\n\ndef two():\n    return 2\n";

#[test]
fn unchanged_neighbours_determine_the_gap() {
    let new = "# ... existing code ...\n    x = 1\n    y = 3\n    return x\n# ... existing code ...\n";
    assert_eq!(edit(FILE, new, &[]), FILE.replace("y = 2", "y = 3"));
    let new = "import b\nimport a\n# ... existing code ...\n    return 2\n";
    assert_eq!(edit(FILE, new, &[]), FILE.replace("import a\n", "import b\nimport a\n"));
    let new = "// … rest of the code unchanged …\n\ndef two():\n    return 3\n";
    assert_eq!(edit(FILE, new, &[]), FILE.replace("return 2", "return 3"));
    assert!(is_elided(new) && !is_elided(FILE));
}

#[test]
fn unambiguous_new_line_next_to_a_gap_is_added() {
    let new = "import a\nimport b\n# ... existing code ...\n    return 2\n";
    assert_eq!(edit(FILE, new, &[]), FILE.replace("import a\n", "import a\nimport b\n"));
    let new = "# ... existing code ...\nlog(\"two\")\ndef two():\n    return 2\n";
    assert_eq!(edit(FILE, new, &[]), FILE.replace("def two", "log(\"two\")\ndef two"));
    // The adjacent line in the file has the same shape, or shares words with the new one.
    refuse(FILE, "import a\n# ...\n    x = 1\n    z = 3\n    # ...\n    return x\n# ...\n", &[]);
    refuse("a\nrun(b, c)\nd\n", "a\nrun(b)\n# ... existing code ...\nd\n", &[]);
    // The anchor occurs at two places; in the second text, the file has the new line elsewhere.
    refuse("a\nb\nc\na\nd\n", "# ...\na\nnew()\n# ... existing code ...\n", &[]);
    refuse("a\nb\nlog()\nd\n", "a\nlog()\n# ... existing code ...\nd\n", &[]);
}

#[test]
fn ambiguous_new_line_next_to_a_gap_is_refused() {
    // `y = 2` may have been replaced or not.
    refuse(FILE, "def one():\n    x = 1\n    z = 3\n    # ... existing code ...\n", &[]);
    // The last line belongs to another function, and everything between would be removed.
    let why = refuse(FILE, "# ...\ndef one():\n    return 2\n# ... existing code ...\n", &[]);
    assert!(why.contains("would be gone"), "{why}");
    let twice = "a\nb\nc\na\nb\nd\n";
    let why = refuse(twice, "# ...\na\nx\nb\n# ... rest of the file unchanged ...\n", &[]);
    assert!(why.contains("several places"), "{why}");
    refuse(FILE, "# ... existing code ...\n", &[]);
}

#[test]
fn placeholder_that_is_missing_is_named() {
    let file = format!("import os\nimport b\nimport c\n{FILE}\ndef three():\n    go()\n    wait()\n");
    let why = refuse(&file, "def one():\n    x = 2\n    y = 2\n    return x\n# ... existing code ...\n", &[]);
    assert!(why.contains("The text begins with line 6 of the file") && why.contains("a placeholder above it"), "{why}");
    let why = refuse(&file, "# ... existing code ...\n    y = 3\n    return x\n\ndef two():\n", &[]);
    assert!(why.contains("The text ends with line 11 of the file") && why.contains("a placeholder below it"), "{why}");
}

#[test]
fn decorators_that_the_text_does_not_show_are_kept() {
    let file = "a()\n\n\n@fixture(\n    scope=1,\n)\n@other\ndef ray():\n    x()\n    yard()\n    w()\n    z()\n";
    let extents = |new| [Extent { old: 3..12, new }];
    let body = "    x(1)\n    yard()\n    # ... existing code ...\n    z()\n";
    let want = file.replace("x()", "x(1)");
    assert_eq!(edit(file, &format!("# ...\ndef ray():\n{body}"), &extents(1..6)), want);
    assert_eq!(edit(file, &format!("# ...\n@other\ndef ray():\n{body}"), &extents(1..7)), want);
    let new = format!("# ...\ndef ray(a):\n{body}");
    assert_eq!(edit(file, &new, &extents(1..6)), want.replace("ray()", "ray(a)"));
    // Another decorator is shown, but not which of those of the file it replaces.
    refuse(file, &format!("# ...\n@own\ndef ray():\n{body}"), &extents(1..7));
    let cases: String = (0..300).map(|nth| format!("    ({nth}, {nth}),\n")).collect();
    let [file, want] = [file, &want].map(|text| text.replace("    scope=1,\n", &cases));
    let new = format!("# ...\ndef ray():\n{body}");
    assert_eq!(edit(&file, &new, &[Extent { old: 3..311, new: 1..6 }]), want);
}

#[test]
fn symbols_resolve_gaps_that_lines_do_not() {
    let one = extent(2..6, 1..3);
    let new = "# ...\ndef one():\n    return 2\n# ... existing code ...\n";
    let want = "import a\n\ndef one():\n    return 2\n\ndef two():\n    return 2\n";
    assert_eq!(edit(FILE, new, std::slice::from_ref(&one)), want);
    // The placeholder is deeper than the first line, so it is a part of the function.
    let new = "# ...\ndef one():\n    x = 4\n    # ... existing code ...\n    return x\n# ...\n";
    assert_eq!(edit(FILE, new, &[extent(2..6, 1..5)]), FILE.replace("x = 1", "x = 4"));
    refuse(FILE, &new.replace("x = 4", "z = 4"), &[extent(2..6, 1..5)]);
    // The text is one function from the middle of the file.
    let new = "def two():\n    # ... existing code ...\n    return 2\n";
    let file = "a\n\ndef two():\n    x()\n    return 2\n\nb\n";
    assert!(expand(file, new, &[extent(2..5, 0..3)]).is_ok_and(|it| it.ops.is_empty()));
    let new = "def two():\n    z()\n    x()\n    # ... existing code ...\n    return 2\n";
    let file = "a\n\ndef two():\n    x()\n    y()\n    return 2\n\nb\n";
    assert_eq!(edit(file, new, &[extent(2..6, 0..5)]), file.replace("    x()", "    z()\n    x()"));
}

#[test]
fn unchanged_lines_keep_their_bytes() {
    let file = "a  \nb\nc\t\nd";
    assert_eq!(edit(file, "a\nB\nc\n# ...\n", &[]), "a  \nB\nc\t\nd");
    assert_eq!(edit(file, "# ...\nc\nD\n", &[]), file.replace('d', "D"));
}

/// Returns a file, its edited form, and the edited form with some unchanged ranges elided.
fn elided(lines: &[u8], edits: &[(u8, u8, u8)], cuts: &[(u8, u8)]) -> (String, String, String) {
    let word = |letter: u8| ["alpha", "beta", "gamma", "}", "", "delta", "end"][usize::from(letter) % 7].to_owned();
    let name = |nth: usize, letter: u8| if letter.is_multiple_of(3) { format!("line {nth}") } else { word(letter) };
    let old: Vec<String> = lines.iter().enumerate().map(|(nth, &letter)| name(nth, letter)).collect();
    // Every line is stored with the line of the file that it is.
    let mut new: Vec<(String, Option<usize>)> = old.iter().cloned().zip((0..).map(Some)).collect();
    for &(at, kind, letter) in edits {
        let at = usize::from(at) % (new.len() + 1);
        match kind % 3 {
            0 => new.insert(at, (word(letter), None)),
            1 if at < new.len() => new[at] = (name(usize::from(letter) + 100, letter), None),
            _ if at < new.len() => drop(new.remove(at)),
            _ => {}
        }
    }
    let whole: String = new.iter().map(|(line, _)| format!("{line}\n")).collect();
    let mut cut: Vec<Range<usize>> = Vec::new();
    for &(from, len) in cuts {
        if new.is_empty() {
            break;
        }
        let from = usize::from(from) % new.len();
        let range = from..(from + 1 + usize::from(len) % 6).min(new.len());
        // A range of the file with its neighbours, of which none is blank.
        let around = range.start.saturating_sub(1)..(range.end + 1).min(new.len());
        let follows =
            new[around.clone()].windows(2).all(|pair| pair[0].1.is_some() && pair[0].1.map(|at| at + 1) == pair[1].1);
        let filled = [around.start, around.end - 1].into_iter().all(|at| range.contains(&at) || !new[at].0.is_empty());
        let first = range.start > 0 || new[0].1 == Some(0);
        let last = range.end < new.len() || new.last().is_some_and(|it| it.1 == Some(old.len() - 1));
        let apart = cut.iter().all(|it| it.end + 1 < range.start || range.end + 1 < it.start);
        if follows && filled && first && last && apart && !range.is_empty() {
            cut.push(range);
        }
    }
    let mut text = String::new();
    for (at, (line, _)) in new.iter().enumerate() {
        match cut.iter().find(|it| it.contains(&at)) {
            Some(range) if range.start == at => text.push_str("// ... existing code ...\n"),
            Some(_) => {}
            None => text.extend([&**line, "\n"]),
        }
    }
    (old.iter().map(|line| format!("{line}\n")).collect(), whole, text)
}

proptest! {
    #[test]
    fn elided_ranges_are_restored_or_refused(
        lines in prop::collection::vec(any::<u8>(), 2..24),
        edits in prop::collection::vec(any::<(u8, u8, u8)>(), 0..4),
        cuts in prop::collection::vec(any::<(u8, u8)>(), 1..5),
    ) {
        let (old, new, text) = elided(&lines, &edits, &cuts);
        if is_elided(&text) && let Ok(expanded) = expand(&old, &text, &[]) {
            prop_assert_eq!(applied(&old, &expanded.ops), new, "{}", text);
        }
    }

    #[test]
    fn any_texts_get_an_answer(
        old in "([ab}\n ]|// \\.\\.\\.\n|\\(unchanged\\)\n){0,20}",
        new in "([ab}\n ]|// \\.\\.\\.\n|\\(unchanged\\)\n){0,20}",
        extents in prop::collection::vec((0usize..9, 1usize..9, 0usize..9, 1usize..9), 0..3),
    ) {
        let (a, b) = (old.lines().count(), new.lines().count());
        let extents = extents.into_iter().map(|(from, len, at, size)| extent(from.min(a)..(from + len).min(a), at.min(b)..(at + size).min(b)));
        let extents: Vec<Extent> = extents.filter(|it| !it.old.is_empty() && !it.new.is_empty()).collect();
        let _ = expand(&old, &new, &extents);
    }
}

#[test]
fn block_by_indentation_ends_where_its_depth_does() {
    let old = "def one\n  1\nend\n\ndef two\n  if x\n    2\n  end\nend\n\ndef three\n  3\nend\n";
    let gap = "# ... existing code ...\n";
    let with = |new: &str| format!("{gap}\n{new}\n{gap}");
    let two = with("def two\n  4\nend\n");
    assert_eq!(edit(old, &two, &[]), old.replace("  if x\n    2\n  end\n", "  4\n"));
    // The name is missing or occurs twice, or the end may be within a string.
    refuse(old, &with("def four\n  4\nend\n"), &[]);
    refuse(&old.replace("three", "two"), &two, &[]);
    refuse(&old.replace("    2\n", "    2 + <<A\nend\nA\n"), &two, &[]);
}

const BLOCKS: &str = "fn one() {\n    first_call();\n    leave();\n}\n\nfn two() {\n    second_call();\n    leave();\n}\n\nfn three() {\n    third_call();\n    fourth_call();\n    fifth_call();\n    sixth_call();\n}\n";

#[test]
fn fragment_that_ends_with_a_common_line_deletes_nothing_unseen() {
    // `}` closes all functions; only the nearest one keeps every line of the file.
    let gap = "// ... existing code ...\n";
    let with = |new: &str| format!("{gap}{new}{gap}");
    let two = with("fn two() {\n    second_call(1);\n    leave();\n}\n");
    assert_eq!(edit(BLOCKS, &two, &[]), BLOCKS.replace("second_call()", "second_call(1)"));
    let added = with("    second_call();\n    inserted_call();\n    leave();\n}\n");
    assert_eq!(edit(BLOCKS, &added, &[]), BLOCKS.replace("second_call();\n", "second_call();\n    inserted_call();\n"));
    // A few lines may be lost: the next `}` is too near.
    let near = with("    second_call();\n    inserted_call();\n    leave();\n");
    refuse(&BLOCKS.replace("third_call", "leave"), &near, &[]);
    // The new line is in the file already: the lines before it may have been deleted.
    refuse("gamma\nline 1\ngamma\nline 3\n", "line 1\ngamma\n// ... existing code ...\n", &[]);
    // The text has no line like the one that would be lost.
    refuse(BLOCKS, &with("    first_call();\n    let entirely = Other { lines };\n}\n"), &[]);
    // Neither end occurs at one place only.
    let twice = BLOCKS.replace("second_call", "first_call");
    refuse(&twice, &with("    first_call();\n    inserted_call();\n    leave();\n"), &[]);
}

#[test]
fn definition_whose_last_use_goes_may_be_replaced() {
    let file = "fn go() {\n    first_call();\n    old_way(now);\n}\n\nfn old_way(now: Now) {\n    leave(now);\n}\n\nfn \
                last() {\n    end_it();\n}\n";
    let new = "fn go() {\n    first_call();\n    new_way(now);\n}\n\nfn new_way(now: Now) {\n    stay(now);\n}\n\n// ... \
               existing code ...\n";
    assert!(refuse(file, new, &[]).contains("Nothing would use `old_way`"));
    // Something still uses it.
    let used = file.replace("end_it()", "old_way(then)");
    let fresh = "fn new_way(now: Now) {\n    stay(now);\n}\n\n";
    let want =
        used.replace("    old_way(now)", "    new_way(now)").replace("fn old_way", &format!("{fresh}fn old_way"));
    assert_eq!(edit(&used, new, &[]), want);
}

#[test]
fn call_in_a_closing_line_opens_no_block() {
    let file = "fn go() {\n    let result = (|| {\n        first_call()?;\n        Err(Errno::AGAIN)\n    })();\n    \
                finish(result)\n}\n";
    let new = "fn go() {\n    let result = (|| {\n        first_call()?;\n        inserted_call()?;\n        Err(Errno::AGAIN)\n    })();\n    // ... existing code ...\n}\n";
    let added = "        inserted_call()?;\n        Err(";
    assert_eq!(edit(file, new, &[]), file.replace("        Err(", added));
}

#[test]
fn closing_line_at_the_end_of_the_file_is_no_proof() {
    let file = format!("{BLOCKS}\nfn four() {{\n    another_call();\n    leave();\n}}\n");
    let new = "fn one() {\n    // ... existing code ...\n}\n\nfn five() {\n    inserted_call();\n}\n";
    refuse(&file, new, &[extent(0..4, 0..3)]);
}

#[test]
fn few_lines_between_lines_that_occur_once_may_go() {
    let file = "use core::ops::Range;\nuse std::map::HashMap;\n\nfn first_call() {\n    leave();\n}\n\nfn last() {}\n";
    let new = "use core::ops::Range;\n\nfn first_call() {\n// ... existing code ...\n";
    assert_eq!(edit(file, new, &[]), file.replace("use std::map::HashMap;\n", ""));
}

#[test]
fn line_beside_a_gap_that_the_text_shows_is_not_replaced() {
    let file = "# Book\n\n## One\n\n```\nrun one\n```\n\n## Two\n\n```\nrun two\n```\n";
    let new = file.replace("## Two", "## Added\n\nSome text.\n\n<!-- ... existing sections ... -->\n\n## Two");
    assert_eq!(edit(file, &new, &[]), file.replace("## Two", "## Added\n\nSome text.\n\n## Two"));
}

#[test]
fn fence_that_nothing_closes_hides_no_placeholder() {
    let file = "\"\"\"\nTitle here\n~~~~~~~~~~\n\"\"\"\n\nfirst_call()\nsecond_call()\nthird_call()\n";
    let new = "\"\"\"\nTitle here\n~~~~~~~~~~\n\"\"\"\n\n# ... existing code ...\nsecond_call(1)\nthird_call()\n";
    assert!(is_elided(new) && is_elided(&new.replace("~~~~~~~~~~", "```")));
    assert!(!is_elided("~~~\n# ... existing code ...\n~~~\n"));
    refuse(file, new, &[]);
}

#[test]
fn symbol_whose_end_a_placeholder_hides_is_none() {
    let file = "mod a {\n    fn one() {\n        first_call();\n        second_call();\n    }\n\n    fn two() {\n        if ready {\n            \
                go();\n        }\n    }\n}\n";
    let new = "    // ... existing code ...\n    fn one() {\n        first_call(1);\n        second_call();\n    // ... existing code ...\n        }\n    }\n}\n";
    // By its braces, `one` would end on the last but one line.
    assert_eq!(edit(file, new, &[extent(1..5, 1..7)]), file.replace("first_call()", "first_call(1)"));
}

#[test]
fn lines_that_are_all_at_both_ends_do_not_prove_a_deletion() {
    let file = "a1\nb2\nkept 1\na1\nb2\nend\n";
    refuse(file, "# ...\na1\nb2\n# ...\nend\n", &[extent(0..5, 1..3)]);
}

const METHODS: &str = "class A:\n    def one(self):\n        x = 1\n        y = 2\n        return x\n\n    def two(self):\n        \"\"\"Text.\n\nMore.\n        \"\"\"\n        x = 1\n        z = 3\n        return z\n";

#[test]
fn whole_definition_is_found_by_its_first_and_last_line() {
    // The name occurs twice in the file, so no symbol determines the place.
    let new = "    def two(self):\n        # ... existing code ...\n        x = 1\n        z = 4\n        return z\n";
    assert_eq!(edit(METHODS, new, &[]), METHODS.replace("z = 3", "z = 4"));
    // The last line is different; the first line occurs twice.
    refuse(METHODS, &new.replace("return z", "return x"), &[]);
    refuse(&METHODS.replace("def one", "def two"), new, &[]);
    // A symbol of the same name at another depth is another one.
    let file = format!("{METHODS}\ntwo = A().two\n");
    assert_eq!(edit(&file, new, &[extent(15..16, 0..5)]), file.replace("z = 3", "z = 4"));
}

#[test]
fn other_indentation_is_converted_if_the_lines_show_it() {
    let new = "def two(self):\n    # ... existing code ...\n    x = 1\n    z = 4\n    return z\n";
    let placed = expand(METHODS, new, &[]).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!((applied(METHODS, &placed.ops), placed.reindented), (METHODS.replace("z = 3", "z = 4"), true));
    let narrow = new.replace("    ", "  ");
    assert_eq!(edit(METHODS, &narrow, &[]), METHODS.replace("z = 3", "z = 4"));
    // The rule would indent lines of the file differently; a string has lines with an indentation of their own.
    refuse(METHODS, &new.replace("    x = 1", "        x = 1"), &[]);
    refuse(METHODS, &new.replace("z = 4", "z = \"\"\"\nfour\"\"\""), &[]);
    // The symbol is known, but the lines around the placeholder are not.
    let why =
        refuse(METHODS, "def two(self):\n    # ...\n    w = 1\n    # ...\n    return 5\n", &[extent(6..14, 0..5)]);
    assert!(why.contains("another indentation"), "{why}");
}

#[test]
fn fragments_that_fit_too_often_are_refused() {
    // 500 × 4 places of each fragment.
    let old = "a\nb\n".repeat(40) + &"z\n".repeat(3_000);
    let text = "a\nx\na\n# ... existing code ...\n".repeat(1_500);
    assert!(refuse(&old, &text, &[]).contains("occur too often"));
    // Each line has one place, in any number of fragments.
    let old: String = (0..3_000).fold(String::new(), |text, nth| format!("{text}line {nth}\n"));
    let text: String = old.lines().step_by(3).map(|line| format!("{line}\n# ... existing code ...\n")).collect();
    assert_eq!(edit(&old, &text, &[]), old);
}

#[test]
fn line_that_closes_a_hidden_block_does_not_close_the_symbol_above() {
    let file = "struct Fault {\n    what: Name,\n    next: Name,\n}\n\nstatic ONE: Form = Form {\n    read: first,\n};\n\n\
                static TWO: Form = Form {\n    read: second,\n};\n\nimpl Form {\n    fn of() {}\n}\n";
    let new = "struct Fault {\n    what: Text,\n    // ... existing code ...\n};\n\nimpl Form {\n    fn off() {}\n}\n";
    let symbols = [extent(0..4, 0..4), extent(13..16, 5..8)];
    assert!(refuse(file, new, &symbols).contains("several places"));
    let new = new.replace("};\n", "}\n// ... existing code ...\n");
    let want = file.replace("what: Name", "what: Text").replace("of()", "off()");
    assert_eq!(edit(file, &new, &[extent(0..4, 0..4), extent(13..16, 6..9)]), want);
}

#[test]
fn definition_of_which_all_lines_are_shown_ends_before_a_placeholder() {
    let file = "class Box:\n    size = 1\n\n    def open(self):\n        self.lid = 1\n\n    def shut(self):\n        self.lid = 0\n";
    let new = "class Box:\n    # ...\n\n    def open(self):\n        self.lid = 1\n        self.log(1)\n\n    # ...\n";
    let extents = [extent(0..8, 0..6), extent(3..5, 3..6)];
    assert_eq!(edit(file, new, &extents), file.replace("lid = 1\n", "lid = 1\n        self.log(1)\n"));
    let longer = file.replace("lid = 1\n", "lid = 1\n        go()\n");
    refuse(&longer, new, &[extent(0..9, 0..6), extent(3..6, 3..6)]);
}

#[test]
fn text_may_begin_in_the_file_and_end_with_a_placeholder_in_its_definition() {
    let file = "import os\n\nclass Box:\n    size = 1\n\n    def open(self):\n        self.lid = 1\n";
    let new = "class Box:\n    size = 2\n\n    # ... existing methods ...\n";
    assert_eq!(edit(file, new, &[extent(2..7, 0..2)]), file.replace("size = 1", "size = 2"));
}

#[test]
fn kept_code_is_not_put_into_a_new_block() {
    let file = "def f(a):\n    start()\n    one()\n    return a\n";
    let why = refuse(file, "def f(a):\n    with lock:\n        # ... existing code ...\n    return a\n", &[]);
    assert!(why.contains("deeper than line 2"), "{why}");
    let why = refuse(
        "import os\n\n\ndef f(a):\n    return a\n",
        "import os\n\n\nclass X:\n    # ... existing code ...\n",
        &[],
    );
    assert!(why.contains("deeper than line 4"), "{why}");
}

#[test]
fn placeholder_in_a_new_definition_stands_for_no_code_below_it() {
    let file = "class Test:\n    def first(self):\n        mock = Mock()\n\n        run(mock)\n\n    def second(self):\n        mock = Mock()\n\n        stop(mock)\n";
    let extents = [extent(0..10, 1..6)];
    let new = "# ...\nclass Test:\n    def begin(self):\n        mock = Mock()\n\n        # ...\n";
    let why = refuse(file, new, &extents);
    assert!(why.contains("line 2 of the file"), "{why}");
    let new = "# ...\nclass Test:\n    def begin(self):\n        mock = Mock()\n\n    # ...\n";
    let want = file.replace("Test:\n", "Test:\n    def begin(self):\n        mock = Mock()\n\n");
    assert_eq!(edit(file, new, &extents), want);
}
