//! Styled text on the standard streams: colours, columns, and control characters made visible.

use crate::diff::DiffLayout;
use crate::global::ColorMode;
use crate::io_error;
use crate::pager::{self, HeldSink};
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use emendate::core::Result;
use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal as _, Write};

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const NOTE: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const RANGE: Style = AnsiColor::Cyan.on_default();
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();

/// Formats names and descriptions in two columns: the first is as wide as the longest name.
pub(crate) fn columns<N: AsRef<str>, T: AsRef<str>>(margin: &str, rows: impl Iterator<Item = (N, T)>) -> String {
    let rows: Vec<(N, T)> = rows.collect();
    let width = rows.iter().map(|(name, _)| name.as_ref().chars().count()).max().unwrap_or(0);
    rows.iter().map(|(name, text)| format!("{margin}{:width$}  {}\n", name.as_ref(), text.as_ref())).collect()
}

/// Decides about colours for both streams.
pub(crate) fn choose_color(when: ColorMode) {
    // https://no-color.org takes precedence; anstream handles the other variables.
    match when {
        ColorMode::Always => ColorChoice::Always,
        ColorMode::Never => ColorChoice::Never,
        ColorMode::Auto if std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty()) && is_colour_forced() => {
            ColorChoice::Always
        }
        ColorMode::Auto => ColorChoice::Auto,
    }
    .write_global();
}

/// True if standard output is coloured.
pub(crate) fn has_color() -> bool {
    AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// True if the environment asks for colour everywhere.
fn is_colour_forced() -> bool {
    std::env::var_os("FORCE_COLOR").is_some_and(|it| !it.is_empty() && it != "0")
}

/// A stream with or without colours. Text is passed through unchanged: a file's own escape sequences are content.
pub(crate) struct StyledWriter<W: Write> {
    out: W,
    color: bool,
    /// A terminal would interpret control characters of the text; it gets pictures of them instead.
    terminal: bool,
    layout: DiffLayout,
}

/// Returns buffered standard output for people.
pub(crate) fn stdout() -> StyledWriter<BufWriter<HeldSink>> {
    let terminal = io::stdout().is_terminal();
    StyledWriter {
        out: BufWriter::new(HeldSink::stdout()),
        color: has_color(),
        terminal,
        layout: DiffLayout::default(),
    }
}

/// Returns buffered standard error for people.
pub(crate) fn stderr() -> StyledWriter<BufWriter<io::StderrLock<'static>>> {
    // Earlier output must appear first.
    let _ = pager::show_held();
    let out = io::stderr().lock();
    let color = AutoStream::choice(&out) != ColorChoice::Never;
    let terminal = out.is_terminal();
    StyledWriter { out: BufWriter::new(out), color, terminal, layout: DiffLayout::default() }
}

impl<W: Write> StyledWriter<W> {
    /// Sets the layout of diffs.
    pub(crate) fn laid_out(self, layout: DiffLayout) -> StyledWriter<W> {
        StyledWriter { layout, ..self }
    }

    /// The layout of diffs.
    pub(crate) fn layout(&self) -> DiffLayout {
        self.layout
    }

    /// Writes text in a style.
    pub(crate) fn put(&mut self, style: Style, text: &str) -> io::Result<()> {
        let text = if self.terminal { harmless(text) } else { Cow::Borrowed(text) };
        if self.color && style != PLAIN {
            write!(self.out, "{style}{text}{style:#}")
        } else {
            self.out.write_all(text.as_bytes())
        }
    }

    /// Writes one line in a style.
    pub(crate) fn line(&mut self, style: Style, text: &str) -> io::Result<()> {
        self.put(style, text)?;
        self.out.write_all(b"\n")
    }

    /// Writes a line of plain text.
    pub(crate) fn plain(&mut self, text: &str) -> io::Result<()> {
        self.line(PLAIN, text)
    }

    /// Writes a line of our own program, with the colours that it already has.
    pub(crate) fn rendered(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{line}")
    }

    /// True if text is coloured.
    pub(crate) fn has_color(&self) -> bool {
        self.color
    }

    /// Writes a heading.
    pub(crate) fn heading(&mut self, text: &str) -> io::Result<()> {
        self.line(BOLD, text)
    }

    /// Flushes the stream.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes a label for the following text.
    pub(crate) fn label(&mut self, text: &str) -> io::Result<()> {
        self.line(RANGE, text)
    }

    /// Writes whether a condition holds.
    pub(crate) fn verdict(&mut self, holds: bool, what: &str) -> io::Result<()> {
        let (style, mark) = if holds { (ADDED, "   ✓") } else { (BAD, "   ✗ this should be:") };
        self.put(style, mark)?;
        self.plain(&format!(" {what}"))
    }
}

#[cfg(test)]
impl<W: Write> StyledWriter<W> {
    /// Creates a writer that is not a terminal.
    pub(crate) fn on(out: W, color: bool, layout: DiffLayout) -> StyledWriter<W> {
        StyledWriter { out, color, terminal: false, layout }
    }
}

/// Replaces control characters by pictures, except for line ends and tabs.
fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|char| if is_harmful(char) { picture_of(char) } else { char }).collect())
}

/// Returns the visible sign for a control character.
fn picture_of(char: char) -> char {
    match u32::from(char) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7F => '␡',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

/// True for a control character that a terminal would obey.
fn is_harmful(char: char) -> bool {
    char.is_control() && char != '\n' && char != '\t'
}

/// Ignores a closed pipe, as with `head`, which is not a failure.
pub(crate) fn ignore_broken_pipe(result: io::Result<()>) -> Result<()> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(io_error("standard output", &error)),
        _ => Ok(()),
    }
}
