//! Counts and checksums of what a dataflow derives, for comparison with other engines.
//!
//! Invariant: a checksum is the sum of `rows::mix` over the present facts, modulo 2^64, so it depends on
//! the set of facts and not on their order.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use differential_dataflow::VecCollection;

use crate::rows::mix;
use crate::tasks::{Diff, Epoch};
use crate::Row;

type Entry = (&'static str, Arc<(AtomicI64, AtomicU64)>);

/// Totals by relation, over all workers.
#[derive(Default)]
pub struct Tally {
    entries: Mutex<Vec<Entry>>,
}

impl Tally {
    /// Adds every change of a collection to the totals of its name, and passes it on.
    pub fn watch<'scope>(
        &self,
        name: &'static str,
        facts: VecCollection<'scope, Epoch, Row, Diff>,
    ) -> VecCollection<'scope, Epoch, Row, Diff> {
        let total = self.entry(name);
        facts.inspect_batch(move |_, batch| {
            let (mut count, mut sum) = (0_i64, 0_u64);
            for (row, _, diff) in batch {
                count += i64::from(*diff);
                sum = sum.wrapping_add(
                    mix(&[row.0, row.1, row.2]).wrapping_mul(i64::from(*diff) as u64),
                );
            }
            total.0.fetch_add(count, Ordering::Relaxed);
            total.1.fetch_add(sum, Ordering::Relaxed);
        })
    }

    /// Name, count and checksum of every relation.
    pub fn totals(&self) -> Vec<(&'static str, i64, u64)> {
        let entries = self.entries.lock().expect("no holder of the lock fails");
        let load = |(name, total): &Entry| {
            (
                *name,
                total.0.load(Ordering::Relaxed),
                total.1.load(Ordering::Relaxed),
            )
        };
        entries.iter().map(load).collect()
    }

    fn entry(&self, name: &'static str) -> Arc<(AtomicI64, AtomicU64)> {
        let mut entries = self.entries.lock().expect("no holder of the lock fails");
        if let Some((_, total)) = entries.iter().find(|(known, _)| *known == name) {
            return Arc::clone(total);
        }
        let total = Arc::new((AtomicI64::new(0), AtomicU64::new(0)));
        entries.push((name, Arc::clone(&total)));
        total
    }
}
