//! The programs, as dataflows. Invariant: a relation inside a loop is distinct, so loops end.
//!
//! Each is written as the library's own examples are: arrangements are shared where a relation is
//! joined more than once by the same key, and input that does not change in the loop is arranged
//! outside it.

use differential_dataflow::input::Input;
use differential_dataflow::operators::iterate::Variable;
use differential_dataflow::VecCollection;
use timely::order::Product;

use crate::planned::{self, Vocabulary};
use crate::Row;

/// Logical time of the input.
pub type Epoch = u32;
/// Multiplicities and their changes.
pub type Diff = i32;

pub type Facts<'scope> = VecCollection<'scope, Epoch, Row, Diff>;

/// Columns of the task's rows and number of its parameters, if there is such a task.
pub fn shape(task: &str) -> Option<(usize, usize)> {
    match task {
        "rho-df" | "rho-df-strata" | "rho-df-compiled" => Some((3, 5)),
        "closure" => Some((2, 0)),
        "sssp" => Some((3, 1)),
        "cspa" => Some((3, 0)),
        _ => None,
    }
}

/// The task's relations, by name.
pub fn build<'scope>(
    task: &str,
    rows: Facts<'scope>,
    numbers: &[i32],
) -> Vec<(&'static str, Facts<'scope>)> {
    match (task, numbers) {
        (
            "rho-df" | "rho-df-strata" | "rho-df-compiled",
            &[kind, subclass, subproperty, domain, range],
        ) => {
            let names = Vocabulary {
                kind,
                subclass,
                subproperty,
                domain,
                range,
            };
            let triples = match task {
                "rho-df" => rho_df(rows, names),
                "rho-df-strata" => planned::strata(rows, names),
                _ => planned::compiled(rows, names),
            };
            vec![("triple", triples)]
        }
        ("closure", _) => vec![("path", closure(rows))],
        ("sssp", &[source]) => vec![("dist", sssp(rows, source))],
        ("cspa", _) => cspa(rows),
        _ => unreachable!("`shape` was asked"),
    }
}

/// The six rules of rho-df in one loop over all triples.
fn rho_df<'scope>(rows: Facts<'scope>, names: Vocabulary) -> Facts<'scope> {
    let Vocabulary {
        kind,
        subclass,
        subproperty,
        domain,
        range,
    } = names;
    let outer = rows.scope();
    outer.iterative::<u32, _, _>(|scope| {
        let (variable, triples) = Variable::new(scope, Product::new(Default::default(), 1));
        let pairs = |predicate: i32| {
            triples
                .clone()
                .filter(move |triple: &Row| triple.1 == predicate)
                .map(|(s, _, o)| (s, o))
        };
        let classes = pairs(subclass).arrange_by_key();
        let properties = pairs(subproperty).arrange_by_key();
        let by_predicate = triples
            .clone()
            .map(|(s, p, o)| (p, (s, o)))
            .arrange_by_key();

        // [?a, subClassOf, ?c] :- [?a, subClassOf, ?b], [?b, subClassOf, ?c] .
        let deeper_classes = pairs(subclass)
            .map(|(a, b)| (b, a))
            .arrange_by_key()
            .join_core(classes.clone(), move |_, &a, &c| Some((a, subclass, c)));
        // [?x, type, ?b] :- [?x, type, ?a], [?a, subClassOf, ?b] .
        let instances = pairs(kind)
            .map(|(x, a)| (a, x))
            .arrange_by_key()
            .join_core(classes, move |_, &x, &b| Some((x, kind, b)));
        // [?p, subPropertyOf, ?r] :- [?p, subPropertyOf, ?q], [?q, subPropertyOf, ?r] .
        let deeper_properties = pairs(subproperty)
            .map(|(p, q)| (q, p))
            .arrange_by_key()
            .join_core(properties.clone(), move |_, &p, &r| {
                Some((p, subproperty, r))
            });
        // [?x, ?q, ?y] :- [?x, ?p, ?y], [?p, subPropertyOf, ?q] .
        let related = by_predicate
            .clone()
            .join_core(properties, |_, &(x, y), &q| Some((x, q, y)));
        // [?x, type, ?c] :- [?x, ?p, _], [?p, domain, ?c] .
        let subjects = by_predicate
            .clone()
            .join_core(pairs(domain).arrange_by_key(), move |_, &(x, _), &c| {
                Some((x, kind, c))
            });
        // [?y, type, ?c] :- [_, ?p, ?y], [?p, range, ?c] .
        let objects = by_predicate
            .join_core(pairs(range).arrange_by_key(), move |_, &(_, y), &c| {
                Some((y, kind, c))
            });

        let result = rows
            .enter(scope)
            .concatenate([
                deeper_classes,
                instances,
                deeper_properties,
                related,
                subjects,
                objects,
            ])
            .distinct_core::<Diff>();
        variable.set(result.clone());
        result.leave(outer)
    })
}

