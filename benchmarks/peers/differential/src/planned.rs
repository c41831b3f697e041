//! rho-df as a person plans it who knows the data, in two ways.
//!
//! Both close the schema in loops of its few edges and then pass over the data without a loop.
//! Invariant: they derive what `tasks::rho_df` does if no property has a superproperty, a domain or
//! a range by derivation that belongs to the vocabulary of RDFS or is rdf:type. Other data would
//! need the loop over all triples.

use differential_dataflow::operators::iterate::Variable;
use differential_dataflow::VecCollection;
use timely::order::Product;

use crate::tasks::{Diff, Epoch, Facts};

type Pairs<'scope> = VecCollection<'scope, Epoch, (i32, i32), Diff>;

/// Ids of rdf:type and of the properties of a schema.
#[derive(Clone, Copy)]
pub struct Vocabulary {
    pub kind: i32,
    pub subclass: i32,
    pub subproperty: i32,
    pub domain: i32,
    pub range: i32,
}

/// What a triple (x, p, y) implies: another property of x and y, or a class of x or of y.
const PROPERTY: u8 = 0;
const SUBJECT: u8 = 1;
const OBJECT: u8 = 2;

/// Properties first, then domains and ranges, then classes: each stratum reads the one before.
pub fn strata<'scope>(rows: Facts<'scope>, names: Vocabulary) -> Facts<'scope> {
    let Vocabulary { kind, .. } = names;
    let classes = closed(pairs(&rows, names.subclass));
    let properties = closed(pairs(&rows, names.subproperty));
    let related = rows
        .clone()
        .filter(move |row| row.1 != kind)
        .map(|(x, p, y)| (p, (x, y)))
        .arrange_by_key()
        .join_core(properties.clone().arrange_by_key(), |_, &(x, y), &q| {
            Some((x, q, y))
        });
    let schema = schema(&classes, &properties, names);
    let data = rows
        .clone()
        .filter(move |row| row.1 != kind)
        .concatenate([related, schema])
        .distinct_core::<Diff>();

    let by_predicate = data.clone().map(|(x, p, y)| (p, (x, y))).arrange_by_key();
    let subjects = by_predicate.clone().join_core(
        pairs(&rows, names.domain).arrange_by_key(),
        |_, &(x, _), &c| Some((c, x)),
    );
    let objects = by_predicate.join_core(
        pairs(&rows, names.range).arrange_by_key(),
        |_, &(_, y), &c| Some((c, y)),
    );
    let given = pairs(&rows, kind)
        .map(|(x, c)| (c, x))
        .concatenate([subjects, objects])
        .distinct_core::<Diff>();
    let wider = given
        .clone()
        .arrange_by_key()
        .join_core(classes.arrange_by_key(), |_, &x, &c| Some((c, x)));
    let types = given.concat(wider).distinct_core::<Diff>();
    data.concat(types.map(move |(c, x)| (x, kind, c)))
}

/// The schema is first compiled into what each property and each class implies in the end.
pub fn compiled<'scope>(rows: Facts<'scope>, names: Vocabulary) -> Facts<'scope> {
    let Vocabulary { kind, .. } = names;
    let classes = closed(pairs(&rows, names.subclass));
    let properties = closed(pairs(&rows, names.subproperty));
    let by_class = classes.clone().arrange_by_key();
    let by_super = properties.clone().map(|(p, q)| (q, p)).arrange_by_key();
    // Properties with the classes that their superproperties and superclasses give them.
    let classes_of = |predicate: i32| {
        let own = pairs(&rows, predicate);
        let inherited = own
            .clone()
            .arrange_by_key()
            .join_core(by_super.clone(), |_, &c, &p| Some((p, c)));
        let direct = own.concat(inherited);
        let wider = direct
            .clone()
            .map(|(p, c)| (c, p))
            .arrange_by_key()
            .join_core(by_class.clone(), |_, &p, &c| Some((p, c)));
        direct.concat(wider).distinct_core::<Diff>()
    };
    let implied = properties
        .clone()
        .map(|(p, q)| (p, (PROPERTY, q)))
        .concatenate([
            classes_of(names.domain).map(|(p, c)| (p, (SUBJECT, c))),
            classes_of(names.range).map(|(p, c)| (p, (OBJECT, c))),
        ])
        .arrange_by_key();
    let schema = schema(&classes, &properties, names);
    let derived = rows
        .clone()
        .filter(move |row| row.1 != kind)
        .map(|(x, p, y)| (p, (x, y)))
        .arrange_by_key()
        .join_core(implied, move |_, &(x, y), &(part, name)| {
            Some(match part {
                PROPERTY => (x, name, y),
                SUBJECT => (x, kind, name),
                _ => (y, kind, name),
            })
        });
    let wider = pairs(&rows, kind)
        .map(|(x, a)| (a, x))
        .arrange_by_key()
        .join_core(by_class, move |_, &x, &c| Some((x, kind, c)));
    rows.concatenate([schema, derived, wider])
        .distinct_core::<Diff>()
}

/// Subject and object of the triples with a predicate.
fn pairs<'scope>(rows: &Facts<'scope>, predicate: i32) -> Pairs<'scope> {
    rows.clone()
        .filter(move |row| row.1 == predicate)
        .map(|(x, _, y)| (x, y))
}

/// The triples of a closed hierarchy.
fn schema<'scope>(
    classes: &Pairs<'scope>,
    properties: &Pairs<'scope>,
    names: Vocabulary,
) -> Facts<'scope> {
    let Vocabulary {
        subclass,
        subproperty,
        ..
    } = names;
    classes
        .clone()
        .map(move |(a, b)| (a, subclass, b))
        .concat(properties.clone().map(move |(p, q)| (p, subproperty, q)))
}

/// Transitive closure.
pub fn closed(edges: Pairs<'_>) -> Pairs<'_> {
    let outer = edges.scope();
    let from = edges.clone().arrange_by_key();
    outer.iterative::<u32, _, _>(|scope| {
        let (variable, paths) = Variable::new(scope, Product::new(Default::default(), 1));
        let longer = paths
            .map(|(x, y): (i32, i32)| (y, x))
            .arrange_by_key()
            .join_core(from.enter(scope), |_, &x, &z| Some((x, z)));
        let result = edges.enter(scope).concat(longer).distinct_core::<Diff>();
        variable.set(result.clone());
        result.leave(outer)
    })
}
