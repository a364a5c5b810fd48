//! Tier 7: blank lines at the edges of the old text.
//!
//! Blank lines at either end of the old text are dropped, with as many from the same end of the new text; then tiers 2
//! to 6 are tried. If the caller marked the changes, only kept lines are dropped.

use super::{RULES, windows};
use crate::locate::find::match_site::CandidateSites;
use crate::locate::find::refusal::MatchRefusal;
use crate::locate::find::search::{MatchSearch, PatternLines};
use crate::text::fold::is_blank;
use std::rc::Rc;

pub(in crate::locate::find) fn run<'a>(search: &MatchSearch<'a>) -> Result<CandidateSites<'a>, MatchRefusal> {
    let Some(wanted) = trimmed(&search.pattern).filter(|it| it.alnum(6) >= 6) else {
        return Ok(CandidateSites::default());
    };
    all_rules(search, &Rc::new(wanted))
}

/// Returns the result of the first of tiers 2 to 6 that finds a site.
pub(super) fn all_rules<'a>(
    search: &MatchSearch<'a>,
    wanted: &Rc<PatternLines<'a>>,
) -> Result<CandidateSites<'a>, MatchRefusal> {
    let windows = search.windows(&wanted.old);
    for rule in RULES {
        let candidates = windows::matching_windows(search, wanted, &windows, rule)?;
        if !candidates.places.is_empty() {
            return Ok(candidates);
        }
    }
    Ok(CandidateSites::default())
}

pub(super) fn trimmed<'a>(wanted: &PatternLines<'a>) -> Option<PatternLines<'a>> {
    let first = wanted.old.iter().position(|line| !is_blank(line))?;
    let last = wanted.old.iter().rposition(|line| !is_blank(line))?;
    let (mut lead, mut trail) = (first, wanted.old.len() - 1 - last);
    if let Some(changes) = &wanted.changes {
        lead = changes.first().map_or(lead, |(old, _)| lead.min(old.start));
        trail = changes.last().map_or(trail, |(old, _)| trail.min(wanted.old.len() - old.end));
        return (lead + trail > 0).then(|| wanted.inner(lead, trail));
    }
    if lead + trail == 0 {
        return None;
    }
    let mut new = &wanted.new[..];
    for _ in 0..lead {
        new = new.split_first().filter(|(line, _)| is_blank(line)).map_or(new, |(_, rest)| rest);
    }
    for _ in 0..trail {
        new = new.split_last().filter(|(line, _)| is_blank(line)).map_or(new, |(_, rest)| rest);
    }
    Some(PatternLines { old: wanted.old[first..=last].to_vec(), new: new.to_vec(), changes: None })
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{edit, refuse};

    #[test]
    fn blank_edges_are_dropped_on_both_sides() {
        assert_eq!(
            edit(
                "start_process()\nwait_process()\nend\n",
                "start_process()\nwait_process()\n\n\n",
                "start_process()\nkill()\n\n\n"
            ),
            "start_process()\nkill()\nend\n"
        );
        assert_eq!(edit("aaaa_call()\n", "\n\naaaa_call()\n", "\nbbbb_call()\n"), "bbbb_call()\n");
        assert_eq!(edit("x\naaaa_call()\ny\n", "\naaaa_call()\n\n", ""), "x\ny\n");
        refuse("aaa\n", "\n\naaa\n", "\n\nb\n");
    }
}
