//! Applies random sequences of edits, moves, duplicates and undos, by this program and by others. Each surviving line
//! keeps its anchor word, and no word is transferred to another line. `EMEND_SEQUENCES=100000` runs more sequences than
//! the suite does.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use emendate_core::anchor_map::{AnchorMap, AnchorWord, ReplacedRange, TOMBSTONES_MIN};
use std::collections::{HashMap, HashSet, VecDeque};

/// A linear congruential generator, with the same sequence on every machine.
struct Luck(u64);

impl Luck {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}

/// A line with its identity.
#[derive(Clone, PartialEq, Debug)]
struct Line {
    id: u64,
    text: String,
}

/// Makes one random change of some lines.
fn step(lines: &mut Vec<Line>, luck: &mut Luck, ids: &mut u64) {
    const POOL: &[&str] = &["}", "", "    }", "end", "    return x;", "});"];
    let mut line = |luck: &mut Luck, text: Option<String>| {
        *ids += 1;
        let chosen = if luck.below(2) == 0 { POOL[luck.below(POOL.len())].to_owned() } else { format!("line {ids}") };
        Line { id: *ids, text: text.unwrap_or(chosen) }
    };
    let from = luck.below(lines.len() + 1);
    let to = (from + luck.below(6)).min(lines.len());
    match if lines.len() > 24 { 0 } else { luck.below(5) } {
        0 => drop(lines.drain(from..to)),
        1 => {
            let new: Vec<Line> = (0..=luck.below(3)).map(|_| line(luck, None)).collect();
            lines.splice(from..from, new);
        }
        2 if from < lines.len() => lines[from] = line(luck, None),
        3 => {
            let block: Vec<Line> = lines.drain(from..to).collect();
            let at = luck.below(lines.len() + 1);
            lines.splice(at..at, block);
        }
        _ => {
            let copy: Vec<Line> = lines[from..to].iter().map(|it| line(luck, Some(it.text.clone()))).collect();
            let at = luck.below(lines.len() + 1);
            lines.splice(at..at, copy);
        }
    }
}

fn text_of(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{}\n", line.text)).collect()
}

fn counts(lines: &[Line]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for line in lines {
        *counts.entry(&*line.text).or_default() += 1;
    }
    counts
}

/// Counts the lines that two states have in common at the start and at the end.
fn common(old: &[Line], new: &[Line]) -> (usize, usize) {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - head;
    (head, old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count())
}

/// A file that changes, and the state of its anchor words.
struct File {
    luck: Luck,
    ids: u64,
    lines: Vec<Line>,
    words: AnchorMap,
    /// For each word, the last line that it named, and the number of words retired by then. A word may be reused after
    /// many others were retired.
    named: HashMap<AnchorWord, (Line, usize)>,
    retired: usize,
    /// States that an undo can restore.
    past: VecDeque<(Vec<Line>, Vec<AnchorWord>)>,
    texts: VecDeque<String>,
    /// Number of equal lines that survived a change by others, and number of those that kept their word.
    twins: usize,
    kept: usize,
}

impl File {
    fn new(seed: u64) -> File {
        File {
            luck: Luck(seed),
            ids: 0,
            lines: Vec::new(),
            words: AnchorMap::new("").unwrap(),
            named: HashMap::new(),
            retired: 0,
            past: VecDeque::new(),
            texts: VecDeque::new(),
            twins: 0,
            kept: 0,
        }
    }

