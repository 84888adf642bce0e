//! Sources of samples, and how raw samples become windows.
