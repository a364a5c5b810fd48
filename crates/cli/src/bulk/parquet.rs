//! `emend bulk` for Parquet: a file of rows in, a file of results out.
//!
//! A Parquet file cannot be continued, so results go to parts in a directory beside the output. At the end they are
//! joined without decoding them. The name of the directory depends on the input and the settings; a run that was
//! interrupted is continued after the last complete part.

use super::summary::{self, BulkSummary};
use super::{BulkArgs, failed};
use crate::output;
use emendate::core::{ApplyOptions, Result};
use emendate::fs::shown;
use emendate::{BulkRow, BulkTask};
use emendate_arrow::{BulkJob, ParquetJob, join_parts, part_rows};
use std::fs::{self, File, TryLockError};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Processes all rows of a Parquet file. A dry run writes nothing.
///
/// Errors: `call.invalid` for columns that the file lacks or that are not text, and for a file that cannot be read;
/// `conflict.raced` if another run writes the same output; `io.*`.
pub(super) fn run(
    args: &BulkArgs,
    task: &BulkTask,
    options: ApplyOptions,
    mut input: File,
    is_dry: bool,
) -> Result<BulkSummary> {
    let partial = args.partial(&mut input).map_err(failed(&args.input))?;
    let columns = (!args.columns.is_empty()).then_some(&*args.columns);
    let job = ParquetJob::open(input, &args.keep, |schema| {
        let has = |name: &str| schema.index_of(name).is_ok();
        BulkJob::new(task.clone(), inputs(task, has), columns, options, args.threads)
    });
    let job = job.map_err(|error| error.prefixed(&format!("{}: ", shown(&args.input))))?;
    if is_dry {
        let (mut summary, mut rows) = (BulkSummary::of_table(0, job.rows()), job.after(0));
        while rows.write_part(std::io::sink(), &mut |row| add(&mut summary, row))?.is_some() {}
        return Ok(summary);
    }
    let parts = Parts::open(partial)?;
    let (count, done) = parts.complete()?;
    if done > 0 {
        output::note(&format!("continued after {done} rows"));
    }
    let mut summary = BulkSummary::of_table(done, job.rows());
    let (mut rows, mut next) = (job.after(done), count);
    while parts.write(next, |out| Ok(rows.write_part(out, &mut |row| add(&mut summary, row))?.is_some()))? {
        next += 1;
    }
    let names: Vec<PathBuf> = (0..next).map(|nth| parts.part(nth)).collect();
    // One part is open at a time.
    parts.publish(&args.output, |out| join_parts(&job, names.iter().map(File::open), out))?;
    Ok(summary)
}

/// Counts a row, and shows the progress.
fn add(summary: &mut BulkSummary, row: &BulkRow) {
    summary.add_next(row.error.as_ref());
    summary.show_progress();
}

/// The columns of the inputs: those that the task cannot do without, and of the others those that the file has.
fn inputs(task: &BulkTask, has: impl Fn(&str) -> bool) -> Vec<Option<String>> {
    let needed = |name: &str| Some(name.to_owned());
    let given = |name: &str| has(name).then(|| name.to_owned());
    let (change, expected) = match task {
        BulkTask::Diff { .. } => ("after", None),
        BulkTask::Reward { rule, .. } if rule.measure.compares() => ("edit", needed("expected")),
        _ => ("edit", None),
    };
    vec![needed("before"), needed(change), given("path"), given("format"), expected]
}

/// The directory of the parts, with a lock for as long as a run has it.
struct Parts {
    directory: PathBuf,
    _lock: File,
}

impl Parts {
    /// Opens or creates the directory.
    ///
    /// Errors: `conflict.raced` if another run has it; `io.*`.
    fn open(directory: PathBuf) -> Result<Parts> {
        fs::create_dir_all(&directory).map_err(failed(&directory))?;
        let lock = File::create(directory.join("lock")).map_err(failed(&directory))?;
        match lock.try_lock() {
            // Without locks in the file system, a second run goes unnoticed.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Parts { directory, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(summary::busy(&shown(&directory))),
        }
    }

    fn part(&self, nth: usize) -> PathBuf {
        self.directory.join(format!("{nth:08}.parquet"))
    }

    /// The file that is written at this moment.
    fn unfinished(&self) -> PathBuf {
        self.directory.join("unfinished")
    }

    /// Returns the number of complete parts, and their rows.
    fn complete(&self) -> Result<(usize, u64)> {
        let (mut parts, mut rows) = (0, 0);
        while let Ok(part) = File::open(self.part(parts)) {
            rows += part_rows(&part)?;
            parts += 1;
        }
        Ok((parts, rows))
    }

    /// Writes a part; false if `write` had nothing to write. A part has its name only when all of it is written.
    fn write(&self, nth: usize, mut write: impl FnMut(&mut BufWriter<File>) -> Result<bool>) -> Result<bool> {
        let name = self.unfinished();
        let mut out = BufWriter::new(File::create(&name).map_err(failed(&name))?);
        if !write(&mut out)? {
            return Ok(false);
        }
        synced(out, &name)?;
        fs::rename(&name, self.part(nth)).map_err(failed(&name)).map(|()| true)
    }

    /// Writes the output, and removes the directory.
    fn publish(self, output: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
        let name = self.unfinished();
        let mut out = BufWriter::new(File::create(&name).map_err(failed(&name))?);
        write(&mut out)?;
        synced(out, &name)?;
        fs::rename(&name, output).map_err(failed(output))?;
        fs::remove_dir_all(&self.directory).map_err(failed(&self.directory))
    }
}

/// Writes what is buffered, and waits until the disk has it.
fn synced(mut out: BufWriter<File>, name: &Path) -> Result<()> {
    out.flush().and_then(|()| out.get_ref().sync_all()).map_err(failed(name))
}
