//! A search with an automaton that is built while it runs, and counts its steps.

use crate::tools::search::regex::{DFA_BYTES_MAX, UNCACHED_STATES_MIN};
use emendate_core::work;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson::NFA;
use regex_automata::{Anchored, Input, MatchKind};
use std::ops::Range;

/// Bytes scanned by the automaton that count as one step of work.
const BYTES_PER_STEP: usize = 2;
/// Bytes between two checks of the meter.
const BATCH_BYTES: usize = 4096;
/// States of the expression per step of work, for each transition that has to be computed.
const STATES_PER_STEP: usize = 2;
/// Additional steps for a transition that has to be computed.
const TRANSITION_STEPS: usize = 20;
/// Steps for each byte of the largest state of the automaton so far, for each such transition. A byte is about
/// one active state of the expression and the way to it, which takes 80 ns if the states exceed the processor's caches.
const STATE_BYTE_STEPS: usize = 2;
const UNCACHED_STATE_BYTE_STEPS: usize = 16;
/// Steps for computing transitions after which the automaton is given up.
const BUILD_STEPS_MAX: usize = 40_000_000;

/// The result of a search.
pub(super) enum LazyMatch {
    Found(Range<usize>),
    Nothing,
    /// The automaton cannot decide, or building it takes too long.
    GaveUp,
}

/// The automata that find the end of a match, and its start.
#[derive(Clone)]
pub(super) struct LazyAutomaton {
    forward: DFA,
    reverse: DFA,
}

/// The transitions computed so far.
pub(super) struct AutomatonCache {
    caches: Option<(Cache, Cache)>,
    built: BuildWork,
}

/// The work of computing transitions.
#[derive(Debug, Default)]
struct BuildWork {
    steps: usize,
    /// Bytes of the largest state that was added.
    largest_state: usize,
}

impl AutomatonCache {
    pub(super) fn new(automaton: Option<&LazyAutomaton>) -> AutomatonCache {
        let caches = automaton.map(|it| (it.forward.create_cache(), it.reverse.create_cache()));
        AutomatonCache { caches, built: BuildWork::default() }
    }
}

/// One pass over a part of a text.
struct Pass<'a> {
    dfa: &'a DFA,
    cache: &'a mut Cache,
    built: &'a mut BuildWork,
}

/// The reason for ending a pass early.
struct EarlyEnd {
    gave_up: bool,
}

impl LazyAutomaton {
    /// `None` if an automaton cannot be built for the expression.
    pub(super) fn new(forward: NFA, reverse: NFA) -> Option<LazyAutomaton> {
        Some(LazyAutomaton {
            forward: build_dfa(forward, MatchKind::LeftmostFirst)?,
            reverse: build_dfa(reverse, MatchKind::All)?,
        })
    }

    /// Finds the first match in a part of a text. Finds nothing once the work of the call has to end.
    pub(super) fn find(&self, cache: &mut AutomatonCache, text: &[u8], span: Range<usize>) -> LazyMatch {
        let AutomatonCache { caches: Some((forward, reverse)), built } = cache else { return LazyMatch::GaveUp };
        if built.steps > BUILD_STEPS_MAX {
            return LazyMatch::GaveUp;
        }
        let input = Input::new(text).span(span.clone());
        let mut pass = Pass { dfa: &self.forward, cache: forward, built };
        let end = match pass.run::<false>(&input) {
            Ok(Some(bytes)) => span.start + bytes,
            Ok(None) => return LazyMatch::Nothing,
            Err(ended) => return ended.result(),
        };
        let input = input.span(span.start..end).anchored(Anchored::Yes);
        let mut pass = Pass { dfa: &self.reverse, cache: reverse, built };
        match pass.run::<true>(&input) {
            Ok(Some(bytes)) => LazyMatch::Found(end - bytes..end),
            Ok(None) => LazyMatch::GaveUp,
            Err(ended) => ended.result(),
        }
    }
}

/// Builds an automaton whose cache is filled during the search; `None` if the expression does not allow it.
fn build_dfa(nfa: NFA, kind: MatchKind) -> Option<DFA> {
    let config = Config::new().match_kind(kind).unicode_word_boundary(true);
    let config = config.cache_capacity(DFA_BYTES_MAX / 2).skip_cache_capacity_check(true);
    DFA::builder().configure(config).build_from_nfa(nfa).ok()
}

impl EarlyEnd {
    fn result(&self) -> LazyMatch {
        if self.gave_up { LazyMatch::GaveUp } else { LazyMatch::Nothing }
    }
}

