use super::{BlockList, BlockReader, SearchReplace, SearchReplaceBlock};
use crate::code::Code;
use crate::error::Result;
use crate::formats::line_parser::{ParseOptions, StreamEvent};
use crate::formats::{Format, FormatInput, testing};
use crate::locate::op::{FileAction, HunkLineKind, OpOrder, Request, ResolveSettings};
use crate::locate::resolve::resolve;
use crate::text::snapshot::Snapshot;
use proptest::prelude::*;

fn read(text: &str) -> Result<BlockList> {
    parsed(text, &ParseOptions::default()).1
}

fn parsed(text: &str, options: &ParseOptions) -> (Vec<StreamEvent>, Result<BlockList>) {
    let (mut reader, mut events) = (BlockReader::new(options), Vec::new());
    text.lines().for_each(|line| reader.line(line, &mut events));
    let blocks = reader.end(&mut events);
    (events, blocks)
}

fn one(text: &str) -> SearchReplaceBlock {
    let mut blocks = read(text).unwrap_or_else(|error| panic!("{error}")).list;
    assert_eq!(blocks.len(), 1, "{text}");
    blocks.remove(0)
}

fn fails(text: &str) -> String {
    let error = read(text).unwrap_err();
    assert_eq!(error.code(), Code::EditUnparsable);
    error.message().to_owned()
}

fn parse(text: &str) -> Request {
    testing::parse(&SearchReplace, text)
}

fn apply(file: &str, text: &str) -> std::result::Result<String, String> {
    let base = Snapshot::from_text(file);
    let FileAction::Edit { ops, order } = &parse(text).files[0].action else { panic!() };
    let done = resolve(&base, ops, *order, ResolveSettings::default()).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(done.changes.apply(&base)).unwrap())
}

#[test]
fn second_closing_marker_is_refused_in_any_spelling() {
    for [open, close] in [["SEARCH", "REPLACE"], ["ORIGINAL", "UPDATED"]] {
        let block = format!("f\n<<<<<<< {open}\na\n=======\nb\n>>>>>>> {close}\n");
        for second in [">>>>>>> UPDATED", ">>>>>>> main", ">>>>>>>", "  >>>>>>> REPLACE", "**>>>>>>> REPLACE**"] {
            let text = format!("{block}c\n{second}\n");
            let error = SearchReplace.parse(FormatInput::Text(text.clone())).unwrap_err().to_string();
            assert!(error.starts_with("Line 8") || error.contains("looks like a marker"), "{text}: {error}");
        }
        for prose in ["The block ends with `>>>>>>> UPDATED`.\n", ">>> print(1)\n", "> > quoted\n"] {
            assert!(SearchReplace.parse(FormatInput::Text(format!("{block}{prose}"))).is_ok(), "{prose}");
        }
    }
}

#[test]
fn every_spelling_is_parsed() {
    let spellings = [
        "a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n",
        "a.rs\n<<<<< SEARCH\nold\n=====\nnew\n>>>>> REPLACE",
        "a.rs\n<<<<<<<<< SEARCH>\nold\n=========\nnew\n>>>>>>>>> REPLACE  \n",
        "a.rs\n------- SEARCH\nold\n=======\nnew\n+++++++ REPLACE\n",
        "a.rs\n--- SEARCH\nold\n===\nnew\n+++ REPLACE\n",
        "a.rs\n------- SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n",
        "a.rs\n```rust\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n```\n",
        "````rust\na.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n````\n",
        "Sure! I will change this.\n\n**a.rs**\n\n~~~~~\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n~~~~~\nDone.",
        "<source>\na.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n</source>\n",
        "a.rs\r\n<<<<<<< SEARCH\r\nold\r\n=======\r\nnew\r\n>>>>>>> REPLACE\r\n",
        // The block is ended only by the fence, or by a misspelled marker.
        "a.rs\n```\n<<<<<<< SEARCH\nold\n=======\nnew\n```\n\n",
        "a.rs\n```\n<<<<<<< SEARCH\nold\n=======\nnew\n```\nDone.\n",
        "a.rs\n<source>rust\n<<<<<<< SEARCH\nold\n=======\nnew\n</source>\nDone.\n",
        "a.rs\n<code>\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n</code>\n",
        "a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>> REPLACE\nProse.\n",
        "a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>>> REPLACE\n",
        "a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n  >>>>>>> REPLACE\n",
        "a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE</diff>\n",
        "a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> UPDATED\n",
        "a.rs\n<<<<<<< SEARCH\nold\n=======\nnew>>>>>>> REPLACE\n",
        "a.rs\n<<<<<<< SEARCH\nold\n=====\nnew\n>>>>>>> REPLACE\n",
        "a.rs\n<<<<<<< SEARCH\nold\n======\nnew\n>>>>>>>> REPLACE\n",
        "a.rs\n<<<<<<< SEARCH\nold\n=======\n:start_line:3\n-------\nnew\n>>>>>>> REPLACE\n",
    ];
    for text in spellings {
        let block = one(text);
        assert_eq!((&*block.path, &*block.search, &*block.replace), ("a.rs", "old\n", "new\n"), "{text}");
        assert!(block.lines && !SearchReplace.detected_ranges(text).is_empty());
    }
}

