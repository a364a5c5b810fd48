//! Races: cases run round-robin, so that noise falls on all alike; medians and ratios are printed.

use std::time::{Duration, Instant};

/// One case of a race: a name and what is timed. It answers the time that counts, so that set-up can stay out.
pub(crate) struct Case<'a> {
    pub(crate) name: String,
    pub(crate) run: Box<dyn FnMut() -> Duration + 'a>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(name: impl Into<String>, run: impl FnMut() -> Duration + 'a) -> Case<'a> {
        Case { name: name.into(), run: Box::new(run) }
    }
}

/// What a race found out.
pub(crate) struct Outcome {
    pub(crate) title: String,
    /// Name and median of each case; the first one is what the others are compared with.
    pub(crate) rows: Vec<(String, Duration)>,
    /// What a case must keep, by name.
    goals: Vec<(String, Goal)>,
    /// Rows are told as so many a second, too.
    rates: bool,
    /// Rounds that count, and all rounds.
    pub(crate) clean: (usize, usize),
}

/// What a case must keep.
enum Goal {
    /// The ratio to the first row.
    Ratio(f64),
    /// The ratio to the row of that name.
    Beside(String, f64),
    /// The time itself.
    Time(Duration),
}

/// Times `what` once.
pub(crate) fn timed<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let out = what();
    (out, start.elapsed())
}

/// Lets the disk finish what the case before left behind, which would be billed to the next one. Not timed.
pub(crate) fn settle() {
    rustix::fs::sync();
}

/// Runs all cases `rounds` times, each round starting with another case, after one round that does not count.
pub(crate) fn race(title: impl Into<String>, rounds: usize, mut cases: Vec<Case<'_>>) -> Outcome {
    let mut samples: Vec<Vec<(Duration, bool)>> = vec![Vec::with_capacity(rounds); cases.len()];
    for round in 0..=rounds {
        for step in 0..cases.len() {
            let at = (round + step) % cases.len();
            let calm = pressure();
            let time = (cases[at].run)();
            if round > 0 {
                samples[at].push((time, calm < 20.0));
            }
        }
    }
    let clean = samples.iter().map(|all| all.iter().filter(|(_, calm)| *calm).count()).min().unwrap_or(0);
    let median = |all: &Vec<(Duration, bool)>| {
        // Samples taken under pressure are set aside when enough others remain.
        let mut times: Vec<Duration> =
            all.iter().filter(|(_, calm)| *calm || clean < 5).map(|(time, _)| *time).collect();
        times.sort_unstable();
        times[times.len() / 2]
    };
    let rows = cases.iter().zip(&samples).map(|(case, all)| (case.name.clone(), median(all))).collect();
    Outcome { title: title.into(), rows, goals: Vec::new(), rates: false, clean: (clean, rounds) }
}

/// Share of the last ten seconds in which something waited for a processor, in percent.
fn pressure() -> f64 {
    let text = std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
    let avg = text.split_whitespace().find_map(|word| word.strip_prefix("avg10="));
    avg.and_then(|avg| avg.parse().ok()).unwrap_or(0.0)
}

impl Outcome {
    /// Says which ratio to the first row a case must keep.
    pub(crate) fn goal(mut self, name: &str, ratio: f64) -> Outcome {
        self.goals.push((name.to_owned(), Goal::Ratio(ratio)));
        self
    }

    /// Says which ratio to another row a case must keep.
    pub(crate) fn beside(mut self, name: &str, of: &str, ratio: f64) -> Outcome {
        self.goals.push((name.to_owned(), Goal::Beside(of.to_owned(), ratio)));
        self
    }

    /// Says how long a case may take at most.
    pub(crate) fn within(mut self, name: &str, limit: Duration) -> Outcome {
        self.goals.push((name.to_owned(), Goal::Time(limit)));
        self
    }

    /// Tells rows as so many a second, too.
    pub(crate) fn rates(mut self) -> Outcome {
        self.rates = true;
        self
    }

