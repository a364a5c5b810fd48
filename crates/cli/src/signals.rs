//! Signal handling: when this process is terminated, the programs that it started end too, because language servers run
//! as long as it does.

use crate::pager;
use emendate::Engine;

/// Watches for signals, if the configuration has language servers. `interrupts` tells whether to handle Ctrl-C: where
/// it only cancels a call, other code handles it.
pub(crate) fn end_programs_on_signal(engine: &Engine, interrupts: bool) {
    if engine.config().language_servers().next().is_none() {
        return;
    }
    emendate_os::ending::before_end(interrupts, |interrupt| {
        let ends = !(interrupt && pager::is_showing());
        if ends {
            emendate::end_programs();
        }
        ends
    });
}
