//! Tests of policies in WebAssembly.

mod cheats;
mod direct;
mod driver;
mod equal;
mod hostile;
mod idioms;
mod loader;
mod rules;
mod shipped;
mod twins;
