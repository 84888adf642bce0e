//! The shared words: ids, units, time, events, samples, verdicts, and their display texts.
