//! Arguments of `mmsim policy`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Write a crate with a policy of your own, or compile and check one for cache_ext
#[derive(Args, Debug)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub what: PolicyVerb,
}

#[derive(Subcommand, Debug)]
pub(crate) enum PolicyVerb {
    New(PolicyNewArgs),
    Build(PolicyBuildArgs),
    Check(PolicyCheckArgs),
    Headers(PolicyHeadersArgs),
}

/// Compile a policy in C for cache_ext to a module that `mmsim run --policy` takes
///
/// The command of clang is printed. It needs clang 14 or later and its linker, lld.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  mmsim policy build mru.bpf.c
  mmsim policy build mru.bpf.c -o /tmp/mru.wasm --clang clang-19 -- -DSAMPLE=32")]
pub(crate) struct PolicyBuildArgs {
    /// The policy
    #[arg(value_name = "POLICY.bpf.c")]
    pub source: PathBuf,
    /// The module [default: the name of the policy with .wasm, in this folder]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The compiler
    #[arg(long, value_name = "CLANG", default_value = "clang")]
    pub clang: PathBuf,
    /// Further options of clang
    #[arg(last = true, value_name = "OPTION")]
    pub more: Vec<OsString>,
}

/// Print what is in a module: hooks, maps, globals, imports, and programs that nothing calls
#[derive(Args, Debug)]
pub(crate) struct PolicyCheckArgs {
    /// The module
    #[arg(value_name = "POLICY.wasm")]
    pub module: PathBuf,
}

/// Write the headers that policies for cache_ext are compiled with, for editors and Makefiles
#[derive(Args, Debug)]
pub(crate) struct PolicyHeadersArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
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
