//! Choosers of groups: the rules by which the classic LRU asks, and the choosers in Rust beside twins
//! that share no code with them.

mod random;
mod rig;
mod rules;
mod twins;
