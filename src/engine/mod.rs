//! Runs a drill: carries out the effects that the machine asks for.

pub mod recovery;
