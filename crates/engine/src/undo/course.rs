//! Overlay for undoing several operations as one change: each is reversed on the result of the ones before it; nothing
//! is written.

use super::back::to_bytes;
use crate::caller::Caller;
use crate::engine::{Engine, Opened};
use crate::plan::{Becomes, Now, Origin, Plan};
use emendate_core::{Result, Snapshot};
use emendate_fs::{Attributes, Place, Stamp};
use emendate_history::{Kind, Side};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// File type bits of a regular file in `st_mode`.
const REGULAR: u32 = 0o100_000;

/// The files after the reversals so far.
pub(super) struct Course<'a> {
    engine: &'a Engine,
    caller: &'a Caller,
    stands: BTreeMap<PathBuf, Stand>,
}

/// A path in the overlay.
struct Stand {
    /// Its index in order of first use.
    nth: usize,
    place: Place,
    /// The entry on disk.
    disk: Now,
    /// The entry after the reversals so far.
    then: Then,
    merged: bool,
    notes: Vec<String>,
}

#[derive(Clone)]
struct Then {
    now: Now,
    /// The current path of the file on disk; `None` if it will be created.
    file: Option<Place>,
    /// The attributes of a file that will be created.
    attributes: Option<Attributes>,
}

impl<'a> Course<'a> {
    pub(super) fn new(engine: &'a Engine, caller: &'a Caller) -> Course<'a> {
        Course { engine, caller, stands: BTreeMap::new() }
    }

    /// Returns the entry at a path after the reversals so far.
    pub(super) fn standing(&self, place: &Place) -> Result<Now> {
        match self.stands.get(place.absolute()) {
            Some(stand) => Ok(stand.then.now.clone()),
            None => self.engine.standing(place),
        }
    }

    /// Applies the plans that reverse one operation.
    pub(super) fn go(&mut self, plans: Vec<Plan>) -> Result<()> {
        for plan in &plans {
            let file = matches!(plan.now, Now::File(_)).then(|| plan.place.clone());
            let then = Then { now: plan.now.clone(), file, attributes: None };
            let (place, disk) = (plan.place.clone(), plan.now.clone());
            let nth = self.stands.len();
            let stand = || Stand { nth, place, disk, then, merged: false, notes: Vec::new() };
            self.stands.entry(plan.place.absolute().to_owned()).or_insert_with(stand);
        }
        // The source of a file contributes its mode, even if it has no plan of its own.
        for place in plans.iter().filter_map(|plan| Some(&plan.origin.as_ref()?.place)) {
            if !self.stands.contains_key(place.absolute()) {
                let disk = self.engine.standing(place)?;
                let file = matches!(disk, Now::File(_)).then(|| place.clone());
                let then = Then { now: disk.clone(), file, attributes: None };
                let (nth, path) = (self.stands.len(), place.absolute().to_owned());
                let stand = Stand { nth, place: place.clone(), disk, then, merged: false, notes: Vec::new() };
                self.stands.insert(path, stand);
            }
        }
        // All at once, because two files may swap places.
        let then: Vec<Then> = plans.iter().map(|plan| self.after(plan)).collect::<Result<_>>()?;
        for (plan, then) in plans.into_iter().zip(then) {
            if let Some(stand) = self.stands.get_mut(plan.place.absolute()) {
                stand.then = then;
                stand.merged |= plan.merged;
                stand.notes.extend(plan.notes);
            }
        }
        Ok(())
    }

    /// Returns the result of a plan at its path.
    fn after(&self, plan: &Plan) -> Result<Then> {
        let nothing = |now| Then { now, file: None, attributes: None };
        match &plan.becomes {
            Becomes::Nothing => return Ok(nothing(Now::Nothing)),
            Becomes::Link(target) => return Ok(nothing(Now::Link(target.clone()))),
            Becomes::File => {}
        }
        let source = plan.origin.as_ref().map_or(&plan.place, |origin| &origin.place);
        let carried = self.stands.get(source.absolute()).map(|stand| &stand.then);
        let carried = carried.filter(|then| matches!(then.now, Now::File(_)) && plan.attributes.is_none());
        let mode = plan.mode.or(carried.and_then(|then| then.now.mode())).unwrap_or(0o644);
        let stamp = Stamp { mode: REGULAR | mode, ..Stamp::default() };
        let now = Now::File(Opened { snapshot: plan.after()?, stamp, racy: true });
        Ok(match carried {
            Some(then) => Then { now, file: then.file.clone(), attributes: then.attributes.clone() },
            None => Then { now, file: None, attributes: plan.attributes.clone() },
        })
    }

    /// Returns one plan for each file that differs.
    pub(super) fn plans(mut self) -> Vec<Plan> {
        let kept: Vec<PathBuf> =
            self.stands.values().filter_map(|it| Some(it.then.file.as_ref()?.absolute().into())).collect();
        let sources: BTreeMap<PathBuf, Snapshot> =
            self.stands.iter().filter_map(|(path, it)| Some((path.clone(), text_of(&it.disk)?.clone()))).collect();
        let mut stands: Vec<Stand> = std::mem::take(&mut self.stands).into_values().collect();
        stands.sort_unstable_by_key(|stand| stand.nth);
        stands.into_iter().filter_map(|stand| self.plan(stand, &kept, &sources)).collect()
    }

    fn plan(&self, stand: Stand, kept: &[PathBuf], sources: &BTreeMap<PathBuf, Snapshot>) -> Option<Plan> {
        let Stand { place, disk, then, merged, notes, .. } = stand;
        let plan = match then.now {
            Now::Nothing => {
                let moved_on = kept.iter().any(|path| path == place.absolute());
                Plan { moved_on, ..Plan::other(place, disk, Becomes::Nothing) }
            }
            Now::Link(target) => Plan::other(place, disk, Becomes::Link(target)),
            Now::File(file) => {
                let mode = file.stamp.mode & 0o7777;
                let bytes = file.snapshot.raw().to_vec();
                if let Some(from) = then.file.filter(|from| from.absolute() != place.absolute()) {
                    self.moved(place, disk, (&from, sources.get(from.absolute())?), (bytes, mode))
                } else {
                    let side = Side { content: file.snapshot.id(), mode, kind: Kind::Regular };
                    let is_new = !matches!(disk, Now::File(_));
                    let mode = (!is_new && disk.mode() != Some(mode)).then_some(mode);
                    let plan = self.engine.putting(self.caller, place, disk, bytes, (side, then.attributes));
                    Plan { mode: mode.or(plan.mode), ..plan }
                }
            }
        };
        let plan = Plan { merged, notes, ..plan };
        plan.writes().then_some(plan)
    }

    /// Creates the plan for a file that is at another path now.
    fn moved(&self, place: Place, disk: Now, (from, text): (&Place, &Snapshot), (bytes, mode): (Vec<u8>, u32)) -> Plan {
        let changes = to_bytes(text, bytes);
        let lines = self.engine.lines_then(self.caller, from, text, &changes);
        let origin = Some(Origin { place: from.clone(), copied: false });
        Plan {
            before: text.clone(),
            changes,
            mode: Some(mode),
            lines,
            origin,
            ..Plan::other(place, disk, Becomes::File)
        }
    }
}

fn text_of(now: &Now) -> Option<&Snapshot> {
    match now {
        Now::File(now) => Some(&now.snapshot),
        Now::Nothing | Now::Link(_) => None,
    }
}

/// The paths of operations, to wait for their locks.
pub(super) fn paths(all: &[emendate_history::Logged]) -> impl Iterator<Item = &Path> {
    use std::os::unix::ffi::OsStrExt as _;
    let files = all.iter().flat_map(|logged| &logged.operation.files);
    files.map(|file| Path::new(std::ffi::OsStr::from_bytes(&file.path)))
}
