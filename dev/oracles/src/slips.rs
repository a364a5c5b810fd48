//! Mistakes that models make, at random places of real source files: twelve recoverable kinds, and seven that an edit
//! must be refused for.

use crate::luck::Luck;
use std::path::{Path, PathBuf};

/// Libraries whose sources are edited: dependencies of this workspace, in their locked versions, so that runs are
/// repeatable.
const LIBRARIES: [&str; 8] =
    ["aho-corasick", "clap_builder", "hashbrown", "regex-automata", "rmcp", "similar", "tokio", "toml_edit"];

/// Reads the sources that this machine's Cargo registry has.
pub fn sources() -> Vec<String> {
    let home = std::env::var("CARGO_HOME")
        .map_or_else(|_| PathBuf::from(std::env::var("HOME").unwrap_or_default()).join(".cargo"), PathBuf::from);
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let locked = std::fs::read_to_string(lock).unwrap_or_default();
    let mut paths = Vec::new();
    for registry in std::fs::read_dir(home.join("registry/src")).into_iter().flatten() {
        let Ok(registry) = registry.map(|it| it.path()) else { continue };
        for library in LIBRARIES {
            let head = format!("name = \"{library}\"\nversion = \"");
            for version in locked.split(&head).skip(1).filter_map(|rest| rest.split('"').next()) {
                collect(&registry.join(format!("{library}-{version}")), &mut paths);
            }
        }
    }
    paths.sort();
    let step = (paths.len() / 500).max(1);
    let read = |path: &PathBuf| std::fs::read_to_string(path).ok();
    paths.iter().step_by(step).filter_map(read).filter(|text| fits(text)).collect()
}

fn fits(text: &str) -> bool {
    (2_000..80_000).contains(&text.len()) && !text.contains('\r') && text.ends_with('\n')
}

fn collect(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_some_and(|it| it == "rs") {
            out.push(path);
        } else {
            collect(&path, out);
        }
    }
}

/// An edit by old and new text.
#[derive(Clone, Debug)]
pub struct Call {
    /// The file as the caller saw it.
    pub seen: String,
    /// The file at the time of the edit.
    pub file: String,
    /// 1-based line of the old text in the file as the caller saw it.
    pub line: usize,
    /// The text to replace.
    pub old: String,
    /// The replacement.
    pub new: String,
    /// The file that the edit must produce. `None` means that it must be refused.
    pub want: Option<String>,
}

/// A block of a real file and a change to one of its lines.
#[derive(Clone)]
pub struct Base {
    before: Vec<String>,
    old: Vec<String>,
    new: Vec<String>,
    after: Vec<String>,
    /// Index in `old` of the changed line.
    target: usize,
}