    fn step(&mut self) -> Result<(), String> {
        let (was, had) = (self.lines.clone(), self.words.words().to_vec());
        let undo = self.luck.below(5) == 0 && !self.past.is_empty();
        let undone = undo.then(|| self.past[self.luck.below(self.past.len())].clone());
        match &undone {
            Some((back, _)) => self.lines.clone_from(back),
            None => step(&mut self.lines, &mut self.luck, &mut self.ids),
        }
        let text = text_of(&self.lines);
        if text == text_of(&was) {
            // Equal lines changed places, which cannot be observed.
            self.lines = was;
            return Ok(());
        }
        let again = undone.is_some() || self.texts.contains(&text);
        let ours = self.luck.below(2) == 0;
        let (head, tail) = common(&was, &self.lines);
        let changed = ReplacedRange { old: head..was.len() - tail, new: head..self.lines.len() - tail };
        let known = if ours { self.words.follow_edit(&text, &[changed]) } else { self.words.follow(&text) };
        known.unwrap();
        self.texts.push_back(text);
        self.texts.drain(..self.texts.len().saturating_sub(40));
        if self.luck.below(50) == 0 {
            self.words = AnchorMap::from_bytes(&self.words.to_bytes()).unwrap();
        }
        let now = self.words.words().to_vec();
        if let Some((_, back)) = &undone
            && now != *back
        {
            return Err("an undo did not bring its words back".to_owned());
        }
        if ours && !again {
            let same = had[..head] == now[..head] && had[had.len() - tail..] == now[now.len() - tail..];
            same.then_some(()).ok_or("a line beside an edit of ours lost its word")?;
        }
        self.survivors((&was, &had), again, ours)?;
        self.names(again)?;
        if undone.is_none() {
            self.past.push_back((self.lines.clone(), now));
        }
        self.past.drain(..self.past.len().saturating_sub(12));
        Ok(())
    }

    /// Checks that lines that are unique before and after a change keep their words.
    fn survivors(&mut self, (was, had): (&[Line], &[AnchorWord]), again: bool, ours: bool) -> Result<(), String> {
        let words = self.words.words();
        let now: HashSet<&AnchorWord> = words.iter().collect();
        self.retired += had.iter().filter(|word| !now.contains(word)).count();
        let (before, after) = (counts(was), counts(&self.lines));
        let places: HashMap<u64, usize> = self.lines.iter().map(|line| line.id).zip(0..).collect();
        for (line, word) in was.iter().zip(had) {
            let Some(&now) = places.get(&line.id) else { continue };
            let once = before[&*line.text] == 1 && after[&*line.text] == 1;
            if !again && once && words[now] != *word {
                return Err(format!("{line:?} lost {word}"));
            }
            if !once && !ours {
                (self.kept, self.twins) = (self.kept + usize::from(words[now] == *word), self.twins + 1);
            }
        }
        Ok(())
    }

    /// Checks that no word names a different line than before.
    fn names(&mut self, again: bool) -> Result<(), String> {
        let after = counts(&self.lines);
        for (line, word) in self.lines.iter().zip(self.words.words()) {
            let known = self.named.insert(*word, (line.clone(), self.retired));
            let Some((known, _)) = known.filter(|(_, last)| self.retired - last < TOMBSTONES_MIN) else { continue };
            // A line with the text of one that was absent for a while counts as the same line.
            let alone = after[&*line.text] == 1;
            if known.text != line.text || !(known.id == line.id || alone || again) {
                return Err(format!("{word} named {known:?} and names {line:?}"));
            }
        }
        Ok(())
    }
}

#[test]
fn word_never_comes_to_name_another_line() {
    let sequences = std::env::var("EMEND_SEQUENCES").ok().and_then(|text| text.parse().ok()).unwrap_or(1000);
    let (mut kept, mut twins) = (0, 0);
    for seed in 0..sequences {
        // Most sequences are short, so that every one starts from scratch; some continue until words are reused.
        let steps = if seed % 500 == 0 { 5000 } else { 20 };
        let mut file = File::new(seed);
        for at in 0..steps {
            file.step().map_err(|what| format!("sequence {seed}, step {at}: {what}")).unwrap();
        }
        (kept, twins) = (kept + file.kept, twins + file.twins);
    }
    assert!(kept * 10 > twins * 8, "of {twins} equal lines that stayed only {kept} kept their word");
}