#[test]
fn line_hints_and_tags_are_parsed() {
    let roo = "a.rs\n<<<<<<< SEARCH\n:start_line:12\n:end_line:14\n-------\nold\n=======\nnew\n>>>>>>> REPLACE\n";
    let block = one(roo);
    assert_eq!((block.hint, &*block.search, block.at), (Some(12), "old\n", 2));
    assert_eq!(one("a.rs\n<<<<<<< SEARCH line=7\nold\n=======\n>>>>>>> REPLACE").hint, Some(7));
    for text in [
        "a.rs\n<old_text line=3>\nold\n</old_text>\n<new_text>\nnew\n</new_text>\n",
        "a.rs\n<old_text line=\"3\">old</old_text><new_text>new</new_text>",
        "a.rs\n<old_text line=3>\nold\n</new_text>\n\n<new_text>\nnew\n</old_text>\n",
    ] {
        let block = one(text);
        assert_eq!(
            (&*block.search, &*block.replace, block.hint, block.lines),
            ("old", "new", Some(3), false),
            "{text}"
        );
    }
    assert!(fails("a.rs\n<old_text>\nold\n").contains("not closed"));
    assert!(fails("a.rs\n<old_text>\nold\n</old_text>\nx\n").contains("<new_text> is expected"));
}

#[test]
fn several_blocks_and_files_are_parsed() {
    let text = "one.rs\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n\nAnd again:\n<<<<<<< SEARCH\nc\n=======\nd\n>>>>>>> REPLACE\n\
                ```bash\ncargo test\n```\ntwo.rs\n```\n<<<<<<< SEARCH\n=======\nnew file\n>>>>>>> REPLACE\n```\none.rs\n<<<<<<< SEARCH\ne\n=======\n>>>>>>> REPLACE\n";
    let read = read(text).unwrap();
    let paths: Vec<&str> = read.list.iter().map(|block| &*block.path).collect();
    assert_eq!(paths, ["one.rs", "one.rs", "two.rs", "one.rs"]);
    assert!(parse(text).notes.iter().any(|note| note.to_string().contains("not run")));
    let request = parse(text);
    let counts: Vec<(&str, usize)> = request
        .files
        .iter()
        .map(|file| match &file.action {
            FileAction::Edit { ops, order: OpOrder::AsNeeded } => (&*file.path, ops.len()),
            _ => panic!(),
        })
        .collect();
    assert_eq!(counts, [("one.rs", 3), ("two.rs", 1)]);
}

#[test]
fn ambiguous_markers_in_the_text_are_refused() {
    let conflict = "x\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> br\ny\n";
    let longer =
        "f\n<<<<<<<<< SEARCH\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> br\n=========\nours\n>>>>>>>>> REPLACE\n";
    assert_eq!(apply(conflict, &format!("f.txt\n{}", &longer[2..])).unwrap(), "x\nours\ny\n");
    let escaped = "f.txt\n<<<<<<< SEARCH\n\\<<<<<<< HEAD\nours\n\\=======\ntheirs\n\\>>>>>>> br\n=======\nours\n>>>>>>> REPLACE\n";
    assert_eq!(apply(conflict, escaped).unwrap(), "x\nours\ny\n");
    let plain =
        "f.txt\n<<<<<<< SEARCH\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> br\n=======\nours\n>>>>>>> REPLACE\n";
    assert!(fails(plain).starts_with("Line 8 of the request") && fails(plain).contains("second"));
}

