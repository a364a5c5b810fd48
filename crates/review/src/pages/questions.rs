//! Questions that wait for a person: the proposed change, which can be approved, edited first, or denied with a reason.

use crate::html::{Html, survives_forms};
use crate::pages::code::{CodeLine, line};
use crate::pages::form::{ActionButton, button, hidden};
use crate::pages::frame::{self, NavItem};
use crate::pages::hunk::compared_words;
use crate::view::PageContext;
use emendate::core::Result;
use emendate::core::explain::LineKind;
use emendate::{PendingQuestion, QuestionFile};
use serde_json::Value;

/// Lines of a proposal that the page shows at first.
const LINES_MAX: usize = 2000;

/// Shows the questions.
///
/// Errors: those of the state directory.
pub(crate) fn page(page: &PageContext<'_>) -> Result<String> {
    let questions = page.state.engine.questions().pending()?;
    let mut main = Html::default();
    main.raw("<header class=\"scope\"><div class=\"title\"><h1>Questions</h1></div></header>");
    if questions.is_empty() {
        main.raw("<div class=\"welcome\"><p class=\"lead\">Nothing waits for you.</p><p>With <code>[ask] wait_seconds</code> in your configuration, a call that needs a person waits here for an answer.</p></div>");
    }
    for question in &questions {
        one(&mut main, page, question);
    }
    Ok(frame::page(page, "Questions", NavItem::Questions, "", main))
}

fn one(out: &mut Html, page: &PageContext<'_>, question: &PendingQuestion) {
    out.raw("<section class=\"question\"")
        .attr("id", &format!("q-{}", question.id))
        .attr("aria-label", &format!("Question {}", question.id))
        .raw("><h2>");
    out.text(&question.session).raw(" wants to use ").text(&question.tool);
    out.raw(" <span class=\"id\">")
        .text(&question.id)
        .raw("</span> <span class=\"badge\">")
        .text(question.state.name())
        .raw("</span></h2>");
    let data = question.to_json();
    for (nth, file) in question.files.iter().enumerate() {
        proposal(out, page, file, &data["files"][nth]);
    }
    out.raw("<div class=\"answers\">");
    let id = question.id.as_bytes();
    let approve = ActionButton { verb: "approve", label: "Approve", hint: "Make this change", class: "good", key: "" };
    button(out, page, &approve, &[("id", id)]);
    if !page.state.options.read_only {
        deny(out, page, id);
        correct(out, page, id, &question.files);
    }
    out.raw("</div></section>");
}

/// Adds a file with the proposed change.
fn proposal(out: &mut Html, page: &PageContext<'_>, file: &QuestionFile, data: &Value) {
    let hunks = data["structuredPatch"].as_array().map_or(&[][..], |hunks| hunks);
    out.raw("<div><h3><bdi>").text(&page.path_below_root(&file.path)).raw("</bdi></h3><p class=\"meta\">");
    out.text(&page.relative(&file.summary))
        .raw(" Asked by the rule <code>")
        .text(&file.rule)
        .raw("</code> of ")
        .text(&file.origin)
        .raw(".</p></div>");
    if hunks.is_empty() {
        return;
    }
    out.raw("<table class=\"diff\"><tbody>");
    let number = |hunk: &Value, name: &str| hunk.get(name).and_then(Value::as_u64).unwrap_or(0);
    let mut room = if page.fields.flag("full") { usize::MAX } else { LINES_MAX };
    // An approval is for all of the change, so what is not shown is counted.
    let mut cut = 0;
    let mut omitted = number(data, "linesAdded") + number(data, "linesRemoved");
    for hunk in hunks {
        let (mut old, mut new) = (number(hunk, "oldStart"), number(hunk, "newStart"));
        let mut lines = lines_of(hunk);
        omitted = omitted.saturating_sub(lines.iter().filter(|(kind, _)| *kind != LineKind::Kept).count() as u64);
        cut += lines.len().saturating_sub(room);
        lines.truncate(room);
        room -= lines.len();
        let words = compared_words(lines.iter().copied());
        for ((kind, text), changed) in lines.iter().zip(&words) {
            let (class, sign) = match kind {
                LineKind::Removed => ("del", "−"),
                LineKind::Added => ("add", "+"),
                LineKind::Kept => ("ctx", ""),
            };
            out.raw("<tr class=\"").raw(class).raw("\"><td class=\"n\"");
            if class != "add" {
                out.attr("data-n", &old.to_string());
                old += 1;
            }
            out.raw("></td><td class=\"n\"");
            if class != "del" {
                out.attr("data-n", &new.to_string());
                new += 1;
            }
            out.raw("></td><td class=\"s\">").raw(sign).raw("</td><td class=\"c\">");
            line(out, CodeLine { text, changed, ..CodeLine::default() });
            out.raw("</td></tr>");
        }
    }
    out.raw("</tbody></table>");
    if cut > 0 {
        out.raw("<p class=\"rest\"><a href=\"/questions?full=1\">Show ").number(cut as u64);
        out.raw(" more lines of this change</a></p>");
    }
    if omitted > 0 {
        out.raw("<p class=\"notice bad\">").number(omitted);
        out.raw(" more lines of this change are too many to be shown.</p>");
    }
}

