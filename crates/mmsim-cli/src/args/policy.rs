//! Arguments of `mmsim policy`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Write a crate with a policy of your own, with a scenario and tests
#[derive(Args, Debug)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub what: PolicyVerb,
}

#[derive(Subcommand, Debug)]
pub(crate) enum PolicyVerb {
    New(PolicyNewArgs),
}

/// Write a crate with a small policy, a scenario that compares it, and tests
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim policy new my-lru --path ~/mmsim
  mmsim policy new my-lru --git https://github.com/mmsim/mmsim

Then:
  cd my-lru && cargo run --release
  cargo test --release")]
pub(crate) struct PolicyNewArgs {
    /// The name of the crate, of its folder here, and of the policy in scenarios
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Depend on the copy of mmsim's repository in DIR [default: the published version of this program]
    #[arg(long, value_name = "DIR", conflicts_with = "git")]
    pub path: Option<PathBuf>,
    /// Depend on mmsim's repository at URL
    #[arg(long, value_name = "URL")]
    pub git: Option<String>,
    /// With --git: a commit, a tag or a branch
    #[arg(long, value_name = "REV", requires = "git")]
    pub rev: Option<String>,
}
