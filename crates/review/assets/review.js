// The script of the review page. The pages work without it: it adds keys, answers without a new page, and live updates.
// It never builds markup from data: what it inserts is a page of this server, or text.
"use strict";

const root = document.documentElement;
root.classList.add("scripted");
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const decisions = []; // what takes back each decision of this tab, the newest last: fields of an action

// ---- fetching -----------------------------------------------------------------------------------------------------

const parse = (html) => new DOMParser().parseFromString(html, "text/html");

async function get(address) {
  const response = await fetch(address, { credentials: "same-origin", headers: { Accept: "text/html" } });
  const text = await response.text();
  if (response.status === 401) {
    say("This page is no longer logged in: the server was restarted. Open the address that it printed.", "bad");
    throw new Error("logged out");
  }
  return parse(text);
}

// ---- what a person has begun --------------------------------------------------------------------------------------

// A name for an element that its counterpart in a new version of the page has, too.
function place(element) {
  const near = element.parentElement.closest("[id]") ?? document.body;
  const kind = element.tagName + (element.name ? `[name="${element.name}"]` : element.className ? "." + [...element.classList].join(".") : "");
  return [near.id, kind, all(kind, near).indexOf(element)];
}
const placed = ([id, kind, nth], page) => all(kind, id ? page.getElementById(id) ?? page.createElement("i") : page.body)[nth];

// What a form is about, such as a version of a file.
const subject = (field) => (field.form?.matches(".act") ? all("input[type=hidden]:not([name=csrf])", field.form) : []);

// Returns what a reload must not lose: texts that are being written, with what they are about, what was opened and
// folded, and the focus.
function begun() {
  const fields = all("textarea, input").filter((field) => !["hidden", "checkbox", "range"].includes(field.type));
  const texts = fields.filter((field) => field.value !== field.defaultValue).map((field) => [place(field), field.value, subject(field)]);
  const open = all("#main details, #timeline details").map((details) => [place(details), details.open]);
  const folded = all(".file.folded").map((file) => file.id);
  const at = document.activeElement;
  const focus = at?.matches?.("textarea, input, select") && [place(at), at.selectionStart, at.selectionEnd];
  const filters = one("#timeline .filters");
  return { texts, open, folded, focus, filter: filters ? [...new FormData(filters)] : [] };
}
function resume({ texts, open, folded, focus, filter }) {
  const form = one("#timeline .filters");
  const changed = filter.filter(([name, value]) => form?.elements[name] && form.elements[name].value !== value);
  for (const [name, value] of changed) form.elements[name].value = value;
  if (changed.length) search(form);
  for (const [where, value, about] of texts) {
    const field = placed(where, document);
    if (!field) continue;
    field.value = value;
    // A new version of the page is about other versions of files, for which the text was not written.
    for (const input of subject(field)) input.remove();
    if (about.length) field.form.prepend(...about);
  }
  for (const [where, isOpen] of open) {
    const details = placed(where, document);
    if (details && details.open !== isOpen) details.open = isOpen;
  }
  for (const id of folded) {
    const file = document.getElementById(id);
    if (file) fold(file, true);
  }
  const field = focus && placed(focus[0], document);
  if (!field) return;
  field.focus({ preventScroll: true });
  // Some fields have no selection.
  if (focus[1] != null) field.setSelectionRange?.(focus[1], focus[2]);
}
// Files that were fetched stay on the screen until their new version is there.
function keepCards(main) {
  const again = [];
  for (const file of all(".file[data-part]", main)) {
    const old = document.getElementById(file.id);
    if (!old || old.dataset.part) continue;
    again.push([old, file.dataset.part]);
    file.replaceWith(old);
  }
  return () => Promise.all(again.map(([old, address]) => old.isConnected && card(old, address)));
}

