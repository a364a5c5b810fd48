//! Compares the marks of which operation undoes which with a small model, for any order in which processes log, resolve
//! and abort operations.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test may stop at the first fault, and be told how many cases to play"
)]

mod suite;

use emendate_history::{
    Database, History, HistoryLimits, MemoryHistory, Operation, OperationFilter, OperationId, Role,
};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof, proptest};
use suite::log::operation;

#[derive(Clone, Debug)]
enum Act {
    Edit,
    /// Logs an operation that undoes these operations.
    TakeBack(Vec<usize>),
    Settle(usize),
    Withdraw(usize),
    Judge(usize, bool),
    /// Its own process reports that it was not carried out.
    Fail(usize),
}

fn act() -> impl Strategy<Value = (bool, Act)> {
    let act = prop_oneof![
        2 => proptest::strategy::Just(Act::Edit),
        4 => vec(0..12_usize, 1..3).prop_map(Act::TakeBack),
        2 => (0..12_usize).prop_map(Act::Settle),
        3 => (0..12_usize).prop_map(Act::Withdraw),
        1 => (0..12_usize, any::<bool>()).prop_map(|(nth, certain)| Act::Judge(nth, certain)),
        1 => (0..12_usize).prop_map(Act::Fail),
    ];
    (any::<bool>(), act)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Pending,
    Done,
    Withdrawn,
}

/// The expected state of the log.
#[derive(Default)]
struct Model(Vec<(OperationId, Vec<OperationId>, Stage)>);

impl Model {
    /// Returns the newest live operation that undoes the given one.
    fn taken_by(&self, id: OperationId) -> Option<OperationId> {
        let mut live = self.0.iter().rev().filter(|(_, _, stage)| *stage != Stage::Withdrawn);
        live.find(|(_, taken, _)| taken.contains(&id)).map(|(by, _, _)| *by)
    }

    /// True for an operation that is undone by one in effect.
    fn is_undone(&self, id: OperationId) -> bool {
        self.taken_by(id).is_some_and(|by| !self.is_undone(by))
    }

    fn told(&self) -> Vec<(OperationId, Option<OperationId>, bool)> {
        let live = self.0.iter().rev().filter(|(_, _, stage)| *stage != Stage::Withdrawn);
        live.map(|(id, _, stage)| (*id, self.taken_by(*id), *stage == Stage::Pending)).collect()
    }
}

/// Performs the acts on two handles of one store.
fn play(stores: [&dyn History; 2], acts: &[(bool, Act)]) {
    let mut model = Model::default();
    for (second, act) in acts {
        let store = stores[usize::from(*second)];
        let at = |nth: &usize| nth.checked_rem(model.0.len());
        match act {
            Act::Edit => {
                let id = store.log(&operation("s", Vec::new()), &[], &[]).unwrap().id;
                model.0.push((id, Vec::new(), Stage::Pending));
            }
            Act::TakeBack(which) => {
                let mut taken: Vec<OperationId> = which.iter().filter_map(at).map(|nth| model.0[nth].0).collect();
                taken.sort_unstable();
                taken.dedup();
                let Some((newest, older)) = taken.split_last() else { continue };
                let also = older.iter().rev().copied().collect();
                let undo = Operation { role: Role::Undo(*newest), also_undoes: also, ..operation("s", Vec::new()) };
                let free = !taken.iter().any(|id| model.is_undone(*id));
                let logged = store.log(&undo, &[], &[]);
                assert_eq!(logged.is_ok(), free, "{logged:?}");
                model.0.extend(logged.ok().map(|entered| (entered.id, taken, Stage::Pending)));
            }
            Act::Settle(nth) => {
                let Some(nth) = at(nth) else { continue };
                store.mark_committed(&[model.0[nth].0]).unwrap();
                model.0[nth].2 = Stage::Done;
            }
            Act::Withdraw(nth) => {
                let Some(nth) = at(nth) else { continue };
                store.abort(model.0[nth].0, false).unwrap();
                if model.0[nth].2 == Stage::Pending {
                    model.0[nth].2 = Stage::Withdrawn;
                }
            }
            Act::Fail(nth) => {
                let Some(nth) = at(nth) else { continue };
                store.abort(model.0[nth].0, true).unwrap();
                model.0[nth].2 = Stage::Withdrawn;
            }
            Act::Judge(nth, certain) => {
                let Some(nth) = at(nth) else { continue };
                store.resolve(model.0[nth].0, *certain).unwrap();
                if model.0[nth].2 == Stage::Pending {
                    model.0[nth].2 = Stage::Done;
                }
            }
        }
        let told = store.operations(&OperationFilter { limit: 100, ..OperationFilter::default() }).unwrap();
        let told: Vec<_> = told.iter().map(|it| (it.id, it.undone_by, it.owner.is_some())).collect();
        assert_eq!(told, model.told());
    }
}

/// Each case opens a database, so few are run unless more are requested.
fn config() -> ProptestConfig {
    let all = ProptestConfig::default();
    let cases = std::env::var_os("PROPTEST_CASES").map_or(40, |_| all.cases);
    ProptestConfig { cases, ..all }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn undone_by_follows_live_operations(acts in vec(act(), 1..40)) {
        let memory = MemoryHistory::new(HistoryLimits::default());
        play([&memory, &memory], &acts);
        let dir = tempfile::tempdir().unwrap();
        let open = || Database::open(dir.path(), HistoryLimits::default()).unwrap();
        play([&open(), &open()], &acts);
    }
}
