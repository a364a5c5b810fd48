//! The numbers that front ends give to error codes: exit statuses of the command line, and the codes of the seed
//! documents. The core knows the codes only.

use crate::model::reply::SeedCodes;
use emendate_core::Code;

/// The numbers of a code.
#[derive(Debug)]
pub struct CodeNumbers {
    /// The code.
    pub code: Code,
    /// Exit status of the command line.
    pub exit: u8,
    /// Number in the Edit tool's table of the seed documents (1–10).
    pub edit: Option<u8>,
    /// Number in the Write tool's table of the seed documents (1–3).
    pub write: Option<u8>,
}

const fn row(code: Code, exit: u8, edit: Option<u8>, write: Option<u8>) -> CodeNumbers {
    CodeNumbers { code, exit, edit, write }
}

/// The numbers of every code, in the order of [`CODES`](emendate_core::CODES).
pub static CODE_NUMBERS: &[CodeNumbers] = &[
    row(Code::CallInvalid, 2, None, None),
    row(Code::CallUnknownTool, 2, None, None),
    row(Code::CallTooLarge, 2, None, None),
    row(Code::CallTooMuchWork, 2, None, None),
    row(Code::CallCancelled, 130, None, None),
    row(Code::EditUnparsable, 16, None, None),
    row(Code::EditNoChange, 17, Some(1), None),
    row(Code::EditOverlap, 17, None, None),
    row(Code::EditContradiction, 17, None, None),
    row(Code::EditDependency, 17, None, None),
    row(Code::EditTooMuchWork, 17, None, None),
    row(Code::EditMisindent, 17, None, None),
    row(Code::EditOmission, 17, None, None),
    row(Code::AccessDenied, 14, Some(2), Some(1)),
    row(Code::AccessAsk, 14, Some(2), Some(1)),
    row(Code::PathOutside, 14, Some(2), Some(1)),
    row(Code::PathInvalid, 2, None, None),
    row(Code::PathSymlink, 14, Some(2), Some(1)),
    row(Code::PathNotRegular, 15, None, None),
    row(Code::FileExists, 17, Some(3), None),
    row(Code::FileMissing, 10, Some(4), None),
    row(Code::FileNotebook, 15, Some(5), None),
    row(Code::NotebookInvalid, 15, None, None),
    row(Code::CellMissing, 10, None, None),
    row(Code::CellAmbiguous, 11, None, None),
    row(Code::MediaUnreadable, 15, None, None),
    row(Code::MediaUnsupported, 15, None, None),
    row(Code::FileTooLarge, 15, None, None),
    row(Code::ContentBinary, 15, None, None),
    row(Code::ContentUndecodable, 15, None, None),
    row(Code::ContentUnencodable, 15, None, None),
    row(Code::ContentBoundary, 15, None, None),
    row(Code::ReadRequired, 14, Some(6), Some(2)),
    row(Code::ReadPartial, 14, Some(6), Some(2)),
    row(Code::ReadRange, 10, None, None),
    row(Code::ReadTooLarge, 17, None, None),
    row(Code::StaleChanged, 12, Some(7), Some(3)),
    row(Code::StaleUnknownTag, 12, Some(7), Some(3)),
    row(Code::MatchNotFound, 10, Some(8), None),
    row(Code::MatchAmbiguous, 11, Some(9), None),
    row(Code::MatchCount, 17, Some(9), None),
    row(Code::SyntaxUnknown, 15, None, None),
    row(Code::SyntaxNotBuilt, 15, None, None),
    row(Code::SyntaxBroken, 17, None, None),
    row(Code::SymbolMissing, 10, None, None),
    row(Code::SymbolAmbiguous, 11, None, None),
    row(Code::SymbolEntangled, 17, None, None),
    row(Code::ConflictRaced, 13, Some(7), Some(3)),
    row(Code::OperationMissing, 10, None, None),
    row(Code::OperationConflict, 12, None, None),
    row(Code::OperationLost, 17, None, None),
    row(Code::OperationUncertain, 12, None, None),
    row(Code::OperationIrreversible, 17, None, None),
    row(Code::SchemaViolation, 17, Some(10), None),
    row(Code::SchemaInvalid, 17, None, None),
    row(Code::IoPermission, 20, None, None),
    row(Code::IoNoSpace, 20, None, None),
    row(Code::IoReadOnly, 20, None, None),
    row(Code::IoFailed, 20, None, None),
    row(Code::IoPartial, 21, None, None),
    row(Code::LockTimeout, 22, None, None),
    row(Code::InternalBug, 70, None, None),
];

/// Returns the numbers of a code.
pub fn code_numbers(code: Code) -> &'static CodeNumbers {
    // Both tables have the same order.
    &CODE_NUMBERS[code as usize]
}

/// Returns the exit status of the command line for a code.
pub fn exit_status(code: Code) -> u8 {
    code_numbers(code).exit
}

impl SeedCodes {
    /// Returns the number of a code in this table.
    pub fn number(self, code: Code) -> Option<u8> {
        match self {
            SeedCodes::Edit => code_numbers(code).edit,
            SeedCodes::Write => code_numbers(code).write,
            SeedCodes::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CODE_NUMBERS;
    use emendate_core::CODES;

    #[test]
    fn every_code_has_its_numbers_in_the_order_of_the_codes() {
        let numbered: Vec<_> = CODE_NUMBERS.iter().map(|row| row.code).collect();
        assert_eq!(numbered, CODES.iter().map(|row| row.code).collect::<Vec<_>>());
        assert!(CODE_NUMBERS.iter().all(|row| row.exit != 0));
    }
}