let visit = 0;
let next; // the visit that has not arrived yet
async function go(address, { push = true, keep = false } = {}) {
  const mine = ++visit;
  next = { address, push, keep };
  const top = scrollY, at = current()?.id;
  const page = await get(address).finally(() => {
    if (mine === visit) next = undefined;
  });
  if (mine !== visit || !one("#main", page)) return;
  const list = one("#timeline").scrollTop;
  if (push) history.pushState(null, "", address);
  document.title = page.title;
  document.body.className = page.body.className;
  document.body.dataset.newest = page.body.dataset.newest ?? "";
  document.body.dataset.csrf = page.body.dataset.csrf ?? document.body.dataset.csrf;
  const before = keep && begun();
  const refetch = keep && keepCards(one("#main", page));
  for (const id of ["main", "timeline"]) one("#" + id).replaceWith(document.adoptNode(one("#" + id, page)));
  const nav = one(".bar nav", page);
  if (nav) one(".bar nav").replaceWith(document.adoptNode(nav));
  one("#timeline").scrollTop = list;
  prepare(document);
  if (keep) {
    resume(before);
    scrollTo(0, top);
    refetch();
    const hunk = at && document.getElementById(at);
    if (hunk) mark(hunk);
  } else {
    scrollTo(0, 0);
    one("#main").focus({ preventScroll: true });
  }
}

// Fetches the page again, or the one that a person has asked for meanwhile: a reload never takes its place.
const reload = () => go(next?.address ?? location.href, next ?? { push: false, keep: true });

// ---- messages -----------------------------------------------------------------------------------------------------

function say(text, kind, { evidence, next, decision, resolve } = {}) {
  const box = document.createElement("div");
  if (kind) box.className = kind;
  const grow = document.createElement("div");
  grow.className = "grow";
  const add = (name, content, className) => {
    const node = document.createElement(name);
    node.textContent = content;
    if (className) node.className = className;
    grow.append(node);
  };
  add("p", text);
  if (evidence) add("pre", evidence, "evidence");
  if (next) add("p", next);
  box.append(grow);
  if (decision) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Undo this (u)";
    button.addEventListener("click", () => undoDecision(decision));
    box.append(button);
  }
  if (resolve) {
    const link = document.createElement("a");
    link.className = "button";
    link.href = resolve;
    link.textContent = "Resolve";
    box.append(link);
  }
  const close = document.createElement("button");
  close.type = "button";
  close.className = "quiet";
  close.textContent = "✕";
  close.setAttribute("aria-label", "Close the message");
  close.addEventListener("click", () => box.remove());
  box.append(close);
  const toast = one("#toast");
  while (toast.children.length > 2) toast.firstChild.remove();
  toast.append(box);
  setTimeout(() => box.remove(), kind === "bad" ? 30000 : 9000);
}

// ---- actions ------------------------------------------------------------------------------------------------------

// Returns the fields of the action that takes a decision back; none if that needs no button.
function reversal(sent, result) {
  if (result.operation) return { do: "undo", id: result.operation };
  if (!result.marks) return undefined;
  return { ...Object.fromEntries(sent), on: sent.get("on") === "0" ? "1" : "0", marks: result.marks };
}

// Sends an action, perhaps one that takes a decision back. After a success the page of `then` is shown, or this one again.
async function act(fields, then, takesBack = false) {
  const response = await fetch("/act", {
    method: "POST",
    credentials: "same-origin",
    headers: { Accept: "application/json", "X-Emend-CSRF": document.body.dataset.csrf },
    body: new URLSearchParams(fields),
  });
  if (!response.headers.get("content-type")?.startsWith("application/json")) {
    say((await response.text()).trim() || "The action failed.", "bad");
    return false;
  }
  const result = await response.json();
  if (result.ok) {
    const sent = new URLSearchParams(fields);
    // Texts that were sent are no longer being written.
    for (const form of all("form.act")) if (form.dataset.sent) form.reset(), form.closest("details")?.removeAttribute("open");
    const decision = reversal(sent, result);
    if (decision && !takesBack) decisions.push(decision);
    if (!(sent.get("do") === "keep" && sent.get("hunk"))) say(result.summary, "", { decision });
  } else {
    say(result.summary, "bad", { evidence: result.evidence, next: result.next, resolve: result.resolve });
  }
  if (result.ok && then) await go(then);
  else await reload();
  return result.ok;
}

