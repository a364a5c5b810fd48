//! Generates the dictionary of anchor words: capitalised words that are one token in each of seven common vocabularies,
//! so that an anchor costs the same with every model. The result is written into the core's source. Run it only to
//! change the rules below, since every change of the list changes the anchors of all files.

use crate::repo::Repo;
use oracles::vocabularies::{NAMES, Vocabularies};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

/// The source file that this command writes.
const PATH: &str = "crates/core/src/locate/anchor_map/dictionary.rs";

/// Excluded words: words that lines of code begin with, and distracting names.
const LEFT_OUT: &str = "\
Async Begin Bool Boolean Break Case Catch Class Const Continue Def Default Delete Dim Each Elif Else End Enum Eq Exit Export Extends \
False Final Finally Float For Foreach From Func Function Global Goto Html If Impl Implements Import In Include Includes Inline Integer \
Interface Let Loop Match Module Namespace New Next None Not Null Object Package Print Private Procedure Program Protected Public Pub \
Raise Record Require Return Select Self Set Static Str String Struct Sub Super Switch Template Then This Throw Todo True Try Type \
Union Unit Until Use Using Val Var Void When Where While With Yield \
Black Blood China Chinese Christ Dead Death Dick Egypt Female Gay Gender God Hitler Holy Indian Iran Iraq Islam Israel Japanese Jesus \
Jew Jewish Kill Male Muslim Nazi Porn Rape Republic Russia Russian Sex Trump Turkey Vict Viol White Women";

pub(crate) fn write() -> Result<String, String> {
    let repo = Repo::open()?;
    let installed = Vocabularies::install(&repo.root.join("target/peers")).map_err(|error| error.to_string())?;
    // Words are ranked by the first vocabulary.
    let words = NAMES.iter().map(|name| words_of(&installed.file(name))).collect::<Result<Vec<_>, String>>()?;
    let (first, others) = words.split_first().ok_or("no vocabulary")?;
    let others: Vec<HashSet<&str>> = others.iter().map(|words| words.iter().map(String::as_str).collect()).collect();
    let left_out: HashSet<&str> = LEFT_OUT.split(' ').collect();
    let mut kept: Vec<&str> = Vec::new();
    for word in first {
        let common = others.iter().all(|words| words.contains(&**word)) && !left_out.contains(&**word);
        if common && !kept.iter().any(|other| near(other, word)) {
            kept.push(word);
        }
    }
    kept.sort_unstable();
    std::fs::write(repo.root.join(PATH), page(&kept)).map_err(|error| error.to_string())?;
    Ok(format!("wrote {} words into {PATH}", kept.len()))
}

/// Returns tokens of one capital and two to seven lowercase letters. With one lowercase letter, too many would look
/// alike.
fn words_of(path: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let parsed: Value = serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut ranked: Vec<(u64, String)> = match &parsed["model"]["vocab"] {
        Value::Object(vocab) => {
            vocab.iter().filter_map(|(token, rank)| Some((rank.as_u64()?, token.clone()))).collect()
        }
        Value::Array(vocab) => {
            (0..).zip(vocab).filter_map(|(rank, entry)| Some((rank, entry[0].as_str()?.to_owned()))).collect()
        }
        _ => return Err(format!("{} has no vocabulary", path.display())),
    };
    ranked.sort_unstable();
    let word = |token: &str| {
        (3..=8).contains(&token.len())
            && token
                .bytes()
                .enumerate()
                .all(|(at, byte)| if at == 0 { byte.is_ascii_uppercase() } else { byte.is_ascii_lowercase() })
    };
    Ok(ranked.into_iter().map(|(_, token)| token).filter(|token| word(token)).collect())
}

/// Returns true if two words differ in one letter, such as `Table` and `Tables` or `Level` and `Lever`, and are easily
/// confused.
fn near(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[head..], &b[head..]);
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    a.len().max(b.len()) - tail <= 1
}

fn page(words: &[&str]) -> String {
    let mut out =
        "//! The words of anchors, sorted. Written by `cargo xtask dictionary`; never by hand.\n\n".to_owned();
    let _ = writeln!(out, "#[rustfmt::skip]\npub(super) static DICTIONARY: [&str; {}] = [", words.len());
    let mut line = String::from("   ");
    for word in words {
        if line.len() + word.len() > 152 {
            let _ = writeln!(out, "{line}");
            line.replace_range(.., "   ");
        }
        let _ = write!(line, " \"{word}\",");
    }
    let _ = writeln!(out, "{line}\n];");
    out
}
