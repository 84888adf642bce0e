//! One file per command; wires everything.