// Takes a decision back, the last one without a name.
async function undoDecision(decision = decisions.at(-1)) {
  if (!decision) return say("There is no decision of yours to undo in this tab.");
  const at = decisions.indexOf(decision);
  if (at >= 0) decisions.splice(at, 1);
  if (decision.tick) {
    await tick(decision.tick, decision.on);
    return reload();
  }
  await act(decision, undefined, true);
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("form.act")) {
    event.preventDefault();
    for (const button of all("button", form)) button.disabled = true;
    form.dataset.sent = "1";
    act([...new FormData(form)], form.dataset.then).finally(() => {
      delete form.dataset.sent;
      all("button", form).forEach((button) => (button.disabled = false));
    });
  } else if (form.matches(".filters")) {
    event.preventDefault();
    search(form);
  }
});

// ---- links --------------------------------------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const address = link.getAttribute("href");
  if (address.startsWith("#")) {
    const target = document.getElementById(address.slice(1));
    if (target) {
      event.preventDefault();
      target.scrollIntoView();
      target.focus({ preventScroll: true });
    }
    return;
  }
  if (!address.startsWith("/") || address.startsWith("/image")) return;
  event.preventDefault();
  if (link.dataset.lines) return expand(link);
  if (link.dataset.card) return card(link.closest(".file"), link.dataset.card);
  if (link.classList.contains("more")) return more(link);
  if (address.includes("#")) return goTo(...address.split("#"));
  const keep = /[?&](layout|ws)=/.test(address);
  go(address, { push: !keep, keep });
});
addEventListener("popstate", () => go(location.href, { push: false }));

async function goTo(page, anchor) {
  if (page !== location.pathname + location.search) await go(page);
  const target = document.getElementById(anchor);
  target?.scrollIntoView();
  target?.focus({ preventScroll: true });
}

async function expand(link) {
  const page = await get(link.dataset.lines);
  link.parentElement.replaceWith(...[...page.body.childNodes].map((node) => document.adoptNode(node)));
}

async function card(section, address) {
  const page = await get(address);
  const fresh = one(".file", page);
  if (!fresh) return;
  const before = begun();
  section.replaceWith(document.adoptNode(fresh));
  prepare(document);
  resume(before);
}

async function more(link) {
  const page = await get(link.dataset.part);
  link.replaceWith(...[...page.body.childNodes].map((node) => document.adoptNode(node)));
}

let typing = 0;
async function search(form) {
  const mine = ++typing;
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  if (form.closest(".tree")) return go(new URL(form.action).pathname + "?" + query);
  const page = await get("/part/timeline?" + query);
  if (mine === typing) one("#operations").replaceChildren(...[...page.body.childNodes].map((node) => document.adoptNode(node)));
}
let pause;
document.addEventListener("input", (event) => {
  const form = event.target.closest("aside .filters");
  if (form) {
    clearTimeout(pause);
    pause = setTimeout(() => search(form), 160);
  }
  if (event.target.id === "slider") {
    const version = all(".versions li a")[+event.target.value];
    if (version) {
      clearTimeout(pause);
      pause = setTimeout(async () => {
        await go(version.getAttribute("href"), { keep: true });
        one("#slider")?.focus();
      }, 120);
    }
  }
});

// ---- what was viewed and reviewed ---------------------------------------------------------------------------------

// The server keeps the ticks; one that may change nothing leaves them to the browser. The version is part of a name: a
// tick resets when the file changes.
const isReadOnly = () => document.body.dataset.readOnly === "1";
const fileTick = (file) => `${file.id}:${file.dataset.version}`;
const local = (name) => isReadOnly() && localStorage.getItem(name) === "1";
async function tick(name, on) {
  if (isReadOnly()) return on ? localStorage.setItem(name, "1") : localStorage.removeItem(name);
  const response = await fetch("/act", {
    method: "POST",
    credentials: "same-origin",
    headers: { Accept: "application/json", "X-Emend-CSRF": document.body.dataset.csrf },
    body: new URLSearchParams({ do: "tick", name, on: on ? "1" : "0" }),
  });
  if (!response.ok) say("The tick was not stored.", "bad");
}
const isViewed = (file) => file.dataset.viewed === "1" || local(fileTick(file));

