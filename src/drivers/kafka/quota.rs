//! The client quotas that hold a group and let it go, and how long a change of one may still land.

use std::time::Duration;

use super::{
    DriverError, KafkaCluster,
    answer::check,
    calls::{AlterQuota, DescribeQuotas},
};
use crate::model::quota::Payer;

impl KafkaCluster {
    /// A payer's byte rate. `None`: it has no quota of its own.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn quota(&self, payer: &Payer) -> Result<Option<f64>, DriverError> {
        let answer = self.ask_any(&DescribeQuotas::Of(payer)).await?;
        let what = format!("{}: quota of {payer}", self.what);
        check(answer.error, answer.message.as_deref(), &what)?;
        Ok(answer
            .entries
            .iter()
            .filter(|e| e.is_of(payer))
            .find_map(|e| e.byte_rate()))
    }

    /// Byte rates of users, with or without a client id: they stand above those of a client id alone.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn user_quotas(&self) -> Result<usize, DriverError> {
        let answer = self.ask_any(&DescribeQuotas::Any(&["user"])).await?;
        check(
            answer.error,
            answer.message.as_deref(),
            &format!("{}: quotas of users", self.what),
        )?;
        Ok(answer.entries.iter().filter(|e| e.byte_rate().is_some()).count())
    }

    /// Sets a payer's byte rate, or removes it. Nothing else of the payer is touched. Removing what is not there is well.
    ///
    /// # Errors
    /// [`DriverError`].
    pub async fn set_quota(&self, payer: &Payer, to: Option<f64>) -> Result<(), DriverError> {
        self.alter(payer, to, false).await
    }

    /// Proves the right to change quotas, changing none.
    ///
    /// # Errors
    /// [`DriverError::Unauthorized`] without it.
    pub async fn may_set_quota(&self, payer: &Payer) -> Result<(), DriverError> {
        self.alter(payer, Some(1e6), true).await
    }

    /// For how long a change that nobody answered may still take effect. `None`: what is read now stays so.
    pub fn may_land_for(&self) -> Option<Duration> {
        self.unanswered.may_land_for(&self.name)
    }

    /// Waits until no such change can take effect any more: a minute at most after the last.
    pub async fn landed(&self) {
        self.unanswered.landed(&self.name).await;
    }

    async fn alter(&self, payer: &Payer, to: Option<f64>, dry: bool) -> Result<(), DriverError> {
        let what = format!("{}: quota of {payer}", self.what);
        let altering = async {
            let (code, said) = self.ask_any(&AlterQuota { payer, to, dry }).await?;
            check(code, said.as_deref(), &what)
        };
        match dry {
            true => altering.await,
            false => self.unanswered.sent(&self.name, altering).await,
        }
    }
}
