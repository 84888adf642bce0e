//! Evidence: bundles, HTML, JUnit.
