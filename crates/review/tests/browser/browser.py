"""Tests of the review page in a browser, as people use it: every action changes real files, several tabs and an agent work
at the same time, the server is killed and restarted, attacks fail, and nothing is reported by axe. Prints measurements, and
keeps a picture of each view. `cargo xtask review` runs it."""

import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

EMEND = os.environ["EMEND"]
PICTURES = Path(os.environ["PICTURES"])
DOCS = Path(os.environ["DOCS"])
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]
OPERATIONS = int(os.environ.get("REVIEW_OPERATIONS", "10000"))
FILES = int(os.environ.get("REVIEW_FILES", "10000"))
LARGE_MB = int(os.environ.get("REVIEW_MEGABYTES", "50"))

CART = '''"""A shopping cart."""

TAX = 0.19


class Cart:
    def __init__(self):
        self.items = []

    def add(self, name, price, count=1):
        # No checks here.
        self.items.append((name, price, count))

    def total(self):
        return sum(price * count for _, price, count in self.items) * (1 + TAX)


def main():
    cart = Cart()
    cart.add("book", 12.5)
    cart.add("pen", 1.25, 4)
    print(cart.total())


if __name__ == "__main__":
    main()
'''

PATCH = '''src/cart.py
<<<<<<< SEARCH
    def add(self, name, price, count=1):
        # No checks here.
=======
    def add(self, name: str, price: float, count: int = 1) -> None:
        if price < 0 or count < 1:
            raise ValueError(f"invalid item {name!r}: {price} × {count}")
>>>>>>> REPLACE
<<<<<<< SEARCH
    cart.add("pen", 1.25, 4)
=======
    cart.add("pen", 1.25, 4)
    cart.add("ruler", 2.75)
>>>>>>> REPLACE
config.json
<<<<<<< SEARCH
  "debug": true,
=======
  "debug": false,
  "currency": "EUR",
>>>>>>> REPLACE
'''