#[test]
fn ambiguous_blocks_are_refused() {
    let cases = [
        ("a.rs\n<<<<<<< SEARCH\nold\n", "Line 2 of the request: the block is not closed"),
        ("a.rs\n<<<<<<< SEARCH\nold\n>>>>>>> REPLACE\n", "no ======= follows"),
        ("a.rs\n<<<<<<< SEARCH\nold\n=====\nnew\n===\n>>>>>>> REPLACE\n", "lines 4 and 6"),
        ("a.rs\n<<<<<<< SEARCH\nold\n=======\nresult = compu", "cut off"),
        ("a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>", "cut off"),
        ("a.rs\n```\n<<<<<<< SEARCH\nold\n=======\nnew\n```\nx\n```\n", "cut off"),
        ("a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>> REPLACE\nx\n>>>>>>> REPLACE\n", "looks like a marker"),
        ("a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n  <<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n", "looks like a marker"),
        ("a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> main\n>>>>>>> REPLACE\n", "looks like a marker"),
        ("a.rs\n<<<<<<< SEARCH\nold\n======\nnew\n", "has 6 signs"),
        ("a.rs\n<<<<<<< SEARCH\nold\n<<<<<<< SEARCH\n", "opening marker of the same length"),
        ("a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n<<<<<<< SEARCH\nx\n", "Line 6 of the request: a block begins"),
        ("<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n", "no file name"),
        ("a.rs\n>>>>>>> REPLACE\n", "none is open"),
        ("a.rs\n<< SEARCH\nold\n", "not a marker"),
    ];
    for (text, part) in cases {
        assert!(fails(text).contains(part), "{text}: {}", fails(text));
    }
    let same = SearchReplace.parse(FormatInput::Text("a.rs\n<<<<<<< SEARCH\na\n=======\na\n>>>>>>> REPLACE\n".into()));
    assert_eq!(same.unwrap_err().code(), Code::EditNoChange);
    assert!(SearchReplace.parse(FormatInput::Text("only prose".into())).is_err());
    assert!(SearchReplace.parse(FormatInput::Json(serde_json::json!({}))).is_err());
}

#[test]
fn nearly_closed_block_before_another_is_refused() {
    let text = "a.rs\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>> REPLACE\n\nAnd then:\n\nb.rs\n<<<<<<< SEARCH\nc\n=======\nd\n>>>>>>> REPLACE\n";
    let fenced = "a.rs\n```\n<<<<<<< SEARCH\na\n=======\nb\n```\n\nb.rs\n```\n<<<<<<< SEARCH\nc\n=======\nd\n>>>>>>> REPLACE\n```\n";
    for text in [text, fenced] {
        let blocks = read(text).unwrap_or_else(|error| panic!("{text}: {error}")).list;
        let parts: Vec<_> = blocks.iter().map(|it| (&*it.path, &*it.search, &*it.replace)).collect();
        assert_eq!(parts, [("a.rs", "a\n", "b\n"), ("b.rs", "c\n", "d\n")], "{text}");
        assert_eq!(parse(text).notes.len(), 1, "{text}");
    }
    let idle = "a.rs\n<<<<<<< SEARCH\na\n=======\na\n>>>>>>> REPLACE\n<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE\n";
    let request = parse(idle);
    assert!(
        matches!(&request.files[0].action, FileAction::Edit { ops, .. } if ops.len() == 1) && request.notes.len() == 1
    );
    let doubled = one("a.rs\n<<<<<<< SEARCH\na\n=======\n=======\n>>>>>>> REPLACE\n");
    assert_eq!((&*doubled.search, &*doubled.replace), ("a\n", ""));
}

