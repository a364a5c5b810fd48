//! The goals of the design's chapter on performance, and the reasons for missed ones. Goals with a P are those of its
//! first section; P8, P9, P11 and P12 are measured elsewhere (docs/bulk.md, docs/review.md, `cargo xtask dist`). Those
//! with a G were met before and are kept, so that nothing gets slower unnoticed.
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
        name: "P1",
        title: "an MCP edit beside the disk",
        text: "At most 1.6 times a write and rename of the same bytes at 100 lines, 1.3 times at 10,000.",
        missed: "An edit checks the path, compares the file before and after the exchange of names, and answers with a diff; the write and rename does none of that, and takes less than 0.2 ms.",
        profile: &["small", "call", "profile"],
        apart: "",
    },
    Goal {
        name: "P2",
        title: "an MCP edit beside the protocol authors' filesystem server",
        text: "At least 5 times faster at 100 lines, 12 times at 10,000.",
        missed: "The server rewrites the file and makes a diff by comparison, without a lock or a sync; for a small file the disk is most of the time of both.",
        profile: &["call"],
        apart: "",
    },
    Goal {
        name: "P3",
        title: "one replacement in 10,000 files",
        text: "Without a sync at most 1.6 times two threads that write aside and exchange the names, on ext4 with a journal; durable at least 5 times faster than a sync of each file.",
        missed: "The loop knows its files and overwrites them blindly: nine system calls a file. Emendate walks the folders, honours ignore files, compares each file under a lease before and after the exchange, keeps mode, owner and attributes, and stores what undo needs: about 54 calls. ext4 without a journal searches all recently freed inodes for each new file, which slows down Emendate alone.",
        profile: &[],
        apart: "",
    },
    Goal {
        name: "P4",
        title: "one hunk in memory, 10,000 lines",
        text: "At least 10 times faster than diffy, mpatch and codex-apply-patch, with the proof that the place is the only one.",
        missed: "Emendate decodes the file and searches all of it for a second place; the others take the first one near the line number.",
        profile: &["unified_diff"],
        apart: "",
    },
    Goal {
        name: "P5",
        title: "200 hunks and 1,000 edits by line number in one call, 10,000 lines",
        text: "Faster than diffy, and than @oh-my-pi/hashline.",
        missed: "Each hunk is searched for in the whole file, and its reply has a diff of each; diffy takes the lines at the number.",
        profile: &["unified_diff", "hashline"],
        apart: "",
    },
    Goal {
        name: "P6",
        title: "one edit by a process, with a store",
        text: "At 100 lines at most twice the least static process that does the same; a hunk as fast as GNU patch.",
        missed: "A start maps the pages of a program with fourteen grammars, reads the configuration, parses its arguments and opens the database, which is most of an edit of a small file.",
        profile: &[],
        apart: "",
    },
    Goal {
        name: "P7",
        title: "words for the lines of a file, a tenth of which changed",
        text: "At most 1.5 times Myers' algorithm on the same lines.",
        missed: "Each new line gets a word that no line of the file has, which takes a look-up for each line.",
        profile: &[],
        apart: "",
    },
    Goal {
        name: "P8a",
        title: "a unified hunk beside the same hunk as V4A, 426 KB",
        text: "At most 1.5 times as long.",
        missed: "The line number is one more place to try.",
        profile: &["unified_diff", "apply_patch"],
        apart: "",
    },
    Goal {
        name: "P10",
        title: "snapshots of 10,000 files",
        text: "The first at most 1.5 times reading them; a later one, with ten changed files, at most 3 times `git status`, and faster than `jj status`.",
        missed: "The first snapshot hashes and stores what it reads, and the list of known files is written.",
        profile: &[],
        apart: "",
    },
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
        missed: "Small files: the engine waits for the disk as often as the floor does, and adds its checks (G1) beside the waits. A log would need one wait less, but after a power cut a file could be empty until the engine runs again (decision 111).",
        profile: &["small"],
        apart: "",
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
        name: "G13",
        title: "history on the critical path",
        text: "At most a tenth of a write and rename of a small file, 10 µs, the same for every size of file.",
        missed: "The history stores both sides of every file and what the session knows, not only a span. Its cost does not grow with the file.",
        profile: &["small"],
        apart: "",
    },
    Goal {
        name: "G15",
        title: "the server at rest",
        text: "It answers within 3 ms from its start and holds at most 10 MB.",
        missed: "Most of the memory is pages of the program that a start touches.",
        profile: &[],
        apart: "",
    },
];
