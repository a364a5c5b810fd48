//! Preview of one line operation in the current file. Nothing is written, and nothing counts as shown.

use crate::context::call::Call;
use crate::context::policy::Access;
use emendate_core::{Handle, Notes, Op, ShortTag, Snapshot};

use emendate_core::line_edits::{self, LineTarget};
use emendate_core::line_format::clip;
use std::path::Path;

/// Old lines of a preview.
const OLD_LINES_MAX: usize = 200;

/// The effect of a line operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinePreview {
    /// `replace`, `delete`, `insert` or `paste`.
    pub verb: &'static str,
    /// The side on which an insertion goes: `before` or `after` its line, or at the `head` or the `tail` of the file.
    pub at: Option<&'static str>,
    /// First and last line, or twice the line of an insertion; `None` for head and tail.
    pub range: Option<[usize; 2]>,
    /// The removed lines, if the file has the version that the numbers refer to.
    pub old: Vec<String>,
    /// The new text.
    pub text: String,
}

impl LinePreview {
    /// Returns the preview; `None` for a block and for lines named by anchors, which have no numbers yet.
    fn of(op: &Op) -> Option<LinePreview> {
        let rows = line_edits::of(op)?;
        if !rows.anchors.is_empty() {
            return None;
        }
        let (at, range) = match rows.target {
            LineTarget::Lines { from, to } => (None, Some([from, to])),
            LineTarget::Before(line) => (Some("before"), Some([line, line])),
            LineTarget::After(line) => (Some("after"), Some([line, line])),
            LineTarget::Head => (Some("head"), None),
            LineTarget::Tail => (Some("tail"), None),
            LineTarget::Block(_) | LineTarget::AfterBlock(_) => return None,
        };
        let verb = match (at, rows.paste.is_some(), op.text.is_empty()) {
            (_, true, _) => "paste",
            (Some(_), ..) => "insert",
            (None, _, true) => "delete",
            (None, _, false) => "replace",
        };
        Some(LinePreview { verb, at, range, old: Vec::new(), text: op.text.clone() })
    }
}

/// Returns the preview of a line operation on the file at `path`, whose numbers refer to the version `base`. Blocks are
/// looked up; one that cannot be found is omitted, as are lines named by anchors.
pub(crate) fn preview_lines(call: Call<'_>, path: &Path, op: &Op, base: Option<Handle>) -> Option<LinePreview> {
    let Some((safe_path, now)) = call.resolve_path(path, Access::Read).ok().and_then(|safe_path| {
        let opened = call.snapshot(&safe_path, None, "").ok().flatten()?;
        is_version(&opened.snapshot, base).then_some((safe_path, opened.snapshot))
    }) else {
        return LinePreview::of(op);
    };
    let found = call.grammars().with_blocks(&safe_path, &now, std::slice::from_ref(op), &mut Notes::new()).ok()?;
    let mut shown = LinePreview::of(found.first()?)?;
    if let (Some([from, to]), None) = (shown.range, shown.at) {
        let count = now.lines().count(now.text());
        let span = (from <= count).then(|| now.lines().span_of(now.text(), from, to.min(count)));
        let lines = span.map(|span| now.text()[span.range()].lines()).into_iter().flatten();
        shown.old = lines.take(OLD_LINES_MAX).map(|line| clip(line).into_owned()).collect();
    }
    Some(shown)
}

/// True when the file has the version of a header, or there is no header.
fn is_version(now: &Snapshot, base: Option<Handle>) -> bool {
    match base {
        Some(Handle::Lines(_, tag)) => ShortTag::of(now.text()) == tag,
        Some(Handle::Headed(_, tag) | Handle::Tag(tag)) => now.id().tag() == tag,
        None => true,
    }
}
