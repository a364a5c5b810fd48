//! The page, tested with raw bytes over real sockets, as no well-behaved browser sends them.
#![allow(clippy::disallowed_methods, reason = "tests play the outside world")]

mod changes;
mod decisions;

use crate::{ReviewListener, ReviewOptions, run_review};
use emendate::{CallContext, Config, Engine, StateLocation, UnreadPolicy};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

/// A server over a directory with one file.
struct ServerFixture {
    engine: Arc<Engine>,
    port: u16,
    secret: String,
    stop: mpsc::Sender<()>,
    /// Removed last: on Windows, a directory with open files stays.
    root: TempDir,
}

/// A browser that is logged in.
struct Browser<'a> {
    fixture: &'a ServerFixture,
    cookie: String,
    csrf: String,
}

fn caller(session: &str) -> CallContext {
    CallContext { session: session.to_owned(), unread: UnreadPolicy::Allow, ..CallContext::default() }
}

impl ServerFixture {
    fn new(read_only: bool) -> ServerFixture {
        ServerFixture::with(read_only, StateLocation::Memory)
    }

    fn with(read_only: bool, state: StateLocation) -> ServerFixture {
        let root = tempfile::tempdir().unwrap();
        let engine = Engine::open(&[root.path().to_owned()], state, Config::default()).unwrap();
        ServerFixture::serve(root, engine, read_only)
    }

    /// Creates a server with several roots, next to each other.
    fn with_roots(names: &[&str]) -> ServerFixture {
        let root = tempfile::tempdir().unwrap();
        let roots: Vec<_> = names.iter().map(|name| root.path().join(name)).collect();
        for root in &roots {
            std::fs::create_dir(root).unwrap();
        }
        let engine = Engine::open(&roots, StateLocation::Memory, Config::default()).unwrap();
        ServerFixture::serve(root, engine, false)
    }

    fn serve(root: TempDir, engine: Engine, read_only: bool) -> ServerFixture {
        let engine = Arc::new(engine);
        let listener = ReviewListener::open("0").unwrap();
        let (port, secret) = (listener.port(), listener.secret.clone());
        let (stop, stopped) = mpsc::channel(2);
        let options = ReviewOptions { read_only, ..ReviewOptions::default() };
        tokio::spawn(run_review(Arc::clone(&engine), caller("review-test"), options, listener, stopped));
        ServerFixture { engine, port, secret, stop, root }
    }

    fn path(&self, name: &str) -> String {
        emendate_os::paths::canonical(self.root.path()).unwrap().join(name).display().to_string()
    }

    fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Calls a tool as an agent; returns the operation.
    fn agent(&self, tool: &str, input: Value) -> String {
        let reply = self.engine.call(&caller("agent-1"), tool, input);
        reply.result.unwrap().data["operation"].as_str().unwrap().to_owned()
    }

    /// Writes `a.txt` with 30 lines and changes the second and the last but one.
    fn two_hunks(&self) -> String {
        let text: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        self.agent("write", json!({ "file_path": self.path("a.txt"), "content": text }));
        let edits = json!([
            { "old_string": "line 2\n", "new_string": "LINE 2\n" },
            { "old_string": "line 29\n", "new_string": "LINE 29\n" },
        ]);
        self.agent("multi_edit", json!({ "file_path": self.path("a.txt"), "edits": edits }))
    }

    /// Sends a request, and returns the whole response.
    async fn talk(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // The server may close while something is unread.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let host = if headers.contains("Host:") { String::new() } else { format!("Host: 127.0.0.1:{}\r\n", self.port) };
        format!(
            "{method} {path} HTTP/1.1\r\n{host}Connection: close\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    fn origin(&self) -> String {
        format!("Origin: http://127.0.0.1:{}\r\n", self.port)
    }

    async fn log_in(&self) -> Browser<'_> {
        let body = format!("token={}", self.secret);
        let answer = self.talk(&self.request("POST", "/login", &self.origin(), &body)).await;
        assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
        let set = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
        let cookie = format!("Cookie: {}\r\n", set.split(';').next().unwrap());
        let page = self.talk(&self.request("GET", "/", &cookie, "")).await;
        let csrf = page.split("data-csrf=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        Browser { fixture: self, cookie, csrf }
    }
}

impl Browser<'_> {
    async fn get(&self, path: &str) -> String {
        self.fixture.talk(&self.fixture.request("GET", path, &self.cookie, "")).await
    }

