//! The models that the policies are compared with: slow, plain, written from the rules and from
//! nothing else.

pub(crate) mod classic;
pub(crate) mod mglru;