impl Pass<'_> {
    /// Runs over the input, in reverse if its matches are to be found from their ends. Returns the number of bytes from
    /// where the run began to the end of the match. A state is known to be a match after one more byte.
    fn run<const REVERSE: bool>(&mut self, input: &Input<'_>) -> Result<Option<usize>, EarlyEnd> {
        let start = if REVERSE { DFA::start_state_reverse } else { DFA::start_state_forward };
        let mut state = start(self.dfa, self.cache, input).map_err(|_| EarlyEnd { gave_up: true })?;
        let bytes = &input.haystack()[input.get_range()];
        let mut found = None;
        let mut passed = 0;
        while passed < bytes.len() {
            let stop = bytes.len().min(passed + BATCH_BYTES);
            let from = passed;
            while passed < stop {
                let byte = if REVERSE { bytes[bytes.len() - 1 - passed] } else { bytes[passed] };
                state = self.next(state, byte)?;
                if state.is_tagged() {
                    if state.is_match() {
                        found = Some(passed);
                    } else if state.is_dead() {
                        spend(passed - from)?;
                        return Ok(found);
                    }
                }
                passed += 1;
            }
            spend(passed - from)?;
        }
        let beyond = if REVERSE { input.start().checked_sub(1) } else { Some(input.end()) };
        let last = self.end(state, beyond.and_then(|at| input.haystack().get(at)))?;
        Ok(if last.is_match() { Some(passed) } else { found })
    }

    #[inline]
    fn next(&mut self, state: LazyStateID, byte: u8) -> Result<LazyStateID, EarlyEnd> {
        if state.is_tagged() {
            return self.next_of_tagged(state, byte);
        }
        let next = self.dfa.next_state_untagged(self.cache, state, byte);
        if next.is_unknown() || next.is_quit() { self.computed(state, byte) } else { Ok(next) }
    }

    /// Follows a transition of a matching state. Whether the transition was already known shows only in the memory that
    /// the cache uses.
    fn next_of_tagged(&mut self, state: LazyStateID, byte: u8) -> Result<LazyStateID, EarlyEnd> {
        let memory = self.cache.memory_usage();
        let next = self.followed(state, byte)?;
        if self.cache.memory_usage() != memory {
            self.count_transition(memory)?;
        }
        Ok(next)
    }

    /// Computes a transition for the first time.
    #[cold]
    fn computed(&mut self, state: LazyStateID, byte: u8) -> Result<LazyStateID, EarlyEnd> {
        let memory = self.cache.memory_usage();
        let next = self.followed(state, byte)?;
        self.count_transition(memory)?;
        Ok(next)
    }

    fn followed(&mut self, state: LazyStateID, byte: u8) -> Result<LazyStateID, EarlyEnd> {
        let next = self.dfa.next_state(self.cache, state, byte).map_err(|_| EarlyEnd { gave_up: true })?;
        if next.is_quit() { Err(EarlyEnd { gave_up: true }) } else { Ok(next) }
    }

    /// Counts a transition that was computed, after which the cache used more memory than before if it led to a new
    /// state.
    fn count_transition(&mut self, memory_before: usize) -> Result<(), EarlyEnd> {
        // The new row of transitions, and the entry of the state.
        let row = (self.dfa.byte_classes().alphabet_len().next_power_of_two() + 1) * size_of::<LazyStateID>();
        let added = self.cache.memory_usage().saturating_sub(memory_before + row);
        self.built.largest_state = self.built.largest_state.max(added);
        let states = self.dfa.get_nfa().states().len();
        let byte_steps = if states < UNCACHED_STATES_MIN { STATE_BYTE_STEPS } else { UNCACHED_STATE_BYTE_STEPS };
        let steps = TRANSITION_STEPS + states / STATES_PER_STEP + self.built.largest_state * byte_steps;
        self.built.steps += steps;
        if self.built.steps > BUILD_STEPS_MAX {
            return Err(EarlyEnd { gave_up: true });
        }
        if work::spend_or_end(steps) { Err(EarlyEnd { gave_up: false }) } else { Ok(()) }
    }

    /// Takes the byte next to the input into account, or the end of the text.
    fn end(&mut self, state: LazyStateID, byte: Option<&u8>) -> Result<LazyStateID, EarlyEnd> {
        match byte {
            Some(byte) => self.next(state, *byte),
            None => self.dfa.next_eoi_state(self.cache, state).map_err(|_| EarlyEnd { gave_up: true }),
        }
    }
}

fn spend(bytes: usize) -> Result<(), EarlyEnd> {
    if work::spend_or_end(bytes / BYTES_PER_STEP) { Err(EarlyEnd { gave_up: false }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_automata::nfa::thompson::{Compiler, Config as NfaConfig, WhichCaptures};

    /// Searches in letters, and returns the work of computing transitions.
    fn work_of(pattern: &str) -> BuildWork {
        let config = |reverse| NfaConfig::new().reverse(reverse).which_captures(WhichCaptures::None);
        let nfa = |reverse| Compiler::new().configure(config(reverse)).build(pattern).unwrap();
        let automaton = LazyAutomaton::new(nfa(false), nfa(true)).unwrap();
        let mut cache = AutomatonCache::new(Some(&automaton));
        let text = "a".repeat(50);
        assert!(matches!(automaton.find(&mut cache, text.as_bytes(), 0..text.len()), LazyMatch::Nothing));
        cache.built
    }

    #[test]
    fn transitions_cost_more_if_many_states_are_active() {
        let (few, many) = (work_of(r"a{50}\pLb"), work_of("(?:a{1,50}){1,50}b"));
        assert!(few.largest_state < 200 && many.largest_state > 2_000, "{few:?} {many:?}");
        assert!(many.steps > 50 * many.largest_state && few.steps < many.steps / 10, "{few:?} {many:?}");
    }
}
