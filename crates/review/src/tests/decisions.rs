//! Decisions of a person: what is kept, approved and corrected is exactly what the page showed.

use super::{ServerFixture, status};
use crate::html::query_bytes;
use crate::tests::caller;
use crate::tests::changes::lines;
use emendate::{AskingCall, Config, Engine, StateLocation};
use serde_json::{Value, json};

const ASKS: &str = "[policy]\nask = ['Edit(**)']\n[ask]\nwait_seconds = 600\n";

/// Returns a server whose configuration asks before each change.
fn asking() -> ServerFixture {
    let root = tempfile::tempdir().unwrap();
    let project = root.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let config = Config::default().with_file(ASKS, "config.toml", true).unwrap();
    let state = StateLocation::Directory(root.path().join("state"));
    let engine = Engine::open(&[project], state, config).unwrap();
    ServerFixture::serve(root, engine, false)
}

impl ServerFixture {
    /// Makes a call whose process ends while it waits for a person. Returns the id of its question.
    fn ask(&self, tool: &str, input: &Value) -> String {
        let agent = caller("agent-1");
        let reply = self.engine.call(&agent, tool, input.clone());
        let question =
            self.engine.questions().store(&agent, AskingCall { profile: None, tool, input }, &reply, None).unwrap();
        question.id().to_owned()
    }
}

