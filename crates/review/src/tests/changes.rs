//! Buttons about files and hunks, pressed after the files or the history changed.

use super::{Browser, ServerFixture, caller, status};
use crate::html::query_bytes;
use emendate::{Config, Engine, StateLocation};
use serde_json::{Value, json};
use std::path::Path;

impl ServerFixture {
    /// Calls a tool as another agent.
    fn other(&self, tool: &str, input: Value) -> String {
        let reply = self.engine.call(&caller("agent-2"), tool, input);
        reply.result.unwrap().data["operation"].as_str().unwrap().to_owned()
    }

    pub(super) fn put(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(super) fn edit(&self, name: &str, old: &str, new: &str) -> String {
        self.agent("edit", json!({ "file_path": self.path(name), "old_string": old, "new_string": new }))
    }

    fn edit_by_other(&self, name: &str, old: &str, new: &str) -> String {
        self.other("edit", json!({ "file_path": self.path(name), "old_string": old, "new_string": new }))
    }

    pub(super) fn patch(&self, body: &str) -> String {
        self.agent("apply", json!({ "input": format!("*** Begin Patch\n{body}\n*** End Patch\n") }))
    }
}

impl Browser<'_> {
    /// The body of the first form of an address that has all of these fields.
    pub(super) async fn form(&self, address: &str, wanted: &[(&str, &str)]) -> String {
        let page = self.get(address).await;
        let forms = page.split("<form").skip(1).map(fields_of);
        let has = |fields: &[(String, String)]| {
            wanted.iter().all(|(name, value)| fields.iter().any(|(known, is)| known == name && is == value))
        };
        let found = forms.into_iter().find(|fields| has(fields)).unwrap_or_else(|| panic!("{address}: {wanted:?}"));
        let sent = found.iter().filter(|(name, _)| name != "csrf");
        let pairs =
            sent.map(|(name, value)| format!("{}={}", query_bytes(name.as_bytes()), query_bytes(value.as_bytes())));
        pairs.collect::<Vec<_>>().join("&")
    }
}

