//! Tier 3: Unicode punctuation in several lines.
//!
//! Whole lines that are equal when folded as in tier 1, trailing blanks aside.

use super::windows::{self, Fit, Rule};
use crate::find::fold::Look;
use crate::find::indent::IndentMap;
use crate::find::refusal::Refusal;
use crate::find::search::{Search, Trial, Wanted};

pub(in crate::find) static RULE: Rule = Rule { fits, substance: 4, short: false, runs: false };

pub(in crate::find) fn run<'a>(search: &Search<'a>) -> Result<Trial<'a>, Refusal> {
    windows::run(search, &RULE)
}

fn fits(search: &Search<'_>, wanted: &Wanted<'_>, first: usize) -> Fit {
    if windows::alike(search, wanted, first, Look::Ended) { Fit::Yes(IndentMap::Verbatim) } else { Fit::No }
}

#[cfg(test)]
mod tests {
    use crate::find::testing::edit;

    #[test]
    fn only_the_change_is_written() {
        let file = "title = \"L’image\"\nsize = 10\n";
        assert_eq!(
            edit(file, "title = \"L'image\"\nsize = 10", "title = \"L'image\"\nsize = 20"),
            "title = \"L’image\"\nsize = 20\n"
        );
        let file = "“Hello.” she said\nend\n";
        assert_eq!(
            edit(file, "\"Hello.\" she said\nend", "\"Hello.\" he said\nthen he left\nend"),
            "“Hello.” he said\nthen he left\nend\n"
        );
    }
}
