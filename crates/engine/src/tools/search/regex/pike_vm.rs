//! The simulation of all states of an expression at once (Pike's virtual machine), which counts its steps and needs
//! memory for the states alone. It also finds the groups of a match.

use crate::tools::search::regex::UNCACHED_STATES_MIN;
use emendate_core::{Code, Error, Result, work};
use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;
use std::ops::Range;

/// Steps of work for each state that is visited.
const VISIT_STEPS: usize = 4;
/// Steps for a state of an expression whose states exceed the processor's caches.
const UNCACHED_VISIT_STEPS: usize = 16;
/// Offsets of groups that are copied in one step; a visit copies all of them.
const SLOTS_PER_STEP: usize = 8;
/// Offsets of groups that are remembered for all states together.
const SLOTS_MAX: usize = 4_000_000;
/// The offset of a group that is not part of the match.
const UNSET: usize = usize::MAX;

/// A simulation.
#[derive(Clone)]
pub(super) struct PikeVm {
    nfa: NFA,
}

/// The states that are active at an offset, sorted by preference, with the offsets that each remembers.
struct ActiveStates {
    dense: Vec<StateID>,
    sparse: Vec<usize>,
    slots: Vec<usize>,
}

/// The memory of one simulation at a time.
pub(super) struct PikeCache {
    now: ActiveStates,
    next: ActiveStates,
    stack: Vec<Visit>,
    /// The offsets on the way to the state that is being visited.
    path: Vec<usize>,
}

/// A task while the states are visited that are reached without a byte.
enum Visit {
    State(StateID),
    /// Sets an offset back to what it was before a group.
    Restore {
        slot: usize,
        offset: usize,
    },
}

/// The offsets of the groups that a replacement names.
#[derive(Clone, Debug)]
pub(crate) struct GroupSlots {
    /// The groups, sorted.
    groups: Vec<usize>,
    /// The start and end of each.
    offsets: Vec<usize>,
}

impl GroupSlots {
    pub(crate) fn new(groups: impl IntoIterator<Item = usize>) -> GroupSlots {
        let mut groups: Vec<usize> = groups.into_iter().collect();
        groups.sort_unstable();
        groups.dedup();
        let offsets = vec![UNSET; groups.len() * 2];
        GroupSlots { groups, offsets }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns the text of a group; `None` if it is not part of the match.
    pub(crate) fn group(&self, nth: usize) -> Option<Range<usize>> {
        let at = self.groups.binary_search(&nth).ok()? * 2;
        let (start, end) = (*self.offsets.get(at)?, *self.offsets.get(at + 1)?);
        (start != UNSET && end != UNSET).then_some(start..end)
    }

    /// The place of a slot of the expression; `None` if nothing names its group.
    fn place(&self, slot: usize) -> Option<usize> {
        Some(self.groups.binary_search(&(slot / 2)).ok()? * 2 + slot % 2)
    }
}

/// One search.
struct Simulation<'a> {
    nfa: &'a NFA,
    text: &'a [u8],
    /// The groups to remember; without them, only the start of a match is.
    groups: Option<&'a GroupSlots>,
    cache: &'a mut PikeCache,
    /// States visited since the last check of the meter.
    visits: usize,
    /// Steps of work for each of them.
    visit_steps: usize,
}

impl PikeVm {
    pub(super) fn new(nfa: NFA) -> PikeVm {
        PikeVm { nfa }
    }

    /// Finds the first match in a part of a text. Finds nothing once the work of the call has to end.
    pub(super) fn find(&self, cache: &mut PikeCache, text: &[u8], span: Range<usize>) -> Option<Range<usize>> {
        cache.prepare(self.nfa.states().len(), 1);
        let mut simulation = self.simulation(text, None, cache);
        let (end, slots) = simulation.run(span, false)?;
        Some(*slots.first()?..end)
    }

    /// Finds the groups of a match; false once the work of the call has to end.
    ///
    /// Errors: `call.too_much_work` if they would take too much memory.
    pub(super) fn groups(
        &self,
        cache: &mut PikeCache,
        text: &[u8],
        of: Range<usize>,
        groups: &mut GroupSlots,
    ) -> Result<bool> {
        let (states, slots) = (self.nfa.states().len(), groups.offsets.len());
        if states.saturating_mul(slots) > SLOTS_MAX {
            return Err(Error::new(
                Code::CallTooMuchWork,
                "pattern is too large for a replacement that names its groups.",
            )
            .next("Send a shorter pattern, or name fewer groups in the new text. Nothing was written."));
        }
        cache.prepare(states, slots);
        let mut simulation = self.simulation(text, Some(groups), cache);
        let Some((_, offsets)) = simulation.run(of, true) else { return Ok(false) };
        groups.offsets = offsets;
        Ok(true)
    }

    /// Creates a search with a prepared cache.
    fn simulation<'a>(
        &'a self,
        text: &'a [u8],
        groups: Option<&'a GroupSlots>,
        cache: &'a mut PikeCache,
    ) -> Simulation<'a> {
        let state_steps =
            if self.nfa.states().len() < UNCACHED_STATES_MIN { VISIT_STEPS } else { UNCACHED_VISIT_STEPS };
        let visit_steps = state_steps + cache.path.len() / SLOTS_PER_STEP;
        Simulation { nfa: &self.nfa, text, groups, cache, visits: 0, visit_steps }
    }
}

