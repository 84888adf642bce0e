//! Client quotas: who pays, what they may, and how that is asked and set.

use crate::drivers::kafka::wire::{Call, Reader, Torn, Writer};
use crate::model::quota::Payer;

/// The quota that this driver reads and changes. No other value of a payer is ever touched.
const BYTE_RATE: &str = "consumer_byte_rate";

const EXACT: i8 = 0;
const ANY: i8 = 2;

/// The quotas of one payer, or of everybody.
pub(in crate::drivers::kafka) enum DescribeQuotas<'a> {
    /// Exactly this payer.
    Of(&'a Payer),
    /// Every payer that has one of these kinds.
    Any(&'static [&'static str]),
}

pub(in crate::drivers::kafka) struct QuotasAnswer {
    pub(in crate::drivers::kafka) error: i16,
    pub(in crate::drivers::kafka) message: Option<String>,
    pub(in crate::drivers::kafka) entries: Vec<QuotaEntry>,
}

/// One payer's quotas.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::drivers::kafka) struct QuotaEntry {
    /// By kind (`user`, `client-id`, `ip`) its name; `None` is everyone who has no quota of their own.
    pub(in crate::drivers::kafka) entity: Vec<(String, Option<String>)>,
    pub(in crate::drivers::kafka) values: Vec<(String, f64)>,
}

impl QuotaEntry {
    pub(in crate::drivers::kafka) fn byte_rate(&self) -> Option<f64> {
        self.values
            .iter()
            .find(|(key, _)| key == BYTE_RATE)
            .map(|(_, value)| *value)
    }

    /// Whether it is of this payer and no other.
    pub(in crate::drivers::kafka) fn is_of(&self, payer: &Payer) -> bool {
        let kinds = kinds(payer);
        self.entity.len() == kinds.len()
            && kinds.iter().all(|(kind, name)| {
                self.entity
                    .iter()
                    .any(|(k, n)| k == kind && n.as_deref() == Some(*name))
            })
    }
}

fn kinds(payer: &Payer) -> Vec<(&'static str, &str)> {
    let user = payer.user.iter().map(|user| ("user", user.as_str()));
    user.chain([("client-id", payer.client.as_str())]).collect()
}

impl Call for DescribeQuotas<'_> {
    const KEY: i16 = 48;
    const VERSION: i16 = 0;
    const NAME: &'static str = "DescribeClientQuotas";
    type Answer = QuotasAnswer;

    fn write(&self, to: &mut Writer) {
        match self {
            DescribeQuotas::Of(payer) => to.all(kinds(payer).into_iter(), |w, (kind, name)| {
                w.text(kind);
                w.i8(EXACT);
                w.text(name);
            }),
            DescribeQuotas::Any(kinds) => to.all(kinds.iter(), |w, kind| {
                w.text(kind);
                w.i8(ANY);
                w.text_or_null(None);
            }),
        }
        // Strict for one payer: an entry with one kind more is somebody else's.
        to.flag(matches!(self, DescribeQuotas::Of(_)));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self::Answer, Torn> {
        from.i32()?;
        let (error, message) = (from.i16()?, from.text_or_null()?);
        let entries = from.all(|r| {
            let entity = r.all(|r| Ok((r.text()?, r.text_or_null()?)))?;
            let values = r.all(|r| Ok((r.text()?, r.f64()?)))?;
            Ok(QuotaEntry { entity, values })
        })?;
        Ok(QuotasAnswer {
            error,
            message,
            entries,
        })
    }
}

/// Sets or removes one payer's byte rate.
pub(in crate::drivers::kafka) struct AlterQuota<'a> {
    pub(in crate::drivers::kafka) payer: &'a Payer,
    pub(in crate::drivers::kafka) to: Option<f64>,
    /// Only whether it would be done.
    pub(in crate::drivers::kafka) dry: bool,
}

impl Call for AlterQuota<'_> {
    const KEY: i16 = 49;
    const VERSION: i16 = 0;
    const NAME: &'static str = "AlterClientQuotas";
    /// The error and what it says.
    type Answer = (i16, Option<String>);

    fn write(&self, to: &mut Writer) {
        to.all([self.payer].into_iter(), |w, payer| {
            w.all(kinds(payer).into_iter(), |w, (kind, name)| {
                w.text(kind);
                w.text(name);
            });
            w.all([self.to].into_iter(), |w, rate| {
                w.text(BYTE_RATE);
                w.f64(rate.unwrap_or(0.0));
                w.flag(rate.is_none());
            });
        });
        to.flag(self.dry);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self::Answer, Torn> {
        from.i32()?;
        let entries = from.all(|r| {
            let outcome = (r.i16()?, r.text_or_null()?);
            r.all(|r| Ok((r.text()?, r.text_or_null()?)))?;
            Ok(outcome)
        })?;
        entries.into_iter().next().ok_or(Torn("the payer is missing"))
    }
}
