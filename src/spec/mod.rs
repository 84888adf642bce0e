//! Files a user writes, read into the model, with diagnostics.
