//! Parses callgrind's output: functions with the instructions that each executes itself.

use std::collections::BTreeMap;

/// The counts of one run.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    /// All instructions.
    pub(crate) total: u64,
    /// Instructions by function, without those of called functions.
    pub(crate) functions: BTreeMap<String, u64>,
}

impl Profile {
    /// Parses a profile with one event and without compressed names and positions.
    pub(crate) fn parse(text: &str) -> Profile {
        let mut profile = Profile::default();
        let mut function = String::new();
        // The line after `calls=` has the callee's count.
        let mut callee = false;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("fn=") {
                function = plain(name);
            } else if line.starts_with("calls=") {
                callee = true;
            } else if line.starts_with(|char: char| char.is_ascii_digit() || "+-*".contains(char)) {
                let count = line.split(' ').nth(1).and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
                if !std::mem::take(&mut callee) {
                    profile.total += count;
                    *profile.functions.entry(function.clone()).or_default() += count;
                }
            }
        }
        profile
    }
}

/// Removes the parts of a name that differ between builds: the hash of the crate version, the recursion number, and the
/// address of an unnamed function.
fn plain(name: &str) -> String {
    if name.starts_with("0x") {
        return "(no name)".to_owned();
    }
    let name = name.split('\'').next().unwrap_or(name);
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => path.to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::Profile;

    #[test]
    fn functions_count_only_their_own_instructions() {
        let text = "version: 1\nevents: Ir\n\nfl=???\nfn=core::walk::h0123456789abcdef\n0 100\ncfn=step\ncalls=3 0\n0 40\n0 7\n\nfn=step'2\n0 15\nfn=0x0000000001\n0 3\nfn=step\n0 25\n\ntotals: 150\n";
        let profile = Profile::parse(text);
        assert_eq!(profile.total, 150);
        let all: Vec<(&str, u64)> = profile.functions.iter().map(|(name, count)| (&**name, *count)).collect();
        assert_eq!(all, [("(no name)", 3), ("core::walk", 107), ("step", 40)]);
    }
}
