//! The kinds of edits: one change to a block of twenty lines, written the way models write it.

use emendate::core::Tier;
use std::time::Duration;

/// The block in the file, with trailing spaces and a dash that is not ASCII.
pub(crate) const BLOCK: &str =
    "    pub(crate) fn settle_ledger(&mut self, entries: &[LedgerEntry]) -> Result<Balance, LedgerError> {
        let mut balance = Balance::opening(self.currency);
        for entry in entries {\x20\x20
            if entry.is_voided() {
                continue;
            }
            let amount = self.rates.convert(entry.amount, self.currency)?;
            match entry.side {
                Side::Debit => balance.debits += amount,
                Side::Credit => balance.credits += amount,
            }
            self.journal.push(format!(\"{}: {amount}\", entry.id));\x20
        }
        // Rounding is left to the caller – it knows the currency.
        if balance.debits != balance.credits {
            return Err(LedgerError::Unbalanced(balance.debits - balance.credits));
        }
        self.settled += entries.len();
        Ok(balance)
    }
";
/// The line of the block that changes; it occurs once.
pub(crate) const LINE: &str = "        self.settled += entries.len();\n";
const LINES: &str = "        self.settled += entries.len() as u64;\n        self.settled_at = self.clock.now();\n";

/// Time limits for tiers 1 to 9, and for tier 11 or a failed search.
const EARLY: Duration = Duration::from_millis(15);
const LATE: Duration = Duration::from_millis(60);

/// Returns the block after the edit. Whatever mistake the edit has, all other lines keep their bytes.
pub(crate) fn edited() -> String {
    changed(BLOCK)
}

fn changed(block: &str) -> String {
    block.replace(LINE, LINES)
}

pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) old: String,
    pub(crate) new: String,
    /// The tier that must find the block; `None` if the search must fail.
    pub(crate) tier: Option<Tier>,
    pub(crate) limit: Option<Duration>,
}

impl Kind {
    fn found(name: &'static str, tier: Tier, slip: impl Fn(&str) -> String) -> Kind {
        let limit = match tier {
            Tier::Exact => None,
            Tier::Drift => Some(LATE),
            _ => Some(EARLY),
        };
        Kind { name, old: slip(BLOCK), new: slip(&edited()), tier: Some(tier), limit }
    }

    pub(crate) fn absent(name: &'static str, old: String, new: String) -> Kind {
        Kind { name, old, new, tier: None, limit: Some(LATE) }
    }
}

/// Returns the kinds that are compared with the other matchers.
pub(crate) fn main() -> Vec<Kind> {
    let alike = BLOCK.replace("self.settled +=", "self.cleared +=");
    let alike_new = alike.replace("entries.len();", "entries.len() as u64;");
    let unlike = unlike();
    let unlike_new = unlike.replace("frobnicate_3", "frobnicate_33");
    vec![
        Kind::found("exact hit", Tier::Exact, str::to_owned),
        Kind::found("trailing blanks differ", Tier::TrailingBlanks, trimmed),
        Kind::found("indentation shifted", Tier::IndentShift, |block| block.replace("\n    ", "\n")[4..].to_owned()),
        Kind::found("a context line has a typo", Tier::Drift, |block| {
            block.replace("let mut balance", "let mut balnace")
        }),
        Kind::absent("absent, the line to change is another", alike, alike_new),
        Kind::absent("absent, nothing like it", unlike, unlike_new),
    ]
}

/// Returns kinds for the tiers that [`main`] omits. A later tier includes the cost of all earlier ones.
pub(crate) fn more() -> Vec<Kind> {
    vec![
        Kind::found("tier 0: exact", Tier::Exact, str::to_owned),
        Kind::found("tier 2: trailing blanks", Tier::TrailingBlanks, trimmed),
        Kind::found("tier 3: a dash is another", Tier::LinesAlike, |block| block.replace('–', "-")),
        Kind::found("tier 4: indentation shifted", Tier::IndentShift, |block| {
            block.replace("\n    ", "\n")[4..].to_owned()
        }),
        Kind::found("tier 5: tabs for blanks", Tier::IndentWidths, |block| block.replace("    ", "\t")),
        Kind::found("tier 6: blanks inside a line", Tier::BlankRuns, |block| {
            block.replace("=> balance", "=>  balance")
        }),
        Kind::found("tier 7: blank lines around", Tier::BlankEdges, |block| format!("\n{block}\n")),
        Kind::found("tier 8: line numbers", Tier::LineNumbers, |block| {
            (700..).zip(block.lines()).map(|(number, line)| format!("{number}\t{line}\n")).collect()
        }),
        Kind::found("tier 9: escaped quotes", Tier::Escapes, |block| block.replace('"', "\\\"")),
    ]
}

fn trimmed(block: &str) -> String {
    block.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn unlike() -> String {
    (1..20)
        .map(|nth| format!("    quux_{nth}.frobnicate_{nth}(zyzzyva[{nth}], \"wibble {nth}\");\n"))
        .collect::<String>()
        + "    }\n"
}
