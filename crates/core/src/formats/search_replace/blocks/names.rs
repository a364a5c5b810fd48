//! The file of a block, from the lines above it.

use super::BlockReader;
use crate::formats::name::{self, SentenceFiles};

/// The names that the lines above a block give.
#[derive(Default)]
pub(super) struct BlockNames {
    pub(super) path: Option<String>,
    pub(super) others: Vec<String>,
    pub(super) rivals: Vec<String>,
}

impl BlockReader {
    /// Returns the names of a block's file. A line between blocks that is only a name is above all sentences below it; if a
    /// sentence names another file, or it is not certain which file it means, the files decide.
    pub(super) fn names(&self, on_marker: Option<&str>) -> BlockNames {
        if let Some(name) = on_marker {
            return BlockNames { path: Some(self.options.name(name)), ..BlockNames::default() };
        }
        let lines = || self.above.iter().rev().map(String::as_str);
        let heading = name::heading(lines()).map(|name| self.options.name(&name));
        let BlockNames { path, others, rivals } = self.names_above(heading.is_some());
        match heading {
            // The sentence names no file.
            Some(heading) if path.is_none() => {
                let others = self.earlier().path.into_iter().collect();
                BlockNames { path: Some(heading), others, rivals }
            }
            // The sentence names several files, the heading among them.
            Some(heading)
                if !rivals.is_empty() && path.iter().chain(&rivals).any(|it| name::is_same_file(it, &heading)) =>
            {
                BlockNames { path: Some(heading), ..BlockNames::default() }
            }
            Some(heading) if path.as_ref().is_some_and(|path| !name::is_same_file(path, &heading)) => {
                let mut rivals: Vec<String> = path.into_iter().chain(rivals).chain(others).collect();
                rivals.retain(|rival| *rival != heading);
                BlockNames { path: Some(heading), others: Vec::new(), rivals }
            }
            _ => BlockNames { path, others, rivals },
        }
    }

    /// Returns the names that the nearest line above a block gives, or those of the block before it.
    fn names_above(&self, has_heading: bool) -> BlockNames {
        let lines = || self.above.iter().rev().map(String::as_str);
        let above = name::above(lines()).map(|name| self.options.name(&name));
        if name::on_fence(lines()).is_some() {
            return BlockNames { path: above, ..BlockNames::default() };
        }
        let SentenceFiles { names, is_certain } = name::sentence(lines());
        let mut names = names.into_iter().map(|name| self.options.name(&name));
        let earlier = self.earlier();
        let is_open = self.options.file.is_none();
        if !is_certain && is_open && (names.len() > 1 || names.len() == 1 && !self.out.list.is_empty()) {
            // A name with blanks is the whole line.
            let spaced = above.filter(|name| name.contains(char::is_whitespace));
            let mut all: Vec<String> = Vec::new();
            for name in spaced.into_iter().chain(names).chain(earlier.path).chain(earlier.rivals) {
                if !all.contains(&name) {
                    all.push(name);
                }
            }
            let rivals = all.split_off(1);
            return BlockNames { path: all.pop(), others: Vec::new(), rivals };
        }
        let is_several = names.len() > 1;
        // The engine knows whether the file of a sentence exists.
        match (above, names.next()) {
            (_, mentioned) if is_several && is_certain => BlockNames { path: mentioned, ..BlockNames::default() },
            (_, Some(_)) if is_several => earlier,
            (Some(name), Some(mentioned)) if mentioned != name && name.contains(char::is_whitespace) => {
                BlockNames { path: Some(name), others: vec![mentioned], rivals: Vec::new() }
            }
            (Some(name), _) => BlockNames { path: Some(name), ..BlockNames::default() },
            (None, Some(mentioned)) if is_open || has_heading => {
                BlockNames { path: Some(mentioned), others: earlier.path.into_iter().collect(), rivals: Vec::new() }
            }
            (None, _) if has_heading => BlockNames::default(),
            (None, _) => earlier,
        }
    }

    /// Returns the names of the block before, or that of the call.
    fn earlier(&self) -> BlockNames {
        match self.out.list.last() {
            Some(block) => {
                BlockNames { path: Some(block.path.clone()), others: Vec::new(), rivals: block.rivals.clone() }
            }
            None => BlockNames { path: self.options.file.clone(), ..BlockNames::default() },
        }
    }
}
