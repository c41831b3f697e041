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
//! One line of JSON goes to standard output. Seconds are pairs of processor time of the process and
//! wall-clock time of worker 0, from the first row given to the dataflow until every worker has
//! worked off the epoch.

mod clock;
mod planned;
mod report;
mod rows;
mod tally;
mod tasks;

use differential_dataflow::input::{Input, InputSession};
use timely::dataflow::operators::probe::Handle;
use timely::worker::Worker;
use timely::Config;

use clock::Clock;
use report::Report;
use tally::Tally;
use tasks::{Diff, Epoch};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Up to three columns; those that a task does not have are 0.
pub type Row = (i32, i32, i32);

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
    let read = |path: &String| -> Vec<Row> {
        let cells = rows::read(path, arity).unwrap_or_else(|reason| fail(&reason));
        cells.iter().map(|row| (row[0], row[1], row[2])).collect()
    };
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
    println!("{}", reports[0].json(task, workers, count));
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
        let started = Clock::start();
        give(&mut input, rows, diff);
        worker.step_while(|| probe.less_than(input.time()));
        started.seconds()
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
    let batch_add = epoch(worker, &mut part(), 1);
    if tally.totals() != before {
        fail("The state after the updates is not the state after the load.");
    }
    Report {
        load,
        loaded: before,
        removes,
        adds,
        batch: Some((batch_remove, batch_add)),
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

fn fail(message: &str) -> ! {
    eprintln!("differential: {message}");
    std::process::exit(2);
}