    /// The goals of a row, and whether each is met.
    fn goals_of(&self, row: usize) -> impl Iterator<Item = (&Goal, bool)> {
        let goals = self.goals.iter().filter(move |(of, _)| *of == self.rows[row].0);
        goals.map(move |(_, goal)| match goal {
            Goal::Ratio(most) => (goal, self.ratio(row) <= *most),
            Goal::Beside(of, most) => (goal, self.ratio_to(row, of) <= *most),
            Goal::Time(most) => (goal, self.rows[row].1 <= *most),
        })
    }

    /// The median of a case.
    pub(crate) fn time(&self, name: &str) -> Duration {
        self.rows.iter().find(|(of, _)| of == name).map_or(Duration::ZERO, |(_, time)| *time)
    }

    /// Ratio of a row to the first one.
    pub(crate) fn ratio(&self, row: usize) -> f64 {
        self.rows[row].1.as_secs_f64() / self.rows[0].1.as_secs_f64().max(1e-12)
    }

    /// Ratio of a row to the one of that name; infinite where there is none.
    fn ratio_to(&self, row: usize, of: &str) -> f64 {
        let of = self.rows.iter().find(|(name, _)| name == of);
        of.map_or(f64::INFINITY, |(_, time)| self.rows[row].1.as_secs_f64() / time.as_secs_f64().max(1e-12))
    }

    /// Adds what one case took longer than another, as a row.
    pub(crate) fn difference(mut self, name: &str, longer: &str, shorter: &str) -> Outcome {
        let time = |of: &str| self.rows.iter().find(|(name, _)| name == of).map_or(Duration::MAX, |(_, time)| *time);
        let difference = time(longer).saturating_sub(time(shorter));
        self.rows.push((name.to_owned(), difference));
        self
    }

    pub(crate) fn print(&self) {
        let noisy = if self.clean.0 < 5 { ", noisy" } else { "" };
        println!("\n{} ({}/{} rounds calm{noisy})", self.title, self.clean.0, self.clean.1);
        for (at, (name, time)) in self.rows.iter().enumerate() {
            let verdict = |(goal, met): (&Goal, bool)| {
                let goal = match goal {
                    Goal::Ratio(most) => most.to_string(),
                    Goal::Beside(of, most) => format!("{most} of {of} ({:.3})", self.ratio_to(at, of)),
                    Goal::Time(most) => micros(*most),
                };
                format!("  goal ≤ {goal}: {}", if met { "met" } else { "MISSED" })
            };
            let goal: String = self.goals_of(at).map(verdict).collect();
            let rate = format!("  {:>9.1}/s", time.as_secs_f64().max(1e-12).recip());
            let rate = if self.rates { &rate } else { "" };
            println!("  {name:<44} {:>12}{rate}  {:>8.3}x{goal}", micros(*time), self.ratio(at));
        }
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        let rows = self.rows.iter().enumerate().map(|(at, (name, time))| {
            let mut row = serde_json::json!({
                "name": name, "median_us": time.as_secs_f64() * 1e6, "ratio": self.ratio(at), "goal": null,
            });
            for (goal, met) in self.goals_of(at) {
                match goal {
                    Goal::Ratio(most) => row["goal"] = (*most).into(),
                    Goal::Beside(of, most) => {
                        row["beside"] = serde_json::json!({ "of": of, "ratio": self.ratio_to(at, of), "goal": most });
                    }
                    Goal::Time(most) => row["limit_us"] = (most.as_secs_f64() * 1e6).into(),
                }
                row["met"] = (met && row["met"] != false).into();
            }
            row
        });
        serde_json::json!({
            "title": self.title, "rows": rows.collect::<Vec<_>>(), "calm_rounds": self.clean.0, "rounds": self.clean.1,
        })
    }
}

/// A time in the unit that reads best.
pub(crate) fn micros(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    if us < 1000.0 { format!("{us:.2} µs") } else { format!("{:.3} ms", us / 1000.0) }
}
