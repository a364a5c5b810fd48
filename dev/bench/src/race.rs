//! Races: cases run round-robin, so that noise affects all of them alike. The results are medians and ratios.

use crate::outcome::{Kind, Outcome, Unit};
use std::time::{Duration, Instant};

/// One case of a race: a name and a function. The function returns the time that counts, which may exclude set-up.
pub(crate) struct Case<'a> {
    pub(crate) name: String,
    kind: Kind,
    run: Box<dyn FnMut() -> Duration + 'a>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(kind: Kind, name: impl Into<String>, run: impl FnMut() -> Duration + 'a) -> Case<'a> {
        Case { name: name.into(), kind, run: Box::new(run) }
    }

    /// Creates a case for Emendate.
    pub(crate) fn ours(name: impl Into<String>, run: impl FnMut() -> Duration + 'a) -> Case<'a> {
        Case::new(Kind::Ours, name, run)
    }

    /// Creates a case for another tool or library.
    pub(crate) fn peer(name: impl Into<String>, run: impl FnMut() -> Duration + 'a) -> Case<'a> {
        Case::new(Kind::Peer, name, run)
    }

    /// Creates a case for the minimum that any tool must do.
    pub(crate) fn floor(name: impl Into<String>, run: impl FnMut() -> Duration + 'a) -> Case<'a> {
        Case::new(Kind::Floor, name, run)
    }
}

/// Times `what` once.
pub(crate) fn timed<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let out = what();
    (out, start.elapsed())
}

/// Returns the mean time of many runs, for operations too short to be timed alone.
pub(crate) fn each(times: u32, mut what: impl FnMut()) -> Duration {
    timed(|| (0..times).for_each(|_| what())).1 / times
}

/// Syncs the disk, so that the next case does not pay for the writes of the previous one. This time is not measured.
pub(crate) fn settle() {
    rustix::fs::sync();
}

/// Runs all cases `rounds` times after an uncounted warm-up round. Each round starts with another case and uses another
/// step, so that no case always follows, and pays for, the same one.
pub(crate) fn race(title: impl Into<String>, rounds: usize, mut cases: Vec<Case<'_>>) -> Outcome {
    let mut samples: Vec<Vec<(Duration, bool)>> = vec![Vec::with_capacity(rounds); cases.len()];
    let count = cases.len();
    let strides: Vec<usize> = (1..=count)
        .filter(|stride| (2..=*stride).all(|by| !stride.is_multiple_of(by) || !count.is_multiple_of(by)))
        .collect();
    for round in 0..=rounds {
        let stride = strides[round % strides.len()];
        for step in 0..count {
            let at = (round + step * stride) % count;
            let calm = pressure() < 20.0;
            let time = (cases[at].run)();
            if round > 0 {
                samples[at].push((time, calm));
            }
        }
    }
    let clean = samples.iter().map(|all| all.iter().filter(|(_, calm)| *calm).count()).min().unwrap_or(0);
    let median = |all: &Vec<(Duration, bool)>| {
        // Samples that were taken under pressure are dropped if enough others remain.
        let mut times: Vec<Duration> =
            all.iter().filter(|(_, calm)| *calm || clean < 5).map(|(time, _)| *time).collect();
        times.sort_unstable();
        times[times.len() / 2]
    };
    let outcome = Outcome::new(title, Unit::Seconds).rounds(clean, rounds);
    cases.iter().zip(&samples).fold(outcome, |outcome, (case, all)| outcome.row(case.kind, &case.name, median(all)))
}

/// Returns the share of the last ten seconds, in percent, in which a task waited for a processor.
fn pressure() -> f64 {
    let text = std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
    let avg = text.split_whitespace().find_map(|word| word.strip_prefix("avg10="));
    avg.and_then(|avg| avg.parse().ok()).unwrap_or(0.0)
}
