//! One fold from events to what is shown.
