//! The policy that `examples/own_policy.rs` brings gives the same table everywhere.

#[path = "../examples/own_policy.rs"]
mod own_policy;

#[test]
fn the_example_prints_this() {
    let expected = "";
    assert_eq!(own_policy::table().unwrap_or_else(|e| panic!("{e}")), expected);
}
