//! Options of the processes that allclear itself starts.

use std::path::PathBuf;

use clap::Args;

/// `keeper`
#[derive(Debug, Args)]
pub struct Keeper {
    /// The run's directory
    #[arg(long)]
    pub run_dir: PathBuf,
    /// Take the run over and put everything back
    #[arg(long)]
    pub recover: bool,
}

/// `deadman`
#[derive(Debug, Args)]
pub struct Deadman {
    /// The run's directory
    #[arg(long)]
    pub run_dir: PathBuf,
    /// The process that is watched: the keeper that started this one
    #[arg(long)]
    pub keeper: u32,
}
