//! A scene: what is there, what happens, what must be there afterwards.

use crate::block::Block;
use crate::style::Style;
use serde_json::Value;
use std::ops::Range;

/// One scene file.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The first line, without `# `.
    pub title: String,
    /// Drivers that cannot play it, each with the reason.
    pub skips: Vec<Skip>,
    /// In order.
    pub steps: Vec<Step>,
}

/// A driver that cannot play a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The name of the driver.
    pub driver: String,
    /// Why.
    pub reason: String,
}

/// One step and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// 1-based line.
    pub line: usize,
    /// What is done.
    pub act: Act,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Somebody other than the engine makes something: before the first call it is the setting, later a change from outside.
    Make(String, Thing),
    /// Somebody other than the engine adds bytes to the end.
    Append(String, Vec<u8>),
    /// … removes a file, a link, or a folder with everything in it.
    Delete(String),
    /// … changes the mode.
    Chmod(String, u32),
    /// … sets the time of modification to an hour from now.
    Touch(String),
    /// A call of the engine.
    Call(Call),
    /// What is there now: the thing, or nothing.
    After(String, Option<Thing>),
    /// The lines of JSON in a file when the process has ended: fields that each has among others.
    Events(String, Vec<Value>),
}

/// Something with a name on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A regular file.
    File(Vec<u8>, Style),
    /// A folder.
    Folder,
    /// A symbolic link to that target.
    Link(String),
    /// Another name of that file.
    HardLink(String),
    /// A FIFO.
    Fifo,
}

/// A call and the reply it must have.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// What it is given.
    pub input: Input,
    /// The reply; `None` in a scene that has not been blessed yet.
    pub expect: Option<Expect>,
    /// Source lines of the reply, zero-based: what blessing replaces.
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

/// A reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// `None` for `ok`, else the code and its number in the seed's table.
    pub error: Option<(String, Option<u64>)>,
    /// What a model reads.
    pub text: Block,
    /// Fields that the reply's data has among others.
    pub data: Option<Value>,
}