#[test]
fn truncated_closing_marker_is_never_written() {
    let whole = "```\na.rs\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n";
    assert_eq!(one(whole).replace, "b\n");
    for part in [">>>", ">>>>>>>", ">>>>>>> REP", "  >>>>> REPLAC", ">>>>>>> UPD"] {
        assert_eq!(one(&whole.replace(">>>>>>> REPLACE", part)).replace, "b\n", "{part}");
        // A deletion has to be explicit.
        assert!(fails(&whole.replace("b\n>>>>>>> REPLACE", part)).contains("not closed"), "{part}");
    }
    assert!(fails(&whole.replace("b\n>>>>>>> REPLACE\n", "")).contains("not closed"));
    assert_eq!(one(&whole.replace(">>>>>>> REPLACE", ">> REP")).replace, "b\n>> REP\n");
    assert_eq!(one("a.rs\n<<<<<<< SEARCH\na\n=======\nb >>>>>>> REPLACE\n").replace, "b\n");
}

#[test]
fn lone_word_is_a_name_if_nothing_else_is() {
    let block = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n";
    assert_eq!(one(&format!("run\n```\n{block}```\n")).path, "run");
    assert_eq!(parse(&format!("a.rs\n{block}Then\n{}", block.replace("new", "x"))).files.len(), 1);
    assert!(fails(&format!("The change\n{block}")).contains("no file name"));
    assert!(fails("run\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n").contains("`run` above it may be a word"));
}

#[test]
fn unambiguous_markers_in_the_text_are_kept() {
    // The markers are balanced, are in the search part as well, or are in a block with longer markers.
    for (run, new) in [
        (7, "x = (\n    <<<<<<< SEARCH\n    a\n    =======\n    b\n    >>>>>>> REPLACE\n)\n"),
        (7, "<<<<< SEARCH\na\n=====\nb\n>>>>> REPLACE\n"),
        (9, ">>>>>>> REPLACE\n"),
        (9, "<<<<<<< HEAD\n"),
        (7, ">>> print(1)\n>> REPLACE\n<<EOF\n"),
    ] {
        let signs = |sign: &str| sign.repeat(run);
        let text = format!("a.rs\n{} SEARCH\nold\n{}\n{new}{} REPLACE\n", signs("<"), signs("="), signs(">"));
        assert_eq!(one(&text).replace, new, "{text}");
    }
    let kept = one("a.rs\n<<<<<<< SEARCH\n>>>>>>> main\nx\n=======\n>>>>>>> main\ny\n>>>>>>> REPLACE\n");
    assert_eq!(kept.replace, ">>>>>>> main\ny\n");
}

#[test]
fn blocks_match_whole_lines() {
    let block = |old: &str, new: &str| format!("a.py\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n");
    assert!(apply("max = 1\n", &block("x = 1\n", "x = 2\n")).is_err(), "the tail of a line is not a line");
    assert_eq!(apply("x = 1\nmax = 1\n", &block("x = 1\n", "x = 2\n")).unwrap(), "x = 2\nmax = 1\n");
    assert_eq!(apply("    call_it()\n", &block("call_it()\n", "stop_it()\n")).unwrap(), "    stop_it()\n");
    assert_eq!(apply("f {\n}", &block("}\n", "}\n}\n")).unwrap(), "f {\n}\n}");
    assert_eq!(apply("a\nb\nc\n", &block("b\n", "")).unwrap(), "a\nc\n");
    assert_eq!(apply("a\nb\nc", &block("c\n", "")).unwrap(), "a\nb\n");
    assert_eq!(apply("", &block("", "new\n")).unwrap(), "new\n");
    assert!(apply("\n}\n}\n", &block("}\n", "x\n")).unwrap_err().contains("Found 2 matches"));
}

#[test]
fn line_hints_distinguish_equal_blocks() {
    let block = |line: usize, new: &str| {
        format!("a.rs\n<<<<<<< SEARCH line={line}\nfn same() {{}}\n=======\nfn {new}() {{}}\n>>>>>>> REPLACE\n")
    };
    let file = "fn same() {}\n\n\n\n\n\n\n\nfn same() {}\n";
    let text = block(1, "one") + &block(9, "two");
    assert_eq!(apply(file, &text).unwrap(), "fn one() {}\n\n\n\n\n\n\n\nfn two() {}\n");
}