/// Returns the lines of a hunk. Those that are no line of the file, such as a remark on its end, are omitted.
fn lines_of(hunk: &Value) -> Vec<(LineKind, &str)> {
    let lines = hunk.get("lines").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    lines.filter_map(parse_line).collect()
}

/// Splits a line of a hunk into its kind and its text; `None` if it has no such sign.
fn parse_line(text: &str) -> Option<(LineKind, &str)> {
    let kind = match text.chars().next()? {
        '-' => LineKind::Removed,
        '+' => LineKind::Added,
        ' ' => LineKind::Kept,
        _ => return None,
    };
    Some((kind, text.get(1..)?))
}

/// Adds the form that denies.
fn deny(out: &mut Html, page: &PageContext<'_>, id: &[u8]) {
    out.raw("<form method=\"post\" action=\"/act\" class=\"act deny\">");
    hidden(out, "csrf", page.csrf.as_bytes());
    hidden(out, "do", b"deny");
    hidden(out, "id", id);
    out.raw("<label>Reason, for the agent<input type=\"text\" name=\"reason\"></label><button class=\"danger\">Deny</button></form>");
}

/// Adds the form that corrects the proposal, if it is text.
fn correct(out: &mut Html, page: &PageContext<'_>, id: &[u8], files: &[QuestionFile]) {
    let can_send = |file: &QuestionFile| file.proposed.as_deref().is_some_and(can_correct);
    if !files.iter().any(can_send) {
        return;
    }
    out.raw("<details><summary>Edit the change before it is made</summary><form method=\"post\" action=\"/act\" class=\"act wide\">");
    hidden(out, "csrf", page.csrf.as_bytes());
    hidden(out, "do", b"correct");
    hidden(out, "id", id);
    for (nth, file) in files.iter().enumerate() {
        let Some(proposed) = file.proposed.as_deref().filter(|_| can_send(file)) else { continue };
        out.raw("<label>").text(&page.path_below_root(&file.path)).raw("<textarea rows=\"16\" spellcheck=\"false\"");
        out.attr("name", &format!("text{nth}")).raw(">\n");
        editable(out, proposed);
        out.raw("</textarea></label>");
    }
    out.raw("<div class=\"actions\"><button>Approve with these texts</button></div></form></details>");
}

/// True for a text that a form can hold: its line ends are put back, so they must all be the same.
pub(crate) fn can_correct(proposed: &str) -> bool {
    let (all, crlf) = (proposed.matches('\n').count(), proposed.matches("\r\n").count());
    survives_forms(proposed) && (crlf == 0 || crlf == all)
}

/// Adds text that is edited: its characters stay as they are, so that they are sent back.
pub(crate) fn editable(out: &mut Html, text: &str) {
    let mut markup = String::with_capacity(text.len());
    text.chars().for_each(|char| match char {
        '<' => markup.push_str("&lt;"),
        '&' => markup.push_str("&amp;"),
        char => markup.push(char),
    });
    out.raw(&markup);
}
