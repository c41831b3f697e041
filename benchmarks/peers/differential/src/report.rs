//! What was measured, as one line of JSON.

use crate::clock::Seconds;

/// Name, count and checksum of a relation.
pub type Total = (&'static str, i64, u64);

pub struct Report {
    pub load: Seconds,
    /// The totals after the load.
    pub loaded: Vec<Total>,
    pub removes: Vec<Seconds>,
    pub adds: Vec<Seconds>,
    /// Removing and adding the batch, if the engine can.
    pub batch: Option<(Seconds, Seconds)>,
}

impl Report {
    pub fn json(&self, task: &str, workers: usize, rows: usize) -> String {
        let named = |value: &dyn Fn(&Total) -> String| {
            let entries: Vec<String> = self
                .loaded
                .iter()
                .map(|entry| format!("\"{}\":{}", entry.0, value(entry)))
                .collect();
            format!("{{{}}}", entries.join(","))
        };
        format!(
            "{{\"task\":\"{task}\",\"workers\":{workers},\"rows\":{rows},\"facts\":{},\
             \"checksums\":{},\"load\":{},\"singles\":{},\"remove\":{},\"add\":{},\
             \"batch_remove\":{},\"batch_add\":{},\"peak_bytes\":{}}}",
            named(&|entry| entry.1.to_string()),
            named(&|entry| entry.2.to_string()),
            self.load,
            self.removes.len(),
            optional(median(&self.removes)),
            optional(median(&self.adds)),
            optional(self.batch.map(|both| both.0)),
            optional(self.batch.map(|both| both.1)),
            peak_bytes(),
        )
    }
}

fn optional(seconds: Option<Seconds>) -> String {
    seconds.map_or_else(|| String::from("null"), |seconds| seconds.to_string())
}

/// The median of each time.
fn median(values: &[Seconds]) -> Option<Seconds> {
    let middle = |part: fn(&Seconds) -> f64| {
        let mut sorted: Vec<f64> = values.iter().map(part).collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    };
    Some(Seconds {
        processor: middle(|seconds| seconds.processor)?,
        wall: middle(|seconds| seconds.wall)?,
    })
}

/// Peak resident memory of this process as Linux tells it, 0 where it does not.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}
