//! Conversion of database and system errors.

use std::io;
use std::path::Path;

use emendate_core::{Code, Error};
use rusqlite::ErrorCode;

/// True if the file's contents are damaged, so that retrying is useless.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as Sql;
    match error {
        Sql::FromSqlConversionFailure(..)
        | Sql::IntegralValueOutOfRange(..)
        | Sql::InvalidColumnType(..)
        | Sql::Utf8Error(..)
        // The statements are fixed and tested, so one that does not compile met a foreign schema.
        | Sql::SqlInputError { .. } => true,
        Sql::SqliteFailure(failure, _) => {
            matches!(failure.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        }
        _ => false,
    }
}

/// Converts an error of the database at `path`.
pub(super) fn of_sql(error: &rusqlite::Error, path: &Path) -> Error {
    let file = path.display();
    if is_damage(error) {
        return Error::new(Code::IoFailed, format!("The session database {file} is damaged: {error}"))
            .next("Repeat the call: the database is set aside and a new one is created. Read the file again before editing it.")
            .fact("database", file.to_string());
    }
    let code = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            Code::LockTimeout
        }
        Some(ErrorCode::DiskFull) => Code::IoNoSpace,
        Some(ErrorCode::ReadOnly) => Code::IoReadOnly,
        Some(ErrorCode::PermissionDenied) => Code::IoPermission,
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::OutOfMemory) => Code::IoFailed,
        _ => Code::InternalBug,
    };
    let next = match code {
        Code::LockTimeout => "Repeat the call when the other process has finished.".to_owned(),
        Code::IoNoSpace => format!("Free some space on the file system of {file}."),
        Code::IoReadOnly | Code::IoPermission => format!("Make {file} and its directory writable."),
        _ => String::new(),
    };
    Error::new(code, format!("The session database {file} failed: {error}"))
        .next(next)
        .fact("database", file.to_string())
}

/// Converts a system error about `path`.
pub(crate) fn of_io(error: &io::Error, doing: &str, path: &Path) -> Error {
    let code = match error.kind() {
        io::ErrorKind::PermissionDenied => Code::IoPermission,
        io::ErrorKind::ReadOnlyFilesystem => Code::IoReadOnly,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::IoNoSpace,
        _ => Code::IoFailed,
    };
    let path = path.display();
    Error::new(code, format!("Cannot {doing} {path}: {error}"))
        .next("Name another directory for the session database, or make this one writable.")
        .fact("path", path.to_string())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::{Code, is_damage, of_io, of_sql};

    #[test]
    fn every_failure_has_a_code() {
        // SQLite's primary result codes.
        let codes = [
            (3, Code::IoPermission),
            (5, Code::LockTimeout),
            (6, Code::LockTimeout),
            (8, Code::IoReadOnly),
            (10, Code::IoFailed),
            (11, Code::IoFailed),
            (13, Code::IoNoSpace),
            (14, Code::IoFailed),
            (15, Code::LockTimeout),
            (21, Code::InternalBug),
            (26, Code::IoFailed),
        ];
        for (number, code) in codes {
            let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(number), None);
            assert_eq!(of_sql(&error, Path::new("/db")).code(), code, "{number}");
            assert_eq!(is_damage(&error), matches!(number, 11 | 26));
        }
        for (kind, code) in [
            (io::ErrorKind::PermissionDenied, Code::IoPermission),
            (io::ErrorKind::ReadOnlyFilesystem, Code::IoReadOnly),
            (io::ErrorKind::StorageFull, Code::IoNoSpace),
            (io::ErrorKind::NotADirectory, Code::IoFailed),
        ] {
            assert_eq!(of_io(&kind.into(), "create", Path::new("/db")).code(), code);
        }
    }
}
