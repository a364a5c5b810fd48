//! The goals of the design's chapter on performance, and the reasons for missed ones.
// tidy: table

/// A goal.
pub(crate) struct Goal {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// The condition that must hold.
    pub(crate) text: &'static str,
    /// The reason and the plan, printed if the goal is missed.
    pub(crate) missed: &'static str,
    /// The counted paths (dev/counted) whose profile is printed next to the reason.
    pub(crate) profile: &'static [&'static str],
    /// The part of the goal that no bench measures, with the reason.
    pub(crate) apart: &'static str,
}

pub(crate) static GOALS: &[Goal] = &[
    Goal {
        name: "G1",
        title: "an exact edit on disk, without a sync",
        text: "At most 1.25 times a write and rename of the same bytes, up to 100 MB; 1.15 times from 10 to 100 KB; 1.2 times `cp` at 1 GB.",
        missed: "The checks cost the same for every size of file: the lease, the comparison before and after the exchange, one reply with a diff. That makes about 40 system calls where the floor makes six, and is no longer visible from 100 KB on (decision 128). The plan is one open file for the look, the reading and the comparison instead of three.",
        profile: &["small", "call"],
        apart: "",
    },
    Goal {
        name: "G2",
        title: "a durable edit beside cp, fsync, rename and fsync of the folder",
        text: "At most 1.1 times as long up to 1 MB, 1.2 times from 10 MB to 1 GB.",
        missed: "Small files: the engine waits for the disk as often as the floor does, and adds its checks (G1) beside the waits. Fewer waits would help (G3), less care would not.",
        profile: &["small"],
        apart: "",
    },
    Goal {
        name: "G3",
        title: "a durable edit by a log",
        text: "Files up to 1 MB: at most 0.7 times fsync, rename and fsync of the folder.",
        missed: "The engine syncs the new file and its folder: two waits. The goal assumes one wait for a log record. Then a file could be empty after a power cut until `emend` starts again, so it is not done (decision 111). `durability = \"process\"` is the fast choice.",
        profile: &["small"],
        apart: "A loop device with ext4 or XFS (≤ 0.6 times): only the disk of the repository is measured.",
    },
    Goal {
        name: "G4",
        title: "peak memory of an edit",
        text: "At most 8 MB and twice the patch for files above 4 MB, 1.1 times the file below. Measured as what the process of `emend edit` holds more than for a file of 1 KB.",
        missed: "A file of up to 4 MiB is held as a whole, with its text next to it if it is decoded. Above that size it is held in chunks of 256 KiB with the lines around the edit.",
        profile: &[],
        apart: "",
    },
    Goal {
        name: "G5",
        title: "find, prove unique and splice, in memory",
        text: "At most 3 times a copy of the text from 10,000 lines on; at least 10 times faster than `matches().count()` and `replacen` at 1 MB.",
        missed: "The search is limited by memory bandwidth, and the old text begins with blanks and common words, at which the prefilter stops often. The plan is to search for the rarest part of the old text.",
        profile: &["exact"],
        apart: "",
    },
    Goal {
        name: "G6",
        title: "many edits in one call",
        text: "Each edit more costs at most 3 µs; 100 edits on 1 MB at least 10 times faster than aho-corasick and 100 times than one after another; on texts made to be slow at most twice the better of aho-corasick and one search for each.",
        missed: "One edit is found so quickly that a goal of 3 µs for each further edit charges the fixed cost of the shared pass to the tenth edit. The remaining cost per edit is its line comparison and its part of the reply.",
        profile: &["needles"],
        apart: "",
    },
    Goal {
        name: "G7",
        title: "diffs",
        text: "A known edit: at most 1 µs and twice the counting of the lines above, at least 20 times faster than similar and imara-diff from 10,000 lines on. A whole-file write with a small change: at most a fifth of similar. No comparison ever above 0.1 s.",
        missed: "The diff of a known edit counts the lines above it twice if there is no line index: once for the hunk's number and once for its context.",
        profile: &["diff"],
        apart: "",
    },
    Goal {
        name: "G8",
        title: "a block that is not there as it was said",
        text: "From 10,000 lines on: the vote and the check at most as long as the building of a line index (measured together with ours being built: twice); the proven answer at most 10 ns for each byte of the file; at least 4 times faster than rapidfuzz over windows and 5,000 times than difflib.",
        missed: "Lines are looked up by one word each, with a pass over the text for each line of the block that is tried (decision 108).",
        profile: &["cascade", "drift", "failure"],
        apart: "Sassy: it is built for AVX2 or AVX-512 alone.",
    },
    Goal {
        name: "G9",
        title: "one replacement in 10,000 files",
        text: "Without a sync at most 1.2 times two threads that write aside and exchange the names; durable at most 1.3 times that and a quarter of a sync of each file.",
        missed: "The loop knows its files and overwrites them blindly: nine system calls a file. Emendate walks the folders, honours ignore files, compares each file under a lease before and after the exchange, keeps mode, owner and attributes, and stores what undo needs: about 54 calls. The test disk has ext4 without a journal, which searches all recently freed inodes for each new file; on ext4 with a journal the ratios were 2.3 without a sync and 0.29 with one. The plan is to compare each file once instead of twice.",
        profile: &[],
        apart: "",
    },
    Goal {
        name: "G10",
        title: "MCP calls",
        text: "A call that does nothing at most twice a loop that sends lines back, and at least 8 times faster than the filesystem server. An edit at most 1.3 times a write and rename from 10,000 lines on, 1.6 times at 100 lines; at least 4, 10, 25 and 40 times faster than the filesystem server at 100, 10,000, 100,000 and 1,000,000 lines.",
        missed: "The peer answers an empty call as fast as its runtime reads a line, so a factor of eight does not exist: Emendate is close to the loop that only echoes lines. An edit also pays for the checks of G1, the session's history and the protocol library's parsing.",
        profile: &["small", "call"],
        apart: "",
    },
    Goal {
        name: "G11",
        title: "the command line",
        text: "One edit at most 1.5 times the least static process; at least 3, 4, 6 and 8 times faster than Codex' apply_patch at 100, 10,000, 100,000 and 1,000,000 lines, and 8 times than the command of the crate hashline from 10,000 on. A start at most 1.5 times a static process that ends at once.",
        missed: "A start maps the pages of a program with fourteen grammars, reads the configuration and parses its arguments: some tenths of a millisecond, most of an edit of a small file. The plan is a second release build that orders functions as the first one uses them (decision 122).",
        profile: &[],
        apart: "",
    },
    Goal {
        name: "G12",
        title: "formats in memory",
        text: "From 10,000 lines on: apply_patch, a hunk, hashline and a block at most 4 times a copy of the text; at least 30 times faster than codex-apply-patch in memory, 20 times than diffy, mpatch and the crate hashline.",
        missed: "Emendate parses the patch, decodes the file, proves that the place is the only one, builds the new text and compares it; the goal counts a copy that stays in the processor's cache. diffy and others take the first place near the line number without a proof.",
        profile: &["unified_diff", "apply_patch", "hashline"],
        apart: "",
    },
    Goal {
        name: "G13",
        title: "history on the critical path",
        text: "At most a tenth of a write and rename of a small file, 10 µs, the same for every size of file.",
        missed: "The history stores both sides of every file and what the session knows, not only a span. Its cost does not grow with the file.",
        profile: &["small"],
        apart: "",
    },
    Goal {
        name: "G14",
        title: "file systems that share extents",
        text: "On XFS, a file of 100 MB or more: an edit at 90 % at most a quarter, at 99.9 % at most a twentieth of writing it all.",
        missed: "The file is read once to prove that the text occurs once; for cached files that takes longer than writing them, and the floor never reads. Sharing blocks saves disk space, not this time. The plan is to skip the full read for edits by line number.",
        profile: &[],
        apart: "Btrfs: it shares extents by the same call.",
    },
    Goal {
        name: "G15",
        title: "the server at rest",
        text: "It answers within 3 ms from its start and holds at most 10 MB; a tenth of the filesystem server in both.",
        missed: "Most of the memory is pages of the program that a start touches (G11); a tenth of Node's memory would be 7 MB.",
        profile: &[],
        apart: "",
    },
];
