use super::{UnwrappedText, unwrap_text};
use crate::note::Notes;
use proptest::prelude::*;
use serde_json::json;
use std::path::Path;

const BLOCK: &str = "a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n";

fn inner(text: &str) -> UnwrappedText<'_> {
    let peeled = unwrap_text(text);
    assert!(!peeled.notes.is_empty(), "nothing was removed: {text}");
    peeled
}

fn same(text: &str) {
    let peeled = unwrap_text(text);
    assert_eq!((&*peeled.text, peeled.notes), (text, Notes::new()));
}

#[test]
fn json_envelopes_of_every_form_are_removed() {
    let arguments = json!({ "input": BLOCK }).to_string();
    let heredoc = format!("apply_patch <<'EOF'\n{BLOCK}EOF");
    for value in [
        json!(BLOCK),
        json!({ "input": BLOCK }),
        json!({ "patch": BLOCK, "explanation": "because" }),
        json!({ "cmd": ["apply_patch", BLOCK] }),
        json!(["apply_patch", BLOCK]),
        json!(["bash", "-lc", heredoc]),
        json!({ "command": ["/bin/bash", "-lc", heredoc], "timeout_ms": 1000 }),
        json!({ "cmd": heredoc }),
        json!({ "name": "apply_patch", "arguments": arguments }),
        json!({ "name": "apply_patch", "input": BLOCK }),
        json!({ "type": "function", "id": "c1", "function": { "name": "apply_patch", "arguments": arguments } }),
        json!({ "type": "tool_use", "id": "t", "name": "apply", "input": { "input": BLOCK } }),
        json!([{ "type": "tool_use", "name": "apply", "input": { "input": BLOCK } }]),
        json!({ "role": "assistant", "content": null, "tool_calls": [{ "function": { "name": "x", "arguments": { "diff": BLOCK } } }] }),
    ] {
        assert_eq!(inner(&value.to_string()).text, BLOCK, "{value}");
        assert_eq!(inner(&format!("```json\n{value:#}\n```\n")).text, BLOCK);
    }
    let said = json!({ "path": "src/a.rs", "workdir": "/w", "format": "search_replace", "diff": BLOCK }).to_string();
    let said = inner(&said);
    assert_eq!(
        (said.options.file.as_deref(), said.directory.as_deref(), said.format),
        (Some("src/a.rs"), Some("/w"), Some("search_replace"))
    );
}

#[test]
fn unknown_json_stays_unchanged() {
    for value in [
        json!({ "input": BLOCK, "dry_run": true }),
        json!({ "input": BLOCK, "patch": BLOCK }),
        json!({ "input": BLOCK, "format": "poetry" }),
        json!({ "input": 7 }),
        json!({ "file_path": "a", "content": BLOCK }),
        json!({ "file_path": "a", "old_string": "a", "new_string": "b" }),
        json!(["rm", "-rf", "/"]),
        json!(["bash", "-x", BLOCK]),
        json!([{ "input": BLOCK }, { "input": BLOCK }]),
        json!({ "tool_calls": [{ "name": "a", "input": BLOCK }, { "name": "b", "input": BLOCK }] }),
        json!({ "name": "apply_patch" }),
        json!(7),
    ] {
        same(&value.to_string());
    }
    same("{\"input\": \"*** Begin Patch\n*** End Patch\"}");
    same(BLOCK);
    same("");
}

/// Builds an element from parts, so that this file itself is not mistaken for a call.
fn element(name: &str, said: &str, text: &str) -> String {
    format!("<{name}{said}>{text}</{name}>")
}

#[test]
fn tags_are_removed() {
    let text = format!("\n{BLOCK}");
    let parameter = |name: &str, text: &str| element("parameter", &format!(" name=\"{name}\""), text);
    let call = |arguments: &str| element("invoke", " name=\"apply\"", arguments);
    for wrapped in [
        element("apply_patch", "", &text),
        format!("I will change it.\n\n{}\n\nDone.", element("apply_patch", "", &text)),
        element("patch", "", &text),
        element("diff", "", &text),
        element("apply_patch", "", &format!("\n{}\n", element("input", "", &text))),
        call(&format!("\n{}\n", parameter("input", &text))),
        element("x:function_calls", "", &format!("\n{}\n", call(&parameter("patch", BLOCK)))),
        element("function_calls", "", &call(&parameter("input", &format!("<![CDATA[{BLOCK}]]>")))),
        element("tool_call", "", &format!("\n{}\n", json!({ "name": "apply", "arguments": { "input": BLOCK } }))),
    ] {
        assert_eq!(inner(&wrapped).text, BLOCK, "{wrapped}");
    }
    for name in ["replace_in_file", "apply_diff"] {
        let path = element("path", "", "src/b.rs");
        let wrapped = element(name, "", &format!("\n{path}\n{}\n", element("diff", "", &text)));
        let peeled = inner(&wrapped);
        assert_eq!((&*peeled.text, peeled.options.file.as_deref()), (BLOCK, Some("src/b.rs")));
    }
    // The text contains the closing tag of its own wrapper.
    let tricky = BLOCK.replace("old", "a</diff>b\n</diff>");
    let wrapped = element("replace_in_file", "", &format!("<path>a</path><diff>\n{tricky}</diff>"));
    assert_eq!(inner(&wrapped).text, tricky);
}