function showFile(file) {
  const on = isViewed(file);
  const box = one(".viewed input", file);
  if (box) box.checked = on;
  for (const leaf of all(`.leaf[data-file="${file.id}"]`)) leaf.classList.toggle("viewed", on);
  return on;
}
function showHunk(hunk) {
  const button = one("[data-tick]", hunk);
  if (button && local(button.dataset.tick)) button.setAttribute("aria-pressed", true);
  if (button) {
    const isKept = button.getAttribute("aria-pressed") === "true";
    hunk.classList.toggle("reviewed", isKept);
    button.textContent = isKept ? "Kept ✓" : "Keep";
  }
}
function fold(file, on) {
  file.classList.toggle("folded", on);
  one(".fold", file)?.setAttribute("aria-expanded", !on);
}
const isDecided = (hunk) => hunk.matches(".reviewed, .undone");
function countViewed() {
  const progress = one(".scope .progress"), changes = all(".hunk[id]");
  if (progress) {
    const rest = one(".file[data-part]") ? "+" : "";
    progress.textContent = changes.length ? `${changes.filter(isDecided).length} of ${changes.length}${rest} decided` : "";
  }
  const count = one(".viewed-count");
  if (count) count.textContent = `${all(".file").filter(isViewed).length} of ${count.dataset.total} viewed`;
}
document.addEventListener("toggle", async (event) => {
  const folder = event.target;
  if (!folder.open || !folder.dataset?.folder) return;
  const address = folder.dataset.folder;
  delete folder.dataset.folder;
  const page = await get(address);
  one("ul", folder).replaceChildren(...[...page.body.childNodes].map((node) => document.adoptNode(node)));
}, true);

document.addEventListener("change", (event) => {
  if (event.target.matches(".viewed input")) {
    const file = event.target.closest(".file"), on = event.target.checked;
    file.dataset.viewed = on ? "1" : "0";
    tick(fileTick(file), on);
    showFile(file);
    fold(file, on);
    countViewed();
  } else if (event.target.matches("#kind, #root, #model")) search(event.target.form);
});
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button");
  if (!button) return;
  const file = button.closest(".file"), hunk = button.closest(".hunk");
  if (button.classList.contains("fold")) fold(file, !file.classList.contains("folded"));
  else if (button.dataset.key === "a" && hunk && !button.closest("form")) review(hunk);
  else if (button.dataset.key === "t") theme();
  else if (button.dataset.key === "?") one("#help").showModal();
});
function review(hunk) {
  const button = one("[data-tick]", hunk);
  if (!button) return;
  const on = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", on);
  showHunk(hunk);
  countViewed();
  decisions.push({ tick: button.dataset.tick, on: !on });
  tick(button.dataset.tick, on);
}

// ---- keys ---------------------------------------------------------------------------------------------------------

