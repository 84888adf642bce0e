//! Options of `range`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::range::Weakness;

/// `range`
#[derive(Debug, Args)]
pub struct Range {
    /// What to do with it.
    #[command(subcommand)]
    pub action: RangeAction,
}

/// What to do with the range.
#[derive(Debug, Subcommand)]
pub enum RangeAction {
    /// Start it; it runs until Ctrl-C
    Up(RangeUp),
    /// Say how it is
    Status(RangeStatus),
}

/// `range up`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  allclear range up\n  allclear range up --weakness no-coupon-fallback\n  allclear range up --free-ports --json\n\nWeaknesses: no-coupon-fallback, breaker-stays-open, flags-stay, retry-storm,\n  cart-enrich, negative-stock-accepted, flow-control-connects, header-lost,\n  slow-drain\n\nThe environment `range` is built in and looks at the fixed ports:\n  allclear run coupon-slow --env range"
)]
pub struct RangeUp {
    /// Make the shop weak
    #[arg(long, value_name = "NAME")]
    pub weakness: Vec<Weakness>,
    /// Where a real Redis is, for the degrade flags
    #[arg(long, value_name = "URL")]
    pub redis: Option<String>,
    /// The first port of the fixed layout
    #[arg(long, default_value_t = crate::range::BASE_PORT, conflicts_with = "free_ports")]
    pub port: u16,
    /// Free ports, chosen by the system and printed
    #[arg(long)]
    pub free_ports: bool,
    /// Print the endpoints as JSON, on one line, when it is ready
    #[arg(long)]
    pub json: bool,
    /// End when standard input ends and this run is over
    #[arg(long, hide = true, value_name = "DIR")]
    pub while_run_in: Option<PathBuf>,
}

/// `range status`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  allclear range status --json | jq .rules")]
pub struct RangeStatus {
    /// The first port of the fixed layout
    #[arg(long, default_value_t = crate::range::BASE_PORT)]
    pub port: u16,
    /// A JSON object
    #[arg(long)]
    pub json: bool,
}
