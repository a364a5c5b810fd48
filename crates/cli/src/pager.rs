//! The pager: what does not fit on the terminal is shown by `less`, or by the user's own program.
//!
//! Standard output is held back while a command runs. At its end, or before anything is written to standard error, it
//! goes to the terminal, through the pager if it is longer than the screen.

use crate::global::GlobalArgs;
use std::ffi::OsStr;
use std::io::{self, IsTerminal as _, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use unicode_width::UnicodeWidthChar as _;

/// Environment of a pager, unless the user has set these: `less` shows colours and ends on a short text.
const PAGER_DEFAULTS: [(&str, &str); 2] = [("LESS", "FRX"), ("LV", "-c")];
/// Exit statuses of a shell that cannot run a command.
const SHELL_FAILURES: [i32; 2] = [126, 127];

/// Output that is held back.
#[derive(Default)]
struct HeldOutput {
    is_on: bool,
    /// The program of the configuration.
    configured: Option<String>,
    bytes: Vec<u8>,
}

static HELD: Mutex<HeldOutput> = Mutex::new(HeldOutput { is_on: false, configured: None, bytes: Vec::new() });
/// True while a pager is on the terminal, which then handles Ctrl-C.
static SHOWING: AtomicBool = AtomicBool::new(false);

fn held() -> MutexGuard<'static, HeldOutput> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds the output of a command back, if it goes to a terminal. `shows` is true for commands that only show something.
pub(crate) fn start(global: &GlobalArgs, shows: bool) {
    let wanted = (shows || global.paginate) && !global.no_pager && !global.json;
    held().is_on = wanted && io::stdout().is_terminal() && io::stdin().is_terminal();
}

/// Sets the program of the configuration.
pub(crate) fn configure(program: Option<&str>) {
    held().configured = program.map(str::to_owned);
}

/// True while output is held back.
pub(crate) fn is_on() -> bool {
    held().is_on
}

/// True while a pager is on the terminal.
pub(crate) fn is_showing() -> bool {
    SHOWING.load(Ordering::Relaxed)
}

/// Writes what was held back to the terminal; later output is held back again.
///
/// Errors: those of the terminal.
pub(crate) fn show_held() -> io::Result<()> {
    let (bytes, program) = {
        let mut held = held();
        (std::mem::take(&mut held.bytes), held.configured.clone())
    };
    if bytes.is_empty() {
        return Ok(());
    }
    let size = terminal_size::terminal_size().map(|(width, height)| (usize::from(width.0), usize::from(height.0)));
    let is_long = size.is_some_and(|(width, height)| !fits(&String::from_utf8_lossy(&bytes), width, height));
    let program = if is_long { program_to_use(program) } else { None };
    if let Some(program) = program
        && page(&program, &bytes)
    {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(&bytes)?;
    out.flush()
}

/// The target of the output of a command.
pub(crate) enum HeldSink {
    Direct(io::StdoutLock<'static>),
    Held,
}

impl HeldSink {
    pub(crate) fn stdout() -> HeldSink {
        if is_on() { HeldSink::Held } else { HeldSink::Direct(io::stdout().lock()) }
    }
}

impl Write for HeldSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            HeldSink::Direct(out) => out.write(bytes),
            HeldSink::Held => {
                held().bytes.extend_from_slice(bytes);
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            HeldSink::Direct(out) => out.flush(),
            HeldSink::Held => Ok(()),
        }
    }
}

/// Returns the command of the pager, chosen as git does: our variable, the configuration, `PAGER`, `less`. None if it is
/// empty or `cat`.
fn program_to_use(configured: Option<String>) -> Option<String> {
    let own = std::env::var("EMEND_PAGER").ok().or(configured);
    let named = own.or_else(|| std::env::var("PAGER").ok());
    let program = named
        .or_else(|| ["less", "more"].into_iter().find(|name| crate::programs::installed(name)).map(str::to_owned))?;
    let program = program.trim();
    (!program.is_empty() && program != "cat").then(|| program.to_owned())
}

/// Shows a text with a pager; false if the program cannot be run.
fn page(program: &str, bytes: &[u8]) -> bool {
    let mut command = Command::new("sh");
    command.arg("-c").arg(program).stdin(Stdio::piped());
    command.envs(PAGER_DEFAULTS.into_iter().filter(|(name, _)| std::env::var_os(OsStr::new(name)).is_none()));
    let Ok(mut child) = command.spawn() else { return false };
    SHOWING.store(true, Ordering::Relaxed);
    // Ctrl-C reaches the pager as well, which continues; ending now would leave it without its terminal.
    let _ = emendate_os::ending::set_on_interrupt(&Arc::default());
    if let Some(mut input) = child.stdin.take() {
        // A pager that is left before its end closes the pipe.
        let _ = input.write_all(bytes);
    }
    let status = child.wait();
    SHOWING.store(false, Ordering::Relaxed);
    status.is_ok_and(|status| !status.code().is_some_and(|code| SHELL_FAILURES.contains(&code)))
}

/// True if a text fits on a terminal, with a line left for the prompt.
fn fits(text: &str, width: usize, height: usize) -> bool {
    let mut rows = 0;
    text.lines().all(|line| {
        rows += columns_of(line).div_ceil(width.max(1)).max(1);
        rows < height
    })
}

/// Counts the columns of a line, without escape sequences for colours.
fn columns_of(line: &str) -> usize {
    let mut columns = 0;
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => {
                let _ = chars.find(char::is_ascii_alphabetic);
            }
            '\t' => columns += 8 - columns % 8,
            char => columns += char.width().unwrap_or(1),
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::{columns_of, fits};

    #[test]
    fn text_fits_if_a_row_is_left_for_the_prompt() {
        assert!(fits("a\nb\n", 80, 3) && !fits("a\nb\nc\n", 80, 3));
        assert!(fits("", 80, 1));
        // A long line takes several rows.
        assert!(fits(&"x".repeat(80), 80, 2) && !fits(&"x".repeat(81), 80, 2));
    }

    #[test]
    fn colours_take_no_columns() {
        assert_eq!(columns_of("\u{1b}[1m\u{1b}[31mab\u{1b}[0m"), 2);
        assert_eq!(columns_of("a\tb日"), 11);
    }
}
