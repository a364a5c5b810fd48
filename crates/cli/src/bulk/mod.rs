//! `emend bulk`: one JSON object per line in, one per line out, in the same order; or Parquet in, Parquet out.
//!
//! Results go to a partial file beside the output, which replaces the output at the end. A run that was interrupted is
//! continued after the last complete line of the partial file, whose name depends on the input and the settings.

#[cfg(feature = "parquet")]
mod parquet;
mod row;
mod summary;

use crate::args::BulkArgs;
use crate::files::usage;
use crate::global::GlobalArgs;
use crate::{io_error, output};
use emendate::core::{ApplyLimits, ApplyOptions, ArgumentStyle, Code, Error, Result};
use emendate::fs::shown;
use emendate::{BulkTask, ROW_STEPS, RewardMeasure, RewardRule, in_parallel};
use row::RowSettings;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use summary::BulkSummary;

/// Rows that are processed together.
const BATCH_ROWS: usize = 4096;
/// Bytes of lines after which a batch is full.
const BATCH_BYTES: usize = 32 << 20;
/// Bytes of a line. The rest of a longer one is skipped, and its row has an error.
const LINE_BYTES_MAX: usize = 256 << 20;
/// Bytes at the beginning of the input that the name of the partial file depends on.
const HASHED_BYTES: u64 = 1 << 20;
/// The first bytes of Parquet files.
const PARQUET_START: &[u8] = b"PAR1";

impl BulkArgs {
    /// True if the results have the message of each failure.
    fn has_messages(&self) -> bool {
        self.columns.iter().any(|column| column == "message")
    }

    /// The work on each row.
    ///
    /// Errors: `call.invalid` for a measure or a format that does not exist, and for options of other work.
    fn task(&self) -> Result<(BulkTask, ApplyOptions)> {
        if self.to.is_some() && !matches!(&*self.work, "diff" | "convert") {
            return Err(usage("`--to` is the format of `--do diff` and `--do convert`.", "Omit one of them."));
        }
        if self.tier_penalty != 0.0 && self.work != "reward" {
            return Err(usage("`--tier-penalty` belongs to `--do reward`.", "Omit it, or add --do reward."));
        }
        let format: Option<Arc<str>> = self.format.as_deref().map(Arc::from);
        let to: Option<Arc<str>> = self.to.as_deref().map(Arc::from);
        let task = match (&*self.work, to) {
            ("diff", to) => BulkTask::Diff { to },
            ("convert", Some(to)) => BulkTask::Convert { to, format },
            ("reward", _) => {
                let measure = RewardMeasure::from_name(&self.measure)?;
                BulkTask::Reward { rule: RewardRule::new(measure, self.tier_penalty, BTreeMap::new())?, format }
            }
            _ => BulkTask::Apply { format },
        };
        task.check()?;
        let limits = ApplyLimits::default().work_steps(ROW_STEPS);
        Ok((task, ApplyOptions::new().limits(limits).argument_style(ArgumentStyle::Unnamed)))
    }

    /// The partial file of this input and these settings.
    fn partial(&self, input: &mut File) -> std::io::Result<PathBuf> {
        let mut hash = DefaultHasher::new();
        let meta = input.metadata()?;
        // Another file may have the same size and time, as after tar or rsync. A pipe cannot be read twice.
        if meta.is_file() {
            let mut start = Vec::new();
            (&mut *input).take(HASHED_BYTES).read_to_end(&mut start)?;
            input.rewind()?;
            (start, self.input.canonicalize()?).hash(&mut hash);
        }
        (meta.len(), meta.modified()?, &self.work, &self.to, &self.measure, self.tier_penalty.to_bits())
            .hash(&mut hash);
        (&self.format, &self.columns, &self.keep, env!("CARGO_PKG_VERSION")).hash(&mut hash);
        let mut name = self.output.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{:016x}.part", hash.finish()));
        Ok(self.output.with_file_name(name))
    }
}

