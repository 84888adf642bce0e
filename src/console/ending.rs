//! The words for the end of a run.

use crate::{model::text::Lang, view::Ending};

/// `ALL CLEAR`, or what stands against it.
pub(crate) fn ending_words(ending: Ending, may_remain: usize, lang: Lang) -> String {
    match ending {
        Ending::AllClear => lang.pick("ALL CLEAR", "全部恢复").to_owned(),
        Ending::Refused => lang
            .pick("REFUSED, nothing was touched", "被拒绝, 未触碰任何东西")
            .to_owned(),
        Ending::Leftover => format!(
            "{}: {may_remain}",
            lang.pick("LEFTOVER, may remain", "有残留, 项数")
        ),
        Ending::Unknown => lang
            .pick(
                "UNKNOWN: not everything could be read back",
                "未知: 有项目未能回读",
            )
            .to_owned(),
        Ending::Contradicted { live } => {
            let words = lang.pick(
                "NOT CLEAR, faults not read back as gone",
                "未清, 未回读确认的故障",
            );
            format!("{words}: {live}")
        }
    }
}
