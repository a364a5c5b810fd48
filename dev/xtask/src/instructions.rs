//! `cargo xtask instructions`: runs hot paths under valgrind, counts their instructions and compares them with the
//! budgets in the repository. Counts do not depend on the load of the machine; no time is measured.

mod profile;

use crate::command::cargo;
use profile::Profile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Allowed growth over the recorded count. Versions of the C library and the random keys of hash tables change the
/// counts a little.
const SLACK: f64 = 1.08;
/// Below this share of the recorded count a budget no longer detects growth.
const FAR: f64 = 0.9;
/// Functions with at least this share of a path are recorded, and reported if they grow by it.
const SHARE: f64 = 0.01;

/// A path that may cost at most a multiple of another one.
struct RatioLimit {
    path: &'static str,
    of: &'static str,
    most: f64,
}

/// Every such limit. They compare counts of one run, so they hold whatever the budgets say.
const RATIO_LIMITS: &[RatioLimit] = &[RatioLimit { path: "text_edit", of: "text_match", most: 1.3 }];

const HEAD: &str = "\
# Instructions of hot paths, counted by valgrind: `cargo xtask instructions`. A path may take 8 % more.
# Written by `cargo xtask instructions --bless`; review the difference before committing it.
# Each path lists the functions with at least 1 % of its instructions, without their callees.

";

/// The recorded counts of a path.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Budget {
    instructions: u64,
    functions: BTreeMap<String, u64>,
}

type Budgets = BTreeMap<String, Budget>;

/// Counts all paths, and compares the counts with the budgets or, with `--bless`, writes the budgets: those of the
/// paths that are named, or all.
///
/// Errors: if a path is over its budget or has none, valgrind is missing, or the program does not build.
pub(crate) fn instructions(arguments: &[String]) -> Result<String, String> {
    if let Some(why) = incomparable() {
        return Ok(format!("instructions: not compared: {why}"));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."));
    let file = root.join("dev/counted/budgets.toml");
    let program = build(root)?;
    let named: Vec<&String> = arguments.iter().filter(|it| !it.starts_with("--")).collect();
    let counted = count(&program, &named)?;
    if arguments.iter().any(|it| it == "--bless") {
        let mut budgets = if named.is_empty() { Budgets::new() } else { recorded(&file)? };
        budgets.extend(counted.iter().map(|(name, profile)| (name.clone(), blessed(profile))));
        std::fs::write(&file, written(&budgets)?).map_err(|error| error.to_string())?;
        return Ok(format!("wrote {} budgets into dev/counted/budgets.toml", counted.len()));
    }
    let mut budgets = recorded(&file)?;
    if !named.is_empty() {
        budgets.retain(|name, _| named.contains(&name));
    }
    let (table, over) = compared(&counted, &budgets);
    let (ratios, above) = ratios(&counted);
    let table = table + &ratios;
    match over + above {
        0 => Ok(table),
        faults => Err(format!("{table}instructions: {faults} paths over their budget")),
    }
}

/// Reads the budgets.
fn recorded(file: &Path) -> Result<Budgets, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Formats the ratios of paths, and counts those above their limit.
fn ratios(counted: &[(String, Profile)]) -> (String, usize) {
    let total = |path: &str| counted.iter().find(|(name, _)| name == path).map(|(_, profile)| profile.total);
    let (mut out, mut above) = (String::new(), 0);
    for limit in RATIO_LIMITS {
        let (Some(path), Some(of)) = (total(limit.path), total(limit.of)) else { continue };
        let times = ratio(path, of);
        let said = if times > limit.most { "  ABOVE" } else { "" };
        above += usize::from(times > limit.most);
        let _ = writeln!(out, "{} / {}: {times:.3}, at most {}{said}", limit.path, limit.of, limit.most);
    }
    (out, above)
}

/// Returns why counts of this machine cannot be compared with the recorded ones.
fn incomparable() -> Option<&'static str> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Some("the budgets are those of Linux on x86-64");
    }
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    // Searches select their code by processor features; valgrind presents every processor with AVX2 as the same model.
    (!processor.contains(" avx2")).then_some("the processor has no AVX2")
}

/// Builds the program that runs the paths.
fn build(root: &Path) -> Result<PathBuf, String> {
    let mut cargo = cargo();
    // The caller's flags would change the generated code.
    cargo.args(["build", "--quiet", "--locked", "-p", "counted", "--profile", "counted"]).env_remove("RUSTFLAGS");
    let status = cargo.current_dir(root).status().map_err(|error| error.to_string())?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    if status.success() { Ok(target.join("counted/counted")) } else { Err("counted does not build".to_owned()) }
}

/// Counts the named paths, or every one, two at a time.
fn count(program: &Path, named: &[&String]) -> Result<Vec<(String, Profile)>, String> {
    let list = Command::new(program).arg("--list").output().map_err(|error| error.to_string())?;
    let all = String::from_utf8_lossy(&list.stdout).into_owned();
    let wanted = |name: &&str| named.is_empty() || named.iter().any(|it| it == name);
    let names: Vec<String> = all.lines().filter(wanted).map(str::to_owned).collect();
    let part = |names: &[String]| -> Result<Vec<(String, Profile)>, String> {
        names.iter().map(|name| Ok((name.clone(), counted(program, name)?))).collect()
    };
    let (left, right) = names.split_at(names.len().div_ceil(2));
    std::thread::scope(|scope| {
        let left = scope.spawn(|| part(left));
        let right = part(right)?;
        let left = left.join().map_err(|_| "a thread panicked".to_owned())??;
        Ok(left.into_iter().chain(right).collect())
    })
}

