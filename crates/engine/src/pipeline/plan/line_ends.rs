//! Versions of a file that differ in their line ends alone.

use emendate_core::{LineEnds, Snapshot, Span};

/// Returns a version of a file with the line ends that the file has now, so that only texts are compared. A version
/// without uniform line ends stays as it is, and so does every version if those of the file are mixed.
pub(crate) fn with_line_ends_of(now: &Snapshot, version: Snapshot) -> Snapshot {
    let (then, ends) = (version.line_ends(), now.line_ends());
    let is_known = |ends: LineEnds| ends != LineEnds::default() && !ends.mixed();
    if !is_known(then) || !is_known(ends) || then.majority() == ends.majority() {
        return version;
    }
    let raw_end = |of: &Snapshot, at: usize| of.raw_span(Span::new(at, at + 1));
    let Some(first) = memchr::memchr(b'\n', now.text().as_bytes()) else { return version };
    let end = &now.raw()[raw_end(now, first).range()];
    let mut raw = Vec::with_capacity(version.raw().len() + version.raw().len() / 8);
    let mut copied = 0;
    for at in memchr::memchr_iter(b'\n', version.text().as_bytes()) {
        let old = raw_end(&version, at);
        raw.extend_from_slice(&version.raw()[copied..old.start()]);
        raw.extend_from_slice(end);
        copied = old.end();
    }
    raw.extend_from_slice(&version.raw()[copied..]);
    version.reopen(raw).unwrap_or(version)
}

/// Returns a file with the line ends of `before`, if `after` differs from that in its line ends alone, and the file
/// still has those of `after` throughout.
pub(crate) fn with_line_ends_before(now: &Snapshot, before: &Snapshot, after: &Snapshot) -> Option<Snapshot> {
    let [then, since, ends] = [before, after, now].map(Snapshot::line_ends);
    let is_uniform = [then, since, ends].iter().all(|ends| *ends != LineEnds::default() && !ends.mixed());
    let only_they_changed = then.majority() != since.majority() && before.text() == after.text();
    let is_kept = ends.majority() == since.majority();
    (is_uniform && is_kept && only_they_changed).then(|| with_line_ends_of(before, now.clone()))
}

#[cfg(test)]
mod tests {
    use super::with_line_ends_of;
    use emendate_core::Snapshot;

    fn turned(version: &[u8], now: &[u8]) -> Vec<u8> {
        let now = Snapshot::open(now.to_vec(), None).unwrap();
        with_line_ends_of(&now, now.reopen(version.to_vec()).unwrap()).raw().to_vec()
    }

    #[test]
    fn only_uniform_line_ends_change() {
        assert_eq!(turned(b"\na\n\nb", b"x\r\n"), b"\r\na\r\n\r\nb");
        assert_eq!(turned(b"a\r\nb\r\n", b"x\ny"), b"a\nb\n");
        for version in [&b"a\nb\r\n"[..], b"a", b""] {
            assert_eq!(turned(version, b"x\r\n"), version);
        }
        assert_eq!(turned(b"a\n", b"x\r\ny\n"), b"a\n");
        assert_eq!(turned(b"\xFF\xFEa\0\n\0", b"\xFF\xFEx\0\r\0\n\0"), b"\xFF\xFEa\0\r\0\n\0");
    }
}
