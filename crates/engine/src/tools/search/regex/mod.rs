//! Regular expressions whose search is counted, so that it ends with the work of the call.
//!
//! The library searches fast, but it does not report how much of the text it looks at for one match, and cannot be
//! stopped. It is used while its worst case is small: the states of the expression times the bytes of the text. Beyond
//! that an automaton searches, built while it runs, and if building it takes too long, a simulation of all states at
//! once. Both count their steps, and both find what the library finds.

pub(crate) mod automaton;
pub(crate) mod pike_vm;

use crate::tools::search::pattern::{PATTERN_BYTES_MAX, PatternOptions};
use crate::tools::search::regex::automaton::{AutomatonCache, LazyAutomaton, LazyMatch};
use crate::tools::search::regex::pike_vm::{PikeCache, PikeVm};
use emendate_core::{Advice, Code, Error, Phrase, Result, advice, work};
use grep_matcher::{LineMatchKind, LineTerminator, Match, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::pool::Pool;
use regex_automata::util::prefilter::Prefilter;
use regex_automata::{MatchKind, Span};
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use crate::tools::search::regex::pike_vm::GroupSlots;

/// Product of states and bytes that the library may examine in its worst case, in all texts of a call: under a second.
const LIBRARY_WORK_MAX: u64 = 150_000_000;
/// Bytes of a compiled expression, and of its tables during the search.
const COMPILED_BYTES_MAX: usize = 8 << 20;
const DFA_BYTES_MAX: usize = 32 << 20;
/// States from which an expression is larger than the caches of a processor, so that each visit of a state takes longer.
const UNCACHED_STATES_MIN: usize = 4096;
/// Characters kept of the library's message, which quotes the pattern.
const MESSAGE_CHARS_MAX: usize = 2000;

/// The memory of one search at a time.
type Caches = (Box<AutomatonCache>, PikeCache);

/// A regular expression to search for.
pub(crate) struct BoundedRegex {
    library: RegexMatcher,
    hir: Hir,
    nfa: NFA,
    /// States times bytes that the library was given so far.
    library_work: AtomicU64,
    counted: OnceLock<CountedRegex>,
}

/// The counted search.
struct CountedRegex {
    automaton: Option<LazyAutomaton>,
    simulation: PikeVm,
    prefilter: Option<Prefilter>,
    caches: Pool<Caches, Box<dyn Fn() -> Caches + Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>>,
}

impl BoundedRegex {
    /// Compiles an expression; `plain` describes how to request plain text.
    ///
    /// Errors: `call.invalid` for an invalid expression; `call.too_large`.
    pub(crate) fn new(pattern: &str, look: PatternOptions, plain: &Advice) -> Result<BoundedRegex> {
        if pattern.len() > PATTERN_BYTES_MAX {
            let what = format!("pattern has {} bytes; the limit is {PATTERN_BYTES_MAX}.", pattern.len());
            return Err(Error::new(Code::CallTooLarge, what)
                .next(Advice::from("Shorten it, or").and(plain).and(&"for plain text.".into()).or("Shorten it.")));
        }
        let library = library(pattern, look).map_err(|error| invalid_pattern(&error.to_string(), plain))?;
        let hir = parsed(pattern, look).map_err(|error| invalid_pattern(&error.to_string(), plain))?;
        let nfa = compiled(&hir, false).map_err(|error| invalid_pattern(&error.to_string(), plain))?;
        let (library_work, counted) = (AtomicU64::new(0), OnceLock::new());
        Ok(BoundedRegex { library, hir, nfa, library_work, counted })
    }

    /// The number of groups, with that of the whole match.
    pub(crate) fn group_count(&self) -> usize {
        self.library.capture_count()
    }

    pub(crate) fn group_named(&self, name: &str) -> Option<usize> {
        self.library.capture_index(name)
    }

    /// Finds the first match from `at` on. Finds nothing once the work of the call has to end.
    pub(crate) fn find_at(&self, text: &[u8], at: usize) -> Option<Match> {
        if self.library_may_search(text.len().saturating_sub(at)) {
            return self.library.find_at(text, at).unwrap_or_default();
        }
        self.counted().find_at(text, at)
    }

    /// Finds the groups of a match. Finds nothing once the work of the call has to end.
    ///
    /// Errors: `call.too_much_work` if they would take too much memory.
    pub(crate) fn groups(&self, text: &[u8], of: Match, slots: &mut GroupSlots) -> Result<bool> {
        let counted = self.counted();
        let mut caches = counted.caches.get();
        counted.simulation.groups(&mut caches.1, text, of.start()..of.end(), slots)
    }

    pub(super) fn find_candidate_line(&self, text: &[u8]) -> Option<LineMatchKind> {
        if self.library_may_search(text.len()) {
            return self.library.find_candidate_line(text).unwrap_or_default();
        }
        self.counted().find_at(text, 0).map(|found| LineMatchKind::Confirmed(found.end()))
    }

    pub(super) fn shortest_match_at(&self, text: &[u8], at: usize) -> Option<usize> {
        if self.library_may_search(text.len().saturating_sub(at)) {
            return self.library.shortest_match_at(text, at).unwrap_or_default();
        }
        self.counted().find_at(text, at).map(|found| found.end())
    }

    pub(super) fn line_terminator(&self) -> Option<LineTerminator> {
        self.library.line_terminator()
    }

    pub(super) fn non_matching_bytes(&self) -> Option<&grep_matcher::ByteSet> {
        self.library.non_matching_bytes()
    }

    /// Counts the worst case of a search by the library; false if it exceeds what is left of the allowance.
    fn library_may_search(&self, bytes: usize) -> bool {
        let worst = (bytes as u64 + 1).saturating_mul(self.nfa.states().len() as u64);
        let used = self.library_work.load(Ordering::Relaxed).saturating_add(worst);
        if used > LIBRARY_WORK_MAX {
            return false;
        }
        self.library_work.store(used, Ordering::Relaxed);
        true
    }

    fn counted(&self) -> &CountedRegex {
        self.counted.get_or_init(|| CountedRegex::new(&self.hir, &self.nfa))
    }
}

/// Returns the error for an expression that cannot be compiled; `plain` describes how to request plain text.
fn invalid_pattern(error: &str, plain: &Advice) -> Error {
    let lines = advice!["for plain text, or ", Phrase::On("multiline"), " if it contains a line end."];
    Error::new(Code::CallInvalid, "The pattern is not a regular expression that can be searched for.")
        .evidence(error.chars().take(MESSAGE_CHARS_MAX).collect::<String>())
        .next(Advice::from("Correct it, or").and(plain).and(&lines).or("Correct it."))
}

impl CountedRegex {
    fn new(hir: &Hir, nfa: &NFA) -> CountedRegex {
        let automaton = compiled(hir, true).ok().and_then(|reverse| LazyAutomaton::new(nfa.clone(), reverse));
        let simulation = PikeVm::new(nfa.clone());
        let create = {
            let automaton = automaton.clone();
            move || (Box::new(AutomatonCache::new(automaton.as_ref())), PikeCache::new())
        };
        let prefilter = Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, hir);
        CountedRegex { automaton, simulation, prefilter, caches: Pool::new(Box::new(create)) }
    }

    fn find_at(&self, text: &[u8], at: usize) -> Option<Match> {
        let (cache, threads) = &mut *self.caches.get();
        let span = self.candidate(text, at)?..text.len();
        let found = self.automaton.as_ref().map(|automaton| automaton.find(cache, text, span.clone()));
        let found = match found {
            Some(LazyMatch::Found(found)) => Some(found),
            Some(LazyMatch::Nothing) => None,
            Some(LazyMatch::GaveUp) | None => self.simulation.find(threads, text, span),
        };
        found.map(|found| Match::new(found.start, found.end))
    }

    /// Returns the first offset at which a match may begin.
    fn candidate(&self, text: &[u8], at: usize) -> Option<usize> {
        let Some(prefilter) = &self.prefilter else { return (at <= text.len()).then_some(at) };
        let span = (at <= text.len()).then(|| Span::from(at..text.len()))?;
        let found = prefilter.find(text, span);
        let end = found.map_or(text.len(), |found| found.start);
        let ended = work::spend_or_end((end - at) / work::STEP_BYTES);
        found.filter(|_| !ended).map(|found| found.start)
    }
}

