//! The calls about topics and groups: where their leaders are, what a group has committed, where the logs begin and end.

mod groups;
mod logs;
mod metadata;
mod versions;

pub(super) use groups::{DescribeGroup, FindCoordinator, ListGroups, OffsetFetch, TopicsOf};
pub(super) use logs::{End, Fetch, ListOffsets};
pub(super) use metadata::Metadata;
pub(super) use versions::ApiVersions;