fn counted(program: &Path, name: &str) -> Result<Profile, String> {
    let out = program.with_file_name(format!("{name}.callgrind"));
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--quiet", "--toggle-collect=counted::measured*", "--compress-strings=no"]);
    valgrind.args(["--compress-pos=no", "--dump-line=no", &format!("--callgrind-out-file={}", out.display())]);
    // The path must not depend on the caller's environment.
    valgrind.arg(program).arg(name).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let output = valgrind.output().map_err(|error| format!("valgrind: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = std::fs::read_to_string(&out).map_err(|error| error.to_string())?;
    let profile = Profile::parse(&text);
    if profile.total == 0 { Err(format!("{name}: nothing was counted")) } else { Ok(profile) }
}

#[allow(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn ratio(count: u64, of: u64) -> f64 {
    count as f64 / of.max(1) as f64
}

fn blessed(profile: &Profile) -> Budget {
    let large = profile.functions.iter().filter(|(_, count)| ratio(**count, profile.total) >= SHARE);
    let functions = large.map(|(name, count)| (name.clone(), *count)).collect();
    Budget { instructions: profile.total, functions }
}

fn written(budgets: &Budgets) -> Result<String, String> {
    let text = toml::to_string(budgets).map_err(|error| error.to_string())?;
    Ok(format!("{HEAD}{text}"))
}

/// Formats the table, and counts the paths that are over their budget or have none.
fn compared(counted: &[(String, Profile)], budgets: &Budgets) -> (String, usize) {
    let (mut out, mut over) = (format!("{:<14}{:>14}{:>14}{:>8}\n", "path", "instructions", "budget", "ratio"), 0);
    for (name, profile) in counted {
        let Some(budget) = budgets.get(name) else {
            over += 1;
            let _ = writeln!(out, "{name:<14}{:>14}  has no budget: cargo xtask instructions --bless", profile.total);
            continue;
        };
        let share = ratio(profile.total, budget.instructions);
        let said = if share > SLACK {
            over += 1;
            "  OVER"
        } else if share < FAR {
            "  far under: bless, so that the budget says something"
        } else {
            ""
        };
        let _ = writeln!(out, "{name:<14}{:>14}{:>14}{share:>8.3}{said}", profile.total, budget.instructions);
        if share > SLACK {
            out.push_str(&grown(profile, budget));
        }
    }
    for name in budgets.keys().filter(|name| !counted.iter().any(|(counted, _)| counted == *name)) {
        over += 1;
        let _ = writeln!(out, "{name:<14} has a budget and is not there any more: cargo xtask instructions --bless");
    }
    (out, over)
}

/// Lists the functions that execute more instructions than recorded, in descending order.
fn grown(profile: &Profile, budget: &Budget) -> String {
    let more = |(name, count): (&String, &u64)| {
        let was = budget.functions.get(name).copied().unwrap_or(0);
        let more = count.checked_sub(was)?;
        (ratio(more, budget.instructions) >= SHARE).then(|| (more, was, *count, name.clone()))
    };
    let mut all: Vec<(u64, u64, u64, String)> = profile.functions.iter().filter_map(more).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.iter().take(12).map(|(more, was, now, name)| format!("    +{more:<12} {was} → {now}  {name}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Budgets, blessed, compared, written};
    use crate::instructions::profile::Profile;

    fn profile(walk: u64, jump: u64) -> Profile {
        let functions = [("walk".to_owned(), walk), ("jump".to_owned(), jump)].into();
        Profile { total: walk + jump, functions }
    }

    fn budgets() -> Budgets {
        [("path".to_owned(), blessed(&profile(900, 100)))].into()
    }

    #[test]
    fn path_may_grow_by_its_slack_at_most() {
        let at = |walk: u64| compared(&[("path".to_owned(), profile(walk, 100))], &budgets());
        assert_eq!(at(975).1, 0);
        let (table, over) = at(990);
        assert_eq!(over, 1);
        assert!(table.contains("OVER") && table.contains("+90           900 → 990  walk"), "{table}");
        assert!(!table.contains("jump"), "{table}");
        let (table, over) = at(700);
        assert!(over == 0 && table.contains("bless"), "{table}");
    }

    #[test]
    fn ratio_of_two_paths_is_limited() {
        let at = |edit: u64| {
            super::ratios(&[("text_edit".to_owned(), profile(edit, 0)), ("text_match".to_owned(), profile(900, 100))])
        };
        assert_eq!(at(1300).1, 0);
        let (said, above) = at(1310);
        assert!(above == 1 && said.contains("1.310") && said.contains("ABOVE"), "{said}");
        assert_eq!(super::ratios(&[]), (String::new(), 0));
    }

    #[test]
    fn every_path_has_a_budget_and_every_budget_a_path() {
        assert_eq!(compared(&[], &budgets()).1, 1);
        assert_eq!(compared(&[("path".to_owned(), profile(900, 100))], &Budgets::new()).1, 1);
    }

    #[test]
    fn budgets_survive_a_round_trip() {
        let text = written(&budgets()).unwrap();
        assert_eq!(toml::from_str::<Budgets>(&text).unwrap(), budgets(), "{text}");
        assert!(text.contains("[path]\ninstructions = 1000\n"), "{text}");
    }
}
