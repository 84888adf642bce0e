//! Options of the commands that print what is generated.

use clap::{Args, ValueEnum};

/// `schema`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  allclear schema drill > schema/drill.json\n\nEditors use it with this first line in a file:\n  # yaml-language-server: $schema=schema/drill.json"
)]
pub struct Schema {
    /// Which file
    #[arg(value_name = "drill|dashboard|config", hide_possible_values = true)]
    pub file: SchemaFile,
}

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaFile {
    /// A drill
    Drill,
    /// A dashboard
    Dashboard,
    /// allclear.yaml
    Config,
}

/// `completions`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear completions bash | sudo tee /etc/bash_completion.d/allclear\n  allclear completions fish > ~/.config/fish/completions/allclear.fish"
)]
pub struct Completions {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}
