//! The goals of the design (its chapter on performance), what the page draws for each, and why one is missed.
// tidy: table

/// A goal.
pub(crate) struct Goal {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What must hold.
    pub(crate) text: &'static str,
    pub(crate) charts: &'static [Drawn],
    /// The reason and the plan, told where the goal is missed.
    pub(crate) missed: &'static str,
    /// The counted paths (dev/counted) that are its profile, told beside the reason.
    pub(crate) profile: &'static [&'static str],
    /// What the goal asks for and no bench measures, and why.
    pub(crate) apart: &'static str,
}

/// A chart of the goal: the key of its outcomes, its title, what the horizontal axis counts.
pub(crate) struct Drawn {
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    pub(crate) across: &'static str,
}

const SIZE: &str = "size of the file";
const LINES: &str = "lines of the file";
const EDITS: &str = "edits in one call";

pub(crate) static GOALS: &[Goal] = &[
    Goal {
        name: "G1",
        title: "an exact edit on disk, without a sync",
        text: "At most 1.25 times a write and rename of the same bytes, up to 100 MB; 1.15 times from 10 to 100 KB; 1.2 times `cp` at 1 GB.",
        charts: &[Drawn { key: "exact-disk", title: "One exact edit on disk, no sync", across: SIZE }],
        missed: "What is dearer is the care, and it does not grow with the file: the read lease, the comparison with what is on disk before the names change places and after it (docs/durability.md), one answer with a diff; the floor writes bytes that it already has. Some 40 calls to the system where the floor makes six: two thirds of the time of an edit of 1 KB is the kernel's (perf, clock). From 100 KB on it disappears beside the writing. After other processes have emptied the caches each line of that code is a trip to the memory (decision 128, and the race beside processes). The plan: one open file for the look, the reading and the comparison, in place of three.",
        profile: &["small", "call"],
        apart: "",
    },
    Goal {
        name: "G2",
        title: "a durable edit beside cp, fsync, rename and fsync of the folder",
        text: "At most 1.1 times as long up to 1 MB, 1.2 times from 10 MB to 1 GB.",
        charts: &[
            Drawn { key: "commit", title: "One edit at each durability", across: SIZE },
            Drawn {
                key: "commit-processes",
                title: "The same beside processes and servers, caches cold",
                across: SIZE,
            },
        ],
        missed: "Small files: the same two waits as the floor, and the care of G1 beside them. What can be made ready while the disk writes is: the hash, the entry of the history, what the reply shows. Fewer waits would be the way (G3), not less care.",
        profile: &["small"],
        apart: "",
    },
    Goal {
        name: "G3",
        title: "a durable edit by a log",
        text: "Files up to 1 MB: at most 0.7 times fsync, rename and fsync of the folder.",
        charts: &[],
        missed: "The engine does not promise durability by a log of its own: it syncs the new file and the folder, two waits (docs/durability.md), where the design's probe waited once, for one record in a preallocated log, and left the new file to be replayed from it. It is not done as `power`: after a power cut the file would be empty until somebody starts emend with the same state directory (decision 111, with the plan of a fourth level). Who needs speed takes `process`.",
        profile: &["small"],
        apart: "A loop device with ext4 or XFS (≤ 0.6 times): only the disk of the repository is measured.",
    },
    Goal {
        name: "G4",
        title: "peak memory of an edit",
        text: "At most 8 MB and twice the patch for files above 4 MB, 1.1 times the file below. Measured as what the process of `emend edit` holds more than for a file of 1 KB.",
        charts: &[Drawn { key: "memory", title: "Peak memory of one edit", across: SIZE }],
        missed: "Up to 4 MiB the file is held as a whole, and its text beside it where it is decoded. Above, it is held in chunks of 256 KiB, and the lines around the edit.",
        profile: &[],
        apart: "",
    },
    Goal {
        name: "G5",
        title: "find, prove unique and splice, in memory",
        text: "At most 3 times a copy of the text from 10,000 lines on; at least 10 times faster than `matches().count()` and `replacen` at 1 MB.",
        charts: &[Drawn { key: "exact-memory", title: "One exact edit in memory", across: SIZE }],
        missed: "Where it is the tenfold that is missed: the search is memmem with proof, as fast as the memory gives the bytes; the needle begins with blanks and common words, on which the prefilter stops often. Choosing the rarest stretch of the old text to look for, as many needles do, is the plan.",
        profile: &["exact"],
        apart: "",
    },
    Goal {
        name: "G6",
        title: "many edits in one call",
        text: "Each edit more costs at most 3 µs; 100 edits on 1 MB at least 10 times faster than aho-corasick and 100 times than one after another; on texts made to be slow at most twice the better of aho-corasick and one search for each.",
        charts: &[
            Drawn { key: "many-1024", title: "Many edits in one call, 1 MB", across: EDITS },
            Drawn { key: "many-10240", title: "Many edits in one call, 10 MB", across: EDITS },
        ],
        missed: "One edit is found so quickly that a goal of 3 µs for each more counts the fixed cost of the pass against the tenth edit: how many places are looked at is told by the shortest of the old texts. What an edit costs beside the pass are the pieces that are kept of it, the comparison of its lines and its part of the reply.",
        profile: &["needles"],
        apart: "",
    },
    Goal {
        name: "G7",
        title: "diffs",
        text: "A known edit: at most 1 µs and twice the counting of the lines above, at least 20 times faster than similar and imara-diff from 10,000 lines on. A whole-file write with a small change: at most a fifth of similar. No comparison ever above 0.1 s.",
        charts: &[
            Drawn { key: "diff-known", title: "Unified diff of a known edit", across: LINES },
            Drawn { key: "diff-write", title: "What a whole-file write changed", across: LINES },
        ],
        missed: "The diff of a known edit counts the lines above it twice where it begins with no index: once for the number of the hunk, once for the context.",
        profile: &["diff"],
        apart: "",
    },
    Goal {
        name: "G8",
        title: "a block that is not there as it was said",
        text: "From 10,000 lines on: the vote and the check at most as long as the building of a line index (measured together with ours being built: twice); the proven answer at most 10 ns for each byte of the file; at least 4 times faster than rapidfuzz over windows and 5,000 times than difflib.",
        charts: &[
            Drawn { key: "fuzzy-a context line has a typo", title: "A context line has a typo", across: LINES },
            Drawn { key: "fuzzy-indentation shifted", title: "Indentation shifted", across: LINES },
            Drawn {
                key: "fuzzy-absent, the line to change is another",
                title: "Not there: the line to change is another",
                across: LINES,
            },
        ],
        missed: "Where it is missed: lines are looked up by a word, one pass over the text for each line of the block that is asked for (decision 108). The step by which the file is indented, which takes a look at all of its lines, is told only where depths have to be mapped.",
        profile: &["cascade", "drift", "failure"],
        apart: "Sassy: it is built for AVX2 or AVX-512 alone.",
    },
    Goal {
        name: "G9",
        title: "one replacement in 10,000 files",
        text: "Without a sync at most 1.2 times two threads that write aside and exchange the names; durable at most 1.3 times that and a quarter of a sync of each file.",
        charts: &[],
        missed: "The loop has its list of files and overwrites blindly. Ours walks the folders and reads what is ignored, compares each file under a read lease before and after the exchange, keeps mode, owner and attributes, and writes what can be undone into the history: one question and one entry for all files of a call. Guard, syntax checks and exchanges are made by several threads, and what was displaced is freed after the answer. The plan: each file is opened and compared once under its lease, in place of once before the first name changes and once right before its own does. Profile of 10,000 files (perf, clock): 130 µs of processor time for a file, 100 of them the kernel's, for some 54 calls where the loop makes nine. A disk with ext4 and no journal, as here, takes no inode that was freed in the last minute, and looks at all of them for each new file (`recently_deleted`): after some rounds that is two thirds of all time. On ext4 with a journal (an image of 12 GB, mounted, the same run): 2.3 times the loop without a sync, and 3.4 times faster than a sync of each where it is durable.",
        profile: &[],
        apart: "",
    },
    Goal {
        name: "G10",
        title: "MCP calls",
        text: "A call that does nothing at most twice a loop that sends lines back, and at least 8 times faster than the filesystem server. An edit at most 1.3 times a write and rename from 10,000 lines on, 1.6 times at 100 lines; at least 4, 10, 25 and 40 times faster than the filesystem server at 100, 10,000, 100,000 and 1,000,000 lines.",
        charts: &[Drawn { key: "mcp", title: "One edit by an MCP server that stays", across: LINES }],
        missed: "The peer answers a call that does nothing as quickly as its runtime reads a line, so eight times faster than that is not there to be had: ours is as quick as the loop that only sends lines back. An edit through the server costs the care of G1, its history of what was seen, and the parse of the call by the library of the protocol.",
        profile: &["small", "call"],
        apart: "",
    },
    Goal {
        name: "G11",
        title: "the command line",
        text: "One edit at most 1.5 times the least static process; at least 3, 4, 6 and 8 times faster than Codex' apply_patch at 100, 10,000, 100,000 and 1,000,000 lines, and 8 times than the command of the crate hashline from 10,000 on. A start at most 1.5 times a static process that ends at once.",
        charts: &[
            Drawn { key: "startup", title: "One edit by a process", across: LINES },
            Drawn { key: "processes", title: "One hunk by a process", across: LINES },
        ],
        missed: "A start maps the pages of a program with fourteen grammars, reads the configuration and parses its arguments with help: some tenths of a millisecond beside a program that does nothing. It is most of an edit of a small file, and so of the distance to the others. What only `--help` needs is out of the way, and what runs once is built small; of some 155 page faults of a small edit 94 are pieces of code, spread over the program. An order of functions for the linker halves them only in the build that it was taken from (decision 122). The plan: a release made in two builds, the second with the order that the first one shows. Profile: 470 thousand instructions behind `main` (it was 700 until the options of every command were no longer handed down), of which the arguments are 360; the rest of a millisecond are page faults, the kernel's work for the edit (G1) and the end of a process with so many pages.",
        profile: &[],
        apart: "",
    },
    Goal {
        name: "G12",
        title: "formats in memory",
        text: "From 10,000 lines on: apply_patch, a hunk, hashline and a block at most 4 times a copy of the text; at least 30 times faster than codex-apply-patch in memory, 20 times than diffy, mpatch and the crate hashline.",
        charts: &[
            Drawn { key: "patches", title: "One hunk in memory", across: LINES },
            Drawn {
                key: "hashline-ts",
                title: "One line by number, beside @oh-my-pi/hashline (TypeScript)",
                across: LINES,
            },
        ],
        missed: "Ours is everything from two texts to the third: the patch is parsed, the file read as text, the place found and proved, the new text built and compared; the goal counts a copy that stays in the cache. A hunk pays a search of the whole file for other places; diffy and the others look near the number of the line and take the first. The proof stays.",
        profile: &["unified_diff", "apply_patch", "hashline"],
        apart: "",
    },
    Goal {
        name: "G13",
        title: "history on the critical path",
        text: "At most a tenth of a write and rename of a small file, 10 µs, the same for every size of file.",
        charts: &[],
        missed: "What is remembered is more than a span record: both sides of every file, what the session knows of it, and the spool that takes it before the database does. It does not grow with the file.",
        profile: &["small"],
        apart: "",
    },
    Goal {
        name: "G14",
        title: "file systems that share extents",
        text: "On XFS, a file of 100 MB or more: an edit at 90 % at most a quarter, at 99.9 % at most a twentieth of writing it all.",
        charts: &[],
        missed: "The file is read once to find the text and to prove it unique, which on files in memory takes longer than writing them: the floor never reads. What is shared saves the disk and not this time. An edit of a known place, by line or by a region, need not read before it; that is the plan. Profile (perf, clock): the largest share is the kernel's copy of the bytes to us, then the search and the hash that names the version.",
        profile: &[],
        apart: "Btrfs: it shares extents by the same call.",
    },
    Goal {
        name: "G15",
        title: "the server at rest",
        text: "It answers within 3 ms from its start and holds at most 10 MB; a tenth of the filesystem server in both.",
        charts: &[],
        missed: "The pages of the program that a start touches are most of it (G11). Profile: of 8 MB nearly all are pages of the program and the C library; a tenth of what Node holds is 7. The plan is that of G11.",
        profile: &[],
        apart: "",
    },
];