def until(page, condition, seconds=20):
    """Waits for a condition of the page; its policy forbids what Playwright does for that."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, (condition, page.locator("#toast").inner_text())
        time.sleep(0.02)


class Project:
    """A project with a history, in directories that are removed at the end."""

    def __init__(self):
        self.base = Path(tempfile.mkdtemp(prefix="emend-review-"))
        self.root = self.base / "shop"
        self.root.mkdir()
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.base), "EMEND_STATE": str(self.base / "state"),
                    "TZ": "UTC"}
        self.servers = []
        self.asking = []

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text, newline="")

    def get(self, name):
        return (self.root / name).read_text()

    def emend(self, *words, session="claude-5e7c12", text=None):
        command = [EMEND, "--root", str(self.root), "--unread", "allow", "--session", session, *words]
        done = subprocess.run(command, cwd=self.root, env=self.env, input=text, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def call(self, tool, session="claude-5e7c12", **fields):
        out = subprocess.run([EMEND, "--root", str(self.root), "--unread", "allow", "--session", session, "call", tool],
                             cwd=self.root, env=self.env, input=json.dumps(fields), capture_output=True, text=True)
        reply = json.loads(out.stdout)
        assert reply["ok"], reply
        return reply["data"]

    def serve(self, *flags, port=0):
        server = Server(self, flags, port)
        self.servers.append(server)
        return server

    def ask(self, name, old, new):
        """Starts an edit for which a rule asks a person."""
        settings = self.base / ".config/emendate/config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(f'[policy]\nask = ["Edit({name})"]\n[ask]\nwait_seconds = 600\n')
        asking = subprocess.Popen([EMEND, "--root", str(self.root), "--unread", "allow", "call", "edit"], cwd=self.root,
                                  env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        asking.stdin.write(json.dumps({"file_path": str(self.root / name), "old_string": old, "new_string": new}))
        asking.stdin.close()
        self.asking.append(asking)
        return asking

    def close(self):
        for asking in self.asking:
            asking.kill()
            asking.wait()
        for server in self.servers:
            server.kill()
        shutil.rmtree(self.base, ignore_errors=True)


class Server:
    """A running `emend review`."""

    def __init__(self, project, flags=(), port=0):
        command = [EMEND, "--root", str(project.root), "review", "--no-open", "--port", str(port), *flags]
        self.process = subprocess.Popen(command, cwd=project.root, env=project.env, stderr=subprocess.PIPE, text=True)
        self.url = None
        for line in self.process.stderr:
            found = re.search(r"http://\S+", line)
            if found:
                self.url = found.group(0)
                break
        assert self.url, "the server printed no address"
        self.home = self.url.split("login#")[0]
        self.token = self.url.split("#")[1]
        self.port = int(re.search(r":(\d+)/", self.url).group(1))

    def peak_mb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()


def history(project):
    """Fills a project as an afternoon of agents, an editor and a shell would."""
    project.put("src/cart.py", CART)
    project.put("config.json", '{\n  "name": "demo",\n  "debug": true,\n  "limits": [1, 2, 3]\n}\n')
    project.put("docs/README.md", "# Demo\n\nA cart.\n")
    project.emend("edit", "src/cart.py", "--old", "TAX = 0.19", "--new", "TAX_RATE = 0.07")
    project.emend("edit", "src/cart.py", "--old", "(1 + TAX)", "--new", "(1 + TAX_RATE)")
    project.emend("apply", "-", text=PATCH)
    project.emend("write", "docs/NOTES.md", text="# Notes\n\n- <script>alert(1)</script>\n- price \u202e reversed\n")
    project.emend("mark", "before-refactoring")
    project.emend("read", "docs/README.md")
    project.put("docs/README.md", "# Demo\n\nA cart.\n\nMore.\n")
    project.emend("edit", "docs/README.md", "--old", "More.", "--new", "More to come.", session="cursor-77")


class Tests:
    """The tests. Each gets a browser, and makes its own project."""

    def __init__(self, browser):
        self.browser = browser
        self.figures = []

    def open(self, server, path="", **options):
        context = self.browser.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="reduce", **options)
        page = context.new_page()
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("dialog", lambda dialog: (page.errors.append("dialog " + dialog.message), dialog.dismiss()))
        page.on("console", lambda said: page.errors.append(said.text) if said.type == "error" else None)
        page.goto(server.url)
        page.wait_for_selector("#main > *")
        if path:
            page.goto(server.home + path)
            page.wait_for_selector("#main > *")
        return page

    def picture(self, page, name):
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(PICTURES / f"{name}.png"))

    def figure(self, what, value, goal=None):
        self.figures.append(f"{what}: {value}" + (f" (goal {goal})" if goal else ""))

    # ---- actions ----------------------------------------------------------------------------------------------------

    def test_every_action_changes_the_files(self, project):
        history(project)
        operation = next(it for it in project.call("history", limit=20)["operations"] if it["tool"] == "apply")["id"]
        page = self.open(project.serve(), f"op/{operation}")
        self.picture(page, "operation")
        before = project.get("src/cart.py")

        page.keyboard.press("n")
        page.keyboard.press("n")
        page.keyboard.press("x")
        page.wait_for_selector(".hunk.undone")
        assert "raise ValueError" not in project.get("src/cart.py") or "ruler" not in project.get("src/cart.py")
        page.keyboard.press("r")
        until(page, "!document.querySelector('.hunk.undone')")
        assert project.get("src/cart.py") == before
        page.keyboard.press("u")
        page.wait_for_selector(".hunk.undone")
        assert project.get("src/cart.py") != before
        page.keyboard.press("u")
        until(page, "!document.querySelector('.hunk.undone')")

        page.locator(".file", has_text="cart.py").get_by_role("button", name="Undo file").click()
        until(page, "document.querySelectorAll('.hunk.undone').length == 2")
        assert "ruler" not in project.get("src/cart.py") and "EUR" in project.get("config.json")
        page.get_by_role("button", name="Undo this").last.click()
        until(page, "!document.querySelector('.hunk.undone')")
        assert project.get("src/cart.py") == before

        page.keyboard.press("X")
        page.wait_for_selector(".scope :text('undone by')")
        assert "EUR" not in project.get("config.json") and "ruler" not in project.get("src/cart.py")
        page.keyboard.press("X")
        page.wait_for_selector(".scope :text('redone by')")
        assert project.get("src/cart.py") == before

        page.goto(page.url.replace("/op/", "/turn/"))
        self.picture(page, "turn")
        page.get_by_role("button", name="Undo turn").click()
        until(page, "document.querySelectorAll('.hunk.undone').length > 2")
        assert project.get("src/cart.py") == CART and not (project.root / "docs/NOTES.md").exists()
        page.keyboard.press("u")
        until(page, "document.querySelectorAll('.hunk.undone').length == 0")
        assert project.get("src/cart.py") == before and (project.root / "docs/NOTES.md").exists()

        page.goto(page.url.split("/turn/")[0] + f"/file?path={project.root}/src/cart.py")
        page.wait_for_selector(".versions")
        self.picture(page, "file")
        page.locator(".versions a").first.click()
        until(page, "document.querySelector('.versions li a').hasAttribute('aria-current')")
        page.get_by_role("button", name="Restore the version before").click()
        page.wait_for_selector("#toast > div")
        assert project.get("src/cart.py") == CART
        assert page.errors == [], page.errors

    def test_lines_are_edited_beside_the_difference(self, project):
        history(project)
        page = self.open(project.serve(), "op/1")
        page.keyboard.press("j")
        page.keyboard.press("i")
        page.wait_for_selector("textarea")
        self.picture(page, "edit")
        text = page.locator("textarea").input_value()
        before = project.get("src/cart.py")
        assert "TAX_RATE = 0.07" in text, text
        page.locator("textarea").fill(text.replace("0.07", "0.05  # <b>\u00e4"))
        page.get_by_role("button", name="Save").click()
        page.wait_for_selector("#toast > div:has-text('cart.py')")
        page.wait_for_selector(".scope")
        assert project.get("src/cart.py") == before.replace("0.07", "0.05  # <b>\u00e4")
        page.keyboard.press("u")
        page.wait_for_selector(".op:has-text('undo')")
        assert project.get("src/cart.py") == before
        assert page.errors == [], page.errors

    def test_outside_changes_can_be_undone(self, project):
        history(project)
        page = self.open(project.serve(), "?kind=outside")
        page.locator(".op.outside a").first.click()
        page.wait_for_selector(".scope h1:has-text('Changed by others')")
        self.picture(page, "outside")
        project.emend("edit", "docs/README.md", "--old", "# Demo", "--new", "# Shop")
        page.wait_for_selector(".op:has-text('README.md') >> nth=2")
        page.keyboard.press("j")
        page.keyboard.press("x")
        page.wait_for_selector("#toast > div")
        # The line was changed since: a conflict, which is explained, and can be resolved by hand.
        page.get_by_role("link", name="Resolve").click()
        page.wait_for_selector("textarea")
        self.picture(page, "conflict")
        text = page.locator("textarea").input_value()
        assert "<<<<<<<" in text, text
        page.locator("textarea").fill("# Shop\n\nA cart.\n")
        page.get_by_role("button", name="Save").click()
        page.wait_for_selector("#toast > div:has-text('README.md')")
        assert project.get("docs/README.md") == "# Shop\n\nA cart.\n"

    def test_keys_and_ticks(self, project):
        history(project)
        server = project.serve()
        page = self.open(server, "turn/3")
        page.keyboard.press("j")
        assert page.locator(".hunk.cur").count() == 1
        page.keyboard.press("a")
        page.wait_for_selector(".hunk.reviewed")
        page.keyboard.press("v")
        page.wait_for_selector(".leaf.viewed")
        assert "1 of" in page.locator(".viewed-count").inner_text()
        page.keyboard.press("s")
        page.wait_for_selector("body.split .pair", state="attached")
        self.picture(page, "split")
        page.keyboard.press("w")
        page.wait_for_selector("body.nows")
        page.keyboard.press("s")
        until(page, "!document.body.classList.contains('split')")
        page.keyboard.press("t")
        theme = page.evaluate("document.documentElement.dataset.theme")
        page.reload()
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        page.keyboard.press("/")
        page.keyboard.type("cursor")
        until(page, "document.querySelectorAll('.op').length == 1")
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        page.wait_for_selector("dialog[open]")
        page.keyboard.press("Escape")
        page.locator(".gap a").first.click()
        page.wait_for_selector("tr.more")
        # A tick is gone when the file changes.
        page.goto(server.home + "turn/3")
        page.wait_for_selector(".leaf.viewed")
        assert page.locator(".leaf.viewed").count() == 1
        # Another browser shows the same ticks.
        other = self.open(server, "turn/3")
        assert other.locator(".leaf.viewed").count() == 1 and other.locator(".hunk.reviewed").count() == 1
        assert page.errors == [] and other.errors == [], (page.errors, other.errors)

    def test_changes_are_kept_and_decided_again(self, project):
        history(project)
        server = project.serve()
        page = self.open(server, "op/3")
        progress = "document.querySelector('.progress').textContent"
        assert page.evaluate(progress) == "0 of 3 decided"
        page.keyboard.press("j")
        page.keyboard.press("a")
        until(page, f"{progress} == '1 of 3 decided'")
        # The next change without a decision is the current one.
        assert page.locator(".hunk.cur").get_attribute("aria-label").startswith("Change 1 of 2 in src/cart.py")
        page.keyboard.press("x")
        until(page, f"{progress} == '2 of 3 decided'")
        page.keyboard.press("u")
        until(page, f"{progress} == '1 of 3 decided'")
        page.keyboard.press("u")
        until(page, f"{progress} == '0 of 3 decided'")
        page.locator(".file", has_text="cart.py").get_by_role("button", name="Keep file").click()
        until(page, f"{progress} == '2 of 3 decided'")
        assert page.locator(".file", has_text="cart.py").get_by_role("button", name="File kept").count() == 1
        page.keyboard.press("u")
        until(page, f"{progress} == '0 of 3 decided'")
        # What was kept before stays kept if a later decision is taken back.
        page.keyboard.press("a")
        until(page, f"{progress} == '1 of 3 decided'")
        page.get_by_role("button", name="Keep operation (2 files)").click()
        until(page, f"{progress} == '3 of 3 decided'")
        page.keyboard.press("u")
        until(page, f"{progress} == '1 of 3 decided'")
        page.get_by_role("button", name="Keep operation (2 files)").click()
        until(page, f"{progress} == '3 of 3 decided'")
        assert "All changes will be kept." in page.locator("#toast").inner_text()
        self.picture(page, "kept")
        # Another browser shows it; a turn has ticks of its own.
        other = self.open(server, "op/3")
        assert other.evaluate(progress) == "3 of 3 decided"
        other.goto(server.home + "turn/3")
        other.wait_for_selector(".hunk")
        before = other.evaluate(progress)
        assert before.startswith("0 of"), before
        other.keyboard.press("A")
        until(other, f"{progress}.match(/^(\\d+) of \\1 decided/)")
        other.reload()
        other.wait_for_selector(".hunk.reviewed")
        other.locator(".file", has_text="config.json").get_by_role("button", name="File kept").click()
        until(other, "!document.querySelector('.file .hunk').matches('.reviewed')")
        # A change of the file ends the ticks.
        project.emend("edit", "src/cart.py", "--old", "No items", "--new", "x") if "No items" in project.get("src/cart.py") else None
        assert page.errors == [] and other.errors == [], (page.errors, other.errors)

    def test_text_that_is_typed_survives_changes_by_others(self, project):
        history(project)
        page = self.open(project.serve(), "op/3")
        page.keyboard.press("j")
        page.keyboard.press("c")
        page.keyboard.type("Use a constant")
        page.locator(".file", has_text="cart.py").locator(".fold").click()
        page.locator(".write-comment textarea").first.focus()
        page.select_option("#kind", "edit")
        until(page, "!document.querySelector('.op.mark')")
        page.locator(".write-comment textarea").first.focus()
        project.emend("write", "docs/new.md", text="new\n")
        page.wait_for_selector(".op:has-text('new.md')")
        until(page, "document.querySelector('#kind').value == 'edit' && !document.querySelector('.op.mark')")
        box = page.locator(".write-comment[open] textarea")
        assert box.input_value() == "Use a constant"
        page.keyboard.type(" here.")
        assert box.input_value() == "Use a constant here."
        assert page.locator(".file.folded", has_text="cart.py").count() == 1
        box.locator("xpath=ancestor::form").get_by_role("button").click()
        page.wait_for_selector(".comment:has-text('Use a constant here.')")
        assert page.locator(".write-comment[open]").count() == 0
        assert page.errors == [], page.errors

    def test_text_belongs_to_the_version_that_it_was_begun_in(self, project):
        project.put("f.txt", "".join(f"l{line}\n" for line in range(60)))
        project.emend("edit", "f.txt", "--old", "l8\nl9\n", "--new", "l8\nL9\n")
        project.emend("edit", "f.txt", "--old", "L9", "--new", "LL9")
        server = project.serve()
        page = self.open(server, f"resolve?op=1&path={project.root}/f.txt")
        text = "".join(f"l{line}\n" for line in range(60)).replace("l9\n", "mine\n")
        page.locator("#content").fill(text)
        tag = "document.querySelector('.resolve [name=tag]').value"
        begun = page.evaluate(tag)
        project.emend("edit", "f.txt", "--old", "l40", "--new", "WORK OF AN AGENT")
        until(page, "document.querySelectorAll('.op').length == 3")
        assert page.evaluate(tag) == begun and page.locator("#content").input_value() == text
        page.get_by_role("button", name="Save").click()
        page.wait_for_selector("#toast .bad")
        assert "WORK OF AN AGENT" in project.get("f.txt") and page.locator("#content").input_value() == text
        # A text that was not changed is renewed with its version.
        page.reload()
        page.wait_for_selector("#content")
        fresh = page.evaluate(tag)
        project.emend("edit", "f.txt", "--old", "l50", "--new", "L50")
        until(page, f"{tag} != '{fresh}' && document.querySelector('#content').value.includes('L50')")
        page.locator("#content").fill(text)
        page.get_by_role("button", name="Save").click()
        until(page, "location.pathname == '/op/1'")
        assert project.get("f.txt") == text

    def test_comment_on_a_file_that_was_fetched_survives_changes_by_others(self, project):
        for nth in range(12):
            project.put(f"f{nth:02}.txt", "".join(f"alpha {line}\n" for line in range(40)))
        project.emend("replace", "alpha", "ALPHA", ".")
        page = self.open(project.serve(), "op/1")
        last = page.locator(".file", has_text="f11.txt")
        last.scroll_into_view_if_needed()
        last.locator(".hunk").wait_for()
        last.locator(".write-comment summary").click()
        last.locator(".write-comment textarea").fill("Why here?")
        with page.expect_response(lambda response: "/part/file" in response.url and "f11.txt" in response.url) as fetched:
            project.emend("write", "new.md", text="new\n")
        fetched.value.finished()
        page.wait_for_timeout(200)
        assert last.locator(".write-comment textarea").input_value() == "Why here?"
        assert page.errors == [], page.errors

    def test_words_are_those_of_the_edit(self, project):
        project.put("a.py", "f(a, a)\nx = 1\ny = 2\n")
        project.emend("edit", "a.py", "--old", "f(", "--new", "f(a, ")
        page = self.open(project.serve(), "op/1")
        assert page.locator(".add .w").all_inner_texts() == ["a, "]
        # The first argument is new, and not the last one, as a comparison of both texts would have it.
        assert page.locator(".add .c").first.evaluate("cell => cell.textContent.indexOf(cell.querySelector('.w').textContent)") == 2
        project.emend("edit", "a.py", "--old", "x = 1\ny = 2", "--new", "x = 3\ny = 4\nz = 5")
        page.goto(page.url.replace("/op/1", "/op/2"))
        page.wait_for_selector(".add .w")
        assert page.locator(".add .w").all_inner_texts() == ["3", "4"]

    def test_refused_calls_and_models(self, project):
        project.put("src/a.py", "x = 1\n")
        edit = ["edit", "src/a.py", "--old", "x = 1", "--new", "x = 2"]
        project.emend("--model", "gpt-test", *edit)
        project.emend("edit", "src/a.py", "--old", "x = 2", "--new", "x = 3", session="cursor-77")
        failed = subprocess.run([EMEND, "--model", "gpt-test", *edit], cwd=project.root, env=project.env, capture_output=True)
        assert failed.returncode != 0
        server = project.serve()
        page = self.open(server, "refused")
        assert page.locator(".refusal").count() == 1
        text = page.locator(".refusal").inner_text()
        assert "src/a.py" in text and "gpt-test" in text and "match." in text, text
        self.picture(page, "refused")
        page.goto(server.home)
        page.select_option("#model", "gpt-test")
        until(page, "document.querySelectorAll('.op').length == 1")
        assert page.errors == [], page.errors

    def test_directories_of_many_files_are_opened_on_demand(self, project):
        for number in range(300):
            project.put(f"wide/{number // 100}/{number}.txt", f"old {number}\n")
        project.emend("replace", "old", "new", "wide")
        server = project.serve()
        page = self.open(server)
        assert page.locator(".tree .leaf").count() == 0
        page.locator(".tree [data-folder] summary", has_text="2/").click()
        page.wait_for_selector(".tree .leaf")
        assert page.locator(".tree .leaf").count() == 100
        page.locator(".tree .leaf a", has_text="277.txt").click()
        until(page, "document.activeElement.closest('.file')?.innerText.includes('277.txt')")
        page.locator(".tree [data-folder] summary", has_text="1/").wait_for()
        assert page.errors == [], page.errors

    def test_forms_work_without_scripts(self, project):
        history(project)
        server = project.serve()
        context = self.browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(server.home)
        page.fill("#token", server.token)
        page.get_by_role("button", name="Open").click()
        operation = next(it for it in project.call("history", limit=20)["operations"] if it["tool"] == "apply")["id"]
        page.goto(server.home + f"op/{operation}")
        assert "raise ValueError" in page.locator(".diffs").inner_text()
        self.picture(page, "no-scripts")
        page.locator(".hunk form.act button:has-text('Undo')").first.click()
        assert "Undone" in page.locator("#main h1").inner_text(), page.locator("#main").inner_text()
        assert "EUR" not in project.get("config.json")
        page.get_by_role("button", name="Undo this").click()
        assert "EUR" in project.get("config.json")

    def test_questions_are_answered(self, project):
        project.put("config.json", '{\n  "debug": true\n}\n')
        page = self.open(project.serve(), "questions")

        def ask():
            asking = project.ask("config.json", "true", "false")
            page.wait_for_selector(".question")
            return asking

        asking = ask()
        self.picture(page, "question")
        page.get_by_label("Reason").fill("Not today.")
        page.get_by_role("button", name="Deny").click()
        assert "Not today." in asking.stdout.read() and "true" in project.get("config.json")
        until(page, "!document.querySelector('.question')")
        asking = ask()
        page.get_by_text("Edit the change before it is made").click()
        page.locator("textarea").fill('{\n  "debug": "maybe"\n}\n')
        page.get_by_role("button", name="Approve with these texts").click()
        assert '"ok":true' in asking.stdout.read() and project.get("config.json") == '{\n  "debug": "maybe"\n}\n'
        project.put("config.json", '{\n  "debug": true\n}\n')
        asking = ask()
        page.get_by_role("button", name="Approve", exact=True).click()
        assert '"ok":true' in asking.stdout.read() and "false" in project.get("config.json")
        assert page.errors == [], page.errors

    def test_marks_and_comments(self, project):
        history(project)
        operation = next(it for it in project.call("history", limit=20)["operations"] if it["tool"] == "apply")["id"]
        server = project.serve()
        page = self.open(server, f"op/{operation}")
        page.keyboard.press("j")
        page.keyboard.press("a")
        page.wait_for_selector(".hunk.reviewed", state="attached")
        page.keyboard.press("c")
        page.keyboard.type("Why no tax?")
        page.locator(".hunk.cur .write-comment button").click()
        page.wait_for_selector(".comment:has-text('Why no tax?')")
        self.picture(page, "comment")
        assert "Why no tax?" in project.emend("read", "config.json"), "the next reply of the session has it"
        server.kill()
        page = self.open(project.serve(), f"op/{operation}")
        assert page.locator(".hunk.reviewed").count() == 1
        assert "delivered" in page.locator(".comment").inner_text()
        page.get_by_role("button", name="Delete").click()
        until(page, "!document.querySelector('.comment')")

    def test_notebooks_images_and_binaries(self, project):
        cells = [{"id": f"c{n}", "cell_type": "code", "source": f"x = {n}\n", "outputs": [], "metadata": {}, "execution_count": None}
                 for n in range(3)]
        project.put("a.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))
        project.call("notebook_edit", notebook_path=str(project.root / "a.ipynb"), cell_id="c1", new_source="x = 17")
        png = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
                            "08d763f8cfc0000003010100c9fe92ef0000000049454e44ae426082")
        project.put("a.png", png)
        project.put("a.bin", b"\0\1\2" * 1000)
        for name in ("a.png", "a.bin"):
            path = project.root / name
            project.call("apply", input=f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n")
        page = self.open(project.serve())
        page.locator(".op:has-text('a.ipynb') a").click()
        page.wait_for_selector(".cell")
        assert "Cell 2" in page.locator(".cell").inner_text() and "17" in page.locator(".cell").inner_text()
        page.locator(".op:has-text('a.png') a").click()
        page.wait_for_selector(".sides img")
        until(page, "document.querySelector('.sides img').naturalWidth == 1")
        page.locator(".op:has-text('a.bin') a").click()
        page.wait_for_selector("figcaption:has-text('2.9 KiB')")
        assert page.errors == [], page.errors

    # ---- several at the same time -----------------------------------------------------------------------------------

    def test_two_tabs_and_an_agent(self, project):
        history(project)
        server = project.serve()
        one, two = self.open(server), self.open(server)
        start = time.monotonic()
        project.emend("edit", "config.json", "--old", '"demo"', "--new", '"live"')
        for page in (one, two):
            page.wait_for_selector(".op:has-text('config.json') >> nth=0")
            until(page, "document.querySelector('#main').innerText.includes('live')")
        self.figure("change by an agent until both tabs show it", f"{(time.monotonic() - start) * 1000:.0f} ms")
        one.keyboard.press("j")
        one.keyboard.press("x")
        two.wait_for_selector(".op.edit:has-text('undo')")
        assert '"demo"' in project.get("config.json")
        # Both press at the same time: one of them does it, nothing is done twice.
        writer = threading.Thread(target=lambda: [project.emend("write", f"docs/new-{number}.md", text="new\n")
                                                  for number in range(5)])
        writer.start()
        for page in (one, two):
            page.keyboard.press("u")
        writer.join()
        two.wait_for_selector(".op:has-text('new-4.md')")
        assert all((project.root / f"docs/new-{number}.md").exists() for number in range(5))
        assert '"live"' in project.get("config.json")

    def test_change_during_a_reload_is_not_lost(self, project):
        history(project)
        server = project.serve()
        page = self.open(server)
        late = []

        def delay_first(route):
            if late or route.request.resource_type != "fetch" or "/events" in route.request.url:
                return route.continue_()
            late.append((route, route.fetch()))

        def until_late():
            end = time.monotonic() + 20
            while not late:
                assert time.monotonic() < end, "the page did not fetch itself"
                page.wait_for_timeout(20)

        # The page that the first change causes is made, but arrives after the announcement of the second one.
        page.route("**/*", delay_first)
        project.emend("write", "first.md", text="x\n")
        until_late()
        project.emend("write", "second.md", text="x\n")
        page.wait_for_timeout(1000)
        late[0][0].fulfill(response=late[0][1])
        page.wait_for_selector(".op:has-text('second.md')")

        # A change during a visit does not take its place.
        late.clear()
        page.locator("nav a:has-text('Charts')").click()
        until_late()
        project.emend("write", "third.md", text="x\n")
        page.wait_for_selector(".op:has-text('third.md')")
        late[0][0].fulfill(response=late[0][1])
        page.wait_for_url("**/charts")

    def test_server_is_killed_and_restarted(self, project):
        history(project)
        server = project.serve()
        page = self.open(server)
        server.kill()
        page.wait_for_selector("#live.off")
        again = project.serve(port=server.port)
        page.reload()
        assert page.locator("#token").count() == 1, "the old login is void"
        page.goto(again.url)
        page.wait_for_selector(".op")
        project.emend("write", "after.md", text="x\n")
        page.wait_for_selector(".op:has-text('after.md')")

    # ---- attacks ----------------------------------------------------------------------------------------------------

    def test_attacks_fail(self, project):
        history(project)
        hostile = ["<img src=x onerror=alert(1)>.txt", "a\"b'c.txt", "line\nend.txt", "x\u202etxt.exe"]
        for name in hostile:
            project.put(name, "old\n")
            project.call("edit", file_path=str(project.root / name), old_string="old",
                         new_string="<script>alert(1)</script></table><svg onload=alert(1)>\u202e")
        project.call("write", file_path=str(project.root / "long.txt"), content="x" * 1_000_000 + "<b>\n")
        server = project.serve()
        page = self.open(server)
        for link in page.locator(".op a").evaluate_all("links => links.map(link => link.href)"):
            page.goto(link)
            page.wait_for_selector("#main .scope")
            assert page.locator("#main script, #main svg, #main img").count() == 0
        assert page.errors == [], page.errors

        # Another origin: a page of somebody else in the same browser.
        before = project.get("src/cart.py")
        operation = project.call("history", limit=1)["operations"][0]["id"]
        evil = f"""<!doctype html><body><form id=f method=post action="{server.home}act"><input name=do value=undo>
            <input name=id value="{operation}"><input name=csrf value=guess></form><iframe src="{server.home}"></iframe><script>
            const tries = [fetch("{server.home}", {{credentials: "include", mode: "no-cors"}}).then(r => r.type, e => "error"),
              fetch("{server.home}", {{credentials: "include"}}).then(r => r.text(), e => "error"),
              new Promise(done => {{ const s = new EventSource("{server.home}events", {{withCredentials: true}});
                s.onmessage = () => done("heard"); s.addEventListener("state", () => done("heard")); s.onerror = () => done("error"); }})];
            Promise.all(tries).then(all => {{ document.title = JSON.stringify(all); }});
            </script>""".encode()

        class Evil(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(evil)

            def log_message(self, *_):
                pass

        other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
        threading.Thread(target=other.serve_forever, daemon=True).start()
        attacker = page.context.new_page()
        attacker.goto(f"http://127.0.0.1:{other.server_port}/")
        until(attacker, "document.title.startsWith('[')")
        _, text, stream = json.loads(attacker.title())
        assert (text, stream) == ("error", "error"), attacker.title()
        attacker.evaluate("document.getElementById('f').submit()")
        attacker.wait_for_url("**/act")
        assert "not answered" in attacker.content(), attacker.content()
        assert project.get("src/cart.py") == before and (project.root / "long.txt").exists()

        # Rebinding: a name of the attacker that leads to this machine.
        rebound = self.playwright.chromium.launch(
            executable_path=os.environ["CHROMIUM"], args=[*FLAGS, "--host-resolver-rules=MAP evil.example 127.0.0.1"])
        view = rebound.new_page()
        answer = view.goto(f"http://evil.example:{server.port}/")
        assert answer.status == 403, answer.status
        rebound.close()

        # Guessing.
        stranger = self.browser.new_context().new_page()
        for number in range(11):
            stranger.goto(server.home + "login")
            stranger.fill("#token", f"guess-{number}-0123456789")
            stranger.get_by_role("button", name="Open").click()
            stranger.wait_for_selector(".notice.bad")
        assert "wait a minute" in stranger.content()
        other.shutdown()

    def test_read_only_cannot_be_left(self, project):
        history(project)
        page = self.open(project.serve("--read-only"))
        assert page.locator("form.act").count() == 0 and page.locator(".badge:has-text('read-only')").count() == 1
        status = page.evaluate("""fetch("/act", {method: "POST", headers: {"X-Emend-CSRF": document.body.dataset.csrf},
            body: new URLSearchParams({do: "undo_turn", id: "1"})}).then(response => response.status)""")
        assert status == 403, status

    # ---- accessibility ----------------------------------------------------------------------------------------------

    def test_accessibility(self, project):
        history(project)
        server = project.serve()
        project.ask("config.json", '"demo"', '"live"')
        subprocess.run([EMEND, "edit", "src/cart.py", "--old", "absent", "--new", "x"], cwd=project.root, env=project.env,
                       capture_output=True)
        page = self.open(server, "questions")
        page.wait_for_selector(".question")
        page.context.close()
        views = ["", "turn/3", "turn/3?layout=split", "since", "charts", "charts?by=tool&value=edit", "refused", "questions",
                 "between?from=before-refactoring&to=now", f"file?path={project.root}/src/cart.py",
                 f"resolve?op=1&path={project.root}/src/cart.py",
                 f"edit?op=1&path={project.root}/src/cart.py&hunk=1", "op/4", "nothing"]
        script = Path(os.environ["AXE"]).read_text()
        for scheme in ("light", "dark"):
            page = self.open(server, color_scheme=scheme)
            for view in views:
                page.goto(server.home + view)
                page.wait_for_selector("#main > *")
                page.evaluate(script)
                found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(it => it.violations)")
                told = [(it["id"], [node["html"][:200] for node in it["nodes"]][:3]) for it in found]
                assert not told, (scheme, view, told)
                if view in ("charts", "between?from=before-refactoring&to=now", "since"):
                    self.picture(page, f"{view.split('?')[0]}-{scheme}")
            page.context.close()
        # A phone, which is also 1280 pixels at 400 %.
        page = self.open(server, "turn/3")
        page.set_viewport_size({"width": 320, "height": 640})
        for view in views:
            page.goto(server.home + view)
            page.wait_for_selector("#main > *")
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= 320, (view, width)
            if view in ("refused", "questions", "charts", ""):
                self.picture(page, f"phone-{view or 'history'}")
        # Without scripts everything can be read.
        context = self.browser.new_context(java_script_enabled=False)
        plain = context.new_page()
        plain.goto(server.home + "login")
        plain.fill("#token", server.token)
        plain.get_by_role("button", name="Open").click()
        for view, text in [("", "docs/README.md"), ("turn/3", "ruler"), ("refused", "match."), ("questions", "wants to use"),
                           ("charts", "Which tools work?"), (f"file?path={project.root}/src/cart.py", "Restore this version"),
                           ("between?from=before-refactoring&to=now", "README.md"), ("op/4", "alert(1)")]:
            plain.goto(server.home + view)
            assert text in plain.locator("body").inner_text(), (view, text)
        plain.goto(server.home + "op/3")
        plain.get_by_role("button", name="Keep operation").click()
        assert "All changes will be kept." in plain.locator("#main").inner_text()
        context.close()
        page.goto(server.home + "turn/3")
        self.picture(page, "phone")

    # ---- scale ------------------------------------------------------------------------------------------------------

    def test_scale(self, project):
        calls = []
        for number in range(OPERATIONS):
            path = str(project.root / f"many/{number % 50}.txt")
            calls.append({"id": number, "tool": "write", "input": {"file_path": path, "content": f"text {number}\n" * 3}})
        serve = [EMEND, "--root", str(project.root), "--unread", "allow", "--durability", "none", "--session", "claude-5e7c12"]
        start = time.monotonic()
        done = subprocess.run([*serve, "serve", "--ndjson"], cwd=project.root, env=project.env, capture_output=True, text=True,
                              input="".join(json.dumps(call) + "\n" for call in calls))
        assert done.returncode == 0 and done.stdout.count('"ok":true') == OPERATIONS, (done.stdout[-500:], done.stderr[-500:])
        for number in range(FILES):
            project.put(f"wide/{number // 100}/{number}.txt", f"old {number}\nsame\n")
        project.emend("--durability", "none", "replace", "old", "new", "wide")
        line = "a line of a large file, as logs have them, with some words\n"
        project.put("large.txt", line * (LARGE_MB * 1024 * 1024 // len(line)))
        with (project.root / "large.txt").open("r+") as large:
            large.seek(len(line) * 1000)
            large.write("UNIQUE")
        project.call("edit", file_path=str(project.root / "large.txt"), old_string="UNIQUE", new_string="CHANGED")
        self.figure(f"{OPERATIONS} operations, {FILES} files and {LARGE_MB} MB made in", f"{time.monotonic() - start:.0f} s")
        server = project.serve()
        page = self.open(server)
        wide = next(it for it in project.call("history", limit=9)["operations"] if it["filesTotal"] > 100)["id"]
        for name, path in [("history of many operations", "?kind=edit"), ("operation with many files", f"op/{wide}"),
                           ("large file", ""), ("history", "op/5000")]:
            page.goto(server.home + path)
            page.wait_for_selector("#main > *")
            paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0")
            size, answer = page.evaluate("(({transferSize, responseEnd}) => [transferSize, responseEnd])(performance.getEntriesByType('navigation')[0])")
            self.figure(f"first paint, {name}", f"{paint:.0f} ms, of which {answer:.0f} ms until {size / 1024:.0f} KiB were sent", "300 ms")
        page.goto(server.home + f"op/{wide}")
        page.wait_for_selector(".hunk")
        step = """() => new Promise(done => { const start = performance.now();
            document.dispatchEvent(new KeyboardEvent("keydown", {key: "j", bubbles: true}));
            requestAnimationFrame(() => setTimeout(() => done(performance.now() - start))); })"""
        steps = sorted(page.evaluate(step) for _ in range(6))
        self.figure("next change, in the operation with many files", f"{steps[3]:.0f} ms (median), {steps[-1]:.0f} ms (most)", "50 ms")
        self.picture(page, "many-files")
        self.figure("memory of the server, at most", f"{server.peak_mb():.0f} MB", "60 MB")

    # ---- pictures ---------------------------------------------------------------------------------------------------

    def documentation(self, project):
        history(project)
        server = project.serve()
        for name, view, options in [("operation", "op/3", {}), ("turn", "turn/3?layout=split", {"color_scheme": "dark"}),
                                    ("charts", "charts", {})]:
            page = self.open(server, view, **options)
            page.set_viewport_size({"width": 1200, "height": 680})
            page.wait_for_timeout(300)
            page.screenshot(path=str(DOCS / f"review-{name}.png"))
            page.context.close()


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=FLAGS)
        tests = Tests(browser)
        tests.playwright = playwright
        if "--pictures" in sys.argv:
            project = Project()
            try:
                tests.documentation(project)
            finally:
                project.close()
            return
        failed = 0
        names = [name for name in dir(tests) if name.startswith("test_") and (not words or any(w in name for w in words))]
        for name in names:
            project = Project()
            start = time.monotonic()
            try:
                getattr(tests, name)(project)
                print(f"{name}: ok, {time.monotonic() - start:.1f} s", flush=True)
            except Exception as error:  # noqa: BLE001 - every failure is reported, and the others run
                failed += 1
                print(f"{name}: FAILED\n{type(error).__name__}: {error}", flush=True)
                import traceback
                traceback.print_exc()
            finally:
                for context in browser.contexts:
                    context.close()
                project.close()
        for figure in tests.figures:
            print(figure)
        browser.close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