/// Processes all rows; returns the exit status. A dry run writes nothing.
///
/// Errors: `call.invalid` for wrong settings, `path.not_regular` and `file.exists` for an output that cannot be written,
/// `conflict.raced` if another run writes the same output; `file.not_found`, `io.*`.
pub(crate) fn run(args: &BulkArgs, global: &GlobalArgs) -> Result<u8> {
    let (task, options) = args.task()?;
    if [&args.input, &args.output].iter().any(|path| path.as_os_str() == "-") {
        return Err(usage(
            "`-` names no file: bulk may have to continue a file of results.",
            "Name a file of rows (/dev/stdin is standard input), and with -o a file for the results.",
        ));
    }
    require_output(args)?;
    let mut input = File::open(&args.input).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::new(Code::FileMissing, format!("There is no file {}.", shown(&args.input)))
            .next("Check the path of the rows."),
        _ => io_error(&shown(&args.input), &error),
    })?;
    if input.metadata().is_ok_and(|meta| meta.is_dir()) {
        return Err(Error::new(Code::PathNotRegular, format!("{} is a directory.", shown(&args.input)))
            .next("Name a file of rows."));
    }
    if is_parquet(&mut input).map_err(failed(&args.input))? {
        #[cfg(feature = "parquet")]
        return parquet::run(args, &task, options, input, global.dry_run)?
            .report(global.json, args.has_messages())
            .map(|()| 0);
        #[cfg(not(feature = "parquet"))]
        return Err(Error::new(Code::CallInvalid, "This build of emend cannot read Parquet files.")
            .next("Build it with `--features parquet`, or use emendate.bulk in Python."));
    }
    let settings = RowSettings::new(task, options, &args.columns, args.keep.clone())?;
    if global.dry_run {
        let mut lines = LineReader::new(input);
        let summary = all_rows(args, &settings, &mut lines, 0, &mut std::io::sink(), &args.output)?;
        return summary.report(global.json, args.has_messages()).map(|()| 0);
    }
    let partial = args.partial(&mut input).map_err(failed(&args.input))?;
    let (mut out, done) = continued(&partial)?;
    let mut lines = LineReader::new(input);
    lines.skip(done).map_err(failed(&args.input))?;
    if done > 0 {
        output::note(&format!("continued after {done} rows"));
    }
    let summary = all_rows(args, &settings, &mut lines, done, &mut out, &partial)?;
    out.get_ref().sync_all().map_err(failed(&partial))?;
    std::fs::rename(&partial, &args.output).map_err(failed(&args.output))?;
    summary.report(global.json, args.has_messages()).map(|()| 0)
}

/// Checks the output before any work: at the end it is replaced, so it must be a file of its own.
///
/// Errors: `call.invalid` for the file of the rows; `path.not_regular`; `file.exists` without `--overwrite`.
fn require_output(args: &BulkArgs) -> Result<()> {
    let input_id = emendate_os::files::id_followed(&args.input);
    if input_id.is_some() && input_id == emendate_os::files::id_followed(&args.output) {
        return Err(usage("The results would replace the rows.", "Name another file with -o."));
    }
    let Ok(meta) = std::fs::symlink_metadata(&args.output) else { return Ok(()) };
    if !meta.is_file() {
        let kind = match meta.file_type() {
            kind if kind.is_dir() => "a directory",
            kind if kind.is_symlink() => "a symbolic link",
            _ => "a device, a FIFO or a socket",
        };
        let what = format!("{} is {kind}, not a regular file.", shown(&args.output));
        return Err(Error::new(Code::PathNotRegular, what).next("Name a file for the results with -o."));
    }
    if !args.overwrite {
        return Err(Error::new(Code::FileExists, format!("{} exists already.", shown(&args.output)))
            .next("Name another file, or add --overwrite."));
    }
    Ok(())
}

/// True for a Parquet file. Such a file is read from its end, so a pipe cannot be one.
fn is_parquet(input: &mut File) -> std::io::Result<bool> {
    if !input.metadata()?.is_file() {
        return Ok(false);
    }
    let mut start = Vec::new();
    input.take(PARQUET_START.len() as u64).read_to_end(&mut start)?;
    input.rewind()?;
    Ok(start == PARQUET_START)
}

