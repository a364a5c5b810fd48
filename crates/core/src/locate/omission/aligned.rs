//! Two texts that are compared line by line, ignoring indentation: which lines both have, and where.

use crate::text::diff;
use crate::text::fold::count_alnum;
use crate::work;
use foldhash::{HashMap, HashMapExt as _};

/// Steps of work to examine one line.
pub(super) const LINE_STEPS: usize = 8;
/// Minimum number of letters and digits of a line that is hardly equal to another one by accident.
const TELLING_ALNUM_MIN: usize = 8;

/// The lines of two texts without their indentation, and which of them are equal.
pub(super) struct AlignedTexts<'a> {
    pub(super) old: Vec<&'a str>,
    pub(super) new: Vec<&'a str>,
    /// Pairs of equal lines, old and new, in order.
    pub(super) pairs: Vec<(usize, usize)>,
    /// For each line, how often the old and the new text have it.
    counts: HashMap<&'a str, [usize; 2]>,
}

impl<'a> AlignedTexts<'a> {
    /// Incomplete once the work has to end.
    pub(super) fn new(old: &'a str, new: &'a str) -> AlignedTexts<'a> {
        let [old, new] = [old, new].map(|text| work::lines(text).map(str::trim).collect::<Vec<&str>>());
        let mut counts: HashMap<&str, [usize; 2]> = HashMap::new();
        for (side, lines) in [&old, &new].into_iter().enumerate() {
            for line in lines.iter().take_while(|_| !work::spend_or_end(LINE_STEPS)) {
                counts.entry(line).or_default()[side] += 1;
            }
        }
        let pairs = diff::equal_lines(&old, &new);
        AlignedTexts { old, new, pairs, counts }
    }

    /// Returns how often the old and the new text have a line, which is given without indentation.
    pub(super) fn counts_of(&self, line: &str) -> [usize; 2] {
        self.counts.get(line).copied().unwrap_or_default()
    }

    /// True for a line that both texts have once, and that says something.
    pub(super) fn is_telling(&self, line: usize) -> bool {
        let text = self.new[line];
        self.counts_of(text) == [1, 1] && count_alnum(text, TELLING_ALNUM_MIN) >= TELLING_ALNUM_MIN
    }
}
