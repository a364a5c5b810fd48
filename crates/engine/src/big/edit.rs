//! Exact edits of a large file.

use super::extract::{Least, Spot, around, with_lines};
use super::{DECLARED, MERGED, Sought, Tried, Why, hunks, opened, why};
use crate::caller::{Caller, Unread};
use crate::engine::Engine;
use crate::options::Options;
use crate::plan::Plan;
use crate::raw_path;
use crate::seen::{self, Base};
use crate::shelves::key;
use crate::stale;
use emendate_core::{
    Code, Error, Find, Handle, LOOKED_UP, Locator, Matching, Op, Order, Pick, Resolved, Result, Scanned, Settings,
    Snapshot, Stand, Whole, resolve,
};
use emendate_core::{Phrase, advice};
use emendate_fs::{Place, Source};
use emendate_history::Lines;
use serde_json::json;

/// Bytes of unchanged text on either side of an edit that other edits of the call may depend on.
pub(super) const CONTEXT: usize = 4096 + 4;
/// Reported occurrences of a text that must be unique.
const COUNTED: usize = 1000;

impl Engine {
    /// Plans the edit of a large file; `None` if the file has to be loaded whole.
    ///
    /// Errors: as any edit; `file.too_large` if it has to be loaded whole and cannot be.
    pub(crate) fn plan_big(
        &self,
        caller: &Caller,
        place: &Place,
        source: Source,
        (ops, order): (&[Op], Order),
        options: &Options,
    ) -> Result<Option<Plan>> {
        let plain =
            self.asks_for_parts(place, options) && !options.partial && !(order == Order::InTurn && ops.len() > 1);
        if let Some(finds) = streamed(ops).filter(|_| plain) {
            return self
                .tried(place, source, |source| self.try_big(caller, place, source, (ops, order, &finds), options));
        }
        if let Some(old) = hunks::old_sides(ops).filter(|_| plain) {
            return self
                .tried(place, source, |source| self.try_hunks(caller, place, source, (ops, order, &old), options));
        }
        self.not_whole(place, source.stamp().size, ALL).map(|()| None)
    }

    fn try_big(
        &self,
        caller: &Caller,
        place: &Place,
        source: Source,
        (ops, order, finds): (&[Op], Order, &[&Find]),
        options: &Options,
    ) -> Result<Tried> {
        let needles: Vec<&str> = finds.iter().map(|find| &*find.old).collect();
        let looked = match self.look(caller, place, &source, (ops, &needles), options)? {
            Ok(looked) => looked,
            Err(why) => return Ok(Tried::Whole(why)),
        };
        let scanned = &looked.scanned;
        let mut counts = vec![0_usize; finds.len()];
        scanned.places.iter().for_each(|stand| counts[stand.needle] += 1);
        if counts.contains(&0) {
            return self.nowhere(place, &source, finds);
        }
        let least = Least { bytes: if ops.len() > 1 { CONTEXT } else { 0 }, ..Least::TELLING };
        let spots = spots(scanned, finds, &counts);
        let Some(extract) = around(&source, scanned.whole, &spots, least)? else { return Ok(Tried::Whole(LONG)) };
        source.still()?;
        match resolve(&extract, ops, order, exactly(options)) {
            // Similar text may still exist somewhere.
            Err(error) if error.code() == Code::MatchNotFound => self.nowhere(place, &source, finds),
            other => Ok(looked.planned(place, source, extract, other?)),
        }
    }

    /// Scans a file for these texts, and finds the version that the caller saw.
    pub(super) fn look(
        &self,
        caller: &Caller,
        place: &Place,
        source: &Source,
        (ops, needles): (&[Op], &[&str]),
        options: &Options,
    ) -> Result<Result<Looked, Why>> {
        self.never_read(caller, place, source, options)?;
        let tag = options.header.is_some() || matches!(options.tag, Some(Handle::Lines(..) | Handle::Headed(..)));
        let scanned = match Engine::scan(source, Sought { needles, tag, ..Sought::default() })? {
            Ok(scanned) => scanned,
            Err(unfit) => return Ok(Err(why(unfit))),
        };
        if self.is_declared_otherwise(place, ops, &scanned.whole) {
            return Ok(Err(DECLARED));
        }
        let Some(head) = with_lines(source, scanned.whole, None)? else { return Ok(Err(LONG)) };
        let now = opened(source, head);
        match self.base(caller, options, place, &now)? {
            Base::Fresh { lines, note } => Ok(Ok(Looked { scanned, lines, note })),
            Base::Stale { .. } if source.stamp().size > self.config().whole() => Err(stale::again(place)),
            Base::Stale { .. } => Ok(Err(MERGED)),
            Base::Lost => Err(stale::lost(self, caller, place, &now)),
        }
    }