const hunks = () => all(".hunk").filter((hunk) => !hunk.closest(".folded, details:not([open])"));
const current = () => one(".hunk.cur");
function mark(hunk) {
  for (const old of all(".cur")) old.classList.remove("cur");
  hunk?.classList.add("cur");
  const file = hunk?.closest(".file");
  if (file) for (const leaf of all(`.leaf[data-file="${file.id}"]`)) leaf.classList.add("cur");
}
function show(hunk) {
  if (!hunk) return;
  mark(hunk);
  hunk.scrollIntoView({ block: "start" });
  hunk.focus({ preventScroll: true });
}
function step(by) {
  const list = hunks();
  let at = list.indexOf(current());
  if (at < 0) at = by > 0 ? -1 : list.length;
  const next = list[Math.min(Math.max(at + by, 0), list.length - 1)];
  show(next);
}
// Goes to the next change that nobody has decided about, if there is one.
function stepUndecided(from) {
  const list = hunks(), at = list.indexOf(from);
  const next = [...list.slice(at + 1), ...list.slice(0, Math.max(at, 0))].find((hunk) => hunk.id && !isDecided(hunk));
  if (next) show(next);
}
function stepFile(by) {
  const list = all(".file");
  const at = list.indexOf(current()?.closest(".file"));
  const next = list[Math.min(Math.max(at + by, 0), list.length - 1)];
  if (!next) return;
  const first = one(".hunk", next);
  if (first && !next.classList.contains("folded")) show(first);
  else {
    next.scrollIntoView();
    next.focus({ preventScroll: true });
  }
}
function theme() {
  const now = root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  const saved = (document.cookie.match(/emend_view=([^;]*)/)?.[1] ?? "").split("-").filter((word) => word && word !== now);
  document.cookie = `emend_view=${[...saved.filter((word) => word !== "dark" && word !== "light"), root.dataset.theme].join("-")}; SameSite=Strict; Path=/; Max-Age=31536000`;
}
const press = (selector, within) => within && one(selector, within)?.click();
const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  n: () => stepFile(1),
  p: () => stepFile(-1),
  g: () => show(hunks()[0]),
  G: () => show(hunks().at(-1)),
  a: () => {
    const hunk = current();
    if (!hunk) return;
    const button = one('form [data-key="a"]', hunk);
    if (button) button.click();
    else review(hunk);
    stepUndecided(hunk);
  },
  A: () => press('.scope [data-key="A"]', document),
  v: () => press(".viewed input", current()?.closest(".file") ?? document.activeElement?.closest?.(".file")),
  x: () => press('[data-key="x"]', current()),
  r: () => press('[data-key="r"]', current()),
  i: () => press('[data-key="i"]', current()),
  X: () => press('.scope [data-key="X"]', document),
  u: () => undoDecision(),
  c: () => {
    const form = current() && one(".write-comment", current());
    if (!form) return;
    form.open = true;
    one("textarea", form).focus();
  },
  e: () => {
    for (const near of [current()?.previousElementSibling, current()?.nextElementSibling]) {
      if (near?.matches(".gap")) press("a", near);
    }
  },
  s: () => press('[data-key="s"]', document),
  w: () => press('[data-key="w"]', document),
  t: theme,
  "/": () => one("#q")?.focus(),
  "?": () => one("#help").showModal(),
};
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.matches?.("input, textarea, select")) return event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input:not([type=checkbox]), textarea, select")) return;
  if (one("dialog[open]")) return;
  const action = KEYS[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});
document.addEventListener("focusin", (event) => {
  const hunk = event.target.closest?.(".hunk");
  if (hunk && hunk !== current()) mark(hunk);
});

// ---- what comes into view -----------------------------------------------------------------------------------------

const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting || !target.dataset.part) continue;
      watcher.unobserve(target);
      card(target, target.dataset.part);
      delete target.dataset.part;
    }
  },
  { rootMargin: "600px" },
);
const measure = new ResizeObserver(([entry]) => root.style.setProperty("--scope-height", `${Math.round(entry.target.offsetHeight)}px`));
function prepare(within) {
  measure.disconnect();
  const scope = one(".scope");
  if (scope) measure.observe(scope);
  for (const file of all(".file", within)) {
    if (file.dataset.ready) continue;
    file.dataset.ready = "1";
    if (file.dataset.part) watcher.observe(file);
    if (showFile(file)) fold(file, true);
    for (const hunk of all(".hunk", file)) showHunk(hunk);
  }
  countViewed();
}

// ---- live ---------------------------------------------------------------------------------------------------------

let events;
const live = (state, title) => {
  const sign = one("#live");
  sign.className = "live " + state;
  sign.title = title;
};
function connect() {
  if (events || document.hidden) return;
  events = new EventSource("/events");
  events.addEventListener("open", () => live("on", "Live: changes appear as they are made"));
  events.addEventListener("state", (event) => {
    const { newest } = JSON.parse(event.data);
    if (newest && newest !== document.body.dataset.newest) refresh(newest);
  });
  events.addEventListener("error", () => {
    live("off", "The server does not answer; trying again");
    if (events.readyState === EventSource.CLOSED) {
      disconnect();
      setTimeout(connect, 3000);
    }
  });
}
function disconnect() {
  events?.close();
  events = undefined;
}
let announced = "", refreshing = false;
// Fetches the page until it was fetched after the last announcement: one that arrives meanwhile is not lost.
async function refresh(newest) {
  announced = newest;
  if (refreshing) return;
  refreshing = true;
  try {
    for (let asked; asked !== announced && announced !== document.body.dataset.newest; ) {
      asked = announced;
      await reload();
    }
  } catch {
    // The stream reports it, and announces the state again when the server is back.
  }
  refreshing = false;
}
// Browsers allow six connections to a server, so hidden tabs give theirs back.
document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));

prepare(document);
connect();
