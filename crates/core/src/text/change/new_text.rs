//! The new text of a change of a text in UTF-8.

use super::ChangeSet;
use crate::text::snapshot::Snapshot;

impl ChangeSet {
    /// Returns the new content of a base in UTF-8; `None` if it is not UTF-8. Only the new parts are checked. `base`
    /// must be the version that this set was made against.
    pub(crate) fn apply_to_text(&self, base: &Snapshot) -> Option<String> {
        let mut out = String::with_capacity(self.len_after(base));
        for part in self.text_parts(base.raw_text()?) {
            out.push_str(part?);
        }
        Some(out)
    }

    /// Returns the new content of a base in UTF-8 as [`ChangeSet::chunks`] does; `None` for a part that is not UTF-8.
    pub(crate) fn text_parts<'a>(&'a self, raw: &'a str) -> impl Iterator<Item = Option<&'a str>> {
        let mut at = 0;
        let changed = self.splices.iter().flat_map(move |splice| {
            let kept = raw.get(at..splice.span.start());
            at = splice.span.end();
            [kept, core::str::from_utf8(&splice.text).ok()]
        });
        let end = self.splices.last().map_or(0, |splice| splice.span.end());
        changed.chain([raw.get(end..)])
    }

    /// True if no new text has a NUL or a CR.
    pub(crate) fn adds_plain_text(&self) -> bool {
        self.splices.iter().all(|splice| memchr::memchr2(0, b'\r', &splice.text).is_none())
    }
}
