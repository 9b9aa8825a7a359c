//! The policy that `examples/own_policy.rs` brings gives the same table everywhere.

#[path = "../examples/own_policy.rs"]
mod own_policy;

#[test]
fn the_example_prints_this() {
    let expected = "\
policy         swap-ins  swap-outs  simulated s
classic-v6.12     75966      93506        0.941
sieve             70234      88552        0.858
";
    assert_eq!(own_policy::table().unwrap_or_else(|e| panic!("{e}")), expected);
}
