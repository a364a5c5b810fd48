//! Texts that make a search expensive: similar lines, repeated lines, one long line.

use super::kinds::Kind;
use crate::outcome::Outcome;
use crate::race::{Case, race, timed};
use emendate::core::{ExpectedMatches, ResolveSettings, Snapshot, TextQuery, find};
use std::hint::black_box;
use std::time::Duration;

/// Longest time for any search.
const LIMIT: Duration = Duration::from_secs(1);

/// Returns functions that differ only in their numbers, and texts that do not occur in them but resemble them.
pub(super) fn alike(lines: usize) -> (String, Vec<Kind>) {
    let block = "    fn function_054000(argument: usize) -> usize {\n        let valeu = argument * 54000;\n        if value > 10 {\n            return value;\n        }\n        log(\"54000\", value);\n    }\n";
    let kinds = [
        ("one line", "        let valeu = argument * 54000;".to_owned()),
        ("seven lines, the last differs too", block.replace("    }\n", "    end\n")),
        ("nothing like it", "completely_other(words)\nthat_do_not_occur(anywhere)\nzzzz_qqqq(xxxx)\n".to_owned()),
        (
            "first and last are common",
            "    }\n\n        if value > 10 {\n            return value;\n    }\n\n".to_owned(),
        ),
    ];
    let kinds = kinds.map(|(name, old)| Kind::absent(name, old, "new".to_owned()));
    (program(lines), kinds.into())
}

fn program(lines: usize) -> String {
    let function = |at: usize| {
        format!(
            "    /// Number {at} of the functions; it does what its name says.\n    fn function_{at:06}(argument: usize) -> usize {{\n        let value = argument * {at};\n        if value > 10 {{\n            return value;\n        }}\n        log(\"{at}\", value);\n    }}\n\n"
        )
    };
    (0..lines).step_by(9).map(function).collect()
}

/// Measures searches on hostile inputs. Ratios to the first row are not significant; the time limit is.
pub(super) fn run() -> Outcome {
    let inputs = inputs();
    let cases = inputs.iter().flat_map(|(name, text, old)| {
        let new = old.replacen("beta", "delta", 1) + "more\n";
        [("one place", ExpectedMatches::Unique), ("all places", ExpectedMatches::All)].map(|(picked, pick)| {
            let (what, new) = (TextQuery::new(old, pick), new.clone());
            let search = move || {
                // Each search gets a new snapshot, so that nothing is cached between searches.
                let base = Snapshot::from_text(text);
                timed(|| black_box(find(&base, &what, &new, ResolveSettings::default()).is_ok())).1
            };
            Case::ours(format!("{name}, {picked}"), search)
        })
    });
    let outcome = race("hostile input", 3, cases.collect());
    let names: Vec<String> = outcome.rows.iter().map(|row| row.name.clone()).collect();
    names.iter().fold(outcome, |outcome, name| outcome.within("", name, LIMIT))
}

fn inputs() -> Vec<(&'static str, String, String)> {
    let same = |line: &str, count: usize| line.repeat(count);
    let text = program(100_000);
    let chinese = text.replace("value", "数值—").replace('"', "“");
    let minified: String = (0..60_000).map(|nth| format!("var a{nth}=“b”+{nth};")).collect();
    let pairs = same("alpha_call();\nbeta_call();\n", 50_000);
    let drift = "alpha_call();\nbeta_call();\nalpha_call();\ngamma_call();\nalpha_call();\nbeta_call();\n";
    let numbered = (1..50_000).map(|nth| format!("{nth}\tline {nth}\n")).collect();
    let shifted = same("aaaaaa\n", 40_000) + "   aaaaaa\n" + &same("aaaaaa\n", 9_999);
    vec![
        ("equal lines, trailing blanks", same("aaaa \n", 100_000), same("aaaa\n", 50_000)),
        ("equal lines, last differs", same("aaaa \n", 100_000), same("aaaa\n", 50_000) + "bbbb\n"),
        ("equal lines, indentation", same(" aaaaaa\n", 100_000), shifted),
        ("alternating, drift", pairs.clone(), drift.to_owned()),
        ("alternating, long drift", pairs, same("alpha_call();\nbeta_call();\n", 2_000) + "gamma();\nbeta_call();\n"),
        ("a long line", minified.clone(), minified.replace('“', "\"").replace("30000", "30001")),
        ("a long line, found", minified.clone(), minified.replace(['“', '”'], "\"")),
        ("not ASCII, failing", chinese.clone(), "let 数值— = nothing like it\nat all in the file\n".to_owned()),
        ("not ASCII, one line", chinese, "log(\"54000\", 数值-); gone".to_owned()),
        ("old is another file", text.clone(), program(120_000).replace("argument", "parameter")),
        ("one letter", same("a", 5_000_000), "b".to_owned()),
        ("a run in a run", same("a", 5_000_000), same("a", 1_000_000) + "b"),
        ("many places", same("ab\n", 1_000_000), "ab\n".to_owned()),
        ("dots", same("...\n", 100_000), same("...\n", 1_000) + "x\n"),
        ("numbers", text, numbered),
    ]
}