fn blank(line: &str) -> bool {
    line.trim().is_empty()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn words(line: &str) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut start = None;
    for (at, ch) in line.char_indices().chain([(line.len(), ' ')]) {
        match (ch.is_ascii_alphabetic() || (start.is_some() && (ch.is_ascii_alphanumeric() || ch == '_')), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                out.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    out.retain(|(from, to)| to - from >= 4);
    out
}

impl Base {
    fn new(text: &str, dice: &mut Luck) -> Option<Base> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let height = 8 + dice.below(11);
        let from = dice.below(lines.len().checked_sub(height)?);
        let old = lines[from..from + height].to_vec();
        if blank(&old[0]) || blank(&old[height - 1]) || old.iter().filter(|line| !blank(line)).count() < 8 {
            return None;
        }
        if old.iter().any(|line| line.contains('\t') || line.trim_end() != line || line.contains("...")) {
            return None;
        }
        let block = old.join("\n");
        // The block must occur only once, even ignoring indentation.
        let trimmed: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        let copies =
            trimmed.windows(height).filter(|window| window.iter().eq(trimmed[from..from + height].iter())).count();
        if text.matches(&block).count() != 1
            || copies != 1
            || block.chars().filter(|ch| ch.is_alphanumeric()).count() < 40
        {
            return None;
        }
        let target = 1 + dice.below(height - 2);
        let &(start, end) = pick(dice, &words(&old[target]))?;
        let line = &old[target];
        let changed = format!("{}_changed{}", &line[..end], &line[end..]);
        let added = format!("{}added_{}();", " ".repeat(indent(line)), &line[start..end]);
        let mut new = old.clone();
        match dice.below(5) {
            0 => new.splice(target..=target, [changed, added]).for_each(drop),
            1 => drop(new.remove(target)),
            _ => new[target] = changed,
        }
        Some(Base { before: lines[..from].to_vec(), after: lines[from + height..].to_vec(), old, new, target })
    }

    fn file(&self, block: &[String]) -> String {
        [&self.before[..], block, &self.after[..]].concat().join("\n") + "\n"
    }

    fn call(file: String, old: &[String], new: &[String], want: Option<String>) -> Call {
        Call { seen: file.clone(), file, line: 0, old: old.join("\n"), new: new.join("\n"), want }
    }

    /// Builds the call with the same change to both texts.
    fn said(&self, say: impl Fn(&[String]) -> Vec<String>) -> Call {
        Base::call(self.file(&self.old), &say(&self.old), &say(&self.new), Some(self.file(&self.new)))
    }

    /// Returns the indexes of inner lines that the change does not touch.
    fn context(&self) -> Vec<usize> {
        (1..self.old.len() - 1).filter(|&at| at != self.target && !blank(&self.old[at])).collect()
    }

    /// Removes or replaces a context line in both texts.
    fn without(&self, at: usize, line: Option<&str>) -> (Vec<String>, Vec<String>) {
        let change = |lines: &[String], at: usize| {
            let mut lines = lines.to_vec();
            match &line {
                Some(line) => (*line).clone_into(&mut lines[at]),
                None => drop(lines.remove(at)),
            }
            lines
        };
        let shift = self.new.len().cast_signed() - self.old.len().cast_signed();
        let in_new = if at > self.target { at.saturating_add_signed(shift) } else { at };
        (change(&self.old, at), change(&self.new, in_new))
    }
}

/// Makes a mistake in a block, if the block allows it.
pub type Slip = fn(&Base, &mut Luck) -> Option<Call>;

/// Mistakes after which the intended edit is still clear.
pub const WANTED: [(&str, Slip); 12] = [
    ("no mistake", |base, _| Some(base.said(<[String]>::to_vec))),
    ("CRLF file", |base, _| {
        let call = base.said(<[String]>::to_vec);
        let crlf = |text: String| text.replace('\n', "\r\n");
        Some(Call { seen: crlf(call.seen), file: crlf(call.file), want: call.want.map(crlf), ..call })
    }),
    ("trailing spaces in the file", |base, dice| {
        let at = *pick(dice, &base.context())?;
        let blanks = ["  ", " ", "\t"][dice.below(3)];
        let (old, new) = base.without(at, Some(&format!("{}{blanks}", base.old[at])));
        Some(Base::call(base.file(&old), &base.old, &base.new, Some(base.file(&new))))
    }),
    ("indentation removed", |base, _| {
        let all = || base.old.iter().chain(&base.new).filter(|line| !blank(line));
        let depth = all().map(|line| indent(line)).min().filter(|&depth| depth > 0)?;
        Some(base.said(|lines| lines.iter().map(|line| line.get(depth..).unwrap_or("").to_owned()).collect()))
    }),
    ("one level too deep", |base, _| {
        Some(base.said(|lines| {
            lines.iter().map(|line| if blank(line) { line.clone() } else { format!("    {line}") }).collect()
        }))
    }),
    ("four spaces for a tab", |base, _| {
        let tabbed = |line: &str| {
            let depth = indent(line) / 4;
            format!("{}{}", "\t".repeat(depth), &line[depth * 4..])
        };
        let even = |line: &String| blank(line) || indent(line).is_multiple_of(4);
        if !base.old.iter().chain(&base.new).all(even) || base.old.iter().all(|line| indent(line) == 0) {
            return None;
        }
        let file = |text: String| text.lines().map(|line| tabbed(line) + "\n").collect::<String>();
        let call = base.said(<[String]>::to_vec);
        Some(Call { seen: file(call.seen), file: file(call.file), want: call.want.map(file), ..call })
    }),
    ("first line stripped", |base, _| {
        (indent(&base.old[0]) > 0).then(|| {
            base.said(|lines| {
                let mut lines = lines.to_vec();
                lines[0] = lines[0].trim_start().into();
                lines
            })
        })
    }),
    ("curly quotes in the file", |base, _| {
        let curly = |lines: &[String]| -> Vec<String> {
            let mut open = false;
            let mut one = |ch| match ch {
                '"' => {
                    open = !open;
                    if open { '“' } else { '”' }
                }
                '\'' => '’',
                ch => ch,
            };
            lines.iter().map(|line| line.chars().map(&mut one).collect()).collect()
        };
        let odd = |line: &String| line.matches('"').count() % 2 == 1;
        if !base.old.iter().any(|line| line.contains(['"', '\''])) || base.old.iter().any(odd) {
            return None;
        }
        Some(Base::call(base.file(&curly(&base.old)), &base.old, &base.new, Some(base.file(&curly(&base.new)))))
    }),
    ("typo in a context line", |base, dice| {
        let at = *pick(dice, &base.context())?;
        let line = &base.old[at];
        let &(from, to) = pick(dice, &words(line))?;
        let place = from + dice.below(to - from - 1);
        let mut bytes = line.clone().into_bytes();
        bytes.swap(place, place + 1);
        let typo = String::from_utf8(bytes).ok().filter(|typo| typo != line)?;
        let (old, new) = base.without(at, Some(&typo));
        Some(Base::call(base.file(&base.old), &old, &new, Some(base.file(&base.new))))
    }),
    ("context line forgotten", |base, dice| {
        // An added line may belong on either side of a line that the text does not show.
        let is_clear = |at: &usize| base.new.len() <= base.old.len() || *at != base.target + 1;
        let context: Vec<usize> = base.context().into_iter().filter(is_clear).collect();
        let at = *pick(dice, &context)?;
        let (old, new) = base.without(at, None);
        Some(Base::call(base.file(&base.old), &old, &new, Some(base.file(&base.new))))
    }),
    ("blank line forgotten", |base, dice| {
        let blanks: Vec<usize> =
            (1..base.old.len() - 1).filter(|&at| at != base.target && blank(&base.old[at])).collect();
        let at = *pick(dice, &blanks)?;
        let (old, new) = base.without(at, None);
        Some(Base::call(base.file(&base.old), &old, &new, Some(base.file(&base.new))))
    }),
    ("line numbers copied", |base, dice| {
        let sign = ["\t", "→", " | ", ":"][dice.below(4)];
        let first = base.before.len() + 1;
        Some(base.said(|lines| (first..).zip(lines).map(|(nth, line)| format!("{nth:>6}{sign}{line}")).collect()))
    }),
];

fn with_target(base: &Base, target: String) -> Vec<String> {
    let mut block = base.old.clone();
    block[base.target] = target;
    block
}

/// Mistakes for which an edit must be refused. In the first four the file changed after it was read.
pub const REFUSED: [(&str, Slip); 7] = [
    ("target line changed since", |base, dice| {
        let line = &base.old[base.target];
        let &(_, end) = pick(dice, &words(line))?;
        let block = with_target(base, format!("{}X{}", &line[..end], &line[end..]));
        Some(Base::call(base.file(&block), &base.old, &base.new, None))
    }),
    ("number differs", |base, _| {
        let line = &base.old[base.target];
        let at = line.find(|ch: char| ch.is_ascii_digit())?;
        let digit = if line.as_bytes()[at] == b'7' { '8' } else { '7' };
        let block = with_target(base, format!("{}{digit}{}", &line[..at], &line[at + 1..]));
        Some(Base::call(base.file(&block), &base.old, &base.new, None))
    }),
    ("block is gone", |base, _| Some(Base::call(base.file(&[]), &base.old, &base.new, None))),
    ("only a sibling is left", |base, dice| {
        // Makes a near twin: the changed word is renamed in the whole block, and so is one more word.
        let line = &base.old[base.target];
        let &(from, to) = pick(dice, &words(line))?;
        let word = &line[from..to];
        let block: Vec<String> = base.old.iter().map(|it| it.replace(word, &format!("{word}_twin"))).collect();
        Some(Base::call(base.file(&block), &base.old, &base.new, None))
    }),
    ("two copies", |base, _| {
        let file = base.file(&base.old) + &base.old.join("\n") + "\n";
        Some(Base::call(file, &base.old, &base.new, None))
    }),
    ("two copies, other depths", |base, _| {
        let deeper = |by: usize| -> Vec<String> {
            let deepen = |line: &String| if blank(line) { line.clone() } else { " ".repeat(by) + line };
            base.old.iter().map(deepen).collect()
        };
        let file = base.file(&deeper(4)) + &deeper(8).join("\n") + "\n";
        let new: Vec<String> = base.new.iter().map(|line| format!("  {line}")).collect();
        let old: Vec<String> = base.old.iter().map(|line| format!("  {line}")).collect();
        (!base.old.iter().any(|line| blank(line))).then(|| Base::call(file, &old, &new, None))
    }),
    ("two copies, blanks", |base, _| {
        let ended = |by: &str| -> Vec<String> { base.old.iter().map(|line| format!("{line}{by}")).collect() };
        let file = base.file(&ended(" ")) + &ended("  ").join("\n") + "\n";
        Some(Base::call(file, &base.old, &base.new, None))
    }),
];

/// Number of lines that may be between two lines of the old text at another place.
const OTHER_LINES_MAX: usize = 2;

fn pick<'t, T>(luck: &mut Luck, of: &'t [T]) -> Option<&'t T> {
    if of.is_empty() { None } else { of.get(luck.below(of.len())) }
}