/// path(?x, ?y) :- edge(?x, ?y) .   path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
fn closure(rows: Facts<'_>) -> Facts<'_> {
    planned::closed(rows.map(|(x, y, _)| (x, y))).map(|(x, y)| (x, y, 0))
}

/// dist(source, 0) .   dist(?y, min(?d + ?w)) :- dist(?x, ?d), edge(?x, ?y, ?w) .
fn sssp(rows: Facts<'_>, source: i32) -> Facts<'_> {
    let outer = rows.scope();
    let from = rows.map(|(x, y, w)| (x, (y, w))).arrange_by_key();
    let root = outer.new_collection_from_raw([((source, 0), 0, 1)]).1;
    outer
        .iterative::<u32, _, _>(|scope| {
            let (variable, distances) = Variable::new(scope, Product::new(Default::default(), 1));
            let result = distances
                .arrange_by_key()
                .join_core(from.enter(scope), |_, &d, &(y, w)| Some((y, d + w)))
                .concat(root.enter(scope))
                .reduce(|_, candidates, least| least.push((*candidates[0].0, 1 as Diff)));
            variable.set(result.clone());
            result.leave(outer)
        })
        .map(|(x, d)| (x, d, 0))
}

/// Context-sensitive points-to. Rows are (0, x, y) for assign(x, y), (1, x, y) for dereference.
fn cspa(rows: Facts<'_>) -> Vec<(&'static str, Facts<'_>)> {
    let outer = rows.scope();
    let assign = rows
        .clone()
        .filter(|row| row.0 == 0)
        .map(|(_, x, y)| (x, y));
    let dereference = rows
        .filter(|row| row.0 == 1)
        .map(|(_, x, y)| (x, y))
        .arrange_by_key();
    let assign_to = assign.clone().map(|(x, y)| (y, x)).arrange_by_key();
    let same = assign.clone().flat_map(|(x, y)| [(x, x), (y, y)]);
    outer
        .iterative::<u32, _, _>(|scope| {
            let step = || Product::new(Default::default(), 1);
            let (flow_variable, flow) = Variable::new(scope, step());
            let (memory_variable, memory) = Variable::new(scope, step());
            let (value_variable, value) = Variable::new(scope, step());
            let flow_to = flow
                .clone()
                .map(|(x, y): (i32, i32)| (y, x))
                .arrange_by_key();
            let flow_from = flow.arrange_by_key();
            let memory_from = memory.arrange_by_key();
            let dereference = dereference.enter(scope);
            let same = same.enter(scope);

            // valueFlow(?x, ?y) :- assign(?x, ?y) .
            // valueFlow(?x, ?x) :- assign(?x, _) .   valueFlow(?x, ?x) :- assign(_, ?x) .
            // valueFlow(?x, ?y) :- assign(?x, ?z), memoryAlias(?z, ?y) .
            // valueFlow(?x, ?y) :- valueFlow(?x, ?z), valueFlow(?z, ?y) .
            let through_memory = assign_to
                .enter(scope)
                .join_core(memory_from.clone(), |_, &x: &i32, &y: &i32| Some((x, y)));
            let flow = flow_to
                .join_core(flow_from.clone(), |_, &x, &y| Some((x, y)))
                .concatenate([assign.enter(scope), same.clone(), through_memory])
                .distinct_core::<Diff>();

            // memoryAlias(?x, ?x) :- assign(?x, _) .   memoryAlias(?x, ?x) :- assign(_, ?x) .
            // memoryAlias(?x, ?w) :- dereference(?y, ?x), valueAlias(?y, ?z), dereference(?z, ?w) .
            let memory = value
                .arrange_by_key()
                .join_core(dereference.clone(), |_, &z: &i32, &x: &i32| Some((z, x)))
                .arrange_by_key()
                .join_core(dereference, |_, &x, &w| Some((x, w)))
                .concat(same)
                .distinct_core::<Diff>();

            // valueAlias(?x, ?y) :- valueFlow(?z, ?x), valueFlow(?z, ?y) .
            // valueAlias(?x, ?y) :- valueFlow(?z, ?x), memoryAlias(?z, ?w), valueFlow(?w, ?y) .
            let across_memory = memory_from
                .join_core(flow_from.clone(), |_, &w, &x| Some((w, x)))
                .arrange_by_key()
                .join_core(flow_from.clone(), |_, &x, &y| Some((x, y)));
            let value = flow_from
                .clone()
                .join_core(flow_from, |_, &x, &y| Some((x, y)))
                .concat(across_memory)
                .distinct_core::<Diff>();

            flow_variable.set(flow.clone());
            memory_variable.set(memory.clone());
            value_variable.set(value.clone());
            [
                ("valueFlow", flow),
                ("memoryAlias", memory),
                ("valueAlias", value),
            ]
            .map(|(name, facts)| (name, facts.leave(outer).map(|(x, y)| (x, y, 0))))
        })
        .into()
}
