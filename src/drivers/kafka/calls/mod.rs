//! The calls: where the leaders of topics and groups are, what a group has committed, where the logs begin and end, who has which
//! quota.

mod groups;
mod logs;
mod metadata;
mod quotas;
mod versions;

pub(super) use groups::{DescribeGroup, FindCoordinator, ListGroups, OffsetFetch, TopicsOf};
pub(super) use logs::{End, Fetch, ListOffsets};
pub(super) use metadata::Metadata;
pub(super) use quotas::{AlterQuota, DescribeQuotas};
pub(super) use versions::ApiVersions;