/// Returns the hidden fields of a form.
fn fields_of(form: &str) -> Vec<(String, String)> {
    let form = form.split("</form>").next().unwrap();
    let inputs = form.split("<input type=\"hidden\" name=\"").skip(1).map(|input| {
        let (name, rest) = input.split_once('"').unwrap();
        let value = rest.strip_prefix(" value=\"").unwrap().split('"').next().unwrap();
        (name.to_owned(), value.replace("&#10;", "\n").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    });
    inputs.collect()
}

pub(super) fn lines(count: usize) -> String {
    (1..=count).map(|line| format!("l{line:02}\n")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn moved_file_goes_back() {
    let fixture = ServerFixture::new(false);
    fixture.put("mv.txt", "one\ntwo\nthree\n");
    let (from, to) = (fixture.path("mv.txt"), fixture.path("made/mv2.txt"));
    let id = fixture.patch(&format!("*** Update File: {from}\n*** Move to: {to}\n@@\n-two\n+TWO"));
    let browser = fixture.log_in().await;
    let undo_file = [("do", "undo_change"), ("path", &*to)];
    // Among the changes of several sessions, the move cannot be told from a new file.
    let between = browser.form(&format!("/between?from={id}%5E&to=now"), &undo_file).await;
    let answer = browser.act(&between).await;
    assert!(status(&answer) == "409" && answer.contains("moved the file") && answer.contains(&id), "{answer}");
    let pressed = browser.form(&format!("/op/{id}"), &undo_file).await;
    let answer = browser.act(&pressed).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!(fixture.get("mv.txt"), "one\ntwo\nthree\n");
    assert!(!Path::new(&to).parent().unwrap().exists());
    // The same on the page of the turn.
    let id = fixture.patch(&format!("*** Update File: {from}\n*** Move to: {to}\n@@\n-two\n+TWO"));
    fixture.edit("made/mv2.txt", "three", "THREE");
    let pressed = browser.form(&format!("/turn/{id}"), &undo_file).await;
    let answer = browser.act(&pressed).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!(fixture.get("mv.txt"), "one\ntwo\nthree\n");
    assert!(!Path::new(&to).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn later_work_of_others_is_never_overwritten() {
    let fixture = ServerFixture::new(false);
    let browser = fixture.log_in().await;
    let [new, gone, redone, many] = ["new.txt", "gone.txt", "redone.txt", "many.txt"].map(|name| fixture.path(name));
    let created = fixture.agent("write", json!({ "file_path": new, "content": "by A\n" }));
    fixture.edit_by_other("new.txt", "by A\n", "by A\nhours of work by B\n");
    fixture.put("gone.txt", "old\n");
    let deleted = fixture.patch(&format!("*** Delete File: {gone}"));
    fixture.put("gone.txt", "my new text\n");
    let undone = fixture.agent("write", json!({ "file_path": redone, "content": "x\n" }));
    fixture.agent("undo", json!({ "id": undone }));
    fixture.put("redone.txt", "mine\n");
    for (verb, id, path) in
        [("undo_change", &created, &new), ("undo_change", &deleted, &gone), ("redo_change", &undone, &redone)]
    {
        // The turn created one of them and took that back, so it has no change of it.
        for scope in ["op", "turn"].into_iter().take(if verb == "redo_change" { 1 } else { 2 }) {
            let form = browser.form(&format!("/{scope}/{id}"), &[("do", "undo_change"), ("path", path)]).await;
            let answer = browser.act(&form.replace("undo_change", verb)).await;
            assert_eq!(status(&answer), "409", "{verb} {path}: {answer}");
            // Only two versions of a text can be merged.
            assert!(!answer.contains("/resolve"), "{answer}");
        }
        let moment = format!("/between?from={id}%5E&to={id}");
        let form = browser.form(&moment, &[("do", "undo_change"), ("path", path)]).await;
        let answer = browser.act(&form.replace("undo_change", verb)).await;
        assert!(status(&answer) == "409" && answer.contains("operation.conflict"), "{verb} {path}: {answer}");
    }
    assert_eq!(fixture.get("new.txt"), "by A\nhours of work by B\n");
    assert_eq!(fixture.get("gone.txt"), "my new text\n");
    assert_eq!(fixture.get("redone.txt"), "mine\n");
    // More hunks than one call may name.
    fixture.put("many.txt", &(0..12000).map(|line| format!("line {line}\n")).collect::<String>());
    let edit = json!({ "file_path": many, "old_string": "0\n", "new_string": "0!\n", "replace_all": true });
    let id = fixture.agent("edit", edit);
    fixture.edit_by_other("many.txt", "line 15\n", "line 15 OUTSIDE\n");
    let moment = format!("/between?from={id}%5E&to={id}");
    let form = browser.form(&moment, &[("do", "undo_change"), ("path", &many)]).await;
    let answer = browser.act(&form).await;
    assert!(status(&answer) == "409" && answer.contains("operation.conflict"), "{answer}");
    let form = browser.form(&format!("/op/{id}"), &[("do", "undo_change"), ("path", &many)]).await;
    let answer = browser.act(&form).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(fixture.get("many.txt").contains("line 15 OUTSIDE\n") && !fixture.get("many.txt").contains('!'));
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_other_kinds_are_undone_and_redone_where_nothing_else_happened() {
    let fixture = ServerFixture::new(false);
    let browser = fixture.log_in().await;
    let [new, gone, image] = ["new.txt", "gone.txt", "a.bin"].map(|name| fixture.path(name));
    fixture.put("gone.txt", "old\n");
    let id = fixture.patch(&format!("*** Add File: {new}\n+text\n*** Delete File: {gone}"));
    std::fs::write(&image, b"a\0b").unwrap();
    let binary = fixture.patch(&format!("*** Delete File: {image}"));
    for address in [format!("/op/{id}"), format!("/between?from={id}%5E&to=now")] {
        for path in [&new, &gone] {
            let form = browser.form(&address, &[("do", "undo_change"), ("path", path)]).await;
            let answer = browser.act(&form).await;
            assert_eq!(status(&answer), "200", "{address} {path}: {answer}");
        }
        assert!(!Path::new(&new).exists() && fixture.get("gone.txt") == "old\n");
        for path in [&new, &gone] {
            let form = browser.form(&format!("/op/{id}"), &[("do", "undo_change"), ("path", path)]).await;
            let answer = browser.act(&form.replace("undo_change", "redo_change")).await;
            assert_eq!(status(&answer), "200", "{address} {path}: {answer}");
        }
        assert!(fixture.get("new.txt") == "text\n" && !Path::new(&gone).exists());
    }
    let form = browser.form(&format!("/turn/{binary}"), &[("do", "undo_change"), ("path", &image)]).await;
    let answer = browser.act(&form).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!(std::fs::read(&image).unwrap(), b"a\0b");
}

#[tokio::test(flavor = "multi_thread")]
async fn button_never_undoes_what_was_not_shown() {
    let fixture = ServerFixture::new(false);
    fixture.put("f.txt", &lines(60));
    let browser = fixture.log_in().await;
    let path = fixture.path("f.txt");
    fixture.agent("mark", json!({ "name": "m" }));
    let id = fixture.edit("f.txt", "l50", "A50");
    let hunk = [("do", "undo_change"), ("path", &*path), ("hunk", "1")];
    let addresses = ["/between?from=m&to=now".to_owned(), format!("/turn/{id}")];
    let mut forms = Vec::new();
    for address in &addresses {
        forms.push(browser.form(address, &hunk).await);
        forms.push(browser.form(address, &hunk[..2]).await);
    }
    let page = browser.get(&addresses[1]).await;
    let edit = page.split("href=\"/edit?").nth(1).unwrap().split('"').next().unwrap().replace("&amp;", "&");
    // Another operation of the turn, above the shown hunk.
    fixture.edit("f.txt", "l02", "A02");
    for form in &forms {
        let answer = browser.act(form).await;
        assert!(status(&answer) == "409" && answer.contains("not those that were shown"), "{answer}");
    }
    let page = browser.get(&format!("/edit?{edit}")).await;
    assert!(page.contains("not those that were shown"), "{page}");
    let form = browser.form(&format!("/edit?{edit}"), &[("do", "edit_lines")]).await;
    assert_eq!(status(&browser.act(&format!("{form}&new=x")).await), "409");
    assert!(fixture.get("f.txt").contains("A50\n") && fixture.get("f.txt").contains("A02\n"));
    let answer = browser.act(&format!("do=undo_change&turn={id}&path={path}&hunk=1")).await;
    assert_eq!(status(&answer), "409", "{answer}");
    let form = browser.form(&addresses[0], &hunk).await;
    assert_eq!(status(&browser.act(&form).await), "200");
    assert!(fixture.get("f.txt").contains("A50\n") && fixture.get("f.txt").contains("l02\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn turn_takes_back_only_its_own_changes_of_a_file() {
    let fixture = ServerFixture::new(false);
    fixture.put("f.txt", &lines(60));
    let browser = fixture.log_in().await;
    let path = fixture.path("f.txt");
    fixture.edit("f.txt", "l02", "A02");
    fixture.edit_by_other("f.txt", "l25", "B25");
    let id = fixture.edit("f.txt", "l50", "A50");
    let page = browser.get(&format!("/turn/{id}")).await;
    assert!(page.contains("Others changed this file during the turn"), "{page}");
    assert!(!page.contains("name=\"hunk\"") && !page.contains("href=\"/edit?"), "{page}");
    let form = browser.form(&format!("/turn/{id}"), &[("do", "undo_change"), ("path", &path)]).await;
    let answer = browser.act(&format!("{form}&hunk=2")).await;
    assert_eq!(status(&answer), "409", "{answer}");
    assert_eq!(status(&browser.get(&format!("/resolve?turn={id}&path={path}")).await), "409");
    let answer = browser.act(&form).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!(fixture.get("f.txt"), lines(60).replace("l25", "B25"));
}

#[tokio::test(flavor = "multi_thread")]
async fn edited_lines_are_those_that_were_shown() {
    let fixture = ServerFixture::new(false);
    let block = "- name: n\n  a: 1\n  b: 2\n  enabled: false\n  c: 3\n  d: 4\n  e: 5\n  f: 6\n  g: 7\n";
    let browser = fixture.log_in().await;
    let path = fixture.path("c.yml");
    let edits =
        [13, 22].map(|line| json!({ "old_string": "  enabled: false", "new_string": "  enabled: true", "line": line }));
    let input = json!({ "file_path": path, "edits": edits });
    let enabled = || {
        let text = fixture.get("c.yml");
        text.lines().filter_map(|line| line.strip_prefix("  enabled: ").map(str::to_owned)).collect::<Vec<_>>()
    };
    let form = async |hunk: usize| {
        let id = browser.engine_ids()[0].clone();
        let address = format!("/edit?op={id}&path={path}&hunk={hunk}");
        let form = browser.form(&address, &[("do", "edit_lines")]).await;
        let page = browser.get(&address).await;
        let area =
            page.split("<textarea").nth(1).unwrap().split_once(">\n").unwrap().1.split("</textarea>").next().unwrap();
        format!("{form}&new={}", query_bytes(area.replace("true", "EDITED").replace('\n', "\r\n").as_bytes()))
    };
    // The shown lines change, and equal ones are elsewhere.
    fixture.put("c.yml", &block.repeat(4));
    fixture.agent("multi_edit", input.clone());
    let second = form(2).await;
    fixture.put("c.yml", &fixture.get("c.yml").replacen("true\n", "never\n", 2).replacen("never\n", "true\n", 1));
    let answer = browser.act(&second).await;
    assert!(status(&answer) == "409" && answer.contains("stale.changed"), "{answer}");
    assert_eq!(enabled(), ["false", "true", "never", "false"]);
    // The lines move.
    fixture.put("c.yml", &block.repeat(4));
    fixture.agent("multi_edit", input);
    let second = form(2).await;
    fixture.put("c.yml", &(block.replace("false", "first") + &fixture.get("c.yml")));
    let answer = browser.act(&second).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!(enabled(), ["first", "false", "true", "EDITED", "false"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn edited_lines_are_compared_as_a_whole_and_can_be_removed() {
    let fixture = ServerFixture::new(false);
    fixture.put("conf", "timeout = 1\n");
    fixture.put("other", "a\nb\nc\n");
    let browser = fixture.log_in().await;
    let id = fixture.edit("conf", "timeout = 1", "timeout = 2");
    let form = browser.form(&format!("/edit?op={id}&path={}", fixture.path("conf")), &[("do", "edit_lines")]).await;
    fixture.put("conf", "timeout = 20\n");
    let answer = browser.act(&format!("{form}&new=timeout+%3D+3")).await;
    assert_eq!(status(&answer), "409", "{answer}");
    assert_eq!(fixture.get("conf"), "timeout = 20\n");
    // An emptied field removes the lines.
    let id = fixture.edit("other", "b", "x\ny");
    let form = browser.form(&format!("/edit?op={id}&path={}", fixture.path("other")), &[("do", "edit_lines")]).await;
    assert_eq!(status(&browser.act(&format!("{form}&new=")).await), "200");
    assert_eq!(fixture.get("other"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_browsers_change_has_no_form() {
    let fixture = ServerFixture::new(false);
    fixture.put("f", "prog\r50%\nl1\nl2\nl3\n");
    let browser = fixture.log_in().await;
    let (id, path) = (fixture.edit("f", "l2", "L2"), fixture.path("f"));
    let page = browser.get(&format!("/op/{id}")).await;
    assert!(page.contains("Change 1 of 1") && !page.contains("href=\"/edit?"), "{page}");
    assert_eq!(status(&browser.get(&format!("/edit?op={id}&path={path}&hunk=1")).await), "409");
    let old = query_bytes("prog\r50%\nl1\nL2\nl3".as_bytes());
    let answer = browser.act(&format!("do=edit_lines&op={id}&path={path}&line=1&old={old}&new=x")).await;
    assert_eq!(status(&answer), "409", "{answer}");
    let page = browser.get(&format!("/resolve?op={id}&path={path}")).await;
    assert!(page.contains("carriage returns") && !page.contains("<textarea"), "{page}");
    assert_eq!(fixture.get("f"), "prog\r50%\nl1\nL2\nl3\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn buttons_work_for_names_and_lines_with_invisible_characters() {
    let fixture = ServerFixture::new(false);
    let path = std::fs::canonicalize(fixture.root.path()).unwrap().join("bidi\u{202E}txt.exe");
    std::fs::write(&path, "1\n").unwrap();
    let id = fixture.agent("edit", json!({ "file_path": path, "old_string": "1", "new_string": "zero\u{200B}width" }));
    let browser = fixture.log_in().await;
    let address = format!("/edit?op={id}&path={}&hunk=1", crate::html::query_path(&path));
    let form = browser.form(&address, &[("do", "edit_lines")]).await;
    let answer = browser.act(&format!("{form}&new=edited")).await;
    assert_eq!(status(&answer), "200", "{answer}");
    let edited = browser.engine_ids()[0].clone();
    let form = browser.form(&format!("/op/{edited}"), &[("do", "undo_change")]).await;
    let answer = browser.act(&form).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "zero\u{200B}width\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn file_with_operations_in_two_logs_is_listed_once() {
    let root = tempfile::tempdir().unwrap();
    let roots = ["app", "web"].map(|name| root.path().join(name));
    for root in &roots {
        std::fs::create_dir(root).unwrap();
    }
    let state = StateLocation::Directory(root.path().join("state"));
    let engine = Engine::open(&roots, state, Config::default()).unwrap();
    let fixture = ServerFixture::serve(root, engine, false);
    let (f, g) = (fixture.path("app/f.txt"), fixture.path("web/g.txt"));
    for name in ["app/f.txt", "web/g.txt"] {
        fixture.put(name, &lines(30));
        let input = json!({ "file_path": fixture.path(name) });
        fixture.engine.call(&caller("agent-1"), "read", input).result.unwrap();
    }
    let browser = fixture.log_in().await;
    fixture.agent("mark", json!({ "name": "m" }));
    let id = fixture
        .patch(&format!("*** Update File: {f}\n@@\n-l05\n+A05\n*** Update File: {g}\n@@\n-l06\n+A06\n@@\n-l25\n+A25"));
    fixture.edit_by_other("web/g.txt", "l15", "B15");
    let form = browser.form(&format!("/op/{id}"), &[("do", "undo_change"), ("path", &g), ("hunk", "2")]).await;
    assert_eq!(status(&browser.act(&form).await), "200");
    assert_eq!(status(&browser.act(&format!("do=undo&id={id}")).await), "200");
    assert_eq!(fixture.get("web/g.txt"), lines(30).replace("l15", "B15"));
    let page = browser.get("/between?from=m&to=now").await;
    assert_eq!(page.matches("<section class=\"file\"").count(), 1, "{page}");
    assert!(page.contains("Change 1 of 1"), "{page}");
    let form = browser.form("/between?from=m&to=now", &[("do", "undo_change"), ("path", &g)]).await;
    let answer = browser.act(&form).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!(fixture.get("web/g.txt"), lines(30));
}