    /// Refuses a file that the session never read, before it is searched. A blank file needs no read.
    ///
    /// Errors: `read.required`, once the file is known to be text.
    fn never_read(&self, caller: &Caller, place: &Place, source: &Source, options: &Options) -> Result<()> {
        let known = caller.unread == Unread::Allow || options.tag.is_some();
        if known || self.sessions(place).latest(&caller.session, key(place))?.is_some() {
            return Ok(());
        }
        let mut blank = true;
        let beside = |chunk: &[u8]| blank &= chunk.trim_ascii().is_empty();
        match Engine::scan_beside(source, Sought::default(), beside)? {
            Ok(_) if !blank => Err(seen::unread(place)),
            _ => Ok(()),
        }
    }

    /// Handles a text that was not found. If the file is too large to be searched for similar text, the error lists
    /// lines of the text that occur.
    ///
    /// Errors: `match.not_found`.
    fn nowhere(&self, place: &Place, source: &Source, finds: &[&Find]) -> Result<Tried> {
        let (size, most) = (source.stamp().size, self.config().whole());
        if size <= most {
            return Ok(Tried::Whole(NOWHERE));
        }
        let quoted = |find: &&Find| find.old.lines().next().unwrap_or_default().chars().take(200).collect::<String>();
        let first: Vec<String> = finds.iter().take(3).map(quoted).collect();
        let error = Error::new(Code::MatchNotFound, "String to replace not found in file.")
            .evidence(format!("The first line of what was looked for: {}", first.join(" | ")))
            .evidence(format!(
                "The file has {size} bytes. Only in files of up to {most} bytes is text looked for that is merely like \
                 old_string."
            ))
            .fact("reason", "not_found")
            .fact("size", size)
            .fact("limit", most);
        let lines = telling(finds);
        let scanned = Engine::scan(source, Sought { needles: &lines, ..Sought::default() })?.ok();
        let places = scanned.map(|scanned| scanned.places).unwrap_or_default();
        let of = |needle: usize| places.iter().filter(move |stand| stand.needle == needle).map(|stand| stand.line);
        let best =
            (0..lines.len()).filter(|&needle| of(needle).next().is_some()).min_by_key(|&needle| of(needle).count());
        let Some((needle, line)) = best.and_then(|needle| Some((needle, of(needle).next()?))) else {
            return Err(error.next(
                advice!["None of its lines is in the file. Find the line with ", Phrase::Tool("search"), " (or grep -n), read it with offset and limit, and copy the text from the reply."]
                    .or("None of its lines is in the file. Find the line with grep -n, read it, and copy the text from the reply."),
            ));
        };
        let numbers: Vec<usize> = of(needle).take(TOLD).collect();
        let shown: String = lines[needle].chars().take(200).collect();
        let list: Vec<String> = numbers.iter().map(usize::to_string).collect();
        let more = if of(needle).count() > TOLD { " and more" } else { "" };
        let call = json!({ "offset": line.saturating_sub(AROUND).max(1), "limit": 2 * AROUND });
        Err(error
            .evidence(format!("This line of it is in the file, at line {}{more}: {shown}", list.join(", ")))
            .next(advice!["Call ", raw_path::read(place, call), " and copy the text from the reply."])
            .fact("lines", numbers))
    }
}

/// The result of one scan.
pub(super) struct Looked {
    pub(super) scanned: Scanned,
    /// The lines that the caller knows, with a note.
    lines: Lines,
    note: Option<String>,
}

