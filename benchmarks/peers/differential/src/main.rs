//! Differential dataflow as a peer of the kernel: one task, its load and its updates, timed.
//!
//! ```text
//! differential TASK WORKERS ROWS SINGLES BATCH [NUMBER...]
//! ```
//!
//! `TASK` is a name of `tasks::build`, and the numbers are its parameters. `ROWS`, `SINGLES` and
//! `BATCH` are files of rows, read by `rows::read`. The rows of `ROWS` are loaded in one epoch; each
//! row of `SINGLES` is removed and added back, in epochs of their own; then all of `BATCH` is, in
//! one epoch each way. Invariant: the state after the run is the state after the load, and the
//! process fails if its tallies say otherwise.
//!
//! One line of JSON goes to standard output. Seconds are wall-clock time of worker 0, from the
//! first row given to the dataflow until every worker has worked off the epoch.

mod rows;
mod tally;
mod tasks;

use std::time::Instant;

use differential_dataflow::input::{Input, InputSession};
use timely::dataflow::operators::probe::Handle;
use timely::worker::Worker;
use timely::Config;

use rows::Row;
use tally::Tally;
use tasks::{Diff, Epoch};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What was measured. Times are in seconds.
struct Report {
    load: f64,
    loaded: Vec<(&'static str, i64, u64)>,
    removes: Vec<f64>,
    adds: Vec<f64>,
    batch_remove: f64,
    batch_add: f64,
    /// Facts that the batch takes away, over all relations: less facts than before.
    batch_changed: i64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [task, workers, files @ ..] = arguments.as_slice() else {
        fail("Usage: differential TASK WORKERS ROWS SINGLES BATCH [NUMBER...]");
    };
    let [loaded, singles, batch, numbers @ ..] = files else {
        fail("Usage: differential TASK WORKERS ROWS SINGLES BATCH [NUMBER...]");
    };
    let workers: usize = workers
        .parse()
        .unwrap_or_else(|_| fail("WORKERS is not a number."));
    let numbers: Vec<i32> = numbers
        .iter()
        .map(|text| {
            text.parse()
                .unwrap_or_else(|_| fail("A parameter is not a number."))
        })
        .collect();
    let Some((arity, parameters)) = tasks::shape(task) else {
        fail(&format!("There is no task '{task}'."));
    };
    if numbers.len() != parameters {
        fail(&format!(
            "'{task}' takes {parameters} numbers, not {}.",
            numbers.len()
        ));
    }
    let read = |path: &String| rows::read(path, arity).unwrap_or_else(|reason| fail(&reason));
    let (loaded, singles, batch) = (read(loaded), read(singles), read(batch));

    let name = task.clone();
    let count = loaded.len();
    let config = if workers == 1 {
        Config::thread()
    } else {
        Config::process(workers)
    };
    let tally = Tally::default();
    let guards = timely::execute(config, move |worker| {
        run(worker, &name, &numbers, &loaded, &singles, &batch, &tally)
    });
    let results = guards.unwrap_or_else(|reason| fail(&reason)).join();
    let reports: Vec<Report> = results
        .into_iter()
        .map(|result| result.expect("a worker failed"))
        .collect();
    println!("{}", json(task, workers, count, &reports[0]));
}

/// The run of one worker. All workers share the tally.
fn run(
    worker: &mut Worker,
    task: &str,
    numbers: &[i32],
    loaded: &[Row],
    singles: &[Row],
    batch: &[Row],
    tally: &Tally,
) -> Report {
    let probe = Handle::new();
    let mut input = worker.dataflow::<Epoch, _, _>(|scope| {
        let (input, collection) = scope.new_collection::<Row, Diff>();
        for (name, facts) in tasks::build(task, collection, numbers) {
            tally.watch(name, facts).probe_with(&probe);
        }
        input
    });
    let (index, peers) = (worker.index(), worker.peers());
    let mut epoch = |worker: &mut Worker, rows: &mut dyn Iterator<Item = Row>, diff: Diff| {
        let started = Instant::now();
        give(&mut input, rows, diff);
        worker.step_while(|| probe.less_than(input.time()));
        started.elapsed().as_secs_f64()
    };

    let load = epoch(
        worker,
        &mut loaded.iter().skip(index).step_by(peers).copied(),
        1,
    );
    // No epoch ends before every worker has begun the next, so the totals do not move under a reader.
    let before = tally.totals();

    let (mut removes, mut adds) = (Vec::new(), Vec::new());
    for row in singles {
        // One worker gives it, all work on it.
        let one = || std::iter::once(*row).filter(|_| index == 0);
        removes.push(epoch(worker, &mut one(), -1));
        adds.push(epoch(worker, &mut one(), 1));
    }
    let part = || batch.iter().skip(index).step_by(peers).copied();
    let batch_remove = epoch(worker, &mut part(), -1);
    let without = tally.totals();
    let batch_add = epoch(worker, &mut part(), 1);
    if tally.totals() != before {
        fail("The state after the updates is not the state after the load.");
    }
    let facts = |totals: &[(&str, i64, u64)]| totals.iter().map(|(_, count, _)| count).sum::<i64>();
    let batch_changed = facts(&before) - facts(&without);
    Report {
        load,
        loaded: before,
        removes,
        adds,
        batch_remove,
        batch_add,
        batch_changed,
    }
}

/// Gives rows to the dataflow, and ends the epoch.
fn give(
    input: &mut InputSession<Epoch, Row, Diff>,
    rows: &mut dyn Iterator<Item = Row>,
    diff: Diff,
) {
    for row in rows {
        input.update(row, diff);
    }
    input.advance_to(*input.time() + 1);
    input.flush();
}

fn json(task: &str, workers: usize, rows: usize, report: &Report) -> String {
    let named = |value: &dyn Fn(&(&'static str, i64, u64)) -> String| {
        let entries: Vec<String> = report
            .loaded
            .iter()
            .map(|entry| format!("\"{}\":{}", entry.0, value(entry)))
            .collect();
        format!("{{{}}}", entries.join(","))
    };
    format!(
        "{{\"task\":\"{task}\",\"workers\":{workers},\"rows\":{rows},\"facts\":{},\"checksums\":{},\
         \"load_seconds\":{:.6},\"singles\":{},\"remove_seconds\":{:.9},\"add_seconds\":{:.9},\
         \"batch_remove_seconds\":{:.6},\"batch_add_seconds\":{:.6},\"batch_changed\":{},\
         \"peak_bytes\":{}}}",
        named(&|entry| entry.1.to_string()),
        named(&|entry| entry.2.to_string()),
        report.load,
        report.removes.len(),
        median(&report.removes),
        median(&report.adds),
        report.batch_remove,
        report.batch_add,
        report.batch_changed,
        peak_bytes(),
    )
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// Peak resident memory of this process as Linux tells it, 0 where it does not.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

fn fail(message: &str) -> ! {
    eprintln!("differential: {message}");
    std::process::exit(2);
}