/// Counts the hunks of a page that are kept, and all of them.
fn kept(page: &str) -> (usize, usize) {
    let hunks = page.split("<section class=\"hunk").skip(1);
    let classes: Vec<&str> = hunks.map(|hunk| hunk.split('"').next().unwrap()).collect();
    (classes.iter().filter(|class| class.contains("reviewed")).count(), classes.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn hunk_is_kept_in_the_comparison_that_showed_it() {
    let fixture = ServerFixture::new(false);
    fixture.put("f.txt", &lines(60));
    let browser = fixture.log_in().await;
    fixture.agent("mark", json!({ "name": "m0" }));
    fixture.edit("f.txt", "l09\nl10\nl11", "A09\nSECRET\nA11");
    fixture.agent("mark", json!({ "name": "m1" }));
    fixture.edit("f.txt", "A09\n", "AA9\n");
    let page = browser.get("/between?from=m1&to=now").await;
    let tick = page.split("data-tick=\"").nth(1).unwrap().split('"').next().unwrap();
    let viewed = page.split("data-version=\"").nth(1).unwrap().split('"').next().unwrap();
    let file = tick.split(':').next().unwrap();
    for name in [tick.to_owned(), format!("{file}:{viewed}")] {
        assert_eq!(status(&browser.act(&format!("do=tick&name={name}&on=1")).await), "200");
    }
    let page = browser.get("/between?from=m1&to=now").await;
    assert!(kept(&page) == (1, 1) && page.contains("data-viewed"), "{page}");
    let page = browser.get("/between?from=m0&to=now").await;
    assert!(kept(&page) == (0, 1) && !page.contains("data-viewed"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_was_shown_is_kept_or_undone() {
    let fixture = ServerFixture::new(false);
    fixture.put("f.txt", &lines(60));
    let browser = fixture.log_in().await;
    let path = fixture.path("f.txt");
    fixture.agent("mark", json!({ "name": "m" }));
    let id = fixture.edit("f.txt", "l10", "A10");
    let addresses = ["/between?from=m&to=now".to_owned(), format!("/turn/{id}")];
    let mut forms = vec![browser.form(&addresses[1], &[("do", "undo_turn")]).await];
    for address in &addresses {
        forms.push(browser.form(address, &[("do", "keep")]).await);
        forms.push(browser.form(address, &[("do", "keep"), ("path", &path)]).await);
    }
    fixture.edit("f.txt", "l40", "UNSEEN");
    for form in &forms {
        let answer = browser.act(form).await;
        assert!(status(&answer) == "409" && answer.contains("conflict.raced"), "{form}: {answer}");
    }
    for form in ["do=keep&from=m&to=now&on=1".to_owned(), format!("do=undo_turn&id={id}")] {
        assert_eq!(status(&browser.act(&form).await), "409", "{form}");
    }
    assert_eq!(kept(&browser.get(&addresses[0]).await), (0, 2));
    for form in [browser.form(&addresses[0], &[("do", "keep")]).await] {
        assert_eq!(status(&browser.act(&form).await), "200", "{form}");
    }
    assert_eq!(kept(&browser.get(&addresses[0]).await), (2, 2));
    let form = browser.form(&addresses[1], &[("do", "undo_turn")]).await;
    assert_eq!(status(&browser.act(&form).await), "200");
    assert_eq!(fixture.get("f.txt"), lines(60));
}

#[tokio::test(flavor = "multi_thread")]
async fn decision_that_is_taken_back_leaves_earlier_ones() {
    let fixture = ServerFixture::new(false);
    let id = fixture.two_hunks();
    fixture.agent("mark", json!({ "name": "end" }));
    let browser = fixture.log_in().await;
    let between = format!("from={}&to=end", query_bytes(format!("{id}^").as_bytes()));
    for (scope, address) in
        [(format!("op={id}"), format!("/op/{id}")), (between.clone(), format!("/between?{between}"))]
    {
        if scope == between {
            let page = browser.get(&address).await;
            let tick = page.split("data-tick=\"").nth(1).unwrap().split('"').next().unwrap();
            browser.act(&format!("do=tick&name={tick}&on=1")).await;
        } else {
            let path = fixture.path("a.txt");
            assert_eq!(status(&browser.act(&format!("do=keep&{scope}&path={path}&hunk=1&on=1")).await), "200");
        }
        assert_eq!(kept(&browser.get(&address).await), (1, 2));
        let form = browser.form(&address, &[("do", "keep"), ("on", "1")]).await;
        let all = if scope == between { form } else { format!("do=keep&{scope}&on=1") };
        let answer = browser.decide(&all).await;
        assert_eq!(kept(&browser.get(&address).await), (2, 2), "{answer}");
        let marks = query_bytes(answer["marks"].as_str().unwrap().as_bytes());
        browser.decide(&format!("do=keep&{scope}&marks={marks}&on=0")).await;
        let page = browser.get(&address).await;
        assert_eq!(kept(&page), (1, 2), "{page}");
        assert!(page.split("<section class=\"hunk").nth(1).unwrap().starts_with(" reviewed"), "{page}");
        let bad = format!("do=keep&{scope}&marks=%3Cb%3E&on=1");
        assert_eq!(status(&browser.act(&bad).await), "409");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn number_that_cannot_be_read_is_refused() {
    let fixture = ServerFixture::new(false);
    let id = fixture.two_hunks();
    let (browser, path) = (fixture.log_in().await, fixture.path("a.txt"));
    let before = fixture.get("a.txt");
    for number in ["x", "-1", "1.0", "%201", "99999999999999999999999", "", "%FF"] {
        for form in [format!("do=undo_change&hunk={number}"), format!("do=keep&on=1&hunk={number}")] {
            let answer = browser.act(&format!("{form}&op={id}&path={path}")).await;
            assert!(status(&answer) == "409" && answer.contains("call.invalid"), "{form}: {answer}");
        }
    }
    let comment = format!("do=comment&op={id}&path={path}&text=x");
    assert_eq!(status(&browser.act(&format!("{comment}&line=-1")).await), "409");
    assert_eq!(status(&browser.act(&format!("{comment}&line=")).await), "200");
    assert_eq!(fixture.get("a.txt"), before);
    assert_eq!(kept(&browser.get(&format!("/op/{id}")).await), (0, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn question_shows_all_lines_or_counts_the_others() {
    let fixture = asking();
    let text: String = (1..=2500).map(|row| format!("row {row}\n")).collect::<String>() + "TAIL\n";
    let id = fixture.ask("write", &json!({ "file_path": fixture.path("project/big.txt"), "content": text }));
    let browser = fixture.log_in().await;
    let shown = |page: &str| page.split("<textarea").next().unwrap().matches("<tr class=\"add").count();
    let page = browser.get("/questions").await;
    assert_eq!((shown(&page), page.contains("Show 501 more lines")), (2000, true));
    let page = browser.get("/questions?full=1").await;
    assert_eq!((shown(&page), page.contains("more lines of this change")), (2501, false));
    assert_eq!(status(&browser.act(&format!("do=deny&id={id}")).await), "200");
    // The question itself has no more than this.
    let text: String = (1..=20_000).map(|row| format!("row {row}\n")).collect();
    fixture.ask("write", &json!({ "file_path": fixture.path("project/huge.txt"), "content": text }));
    let page = browser.get("/questions?full=1").await;
    let rest = 20_000 - shown(&page);
    assert!(rest > 0 && page.contains(&format!("{rest} more lines of this change are too many")), "{rest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_of_a_change_that_fails_is_no_success() {
    let fixture = asking();
    fixture.put("project/f.txt", "one\ntwo\n");
    let edit = json!({ "file_path": fixture.path("project/f.txt"), "old_string": "two", "new_string": "2" });
    let id = fixture.ask("edit", &edit);
    fixture.put("project/f.txt", "one\nother\n");
    let browser = fixture.log_in().await;
    let answer = browser.act(&format!("do=approve&id={id}")).await;
    assert!(status(&answer) == "409" && answer.contains("The change was not written"), "{answer}");
    fixture.put("project/f.txt", "one\ntwo\n");
    let id = fixture.ask("edit", &edit);
    fixture.put("project/f.txt", "zero\none\ntwo\n");
    let answer = browser.act(&format!("do=approve&id={id}")).await;
    assert!(status(&answer) == "409" && answer.contains("asks again"), "{answer}");
    assert_eq!(fixture.get("project/f.txt"), "zero\none\ntwo\n");
    let id = fixture.engine.questions().pending().unwrap()[0].id.clone();
    // A form of another question has no text for this file.
    assert_eq!(status(&browser.act(&format!("do=correct&id={id}")).await), "409");
    assert_eq!(status(&browser.act(&format!("do=approve&id={id}")).await), "200");
    assert_eq!(fixture.get("project/f.txt"), "zero\none\n2\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn resolved_text_is_of_the_version_that_was_shown() {
    let fixture = ServerFixture::new(false);
    fixture.put("f.txt", &lines(60));
    let browser = fixture.log_in().await;
    let (id, path) = (fixture.edit("f.txt", "l09", "A09"), fixture.path("f.txt"));
    fixture.edit("f.txt", "A09", "AA9");
    let form = browser.form(&format!("/resolve?op={id}&path={path}"), &[("do", "write")]).await;
    fixture.edit("f.txt", "l40", "WORK");
    let text = query_bytes(lines(60).as_bytes());
    assert_eq!(status(&browser.act(&format!("{form}&content={text}")).await), "409");
    assert_eq!(status(&browser.act(&format!("do=write&path={path}&content={text}")).await), "409");
    assert!(fixture.get("f.txt").contains("WORK\n"));
    let form = browser.form(&format!("/resolve?op={id}&path={path}"), &[("do", "write")]).await;
    for no_text in ["", "&content=%E9"] {
        assert_eq!(status(&browser.act(&format!("{form}{no_text}")).await), "409", "{no_text}");
    }
    assert_eq!(status(&browser.act(&format!("{form}&content={text}")).await), "200");
    assert_eq!(fixture.get("f.txt"), lines(60));
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_stay_need_no_encoding() {
    let fixture = ServerFixture::new(false);
    let path = fixture.path("t.txt");
    std::fs::write(&path, b"CHANGED caf\xe9\nline caf\xe9\n").unwrap();
    let id = fixture.edit("t.txt", "CHANGED", "CHANGED2");
    let browser = fixture.log_in().await;
    let form = browser.form(&format!("/edit?op={id}&path={path}"), &[("do", "edit_lines")]).await;
    let edited = query_bytes("EDITED caf\u{e9}\nline caf\u{e9}".as_bytes());
    let answer = browser.act(&format!("{form}&new={edited}")).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!(std::fs::read(&path).unwrap(), b"EDITED caf\xe9\nline caf\xe9\n");
    // What cannot be written has no form, or advice that a person can follow.
    let form = browser.form(&format!("/edit?op={id}&path={path}"), &[("do", "edit_lines")]).await;
    let answer = browser.act(&format!("{form}&new={}", query_bytes("\u{e8}".as_bytes()))).await;
    assert!(status(&answer) == "409" && !answer.contains("Repeat the call"), "{answer}");
    let page = browser.get(&format!("/resolve?op={id}&path={path}")).await;
    assert!(page.contains(".editorconfig") && !page.contains("<textarea"), "{page}");
    fixture.put(".editorconfig", "[*.txt]\ncharset = latin1\n");
    let form = browser.form(&format!("/resolve?op={id}&path={path}"), &[("do", "write")]).await;
    let text = query_bytes("RESOLVED caf\u{e9}\n".as_bytes());
    let answer = browser.act(&format!("{form}&content={text}")).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!(std::fs::read(&path).unwrap(), b"RESOLVED caf\xe9\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn search_finds_every_file_of_an_operation() {
    let fixture = ServerFixture::new(false);
    for nth in 0..30 {
        fixture.put(&format!("file{nth:02}.txt"), "alpha\n");
    }
    let input = json!({ "path": fixture.path(""), "old_string": "alpha", "new_string": "ALPHA" });
    let id = fixture.agent("replace_in_files", input);
    fixture.put("old.txt", "a\n");
    let moved = fixture.patch("*** Update File: old.txt\n*** Move to: new.txt\n@@\n-a\n+b");
    let browser = fixture.log_in().await;
    for (word, id) in [("file03", &id), ("file29", &id), ("old.txt", &moved), ("new.txt", &moved)] {
        let list = browser.get(&format!("/part/timeline?q={word}")).await;
        assert!(list.contains(&format!("href=\"/op/{id}\"")), "{word}: {list}");
    }
    let list = browser.get("/part/timeline?q=file30").await;
    assert!(list.contains("Nothing matches."), "{list}");
}

#[tokio::test(flavor = "multi_thread")]
async fn moments_in_the_wrong_order_are_refused() {
    let fixture = ServerFixture::new(false);
    let first = fixture.two_hunks();
    let second = fixture.edit("a.txt", "line 7", "LINE 7");
    let browser = fixture.log_in().await;
    let page = browser.get(&format!("/between?from={second}&to={first}")).await;
    assert!(status(&page) == "409" && page.contains("is not before the second one"), "{page}");
    let page = browser.get(&format!("/between?from={first}&to={first}")).await;
    assert!(status(&page) == "200" && page.contains("These changes have no file."), "{page}");
}