/// True if three quarters of the lines of the old text are elsewhere in the file exactly as sent, and more of them than at
/// the place that is meant, or as many, if that does not have all of them in a row: then it is not clear which of the two
/// places is meant, and an edit should be refused. Braces and blank lines do not count, and the other place may have
/// some lines more or less between them.
fn has_rival(call: &Call, place: usize) -> bool {
    let lines: Vec<&str> = call.file.lines().collect();
    let old: Vec<&str> = call.old.lines().collect();
    let is_telling = |line: &str| line.contains(char::is_alphanumeric);
    let telling = old.iter().filter(|line| is_telling(line)).count();
    let equal = |first: usize| {
        let (mut count, mut rest) = (0, &old[..]);
        for line in lines[first.min(lines.len())..].iter().take(old.len() + OTHER_LINES_MAX) {
            if let Some(skipped) = rest.iter().take(1 + OTHER_LINES_MAX).position(|old| old == line) {
                count += usize::from(is_telling(line));
                rest = &rest[skipped + 1..];
            }
        }
        count
    };
    let here = equal(place);
    let is_exact = lines[place.min(lines.len())..].starts_with(&old);
    (0..lines.len()).filter(|&first| first.abs_diff(place) > OTHER_LINES_MAX).any(|first| {
        let there = equal(first);
        (there > here || there == here && !is_exact) && 4 * there >= 3 * telling
    })
}