    /// Presses a button.
    async fn act(&self, fields: &str) -> String {
        let body = format!("csrf={}&{fields}", self.csrf);
        self.fixture
            .talk(&self.fixture.request("POST", "/act", &(self.cookie.clone() + &self.fixture.origin()), &body))
            .await
    }
}

impl Browser<'_> {
    /// Presses a button as the script does; returns the result.
    async fn decide(&self, fields: &str) -> Value {
        let body = format!("csrf={}&{fields}", self.csrf);
        let headers = format!("{}{}Accept: application/json\r\n", self.cookie, self.fixture.origin());
        let answer = self.fixture.talk(&self.fixture.request("POST", "/act", &headers, &body)).await;
        assert_eq!(status(&answer), "200", "{answer}");
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn page_shows_operations_and_hunks() {
    let fixture = ServerFixture::new(false);
    let id = fixture.two_hunks();
    let browser = fixture.log_in().await;
    let page = browser.get("/").await;
    assert_eq!(status(&page), "200");
    for part in
        [&*id, "a.txt", "<span class=\"w\">LINE</span> 2", "Change 2 of 2 in a.txt", "agent-1", "unchanged lines"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'",
        "x-content-type-options: nosniff",
        "cross-origin-resource-policy: same-origin",
        "cache-control: no-store",
    ] {
        assert!(page.contains(header), "{header}");
    }
    assert!(!page.to_ascii_lowercase().contains("access-control-allow"));
    assert_eq!(status(&browser.get("/op/999").await), "404");
    assert_eq!(status(&browser.get("/nothing").await), "404");
}

#[tokio::test(flavor = "multi_thread")]
async fn buttons_change_the_files() {
    let fixture = ServerFixture::new(false);
    let id = fixture.two_hunks();
    let browser = fixture.log_in().await;
    let path = fixture.path("a.txt");
    let answer = browser.act(&format!("do=undo_change&op={id}&path={path}&hunk=1")).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(fixture.get("a.txt").contains("line 2\n") && fixture.get("a.txt").contains("LINE 29\n"));
    assert!(browser.get(&format!("/op/{id}")).await.contains("badge state\">undone"));
    let answer = browser.act(&format!("do=redo_change&op={id}&path={path}&hunk=1")).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(fixture.get("a.txt").contains("LINE 2\n"));
    let answer = browser.act(&format!("do=undo_change&op={id}&path={path}")).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(!fixture.get("a.txt").contains("LINE"));
    let form = browser.form(&format!("/turn/{id}"), &[("do", "undo_turn")]).await;
    let answer = browser.act(&form).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(!std::path::Path::new(&path).exists());
    let undo = answer.split("/op/").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let answer = browser.act(&format!("do=undo&id={undo}")).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(fixture.get("a.txt").contains("line 29\n"));
    let answer = browser.act(&format!("do=restore&id={id}&path={path}")).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(fixture.get("a.txt").contains("LINE 29\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn workspaces_are_told_apart() {
    let fixture = ServerFixture::with_roots(&["app", "web"]);
    for name in ["app", "web"] {
        fixture.agent("write", json!({ "file_path": fixture.path(&format!("{name}/src/a.txt")), "content": "x\n" }));
    }
    let browser = fixture.log_in().await;
    let page = browser.get("/").await;
    let [app, web] = ["app", "web"].map(|root| std::path::Path::new(root).join("src").join("a.txt"));
    let [app, web] = [app.display().to_string(), web.display().to_string()];
    for part in [&*app, &*web, "<option value=\"1\">web</option>", ">app +1<"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let second = browser.get("/part/timeline?root=1").await;
    assert!(second.contains(&web) && !second.contains(&app), "{second}");
    let none = browser.get("/part/timeline?root=2").await;
    assert!(none.contains("Nothing matches."), "{none}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_a_change_are_edited_in_place() {
    let fixture = ServerFixture::new(false);
    let text: String = (1..=30).map(|line| format!("line {}\r\n", line % 10)).collect();
    fixture.agent("write", json!({ "file_path": fixture.path("a.txt"), "content": text }));
    // The same lines occur three times, so only the line number shows which are meant.
    let edit = json!({ "file_path": fixture.path("a.txt"), "old_string": "line 5", "new_string": "LINE 5", "line": 15,
                       "replace_all": true });
    let id = fixture.agent("edit", edit);
    let browser = fixture.log_in().await;
    let path = fixture.path("a.txt");
    let form = browser.get(&format!("/edit?op={id}&path={path}&hunk=2")).await;
    assert_eq!(status(&form), "200", "{form}");
    let area = form.split("<textarea").nth(1).unwrap().split("</textarea>").next().unwrap();
    assert!(area.contains("line 4\nLINE 5\nline 6"), "{area}");
    let field = |name: &str| {
        let value = form.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap().split('"').next().unwrap();
        value.to_owned()
    };
    let old = field("old%");
    let new = old.replace("LINE%205", "five%0D%0Aand a half").replace("LINE+5", "five%0D%0Aand a half");
    // A field whose name ends in `%` is encoded once more.
    let sent = format!(
        "do=edit_lines&op={id}&path={path}&line={}&old%25={}&new%25={}",
        field("line"),
        old.replace('%', "%25"),
        new.replace('%', "%25")
    );
    let answer = browser.act(&sent).await;
    assert_eq!(status(&answer), "200", "{answer}");
    let lines: Vec<String> = fixture.get("a.txt").split("\r\n").map(str::to_owned).collect();
    assert_eq!(lines[13..17], ["line 4", "five", "and a half", "line 6"], "{lines:?}");
    assert_eq!((lines[4].as_str(), lines[25].as_str(), lines.len()), ("LINE 5", "LINE 5", 32));
    // The lines are gone now: saving the same form again changes nothing.
    let before = fixture.get("a.txt");
    assert_eq!(status(&browser.act(&sent).await), "409");
    assert_eq!(fixture.get("a.txt"), before);
    let missing = browser.get(&format!("/edit?op={id}&path={path}&hunk=9")).await;
    assert!(status(&missing) == "409" && missing.contains("cannot be edited here"), "{missing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn conflict_is_explained_and_changes_nothing() {
    let fixture = ServerFixture::new(false);
    let id = fixture.two_hunks();
    fixture.agent(
        "edit",
        json!({ "file_path": fixture.path("a.txt"), "old_string": "LINE 2\n", "new_string": "other\n" }),
    );
    let browser = fixture.log_in().await;
    let answer = browser.act(&format!("do=undo_change&op={id}&path={}&hunk=1", fixture.path("a.txt"))).await;
    assert_eq!(status(&answer), "409", "{answer}");
    assert!(answer.contains("operation.conflict") && fixture.get("a.txt").contains("other\n"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_shown_or_done_without_a_login() {
    let fixture = ServerFixture::new(false);
    let id = fixture.two_hunks();
    for path in ["/", "/events", &format!("/op/{id}"), "/part/timeline", "/charts"] {
        let answer = fixture.talk(&fixture.request("GET", path, "", "")).await;
        assert!(status(&answer) == "401" && !answer.contains("a.txt"), "{path}: {answer}");
    }
    let body = format!("do=undo&id={id}");
    assert_eq!(status(&fixture.talk(&fixture.request("POST", "/act", &fixture.origin(), &body)).await), "401");
    assert!(fixture.get("a.txt").contains("LINE 2\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn token_cannot_be_guessed() {
    let fixture = ServerFixture::new(false);
    let attempt = |token: String| {
        let request = fixture.request("POST", "/login", &fixture.origin(), &format!("token={token}"));
        let fixture = &fixture;
        async move { fixture.talk(&request).await }
    };
    for number in 0..10 {
        assert_eq!(status(&attempt(format!("wrong-{number}")).await), "403");
    }
    assert_eq!(status(&attempt("wrong".to_owned()).await), "429");
    assert_eq!(status(&attempt(fixture.secret.clone()).await), "429");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_other_pages_are_refused() {
    let fixture = ServerFixture::new(false);
    let id = fixture.two_hunks();
    let browser = fixture.log_in().await;
    // Rebinding: another name for this machine.
    for host in ["evil.example", "evil.example:80", "localhost.evil.example", "192.0.2.1"] {
        let headers = format!("Host: {host}\r\n{}", browser.cookie);
        assert_eq!(status(&fixture.talk(&fixture.request("GET", "/", &headers, "")).await), "403", "{host}");
    }
    let two = format!("Host: 127.0.0.1:{0}\r\nHost: evil.example\r\n{1}", fixture.port, browser.cookie);
    assert_ne!(status(&fixture.talk(&fixture.request("GET", "/", &two, "")).await), "200");
    // Requests that a browser sends for another page.
    for header in [
        "Origin: https://evil.example",
        "Origin: null",
        &format!("Origin: http://localhost:{}", fixture.port),
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ] {
        let headers = format!("{}{header}\r\n", browser.cookie);
        for path in ["/", "/events", "/part/timeline"] {
            assert_eq!(
                status(&fixture.talk(&fixture.request("GET", path, &headers, "")).await),
                "403",
                "{header} {path}"
            );
        }
        let body = format!("csrf={}&do=undo&id={id}", browser.csrf);
        assert_eq!(status(&fixture.talk(&fixture.request("POST", "/act", &headers, &body)).await), "403", "{header}");
    }
    // A form without the text of our pages, or without an origin.
    let ours = browser.cookie.clone() + &fixture.origin();
    for csrf in ["", "0", &"0".repeat(64)] {
        let body = format!("csrf={csrf}&do=undo&id={id}");
        assert_eq!(status(&fixture.talk(&fixture.request("POST", "/act", &ours, &body)).await), "403", "{csrf}");
    }
    let body = format!("csrf={}&do=undo&id={id}", browser.csrf);
    assert_eq!(status(&fixture.talk(&fixture.request("POST", "/act", &browser.cookie, &body)).await), "403");
    for method in ["PUT", "DELETE", "OPTIONS", "HEAD"] {
        assert_ne!(status(&fixture.talk(&fixture.request(method, "/act", &ours, &body)).await), "200", "{method}");
    }
    assert!(fixture.get("a.txt").contains("LINE 2\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_server_changes_nothing() {
    let fixture = ServerFixture::new(true);
    let id = fixture.two_hunks();
    let browser = fixture.log_in().await;
    let page = browser.get(&format!("/op/{id}")).await;
    assert!(page.contains("read-only") && !page.contains("action=\"/act\""), "{page}");
    for fields in [format!("do=undo&id={id}"), format!("do=undo_turn&id={id}"), "do=mark&name=x".to_owned()] {
        assert_eq!(status(&browser.act(&fields).await), "403", "{fields}");
    }
    assert!(fixture.get("a.txt").contains("LINE 2\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_names_and_contents_stay_text() {
    let fixture = ServerFixture::new(false);
    let names = ["<img src=x onerror=alert(1)>.txt", "a\"b'c.txt", "line\nend.txt", "x\u{202E}txt.exe"];
    let text = "<script>alert(1)</script>\n\u{202E}gnp.exe\n</table></main><svg onload=alert(1)>\n";
    for name in names {
        let path = fixture.root.path().canonicalize().unwrap().join(name);
        fixture.agent("write", json!({ "file_path": path, "content": text }));
    }
    let long = format!("{}<b>{}\n", "x".repeat(500_000), "y".repeat(500_000));
    fixture.agent("write", json!({ "file_path": fixture.path("long.txt"), "content": long }));
    let browser = fixture.log_in().await;
    let list = browser.engine_ids();
    for id in list {
        let page = browser.get(&format!("/op/{id}")).await;
        assert_eq!(status(&page), "200", "{page}");
        for markup in ["<script>alert", "<svg", "<img src=x", "<b>", "\u{202E}"] {
            assert!(!page.contains(markup), "{id} {markup}");
        }
        assert!(page.len() < 100_000, "{id} {}", page.len());
    }
}

impl Browser<'_> {
    /// The ids of all operations.
    fn engine_ids(&self) -> Vec<String> {
        let query = emendate::OperationQuery { most: 50, ..emendate::OperationQuery::default() };
        self.fixture.engine.review().operations(&query).unwrap().operations.into_iter().map(|view| view.id).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn file_with_a_name_that_is_not_text_can_be_undone() {
    use emendate_os::ffi::OsStrExt as _;
    let fixture = ServerFixture::new(false);
    let path = fixture.root.path().canonicalize().unwrap().join(std::ffi::OsStr::from_bytes(b"odd\xff\n.txt"));
    std::fs::write(&path, "one\n").unwrap();
    let raw = data_encoding::BASE64.encode(path.as_os_str().as_bytes());
    let id = fixture.agent("edit", json!({ "path_b64": raw, "old_string": "one", "new_string": "two" }));
    let browser = fixture.log_in().await;
    let page = browser.get(&format!("/op/{id}")).await;
    let value = page.split("name=\"path%\" value=\"").nth(1).unwrap().split('"').next().unwrap().replace('%', "%25");
    let answer = browser.act(&format!("do=undo_change&op={id}&path%25={value}&hunk=1")).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_reports_each_change_and_ends_with_the_server() {
    let fixture = ServerFixture::new(false);
    let browser = fixture.log_in().await;
    let mut stream = TcpStream::connect(("127.0.0.1", fixture.port)).await.unwrap();
    stream.write_all(fixture.request("GET", "/events", &browser.cookie, "").as_bytes()).await.unwrap();
    let mut heard = String::new();
    let id = fixture.two_hunks();
    let mut buffer = [0; 4096];
    let never = Duration::from_secs(600);
    while !heard.contains(&id) {
        let read = tokio::time::timeout(never, stream.read(&mut buffer)).await.unwrap().unwrap();
        assert_ne!(read, 0, "{heard}");
        heard.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    assert!(heard.contains("content-type: text/event-stream") && heard.contains("event: state"), "{heard}");
    fixture.stop.send(()).await.unwrap();
    let mut rest = Vec::new();
    tokio::time::timeout(never, stream.read_to_end(&mut rest)).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn image_is_served_in_a_sandbox_and_markup_never_is() {
    let fixture = ServerFixture::new(false);
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
    let path = fixture.path("a.png");
    std::fs::write(&path, png).unwrap();
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>";
    let id = fixture.agent("write", json!({ "file_path": fixture.path("a.svg"), "content": svg }));
    let removed = fixture
        .agent("apply", json!({ "input": format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n") }));
    let browser = fixture.log_in().await;
    let answer = browser.get(&format!("/image?op={id}&path={}", fixture.path("a.svg"))).await;
    assert_eq!(status(&answer), "404", "{answer}");
    let page = browser.get(&format!("/op/{removed}")).await;
    assert!(page.contains("<img loading=\"lazy\"") && page.contains("side=before"), "{page}");
    let answer = browser.get(&format!("/image?op={removed}&path={path}&side=before")).await;
    assert!(answer.contains("content-type: image/png") && answer.contains("sandbox"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_calls_are_shown_with_their_reasons() {
    let state = tempfile::tempdir().unwrap();
    let fixture = ServerFixture::with(false, StateLocation::Directory(state.path().to_owned()));
    fixture.two_hunks();
    let edit = json!({ "file_path": fixture.path("a.txt"), "old_string": "<absent>", "new_string": "x" });
    assert!(fixture.engine.call(&caller("agent-1"), "edit", edit).result.is_err());
    std::fs::write(fixture.path(".env"), "TOKEN=secret\n").unwrap();
    let secret = json!({ "file_path": fixture.path(".env"), "old_string": "TOKEN=absent", "new_string": "x" });
    assert!(fixture.engine.call(&caller("agent-2"), "edit", secret).result.is_err());
    let browser = fixture.log_in().await;
    let page = browser.get("/refused").await;
    assert_eq!(page.matches("class=\"refusal\"").count(), 2, "{page}");
    assert!(page.contains("match.not_found") && page.contains("a.txt") && !page.contains("<absent>"), "{page}");
    assert!(!page.contains("TOKEN=secret"), "{page}");
    let page = browser.get("/refused?session=agent-1").await;
    assert_eq!(page.matches("class=\"refusal\"").count(), 1, "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_files_are_sent_as_directories() {
    let fixture = ServerFixture::new(false);
    let file = |nth: usize| format!("*** Add File: {}\n+one\n", fixture.path(&format!("wide/{}/{nth}.txt", nth / 50)));
    let patch: String = (0..250).map(file).collect();
    let patch = format!("*** Begin Patch\n{patch}*** Add File: {}\n+one\n*** End Patch\n", fixture.path("top.txt"));
    let id = fixture.agent("apply", json!({ "input": patch }));
    let browser = fixture.log_in().await;
    let page = browser.get(&format!("/op/{id}")).await;
    // The last file is alone at the top; the others are in a directory that is closed.
    assert_eq!(page.matches("class=\"leaf").count(), 1, "{page}");
    assert_eq!(page.matches("data-folder=").count(), 1, "{page}");
    let folder = browser.get(&format!("/part/tree?op={id}&path=wide")).await;
    assert_eq!(folder.matches("data-folder=").count(), 5, "{folder}");
    let files = browser.get(&format!("/part/tree?op={id}&path=wide/4")).await;
    assert_eq!(files.matches("class=\"leaf").count(), 50, "{files}");
    assert!(files.contains(&format!("/op/{id}?start=200#f-")), "{files}");
    // Without scripts, a link shows exactly the files of a directory.
    assert!(folder.contains(&format!("/op/{id}?below=wide/4\"")), "{folder}");
    for filter in ["files=wide/4/", "below=wide/4"] {
        let some = browser.get(&format!("/op/{id}?{filter}")).await;
        assert_eq!(some.matches("class=\"leaf").count(), 50, "{some}");
    }
    for below in ["ide/4", "wide/", "WIDE/4"] {
        let some = browser.get(&format!("/op/{id}?below={below}")).await;
        assert_eq!(some.contains("No file has such a name."), below != "wide/", "{some}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ticks_are_kept_by_the_server() {
    let fixture = ServerFixture::new(false);
    let id = fixture.two_hunks();
    let browser = fixture.log_in().await;
    let page = browser.get(&format!("/op/{id}")).await;
    let value = |name: &str| {
        let tag = page.split("<section class=\"file\"").nth(1).unwrap();
        tag.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let tick = format!("{}:{}", value("id"), value("data-version"));
    assert!(!page.contains("data-viewed"), "{page}");
    assert_eq!(status(&browser.act(&format!("do=tick&name={tick}&on=1")).await), "200");
    assert!(browser.get(&format!("/op/{id}")).await.contains("data-viewed=\"1\""));
    browser.act(&format!("do=tick&name={tick}&on=0")).await;
    assert!(!browser.get(&format!("/op/{id}")).await.contains("data-viewed"));
    assert_eq!(status(&browser.act("do=tick&name=%3Cscript%3E&on=1").await), "409");
    let reader = ServerFixture::new(true);
    let browser = reader.log_in().await;
    assert_eq!(status(&browser.act(&format!("do=tick&name={tick}&on=1")).await), "403");
}
