//! FlowLog as a peer of the kernel: one task, its load and its updates, timed.
//!
//! ```text
//! TASK incremental|batch WORKERS ROWS SINGLES BATCH
//! ```
//!
//! Each task is a binary made by `program!`. Files, order of updates and output are those of the
//! crate `differential`, whose modules are used here too; a batch program only loads. Times begin
//! with tuples in memory and end with the changes of the output relations in memory.

#[path = "../../differential/src/clock.rs"]
mod clock;
#[path = "../../differential/src/report.rs"]
mod report;
#[path = "../../differential/src/rows.rs"]
mod rows;

use clock::{Clock, Seconds};
use report::{Report, Total};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Up to four columns; those that a task does not have are 0.
pub type Row = (i32, i32, i32, i32);

/// Facts of a relation as cells, at least three of them, each with its change.
pub type Changes = Vec<(&'static str, Vec<(Vec<i32>, i32)>)>;

/// A program of FlowLog, loaded or not.
pub trait Program {
    /// Tuples of the input relations.
    type Input;
    /// What a run returns.
    type Output;
    /// Rows as tuples of the input relations.
    fn input(rows: &[Row]) -> Self::Input;
    /// Adds or removes tuples, and works it off.
    fn change(&mut self, input: Self::Input, diff: i32) -> Self::Output;
    /// The output as cells.
    fn changes(output: Self::Output) -> Changes;
}

/// What the command line says.
pub struct Arguments {
    pub incremental: bool,
    pub workers: usize,
    loaded: Vec<Row>,
    singles: Vec<Row>,
    batch: Vec<Row>,
}

impl Arguments {
    /// Reads the command line and the files whose rows have `arity` columns.
    pub fn read(arity: usize) -> Arguments {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let [mode, workers, loaded, singles, batch] = arguments.as_slice() else {
            fail("Usage: TASK incremental|batch WORKERS ROWS SINGLES BATCH");
        };
        let read = |path: &String| -> Vec<Row> {
            let cells = rows::read(path, arity).unwrap_or_else(|reason| fail(&reason));
            let row = |&[first, second, third, fourth]: &[i32; 4]| (first, second, third, fourth);
            cells.iter().map(row).collect()
        };
        Arguments {
            incremental: mode == "incremental",
            workers: workers
                .parse()
                .unwrap_or_else(|_| fail("WORKERS is not a number.")),
            loaded: read(loaded),
            singles: read(singles),
            batch: read(batch),
        }
    }
}

/// Loads the rows, runs the updates if the program has any, and prints a line of JSON.
pub fn run<P: Program>(task: &str, arguments: &Arguments, mut program: P) {
    let mut totals: Vec<Total> = Vec::new();
    let mut epoch = |rows: &[Row], diff: i32| -> (Seconds, Vec<Total>) {
        let input = P::input(rows);
        let clock = Clock::start();
        let output = program.change(input, diff);
        let seconds = clock.seconds();
        add(&mut totals, P::changes(output));
        (seconds, totals.clone())
    };
    let (load, loaded) = epoch(&arguments.loaded, 1);
    let (mut removes, mut adds, mut batch) = (Vec::new(), Vec::new(), None);
    if arguments.incremental {
        for row in &arguments.singles {
            removes.push(epoch(&[*row], -1).0);
            adds.push(epoch(&[*row], 1).0);
        }
        let (removed, _) = epoch(&arguments.batch, -1);
        let (added, after) = epoch(&arguments.batch, 1);
        if after != loaded {
            fail("The state after the updates is not the state after the load.");
        }
        batch = Some((removed, added));
    }
    let report = Report {
        load,
        loaded,
        removes,
        adds,
        batch,
    };
    println!(
        "{}",
        report.json(task, arguments.workers, arguments.loaded.len())
    );
}

/// Adds changes to counts and checksums.
fn add(totals: &mut Vec<Total>, changes: Changes) {
    for (name, facts) in changes {
        let place = totals.iter().position(|total| total.0 == name);
        let place = place.unwrap_or_else(|| {
            totals.push((name, 0, 0));
            totals.len() - 1
        });
        let (_, count, sum) = &mut totals[place];
        for (cells, diff) in facts {
            *count += i64::from(diff);
            let hash = rows::mix(&cells);
            *sum = sum.wrapping_add(hash.wrapping_mul(i64::from(diff) as u64));
        }
    }
}

/// Says why a run is not one, and ends the process.
pub fn fail(message: &str) -> ! {
    eprintln!("flowlog: {message}");
    std::process::exit(2);
}

/// The main function of a program in `programs/`.
///
/// `program!(NAME, ARITY, [METHODS => ROW TO TUPLE, ...], [FIELD NAME => FACT TO CELLS, ...])`:
/// `METHODS` are those that insert and remove tuples of an input relation, with the type of its
/// tuples, and the function gives the tuple of a row, if it belongs to that relation.
#[macro_export]
macro_rules! program {
    (
        $name:literal, $arity:literal,
        [$($insert:ident $remove:ident $tuple:ty => $select:expr),+],
        [$($field:ident $label:literal => $cells:expr),+]
    ) => {
        mod incremental {
            include!(concat!(env!("OUT_DIR"), "/incremental/", $name, "/", $name, ".rs"));
        }
        mod batch {
            include!(concat!(env!("OUT_DIR"), "/batch/", $name, "/", $name, ".rs"));
        }

        /// Tuples of each input relation.
        pub struct Tuples {
            $($insert: Vec<$tuple>,)+
        }

        fn tuples(rows: &[$crate::Row]) -> Tuples {
            Tuples {
                $($insert: rows.iter().copied().filter_map($select).collect(),)+
            }
        }

        /// A batch program ends with its run.
        struct Once(Option<batch::DatalogBatchEngine>);

        impl $crate::Program for incremental::DatalogIncrementalEngine {
            type Input = Tuples;
            type Output = incremental::IncrementalResults;
            fn input(rows: &[$crate::Row]) -> Self::Input {
                tuples(rows)
            }
            fn change(&mut self, input: Self::Input, diff: i32) -> Self::Output {
                self.begin();
                $(if diff > 0 {
                    self.$insert(input.$insert);
                } else {
                    self.$remove(input.$insert);
                })+
                self.commit()
            }
            fn changes(output: Self::Output) -> $crate::Changes {
                vec![$((
                    $label,
                    output
                        .$field
                        .into_iter()
                        .map(|(fact, diff)| ($cells(fact), diff))
                        .collect(),
                )),+]
            }
        }

        impl $crate::Program for Once {
            type Input = Tuples;
            type Output = batch::BatchResults;
            fn input(rows: &[$crate::Row]) -> Self::Input {
                tuples(rows)
            }
            fn change(&mut self, input: Self::Input, _: i32) -> Self::Output {
                let mut engine = self.0.take().expect("a batch program runs once");
                $(engine.$insert(input.$insert);)+
                engine.run()
            }
            fn changes(output: Self::Output) -> $crate::Changes {
                vec![$((
                    $label,
                    output.$field.into_iter().map(|fact| ($cells(fact), 1)).collect(),
                )),+]
            }
        }

        fn main() {
            let arguments = $crate::Arguments::read($arity);
            if arguments.incremental {
                let engine = incremental::DatalogIncrementalEngine::new(arguments.workers);
                $crate::run($name, &arguments, engine);
            } else {
                let engine = Once(Some(batch::DatalogBatchEngine::new(arguments.workers)));
                $crate::run($name, &arguments, engine);
            }
        }
    };
}
