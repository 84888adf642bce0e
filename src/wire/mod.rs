//! The protocol between a console and a keeper.
