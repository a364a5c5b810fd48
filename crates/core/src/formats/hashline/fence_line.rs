//! The lines of Markdown fences in a patch.

use super::token::trimmed;

/// The line of a Markdown fence.
pub(super) struct FenceLine {
    sign: u8,
    run: usize,
    /// 1-based line of the input.
    pub(super) line: usize,
    /// True if no info string follows.
    pub(super) bare: bool,
}

impl FenceLine {
    pub(super) fn of(text: &str, line: usize) -> Option<FenceLine> {
        let sign = *text.as_bytes().first().filter(|sign| b"`~".contains(sign))?;
        let run = text.bytes().take_while(|byte| *byte == sign).count();
        (run >= 3).then(|| FenceLine { sign, run, line, bare: trimmed(&text[run..]).is_empty() })
    }

    pub(super) fn closes(&self, open: &FenceLine) -> bool {
        self.bare && self.sign == open.sign && self.run >= open.run
    }
}