#[test]
fn other_tags_stay_unchanged() {
    // Two calls; arguments of another call; a name above; a patch about such tags.
    same(&element("apply_patch", "", BLOCK).repeat(2).replace("><", ">\n<"));
    same(&element("replace_in_file", "", "<path>a</path><dif>x</dif>"));
    same(&format!("a.rs\n{}", element("diff", "", "\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n")));
    same("a.html\n<<<<<<< SEARCH\n<apply_patch>\nold\n</apply_patch>\n=======\n>>>>>>> REPLACE\n");
    same(&format!("{BLOCK}\n{}", element("apply_patch", "", "\nx\n")));
    same("<apply_patch>\nno end");
    same("<write_to_file><path>a</path><content>x</content></write_to_file>");
}

#[test]
fn shell_lines_are_removed() {
    for wrapped in [
        format!("apply_patch <<'EOF'\n{BLOCK}EOF"),
        format!("apply_patch <<EOF\n{BLOCK}EOF\n"),
        format!("$ apply_patch << \"PATCH_1\"\n{BLOCK}PATCH_1\n"),
        format!("apply_patch <<-'EOF'\n\t{}\tEOF\n", BLOCK.replace('\n', "\n\t").trim_end_matches('\t')),
        format!("I use the shell:\n```bash\napply_patch <<'EOF'\n{BLOCK}EOF\n```\nThat is it."),
        format!("cat <<'EOF' | git apply\n{BLOCK}EOF\n"),
        format!("cat <<'EOF' | apply_patch && cargo test\n{BLOCK}EOF\n"),
        format!("git apply --recount - <<'EOF' > /dev/null 2>&1\n{BLOCK}EOF\n"),
        format!("bash -lc \"apply_patch <<'EOF'\n{BLOCK}EOF\"\n"),
        format!("bash -c $'apply_patch \\'{}\\''", BLOCK.replace('\n', "\\n")),
        format!("apply_patch \"{BLOCK}\""),
        format!("apply_patch '{BLOCK}'"),
        format!("echo '{BLOCK}' | patch -p1"),
        format!("printf '%s' '{BLOCK}' | git apply -"),
    ] {
        assert_eq!(inner(&wrapped).text, BLOCK, "{wrapped}");
    }
}

#[test]
fn options_in_shell_lines_are_read() {
    let text = format!("cd /repo && git -C sub apply -p2 -R --whitespace=fix <<'EOF'\n{BLOCK}EOF\ncargo test\n");
    let peeled = inner(&text);
    assert_eq!((peeled.options.strip, peeled.options.reverse), (Some(2), true));
    assert_eq!(peeled.directory.as_deref(), Some("/repo/sub"));
    assert!(peeled.notes.iter().any(|note| note.to_string().contains("not run")), "{:?}", peeled.notes);
    let text = format!("cd src\npatch -p0 a.rs <<'EOF'\n{BLOCK}EOF\n");
    let peeled = inner(&text);
    assert_eq!((peeled.options.file.as_deref(), peeled.directory.as_deref()), (Some("a.rs"), Some("src")));
    let text = format!("patch -d lib <<EOF\n{}EOF\n", BLOCK.replace("new", "$new"));
    let peeled = inner(&text);
    assert_eq!(peeled.directory.as_deref(), Some("lib"));
    assert!(peeled.notes.iter().any(|note| note.to_string().contains("expanded")));
    let call = json!({ "cmd": format!("cd sub && apply_patch <<'EOF'\n{BLOCK}EOF"), "workdir": "/w" }).to_string();
    // Windows joins with a backslash.
    assert_eq!(inner(&call).directory.as_deref().map(Path::new), Some(Path::new("/w/sub")));
}

#[test]
fn other_shell_lines_stay_unchanged() {
    for text in [
        format!("git apply --check <<'EOF'\n{BLOCK}EOF\n"),
        format!("patch --dry-run <<'EOF'\n{BLOCK}EOF\n"),
        format!("apply_patch <<'EOF'\n{BLOCK}"),
        format!("cat <<'EOF' > a.txt\n{BLOCK}EOF\n"),
        format!("python <<'EOF'\n{BLOCK}EOF\n"),
        format!("apply_patch '{BLOCK}"),
        format!("{BLOCK}\napply_patch <<'EOF'\nx\nEOF\n"),
        "a.sh\n<<<<<<< SEARCH\napply_patch <<'EOF'\nx\nEOF\n=======\n>>>>>>> REPLACE\n".to_owned(),
    ] {
        same(&text);
    }
}

#[test]
fn nesting_is_limited() {
    let mut text = BLOCK.to_owned();
    for _ in 0..5 {
        text = json!(text).to_string();
    }
    assert_eq!(inner(&text).text, BLOCK);
    let deep = "[".repeat(100_000);
    same(&deep);
}

proptest! {
    #[test]
    fn any_text_is_unwrapped_or_unchanged(text in "(apply_patch|git apply|<<'?EOF'?|EOF|cd a &&|\\{|\"input\":|\"|'|\\\\|\\$|<apply_patch>|</apply_patch>|<diff>|</diff>|```|\\]|é|x| |\n){0,40}") {
        let peeled = unwrap_text(&text);
        prop_assert!(!peeled.notes.is_empty() || peeled.text == text);
    }
}
