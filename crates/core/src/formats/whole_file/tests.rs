use super::WholeFile;
use crate::code::Code;
use crate::error::Result;
use crate::formats::detect::{detect_format, parse_any};
use crate::formats::line_parser::{ParseOptions, StreamEvent, parse_text};
use crate::formats::{Format, FormatInput};
use crate::locate::fence_name::FenceName;
use crate::locate::op::{FileAction, FileRequest};
use proptest::prelude::*;

fn files(text: &str) -> Result<Vec<(String, String)>> {
    let request = WholeFile.parse(FormatInput::Text(text.to_owned()))?;
    let file = |file: crate::locate::op::FileRequest| match file.action {
        FileAction::Write(text) => (file.path, text),
        other => panic!("{other:?}"),
    };
    Ok(request.files.into_iter().map(file).collect())
}

fn one(text: &str) -> String {
    let mut files = files(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!((files.len(), files[0].0.as_str()), (1, "src/a.rs"), "{text}");
    files.remove(0).1
}

fn fails(text: &str, part: &str) {
    let error = files(text).unwrap_err();
    assert_eq!(error.code(), Code::EditUnparsable);
    assert!(error.message().contains(part), "{text}: {error}");
}

#[test]
fn indentation_of_a_fence_is_removed_from_its_text() {
    assert_eq!(one("- src/a.rs\n\n  ```rust\n  fn a() {\n      b();\n\n  }\n  ```\n"), "fn a() {\n    b();\n\n}\n");
    assert_eq!(one("* src/a.rs\n\n   ```\n   a\n   ```\n"), "a\n");
    assert_eq!(one("- src/a.rs\n  ```\na\n  b\n  ```\n"), "a\n  b\n");
    assert_eq!(one("src/a.rs\n\t```\n\ta\n\t\tb\n\t```\n"), "a\n\tb\n");
    assert_eq!(one("src/a.rs\n  ```\n\ta\n  ```\n"), "\ta\n");
}

#[test]
fn path_in_another_attribute_is_not_the_name() {
    let text = "<dyad-write description='like path=\"b.rs\"' path=\"a.rs\">\nx\n</dyad-write>\n";
    assert_eq!(files(text).unwrap()[0].0, "a.rs");
}

#[test]
fn every_spelling_is_parsed() {
    for text in [
        "src/a.rs\n```rust\nold\nnew\n```\n",
        "Here it is:\n\n**src/a.rs**\n\n```\nold\nnew\n```\n\nThat is all.\n",
        "### `src/a.rs`:\n~~~~\nold\nnew\n~~~~\n",
        "File: src/a.rs\r\n```\r\nold\r\nnew\r\n```\r\n",
        "```rust:src/a.rs\nold\nnew\n```",
        "```rust title=\"src/a.rs\"\nold\nnew\n```",
        "<write_to_file>\n<path>src/a.rs</path>\n<content>\nold\nnew\n</content>\n<line_count>2</line_count>\n</write_to_file>\n",
        "<write_to_file><path>src/a.rs</path><content>old\nnew\n</content></write_to_file>",
        "<write_to_file>\n<path>src/a.rs</path>\n<content>\nold\nnew\n</content>\n",
        "<file path=\"src/a.rs\">\nold\nnew\n</file>\n",
        "<create_file path=\"src/a.rs\">\nold\nnew\n</create_file>\n",
        "<boltArtifact id=\"a\">\n<boltAction type=\"file\" filePath=\"src/a.rs\">\nold\nnew\n</boltAction>\n</boltArtifact>",
        "<lov-write file_path=\"src/a.rs\">\nold\nnew\n</lov-write>",
        "<dyad-write path=\"src/a.rs\" description=\"why\">\nold\nnew\n</dyad-write>",
        "- src/a.rs:\n<PlandexBlock lang=\"rust\" path=\"src/a.rs\">\nold\nnew\n</PlandexBlock>\n",
        "```rust project=\"app\" file=\"src/a.rs\" type=\"code\"\nold\nnew\n```",
        "#### src/a.rs:\n\n```rust\nold\nnew\n```\n",
        "File: `src/a.rs`\n\n```\nold\nnew\n```\n",
        "src/a.rs\n<source>rust\nold\nnew\n</source>\n",
        "**src/a.rs**\n<code>\nold\nnew\n</code>\nDone.\n",
        "src/a.rs\n```\nold\nnew\n```\nRun it:\n```sh\ncargo run\n```\n",
    ] {
        assert_eq!(one(text), "old\nnew\n", "{text}");
        assert_eq!(detect_format(text).map(|format| format.spec().name).ok(), Some("whole_file"), "{text}");
    }
    assert_eq!(one("<file name='src/a.rs'>old</file>"), "old");
    assert_eq!(one("src/a.rs\n```\n```\n"), "");
}

#[test]
fn inner_fences_and_tags_are_text() {
    assert_eq!(one("src/a.rs\n````\na\n```\nb\n```\n````\n"), "a\n```\nb\n```\n");
    assert_eq!(one("src/a.rs\n```\na\n~~~sh\nb\n~~~\n```\n"), "a\n~~~sh\nb\n~~~\n");
    assert_eq!(one("src/a.rs\n```\na\n    ```sh\n    b\n    ```\n```\n"), "a\n    ```sh\n    b\n    ```\n");
    let inside = "<write_to_file>\n<path>src/a.rs</path>\n<content>\n<a>\n</content>\n\n</a> </content>\nb\n</content>\n\n</write_to_file>\n";
    assert_eq!(one(inside), "<a>\n</content>\n\n</a> </content>\nb\n");
    fails("src/a.md\n```\na\n```sh\nb\n```\nc\n```\n", "as long as");
    fails("a.md\n```\na\n\n```\n\nb\n```\nc\n```\n", "may belong");
    fails("a.rs\n```\na\n```\nb\n```\nc\n```\n", "may belong");
    fails("<file path=\"a.xml\">\n<x>\n</file>\n</x>\n</file>\n", "already closed");
}

#[test]
fn several_files_are_parsed() {
    let text = "a.rs\n```\na\n```\nb.rs\n```\nb\n```\nRun:\n```\nc\n```\n";
    let found = files(text).unwrap_err();
    assert!(found.message().contains("may belong to the text of b.rs"), "{found}");
    let text = "a.rs\n```\na\n```\nb.rs\n```\nb\n```\n\nRun:\n\n```\nc\n```\n";
    let request = WholeFile.parse(FormatInput::Text(text.to_owned())).unwrap();
    assert_eq!((request.files.len(), request.notes.len()), (2, 1));
    assert_eq!(WholeFile.detected_ranges(text), [1..4, 5..8]);
    fails("a.rs\n```\na\n```\na.rs\n```\nb\n```\n", "second time");
}

#[test]
fn fence_directly_below_another_is_unclear() {
    for inside in ["src/b.rs\n", "src/b.rs\n\n", ""] {
        let text = format!("src/a.rs\n```rust\na\n```\n{inside}```\nb\n```\n");
        fails(&text, "may belong to the text of src/a.rs");
    }
    for between in ["\nsrc/b.rs\n```\n", "src/b.rs\n```rust\n", "src/b.rs\n~~~\n"] {
        let text =
            format!("src/a.rs\n```rust\na\n```\n{between}b\n{}\n", if between.contains('~') { "~~~" } else { "```" });
        assert_eq!(files(&text).map(|files| files.len()), Ok(2), "{text}");
    }
}

#[test]
fn ambiguous_files_are_refused() {
    fails("src/a.rs\n```\nold\n", "cut off");
    fails("Update src/a.rs like this:\n```\nold\n```\n", "no fence with a file name");
    // The info string is the name of a language, or of a file that exists.
    let request = WholeFile.parse(FormatInput::Text("```asp.net\nold\n```\n".to_owned())).unwrap();
    assert!(request.files[0].must_exist && WholeFile.detected_ranges("```asp.net\nold\n```\n").is_empty());
    fails("only prose", "no fence");
    fails("src/a.rs\n\n\n```\nold\n```\n", "no fence with a file name");
    fails("src/a.rs\n<source>\nold\n", "cut off");
    fails("src/a.rs\n<source>\n<source>\nold\n</source>\n", "the tag that is around it");
    fails("src/a.rs\n```\n<<<<<<< SEARCH\n", "contains an edit");
    fails("src/a.rs\n```diff\n-a\n```\n", "contains an edit");
    fails("<write_to_file>\n<content>\n", "needs <path>");
    assert!(WholeFile.parse(FormatInput::Json(serde_json::json!({}))).is_err());
    let block = "src/a.rs\n```\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n```\n";
    assert_eq!(detect_format(block).unwrap_or_else(|error| panic!("{error}")).spec().name, "search_replace");
    let page = format!("page.md\n````\nHow to edit:\n{block}````\n");
    assert_eq!(detect_format(&page).unwrap_or_else(|error| panic!("{error}")).spec().name, "whole_file");
    let about = format!("page.md\n<<<<<<< SEARCH\nx\n=======\n{}>>>>>>> REPLACE\n", "b.rs\n```\nnew\n```\n");
    assert_eq!(detect_format(&about).unwrap_or_else(|error| panic!("{error}")).spec().name, "search_replace");
}

#[test]
fn file_name_may_be_given_separately() {
    let with = |file: Option<&str>, reverse| ParseOptions {
        file: file.map(str::to_owned),
        reverse,
        strip: Some(1),
        ..ParseOptions::default()
    };
    let read = |text: &str, options: &ParseOptions| parse_text(WholeFile.line_parser(options).unwrap(), text);
    let request = read("It is:\n```\nold\n```\n", &with(Some("/a.rs"), false)).unwrap();
    assert_eq!((&*request.files[0].path, &request.files[0].action), ("/a.rs", &FileAction::Write("old\n".into())));
    assert!(read("```\nold\n```\n```\nnew\n```\n", &with(Some("/a.rs"), false)).is_err());
    assert!(read("a/b.rs\n```\nold\n```\n", &with(None, true)).is_err());
    assert_eq!(read("a/b.rs\n```\nold\n```\n", &with(None, false)).unwrap().files[0].path, "b.rs");
}

fn apply_to(file: Option<&str>, text: &str) -> Result<FileRequest> {
    let options = ParseOptions { file: file.map(str::to_owned), ..ParseOptions::default() };
    let mut request = parse_any(text, None, &options)?.request;
    assert_eq!(request.files.len(), 1, "{text}");
    Ok(request.files.remove(0))
}

#[test]
fn comment_at_the_beginning_of_a_fence_names_the_file() {
    for (line, path, must_exist) in [
        ("# shop.rb", "shop.rb", true),
        ("// src/a.ts", "src/a.ts", false),
        ("<!-- index.html -->", "index.html", true),
        ("# path: a.py", "a.py", false),
        ("File: a.py", "a.py", false),
    ] {
        for text in [format!("```x\n{line}\nnew\n```\n"), format!("Here it is:\n\n```x\n{line}\nnew\n```\nDone.\n")] {
            let file = apply_to(None, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((&*file.path, file.must_exist), (path, must_exist), "{text}");
            assert_eq!(file.fence, Some(FenceName::Comment(line.to_owned())), "{text}");
        }
    }
    let file = apply_to(None, "```php\n<?php\n// src/a.php\nnew();\n```\n").unwrap();
    assert_eq!((&*file.path, file.fence), ("src/a.php", Some(FenceName::Comment("// src/a.php".to_owned()))));
    // Another format is in the text, or an edit is in the fence.
    let block = "b.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n";
    assert_eq!(apply_to(None, &format!("{block}\nUse it:\n```js\n// src/a.js\nrun();\n```\n")).unwrap().path, "b.rs");
    assert!(apply_to(None, "```py\n# src/a.py\nSEARCH:\nx\nREPLACE:\ny\n```\n").is_err());
    assert!(apply_to(None, "```py\nprint(1)\n# src/a.py\n```\n").is_err());
    let repeated = apply_to(None, "src/a.js\n```js\n// src/a.js\nnew();\n```\n").unwrap();
    assert_eq!(repeated.fence, Some(FenceName::Repeated("// src/a.js".to_owned())));
}

#[test]
fn fence_without_a_name_is_the_file_of_the_call() {
    let fence = "It is:\n```rb\nnew\n```\nDone.\n";
    let file = apply_to(Some("/p/shop.rb"), fence).unwrap();
    assert_eq!((&*file.path, file.fence), ("/p/shop.rb", Some(FenceName::Call)));
    let file = apply_to(Some("/p/shop.rb"), "```rb\n# shop.rb\nnew\n```\n").unwrap();
    assert_eq!((&*file.path, file.fence), ("/p/shop.rb", Some(FenceName::Comment("# shop.rb".to_owned()))));
    let file = apply_to(Some("/p/shop.rb"), "```rb\n# cart.rb\nnew\n```\n").unwrap();
    assert_eq!(file.fence, Some(FenceName::Contradicted("# cart.rb".to_owned())));
    for text in [
        format!("{fence}{fence}"),
        "```md\na\n```sh\nb\n```\nc\n".to_owned(),
        "```rb\nnew\n".to_owned(),
        "```diff\n-a\n+b\n```\n".to_owned(),
    ] {
        assert!(apply_to(Some("/p/shop.rb"), &text).is_err(), "{text}");
    }
    // The comments name several files; that of the call has the fence with its name.
    let several = "```rb\n# shop.rb\nnew\n```\n\nRun it:\n\n```sh\nruby shop.rb\n```\n";
    assert_eq!(apply_to(Some("/p/shop.rb"), several).unwrap().path, "/p/shop.rb");
}

#[test]
fn line_above_a_fence_that_is_the_path_of_the_call_is_its_name() {
    for (path, line) in [
        ("my file.c", "my file.c"),
        ("my dir/notes", "my dir/notes"),
        ("/p/my file.c", "my file.c"),
        ("notes", "notes"),
    ] {
        let file = apply_to(Some(path), &format!("{line}\n```\nnew\n```\n")).unwrap();
        assert_eq!((&*file.path, file.fence), (path, None), "{line}");
    }
    let file = apply_to(Some("/p/notes"), "notes\n```\nnew\n```\n").unwrap();
    assert_eq!(file.fence, Some(FenceName::Call), "a word may be the end of a path by chance");
    let file = apply_to(Some("my file.c"), "your file.c\n```\nnew\n```\n").unwrap();
    assert_eq!(file.fence, Some(FenceName::Contradicted("your file.c".to_owned())));
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "(a\\.rs|```|````|rust|<write_to_file>|<path>a</path>|<content>|</content>|</write_to_file>|<file path=\"b\">|</file>|x|é| |\r?\n){0,40}") {
        let (mut machine, mut events) = (WholeFile.line_parser(&ParseOptions::default()).unwrap(), Vec::new());
        text.lines().for_each(|line| machine.line(line, &mut events));
        if let Ok(request) = machine.finish(false, &mut events) {
            let mut told: Vec<String> = Vec::new();
            for event in &events {
                match event {
                    StreamEvent::File { .. } => told.push(String::new()),
                    StreamEvent::Line { text, .. } => told.last_mut().unwrap().extend([text, "\n"]),
                    _ => {}
                }
            }
            for (file, told) in request.files.iter().zip(&told) {
                let FileAction::Write(text) = &file.action else { panic!() };
                prop_assert_eq!(text.trim_end_matches('\n'), told.trim_end_matches('\n'));
            }
        }
        let claims = WholeFile.detected_ranges(&text);
        prop_assert!(claims.windows(2).all(|pair| pair[0].end <= pair[1].start));
    }

    #[test]
    fn printed_files_are_parsed(text in "([a-z<>`é ]{0,6}\n){0,6}") {
        let run = 3 + text.split(|ch| ch != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(run);
        let reply = format!("src/a.rs\n{fence}rust\n{text}{fence}\n");
        prop_assert_eq!(one(&reply), text);
    }
}