/// Writes the results of all rows to `out`. `name` is its name in errors.
fn all_rows(
    args: &BulkArgs,
    settings: &RowSettings,
    lines: &mut LineReader<BufReader<File>>,
    done: u64,
    out: &mut impl Write,
    name: &Path,
) -> Result<BulkSummary> {
    let mut summary = BulkSummary::new(done);
    loop {
        let batch = lines.batch().map_err(failed(&args.input))?;
        if batch.is_empty() {
            return Ok(summary);
        }
        let results = in_parallel(batch.len(), args.threads, |at| settings.result(&batch[at]));
        for (row, result) in batch.iter().zip(&results) {
            out.write_all(result.line.as_bytes()).map_err(failed(name))?;
            summary.add(row.number, result.error.as_ref());
        }
        out.flush().map_err(failed(name))?;
        summary.show_progress();
    }
}

/// Returns a function that converts I/O errors of a file.
fn failed(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |error| io_error(&shown(path), &error)
}

/// Opens the partial file after its last complete line; returns it with the number of its lines. It is locked, so that
/// a second run does not write between the lines of this one.
fn continued(partial: &Path) -> Result<(BufWriter<File>, u64)> {
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(partial);
    let file = options.map_err(failed(partial))?;
    match file.try_lock() {
        // Without locks in the file system, a second run goes unnoticed.
        Ok(()) | Err(TryLockError::Error(_)) => {}
        Err(TryLockError::WouldBlock) => return Err(summary::busy(&shown(partial))),
    }
    after_last_line(file).map_err(failed(partial))
}

fn after_last_line(mut file: File) -> std::io::Result<(BufWriter<File>, u64)> {
    let (mut lines, mut end, mut at) = (0, 0, 0);
    let mut chunk = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        for (nth, _) in chunk[..read].iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            lines += 1;
            end = at + nth as u64 + 1;
        }
        at += read as u64;
    }
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))?;
    Ok((BufWriter::with_capacity(1 << 20, file), lines))
}

/// The byte order mark of UTF-8, which some programs write in front of the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A line of the input; `None` if it is too long.
struct RowLine {
    number: u64,
    bytes: Option<Vec<u8>>,
}

/// Reads lines within limits.
struct LineReader<R> {
    from: R,
    number: u64,
}

impl LineReader<BufReader<File>> {
    fn new(input: File) -> Self {
        LineReader { from: BufReader::with_capacity(1 << 20, input), number: 0 }
    }
}

impl<R: BufRead> LineReader<R> {
    fn skip(&mut self, lines: u64) -> std::io::Result<()> {
        while self.number < lines && self.line()?.is_some() {}
        Ok(())
    }

    fn batch(&mut self) -> std::io::Result<Vec<RowLine>> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            let Some(line) = self.line()? else { break };
            bytes += line.bytes.as_ref().map_or(0, Vec::len);
            batch.push(line);
        }
        Ok(batch)
    }

    /// Reads a line; `None` at the end.
    fn line(&mut self) -> std::io::Result<Option<RowLine>> {
        let mut bytes = Vec::new();
        let limit = LINE_BYTES_MAX as u64 + 1;
        if (&mut self.from).take(limit).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if bytes.len() <= LINE_BYTES_MAX {
            if self.number == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
            }
            return Ok(Some(RowLine { number: self.number, bytes: Some(bytes) }));
        }
        if bytes.last() != Some(&b'\n') {
            self.skip_rest()?;
        }
        Ok(Some(RowLine { number: self.number, bytes: None }))
    }

    fn skip_rest(&mut self) -> std::io::Result<()> {
        loop {
            let chunk = self.from.fill_buf()?;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(chunk.len(), |end| end + 1);
            let is_end = end.is_some() || chunk.is_empty();
            self.from.consume(used);
            if is_end {
                return Ok(());
            }
        }
    }
}
