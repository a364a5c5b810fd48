//! The data of a scene: initial files, steps and expected results.

use crate::block::Block;
use crate::style::Style;
use crate::system;
use serde_json::Value;
use std::ops::Range;

/// One scene file.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The first line of the file, without `# `.
    pub title: String,
    /// Drivers that cannot play the scene.
    pub skips: Vec<Skip>,
    /// What the system must have.
    pub needs: Vec<Need>,
    /// The steps in order.
    pub steps: Vec<Step>,
}

/// Something that not every system has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Modes, links, names as on Unix, and the programs of POSIX.
    Unix,
    /// The name of an open file can be given to another one. Wine cannot do that.
    OpenFilesReplaced,
}

impl Need {
    /// Parses the name of a need.
    pub fn parse(name: &str) -> Option<Need> {
        match name {
            "unix" => Some(Need::Unix),
            "open-files-replaced" => Some(Need::OpenFilesReplaced),
            _ => None,
        }
    }
}

impl Scene {
    /// True if this system has what the scene needs.
    pub fn is_for_this_system(&self) -> bool {
        let has = |need: &Need| match need {
            Need::Unix => system::IS_UNIX,
            Need::OpenFilesReplaced => std::env::var_os(system::UNDER_WINE).is_none(),
        };
        self.needs.iter().all(has) && (system::IS_UNIX || !self.has_unix_files())
    }

    /// True if the scene has modes, links or pipes.
    fn has_unix_files(&self) -> bool {
        let has_mode = |thing: &Thing| match thing {
            Thing::File(_, style) => style.mode.is_some(),
            Thing::Link(_) | Thing::Fifo => true,
            Thing::Folder | Thing::HardLink(_) => false,
        };
        let needs = |act: &Act| match act {
            Act::Make(_, thing) | Act::After(_, Some(thing)) => has_mode(thing),
            Act::Chmod(..) => true,
            _ => false,
        };
        self.steps.iter().any(|step| needs(&step.act))
    }
}

/// A driver that cannot play a scene, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The name of the driver.
    pub driver: String,
    /// The reason why the driver cannot play the scene.
    pub reason: String,
}

/// One step and its line.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// 1-based line of the step.
    pub line: usize,
    /// The action.
    pub act: Act,
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Another program creates something: setup before the first call, a change from outside after it.
    Make(String, Thing),
    /// Another program appends bytes.
    Append(String, Vec<u8>),
    /// Another program removes a file, a link, or a directory with everything in it.
    Delete(String),
    /// Another program changes the mode of an entry.
    Chmod(String, u32),
    /// Another program sets the modification time to an hour from now.
    Touch(String),
    /// A call to the engine.
    Call(Call),
    /// Checks that this thing, or nothing, is now at a path.
    After(String, Option<Thing>),
    /// Checks a file of JSON lines after the process has ended: each line must have at least these fields.
    Events(String, Vec<Value>),
}

/// A file system entry in a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A regular file with these bytes and options.
    File(Vec<u8>, Style),
    /// A directory.
    Folder,
    /// A symbolic link to this target.
    Link(String),
    /// Another name of this file.
    HardLink(String),
    /// A FIFO.
    Fifo,
}

/// A call and the reply it must have.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// The tool's input.
    pub input: Input,
    /// The expected reply; `None` in a scene that has not been blessed yet.
    pub expect: Option<Expect>,
    /// Zero-based source lines of the reply, which blessing replaces.
    pub lines: Range<usize>,
}

/// The input of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// JSON, before `$ROOT` and the like are filled in.
    Json(Value),
    /// Text that need not be JSON.
    Raw(String),
}

/// An expected reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// `None` for `ok`, else the code and its number in the table of the seed documents.
    pub error: Option<(String, Option<u64>)>,
    /// The text for the model.
    pub text: Block,
    /// Fields that the reply's data must contain.
    pub data: Option<Value>,
}
