//! Runs a small part of docs/accuracy.md with the installed tools: Emendate is never wrong and never silent.

use oracles::accuracy::{self, OURS, Row, Verdict};
use std::path::Path;

#[test]
fn emendate_is_never_wrong_or_silent() {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    let results = accuracy::run(&peers, 2, false).unwrap();
    let rows = [&results.wanted, &results.refused, &results.battery, &results.cases];
    let all: Vec<&Row> = rows.into_iter().flatten().collect();
    assert!(all.len() > 40, "{}", all.len());
    for row in &all {
        assert_eq!((row.count(OURS, Verdict::Wrong), row.count(OURS, Verdict::Silent)), (0, 0), "{}", row.name);
        assert!(row.all(OURS) > 0, "{}", row.name);
    }
    let sum = |count: &dyn Fn(&Row) -> usize| results.wanted.iter().map(count).sum::<usize>();
    let (right, of) = (sum(&|row| row.count(OURS, Verdict::Right)), sum(&|row| row.all(OURS)));
    assert!(right * 100 >= of * 85, "{right} of {of}");
    for row in results.battery.iter().chain(&results.cases) {
        assert_eq!(row.count(OURS, Verdict::Right), 1, "{}", row.name);
    }
    // Other tools get the same tasks: exact replacement makes the plain edits and is wrong if the file has changed.
    let exact =
        |name: &str| all.iter().find(|row| row.name == name).map(|row| row.count("exact replacement", Verdict::Right));
    assert_eq!((exact("no mistake"), exact("staleness")), (Some(2), Some(0)));
}