fn without_blanks(text: &str) -> String {
    text.replace([' ', '\t'], "")
}

/// Returns the seed of a kind of mistake.
pub fn seed(kind: &str) -> u64 {
    kind.bytes().fold(17, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

/// Generates `count` edits with this mistake. With `stale` the caller saw the block before the change that is the
/// mistake.
pub fn calls(kind: &str, slip: Slip, sources: &[String], count: usize, stale: bool) -> Vec<Call> {
    let mut luck = Luck::new(seed(kind));
    let mut out = Vec::new();
    for _ in 0..count * 200 {
        if out.len() == count {
            break;
        }
        let base = pick(&mut luck, sources).and_then(|text| Base::new(text, &mut luck));
        let Some(base) = base else { continue };
        // A block that differs only in whitespace may rightly be found, wherever it was before.
        let is_unmoved =
            |call: &Call| call.want.is_none() && without_blanks(&call.file).contains(&without_blanks(&call.old));
        let Some(mut call) = slip(&base, &mut luck).filter(|call| !(stale && is_unmoved(call))) else { continue };
        if call.want.is_some() && has_rival(&call, base.before.len()) {
            continue;
        }
        call.line = base.before.len() + 1;
        if stale {
            call.seen = base.file(&base.old);
        }
        out.push(call);
    }
    out
}