impl Looked {
    /// Creates the plan of an edit that was resolved in a sparse snapshot.
    pub(super) fn planned(self, place: &Place, source: Source, extract: Snapshot, resolved: Resolved) -> Tried {
        if resolved.changes.splices().iter().any(|splice| extract.in_file(splice.span).is_none()) {
            return Tried::Whole(LONG);
        }
        let mut resolved = resolved;
        resolved.notes.extend(self.note);
        let lines = seen::after_writing(&self.lines, &extract, &resolved.changes);
        let plan = Plan::edit(place.clone(), opened(&source, extract), resolved, lines);
        Tried::Planned(Box::new(plan.of_parts(source, self.scanned.before)))
    }
}

/// Returns the searches of a call that needs only the text around their occurrences.
fn streamed(ops: &[Op]) -> Option<Vec<&Find>> {
    let plain = |find: &Find| !find.old.is_empty() && !find.old.contains('\0');
    ops.iter()
        .map(|op| if let Locator::Find(find) = &op.at { Some(find).filter(|it| plain(it)) } else { None })
        .collect()
}

/// Returns settings for the literal search that streaming requires.
pub(super) fn exactly(options: &Options) -> Settings {
    Settings {
        matching: Matching::Exact,
        emptied_lines: options.matching == Matching::Standard,
        omissions: options.cause.allows_invalid,
        ..Settings::default()
    }
}

/// Lines reported for a text that was not found as a whole, and lines to read around one.
const TOLD: usize = 5;
const AROUND: usize = 20;
/// Lines of the texts searched for in that case, and bytes of the shortest one.
const LINES: usize = 16;
const SHORT: usize = 6;

/// Returns the longest lines of the texts, trimmed.
fn telling<'o>(finds: &[&'o Find]) -> Vec<&'o str> {
    let mut lines: Vec<&str> =
        finds.iter().flat_map(|find| find.old.lines()).map(str::trim).filter(|line| line.len() >= SHORT).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.len()));
    lines.dedup();
    lines.truncate(LINES);
    lines
}

const ALL: Why = Why::new(
    "this call needs all of its text at once",
    "Send it as edit or multi_edit with each old_string copied exactly from the file, or as edits of lines by their numbers, \
     and without encoding, marks with words, partial and order.",
);
const NOWHERE: Why = Why::new(
    "does not have the text as it was given; what is like it is looked for in all of the text",
    "Read the lines, and copy old_string from the reply.",
);
pub(super) const LONG: Why = Why::new(
    "has lines around the place that are too long, or too many places, to be edited in parts",
    "Give a longer old_string that fits fewer places; for lines of more than a megabyte ask a person to raise max_whole.",
);

/// Returns the relevant spans, in the order of the file.
fn spots(scanned: &Scanned, finds: &[&Find], counts: &[usize]) -> Vec<Spot> {
    let mut left: Vec<usize> = finds
        .iter()
        .map(|find| match find.pick {
            Pick::All => usize::MAX,
            Pick::Unique => COUNTED,
            Pick::Exactly(count) => COUNTED.max(count.saturating_add(1)),
        })
        .collect();
    let mut told = |stand: &&Stand| {
        let left = &mut left[stand.needle];
        *left = left.saturating_sub(1);
        *left > 0 || finds[stand.needle].pick == Pick::All
    };
    // If there are too many or too few occurrences, their headings are reported.
    let above = |(find, &count): (&&Find, &usize)| {
        let fits = match find.pick {
            Pick::All => true,
            Pick::Unique => count == 1,
            Pick::Exactly(wanted) => count == wanted,
        };
        if fits { 0 } else { LOOKED_UP }
    };
    let above: Vec<usize> = finds.iter().zip(counts).map(above).collect();
    let spot = |stand: &Stand| Spot { at: stand.at, end: stand.end, line: stand.line, above: above[stand.needle] };
    let mut spots: Vec<Spot> = scanned.places.iter().filter(|stand| told(stand)).map(spot).collect();
    // Whole lines may also be the last ones of a text without a final line end.
    let Whole { size, lines, open, .. } = scanned.whole;
    if finds.iter().any(|find| find.lines) {
        spots.push(Spot { at: size, end: size, line: lines + usize::from(!open), above: 0 });
    }
    spots
}
