//! What can be typed on the command line. Types and help texts only; meaning is given in `app`.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A pair programmer in your terminal. The model runs in this process; nothing leaves the machine.
#[derive(Debug, Parser)]
#[command(name = "tessera", version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// Shared by all front ends.
    #[command(flatten)]
    pub common: Common,
    /// What to do instead of opening the terminal interface.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// A first message.
    pub prompt: Option<String>,
}

/// Options that mean the same everywhere.
#[derive(Clone, Debug, Default, Args)]
pub struct Common {
    /// GGUF file of the model (architectures: qwen35, qwen3, qwen2, llama)
    #[arg(short, long, value_name = "FILE", env = "TESSERA_MODEL")]
    pub model: Option<PathBuf>,
    /// Folder to work in; its repository is the workspace
    #[arg(short = 'C', long, value_name = "DIR")]
    pub cd: Option<PathBuf>,
    /// How much may happen without asking
    #[arg(short, long, value_enum)]
    pub policy: Option<PolicyArg>,
    /// How hard the model thinks
    #[arg(short, long, value_enum)]
    pub effort: Option<EffortArg>,
    /// Colours: dark, light, ansi, or a file of your own
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// System prompt and tool set: default, demo, or your own
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Any setting, as in config.toml: -c limits.steps=20
    #[arg(short = 'c', long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Play a script of model answers instead of loading weights (for tests and interface work)
    #[arg(long, value_name = "FILE", hide = true)]
    pub script: Option<PathBuf>,
}

/// See [`crate::protocol::Policy`].
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum PolicyArg {
    /// Look only
    Plan,
    /// Review every hunk, ask for every command
    Review,
    /// Write edits at once, ask for commands
    AutoEdit,
    /// Ask nothing
    Auto,
}

/// See [`crate::protocol::Effort`].
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum EffortArg {
    /// No thinking
    Off,
    /// Short
    Low,
    /// As trained
    Medium,
    /// Long; advised
    Xhigh,
}

/// Everything but the terminal interface.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one prompt without the interface; the answer goes to standard output
    Exec(Exec),
    /// Go on with an earlier conversation of this folder
    Resume(Resume),
    /// List the conversations of this folder
    Sessions(Common),
    /// Play the main job on the bundled model and a fresh copy of a sample repository
    Demo(Demo),
    /// Look inside: tokens, templates, logits, parsers (JSON in and out)
    Debug(Debug),
}

/// `tessera exec`
#[derive(Debug, Args)]
pub struct Exec {
    /// Shared by all front ends.
    #[command(flatten)]
    pub common: Common,
    /// One JSON event a line instead of text
    #[arg(long)]
    pub json: bool,
    /// The request; `-` or nothing reads standard input
    pub prompt: Option<String>,
}

/// `tessera resume`
#[derive(Debug, Args)]
pub struct Resume {
    /// Shared by all front ends.
    #[command(flatten)]
    pub common: Common,
    /// Which one (`tessera sessions` lists them); the latest when left out
    pub session: Option<String>,
}

/// `tessera demo`
#[derive(Debug, Args)]
pub struct Demo {
    /// Shared by all front ends.
    #[command(flatten)]
    pub common: Common,
    /// Run without the interface, accepting every edit
    #[arg(long)]
    pub headless: bool,
    /// Write the bundled model and the sample repository into this folder and stop
    #[arg(long, value_name = "DIR")]
    pub export: Option<PathBuf>,
}

/// `tessera debug`
#[derive(Debug, Args)]
pub struct Debug {
    /// What to look at.
    #[command(subcommand)]
    pub what: DebugCommand,
}

/// Views of the engine and of the pure parsers; documented in `docs/debug.md`.
#[derive(Debug, Subcommand)]
pub enum DebugCommand {
    /// Text on standard input to token ids, or ids to text
    Tokens {
        /// GGUF file
        model: PathBuf,
        /// Standard input holds a JSON array of ids
        #[arg(long)]
        decode: bool,
        /// Names of special tokens in the text become their ids
        #[arg(long)]
        special: bool,
    },
    /// {messages, tools, kwargs} on standard input to prompt text and ids
    Template {
        /// GGUF file
        model: PathBuf,
    },
    /// Logits of given token ids
    Logits {
        /// GGUF file
        model: PathBuf,
        /// Token ids
        #[arg(long, value_delimiter = ',', required = true)]
        ids: Vec<u32>,
        /// Every position instead of the last
        #[arg(long)]
        all: bool,
        /// Write a float32 .npy file of shape [positions, vocabulary]
        #[arg(long, value_name = "F.npy")]
        out: Option<PathBuf>,
        /// Compute the prompt in pieces of this many tokens
        #[arg(long, value_name = "N")]
        chunk: Option<usize>,
        /// Use the token-by-token recurrence instead of the chunked one
        #[arg(long)]
        recurrent: bool,
        /// Let kernels round activations to 8 bits, as in normal use
        #[arg(long)]
        fast: bool,
    },
    /// The likeliest continuation of given token ids
    Greedy {
        /// GGUF file
        model: PathBuf,
        /// Token ids
        #[arg(long, value_delimiter = ',', required = true)]
        ids: Vec<u32>,
        /// How many tokens
        #[arg(short, default_value_t = 24)]
        n: usize,
        /// Let kernels round activations to 8 bits, as in normal use
        #[arg(long)]
        fast: bool,
    },
    /// Lines of toolcalls.jsonl on standard input to what the parser makes of them
    Parse {
        /// Tool sets; by default tools.json of the case folder
        #[arg(long, value_name = "FILE")]
        tools: Option<PathBuf>,
    },
    /// Lines of edits.jsonl on standard input to what the edit engine makes of them
    Edit,
}
