//! The statistics that decide a row of the sheet. Pure.
