//! Signal handling: when this process is terminated, the programs that it started end too, because language servers run
//! as long as it does.

use crate::pager;
use emendate::Engine;

/// Watches for signals, if the configuration has language servers. Ctrl-C is handled only if `interrupts` is true:
/// where it merely cancels a call, other code handles it.
pub(crate) fn end_programs_on_signal(engine: &Engine, interrupts: bool) {
    if engine.config().language_servers().next().is_none() {
        return;
    }
    emendate_os::ending::on_termination(interrupts, |interrupt| {
        let ends = !(interrupt && pager::is_showing());
        if ends {
            emendate::end_programs();
        }
        ends
    });
}