impl PikeCache {
    pub(super) fn new() -> PikeCache {
        let active = || ActiveStates { dense: Vec::new(), sparse: Vec::new(), slots: Vec::new() };
        PikeCache { now: active(), next: active(), stack: Vec::new(), path: Vec::new() }
    }

    fn prepare(&mut self, states: usize, slots: usize) {
        self.path.clear();
        self.path.resize(slots, UNSET);
        self.stack.clear();
        for active in [&mut self.now, &mut self.next] {
            active.dense.clear();
            active.sparse.resize(states, 0);
            active.slots.resize(states * slots, UNSET);
        }
    }
}

impl ActiveStates {
    fn contains(&self, state: StateID) -> bool {
        self.dense.get(self.sparse[state.as_usize()]) == Some(&state)
    }

    fn insert(&mut self, state: StateID) {
        self.sparse[state.as_usize()] = self.dense.len();
        self.dense.push(state);
    }

    fn slots_of(&mut self, state: StateID, slots: usize) -> &mut [usize] {
        &mut self.slots[state.as_usize() * slots..][..slots]
    }
}

impl Simulation<'_> {
    /// Returns the end of the preferred match, and the offsets it remembers.
    fn run(&mut self, span: Range<usize>, anchored: bool) -> Option<(usize, Vec<usize>)> {
        let mut found = None;
        for at in span.start..=span.end {
            if found.is_none() && (!anchored || at == span.start) {
                if self.groups.is_none() {
                    self.cache.path[0] = at;
                }
                self.visit(self.nfa.start_anchored(), at);
            }
            if self.cache.next.dense.is_empty() && (anchored || found.is_some()) {
                break;
            }
            found = self.step(at, at < span.end).or(found);
            if work::spend_or_end(1 + std::mem::take(&mut self.visits) * self.visit_steps) {
                return None;
            }
        }
        found
    }

    /// Moves all active states over the byte at an offset; returns the match that ends here, which ends every state
    /// that is less preferred.
    fn step(&mut self, at: usize, inside: bool) -> Option<(usize, Vec<usize>)> {
        let slots = self.cache.path.len();
        let mut found = None;
        let PikeCache { now, next, .. } = &mut *self.cache;
        std::mem::swap(now, next);
        next.dense.clear();
        self.visits += now.dense.len();
        for nth in 0..self.cache.now.dense.len() {
            let state = self.cache.now.dense[nth];
            let next = match self.nfa.state(state) {
                State::Match { .. } => {
                    found = Some((at, self.cache.now.slots_of(state, slots).to_vec()));
                    break;
                }
                State::ByteRange { trans } if inside => trans.matches_byte(self.text[at]).then_some(trans.next),
                State::Sparse(trans) if inside => trans.matches_byte(self.text[at]),
                State::Dense(trans) if inside => trans.matches_byte(self.text[at]),
                _ => None,
            };
            if let Some(next) = next {
                let PikeCache { now, path, .. } = &mut *self.cache;
                path.copy_from_slice(now.slots_of(state, slots));
                self.visit(next, at + 1);
            }
        }
        self.cache.path.fill(UNSET);
        found
    }

    /// Adds a state and those that it reaches without a byte to the next ones, the preferred ones first.
    fn visit(&mut self, state: StateID, at: usize) {
        self.cache.stack.push(Visit::State(state));
        while let Some(visit) = self.cache.stack.pop() {
            match visit {
                Visit::Restore { slot, offset } => self.cache.path[slot] = offset,
                Visit::State(state) => self.visit_chain(state, at),
            }
        }
    }

    /// Follows a state to the next one while there is only one way, and keeps the other ways for later.
    fn visit_chain(&mut self, mut state: StateID, at: usize) {
        loop {
            self.visits += 1;
            let PikeCache { next, stack, path, .. } = &mut *self.cache;
            if next.contains(state) {
                return;
            }
            next.insert(state);
            state = match self.nfa.state(state) {
                State::Look { look, next } if self.nfa.look_matcher().matches(*look, self.text, at) => *next,
                State::Look { .. } => return,
                State::Union { alternates } => {
                    let Some((first, rest)) = alternates.split_first() else { return };
                    stack.extend(rest.iter().rev().map(|state| Visit::State(*state)));
                    self.visits += rest.len();
                    *first
                }
                State::BinaryUnion { alt1, alt2 } => {
                    stack.push(Visit::State(*alt2));
                    *alt1
                }
                State::Capture { next, slot, .. } => {
                    if let Some(place) = self.groups.and_then(|groups| groups.place(slot.as_usize())) {
                        stack.push(Visit::Restore { slot: place, offset: path[place] });
                        path[place] = at;
                    }
                    *next
                }
                _ => {
                    let slots = path.len();
                    next.slots_of(state, slots).copy_from_slice(path);
                    return;
                }
            };
        }
    }
}