fn library(pattern: &str, look: PatternOptions) -> Result<RegexMatcher, grep_regex::Error> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(look.ignore_case).fixed_strings(look.literal).multi_line(true);
    builder.dot_matches_new_line(look.multiline).size_limit(COMPILED_BYTES_MAX).dfa_size_limit(DFA_BYTES_MAX);
    if !look.multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern)
}

/// Parses an expression as the library does: one for a line cannot match a line end.
fn parsed(pattern: &str, look: PatternOptions) -> Result<Hir, Box<regex_syntax::Error>> {
    let mut parser = regex_syntax::ParserBuilder::new();
    parser.utf8(false).multi_line(true).case_insensitive(look.ignore_case).dot_matches_new_line(look.multiline);
    let parse = |pattern: &str| parser.build().parse(pattern).map_err(Box::new);
    let hir = if look.literal { parse(&regex_syntax::escape(pattern)) } else { parse(pattern) }?;
    Ok(if look.multiline { hir } else { without_line_ends(hir) })
}

/// Takes line ends out of all classes. The library has refused those that match nothing else, and literal ones.
fn without_line_ends(hir: Hir) -> Hir {
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(mut class)) => {
            class.difference(&ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]));
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(mut class)) => {
            class.difference(&ClassBytes::new([ClassBytesRange::new(b'\n', b'\n')]));
            Hir::class(Class::Bytes(class))
        }
        HirKind::Repetition(mut repetition) => {
            repetition.sub = Box::new(without_line_ends(*repetition.sub));
            Hir::repetition(repetition)
        }
        HirKind::Capture(mut capture) => {
            capture.sub = Box::new(without_line_ends(*capture.sub));
            Hir::capture(capture)
        }
        HirKind::Concat(parts) => Hir::concat(parts.into_iter().map(without_line_ends).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.into_iter().map(without_line_ends).collect()),
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Look(look) => Hir::look(look),
    }
}

fn compiled(hir: &Hir, reverse: bool) -> Result<NFA, Box<thompson::BuildError>> {
    let captures = if reverse { thompson::WhichCaptures::None } else { thompson::WhichCaptures::All };
    let config = thompson::Config::new().utf8(false).reverse(reverse).nfa_size_limit(Some(COMPILED_BYTES_MAX * 2));
    thompson::Compiler::new().configure(config.which_captures(captures)).build_from_hir(hir).map_err(Box::new)
}

#[cfg(test)]
mod tests;
