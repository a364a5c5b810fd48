//! Line ends of the texts of whole files.

use super::super::body::NumberedHunk;
use super::{only, read_in};
use crate::formats::line_parser::ParseOptions;
use crate::locate::op::HunkLineKind::{Added, Context, Removed};
use crate::locate::op::{FileAction, Hunk, HunkLine, HunkLineKind, Locator, NewFile, Op};

#[test]
fn lines_of_a_whole_file_keep_their_ends_in_both_directions() {
    let text = "--- a/x\n+++ b/x\n@@ -1,3 +0,0 @@\n-a\r\n-b\n-c\r\n\\ No newline at end of file\n";
    let back = ParseOptions { reverse: true, ..ParseOptions::default() };
    let FileAction::Edit { ops, .. } = read_in(&back, text).unwrap().files.remove(0).action else { panic!() };
    assert_eq!(ops, [Op { at: Locator::Blank, text: "a\r\nb\nc".into() }]);
    // Lines of both kinds, which the reversal puts in another order.
    let text = "--- /dev/null\n+++ b/x\n@@ -0,0 +1,3 @@\n+a\r\n+b\n+c\r\n";
    let FileAction::Create(NewFile::Text(made)) = only(text).action else { panic!() };
    assert_eq!(made, "a\r\nb\nc\r\n");
    let numbered = |kinds: &[(HunkLineKind, bool)]| {
        let line = |(at, (kind, _)): (usize, &(HunkLineKind, bool))| HunkLine { kind: *kind, text: at.to_string() };
        let lines = kinds.iter().enumerate().map(line).collect();
        let crlf = kinds.iter().enumerate().filter(|(_, (_, crlf))| *crlf).map(|(at, _)| at).collect();
        NumberedHunk { hunk: Hunk { lines, ..Hunk::default() }, new_first: None, crlf }
    };
    let hunk = numbered(&[(Removed, true), (Added, false), (Added, true), (Context, true), (Removed, false)]);
    assert_eq!(hunk.new_text(), "1\n2\r\n3\r\n");
    assert_eq!(hunk.reverse().new_text(), "0\r\n3\r\n4\n");
}