#[test]
fn every_block_is_reported_and_detected() {
    for text in [
        "a.rs\n```\n<<<<<<< SEARCH\none\ntwo\n=======\nnew\n\n\nlast\n```\n \n",
        "a.rs\n```\n<<<<<<< SEARCH\none\ntwo\n=======\nnew\n\n\nlast\n>>>>>>> REPLACE\n",
        "a.rs\n\n<old_text>\none\ntwo\n</old_text>\n<new_text>\nnew\n\n\nlast\n</new_text>\n",
    ] {
        let (events, blocks) = parsed(text, &ParseOptions::default());
        let lines = |wanted: HunkLineKind| {
            let text = |event: &StreamEvent| match event {
                StreamEvent::Line { kind, text } if *kind == wanted => Some(format!("{text}\n")),
                _ => None,
            };
            events.iter().filter_map(text).collect::<String>()
        };
        let block = &blocks.unwrap_or_else(|error| panic!("{text}: {error}")).list[0];
        assert_eq!(lines(HunkLineKind::Removed).trim_end(), block.search.trim_end(), "{text}");
        assert_eq!(lines(HunkLineKind::Added).trim_end(), block.replace.trim_end(), "{text}");
        assert!(matches!(events[..2], [StreamEvent::File { .. }, StreamEvent::Hunk { line: 3 }]), "{events:?}");
        assert!(matches!(events[events.len() - 2..], [StreamEvent::HunkDone, StreamEvent::FileDone]), "{events:?}");
        assert_eq!(SearchReplace.detected_ranges(text)[0].start, 2);
    }
    let two =
        "a\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n<old_text>a</old_text><new_text>b</new_text>\n<<<<<<< SEARCH\n\n";
    assert_eq!(SearchReplace.detected_ranges(two), [1..4, 4..5, 5..7]);
}

#[test]
fn file_name_may_be_given_separately() {
    let text = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n";
    let options = ParseOptions { file: Some("a.rs".into()), reverse: true, ..ParseOptions::default() };
    let parse = |text: &str, options: &ParseOptions| {
        let machine = SearchReplace.line_parser(options).unwrap();
        crate::formats::line_parser::parse_text(machine, text)
    };
    let request = parse(text, &options).unwrap();
    let FileAction::Edit { ops, .. } = &request.files[0].action else { panic!() };
    assert_eq!((request.files[0].path.as_str(), ops[0].text.as_str()), ("a.rs", "old\n"));
    assert!(parse("<<<<<<< SEARCH\nold\n=======\n>>>>>>> REPLACE\n", &options).is_err());
    let strip = ParseOptions { strip: Some(1), ..ParseOptions::default() };
    assert_eq!(parse(&format!("a/src/b.rs\n{text}"), &strip).unwrap().files[0].path, "src/b.rs");
    // The number comes from a caller, so no loop may count up to it.
    let strip = ParseOptions { strip: Some(usize::MAX), ..ParseOptions::default() };
    assert_eq!(parse(&format!("a/src/b.rs\n{text}"), &strip).unwrap().files[0].path, "b.rs");
}

#[test]
fn large_request_takes_linear_time() {
    let many = "a.rs\n".to_owned() + &"<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n".repeat(20_000);
    assert_eq!(read(&many).unwrap().list.len(), 20_000);
    let long = format!("a.rs\n<<<<<<< SEARCH\n{}=======\n>>>>>>> REPLACE\n", "line\n".repeat(200_000));
    assert_eq!(one(&long).search.len(), 1_000_000);
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "((<{5,8} SEARCH|={5,8}|>{5,8} REPLACE|a\\.rs|```|:start_line:3|<old_text>|</new_text>|<new_text>|\\\\=======|x|é.*|.{0,9})\r?\n?){0,30}") {
        if let Ok(read) = read(&text) {
            prop_assert!(read.list.iter().all(|block| !block.path.is_empty() && block.at > 0));
        }
        let _ = SearchReplace.parse(FormatInput::Text(text));
    }

    #[test]
    fn printed_blocks_are_parsed(old in "([a-z ]{0,8}\n){1,5}", new in "([a-z =<>]{0,3}\n){0,5}", run in 5usize..12) {
        let text = format!("a.rs\n{} SEARCH\n{old}{}\n{new}{} REPLACE\n", "<".repeat(run), "=".repeat(run), ">".repeat(run));
        let block = one(&text);
        prop_assert_eq!((block.search, block.replace), (old, new));
    }
}
