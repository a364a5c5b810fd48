//! What callgrind writes: functions and the instructions that each executes itself.

use std::collections::BTreeMap;

/// The counts of one run.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    /// All instructions.
    pub(crate) total: u64,
    /// By function, without those of the functions that it calls.
    pub(crate) functions: BTreeMap<String, u64>,
}

impl Profile {
    /// Reads a profile with one event, without compressed names and positions.
    pub(crate) fn parse(text: &str) -> Profile {
        let mut profile = Profile::default();
        let mut function = String::new();
        // The line after `calls=` has what the callee executed.
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

/// The name without what differs from build to build: the hash of the crate's version, the number of a recursion, and
/// the address of what has no name.
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
    fn functions_have_what_they_execute_themselves() {
        let text = "version: 1\nevents: Ir\n\nfl=???\nfn=core::walk::h0123456789abcdef\n0 100\ncfn=step\ncalls=3 0\n0 40\n0 7\n\nfn=step'2\n0 15\nfn=0x0000000001\n0 3\nfn=step\n0 25\n\ntotals: 150\n";
        let profile = Profile::parse(text);
        assert_eq!(profile.total, 150);
        let all: Vec<(&str, u64)> = profile.functions.iter().map(|(name, count)| (&**name, *count)).collect();
        assert_eq!(all, [("(no name)", 3), ("core::walk", 107), ("step", 40)]);
    }
}
