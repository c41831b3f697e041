//! Polonius, the borrow checker, as a peer of the kernel: the check of a function, timed.
//!
//! ```text
//! polonius naive|optimized ROWS
//! ```
//!
//! `ROWS` is a file of four columns, read by `rows::read`: the number of a relation, in the order of
//! `facts`, and its arguments. The time begins with the facts in memory and ends with the errors.
//! The relations between are told by a second check, which is not timed; the optimized rules have
//! others, so of them only errors are told. One line of JSON goes to standard output.

#[path = "../../differential/src/clock.rs"]
mod clock;
#[path = "../../differential/src/report.rs"]
mod report;
#[path = "../../differential/src/rows.rs"]
mod rows;

use polonius_engine::{Algorithm, AllFacts, Atom, FactTypes, Output};

use clock::Clock;
use report::{Report, Total};
use rows::{mix, Cells};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A point, an origin, a loan, a variable or a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Id(u32);

impl From<usize> for Id {
    fn from(number: usize) -> Id {
        Id(number as u32)
    }
}

impl From<Id> for usize {
    fn from(id: Id) -> usize {
        id.0 as usize
    }
}

impl Atom for Id {
    fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug)]
struct Ids;

impl FactTypes for Ids {
    type Origin = Id;
    type Loan = Id;
    type Point = Id;
    type Variable = Id;
    type Path = Id;
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rules, path] = arguments.as_slice() else {
        fail("Usage: polonius naive|optimized ROWS");
    };
    let algorithm = match rules.as_str() {
        "naive" => Algorithm::Naive,
        "optimized" => Algorithm::DatafrogOpt,
        _ => fail(&format!("There are no rules '{rules}'.")),
    };
    let rows = rows::read(path, 4).unwrap_or_else(|reason| fail(&reason));
    let facts = facts(&rows);
    let clock = Clock::start();
    let checked = Output::compute(&facts, algorithm, false);
    let load = clock.seconds();
    let loaded = match algorithm {
        Algorithm::Naive => all(&Output::compute(&facts, algorithm, true)),
        _ => errors(&checked),
    };
    let report = Report {
        load,
        loaded,
        removes: Vec::new(),
        adds: Vec::new(),
        batch: None,
    };
    println!("{}", report.json(rules, 1, rows.len()));
}

/// The rows of each relation.
fn facts(rows: &[Cells]) -> AllFacts<Ids> {
    let id = |cell: i32| Id(cell as u32);
    let threes = |relation: i32| -> Vec<(Id, Id, Id)> {
        let own = rows.iter().filter(|row| row[0] == relation);
        own.map(|row| (id(row[1]), id(row[2]), id(row[3])))
            .collect()
    };
    let pairs = |relation: i32| -> Vec<(Id, Id)> {
        threes(relation).iter().map(|row| (row.0, row.1)).collect()
    };
    AllFacts {
        cfg_edge: pairs(0),
        subset_base: threes(1),
        loan_issued_at: threes(2),
        loan_killed_at: pairs(3),
        loan_invalidated_at: pairs(4),
        var_used_at: pairs(5),
        var_defined_at: pairs(6),
        var_dropped_at: pairs(7),
        use_of_var_derefs_origin: pairs(8),
        drop_of_var_derefs_origin: pairs(9),
        child_path: pairs(10),
        path_is_var: pairs(11),
        path_assigned_at_base: pairs(12),
        path_moved_at_base: pairs(13),
        path_accessed_at_base: pairs(14),
        universal_region: threes(15).iter().map(|row| row.0).collect(),
        known_placeholder_subset: pairs(16),
        placeholder: Vec::new(),
    }
}

/// Counts and checksums of all relations that the rules of the kernel have.
fn all(output: &Output<Ids>) -> Vec<Total> {
    let live = output.origin_live_on_entry.iter();
    let subset = output.subset.iter();
    let holds = output.origin_contains_loan_at.iter();
    let loans = output.loan_live_at.iter();
    let mut totals = vec![
        total(
            "originLive",
            live.flat_map(|(point, origins)| {
                origins.iter().map(move |origin| [origin.0, point.0, 0])
            }),
        ),
        total(
            "subset",
            subset.flat_map(|(point, pairs)| {
                pairs.iter().flat_map(move |(one, others)| {
                    others.iter().map(move |other| [one.0, other.0, point.0])
                })
            }),
        ),
        total(
            "holds",
            holds.flat_map(|(point, pairs)| {
                pairs.iter().flat_map(move |(origin, loans)| {
                    loans.iter().map(move |loan| [origin.0, loan.0, point.0])
                })
            }),
        ),
        total(
            "loanLive",
            loans.flat_map(|(point, loans)| loans.iter().map(move |loan| [loan.0, point.0, 0])),
        ),
    ];
    totals.extend(errors(output));
    totals
}

/// Counts and checksums of the errors.
fn errors(output: &Output<Ids>) -> Vec<Total> {
    let (errors, moves) = (output.errors.iter(), output.move_errors.iter());
    vec![
        total(
            "error",
            errors.flat_map(|(point, loans)| loans.iter().map(move |loan| [loan.0, point.0, 0])),
        ),
        total(
            "subsetError",
            output.subset_errors.iter().flat_map(|(point, pairs)| {
                pairs
                    .iter()
                    .map(move |(one, other)| [one.0, other.0, point.0])
            }),
        ),
        total(
            "moveError",
            moves.flat_map(|(point, paths)| paths.iter().map(move |path| [path.0, point.0, 0])),
        ),
    ]
}

fn total(name: &'static str, facts: impl Iterator<Item = [u32; 3]>) -> Total {
    let mut total = (name, 0, 0_u64);
    for cells in facts {
        total.1 += 1;
        total.2 = total.2.wrapping_add(mix(&cells.map(|cell| cell as i32)));
    }
    total
}

fn fail(message: &str) -> ! {
    eprintln!("polonius: {message}");
    std::process::exit(2);
}
