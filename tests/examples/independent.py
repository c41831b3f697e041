"""The results of the examples, by other algorithms. Invariant: no rules, no fixpoint of rules.

Each function takes the asserted facts, predicate -> set of arguments, and returns the derived facts
of some predicates in the same form.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from itertools import combinations, product

import numpy as np
from rdflib import RDF, RDFS, URIRef


def successors(pairs):
    """First -> the seconds."""
    seconds = defaultdict(set)
    for first, second in pairs:
        seconds[first].add(second)
    return seconds


def search(starts, neighbours):
    """All nodes reached from the starts, which count as reached: depth first."""
    seen, left = set(), [*starts]
    while left:
        node = left.pop()
        if node not in seen:
            seen.add(node)
            left += neighbours(node)
    return seen


def closure(pairs):
    """Pairs of nodes with a path of at least one edge: a search from each."""
    after = successors(pairs)
    return {
        (node, other)
        for node in list(after)
        for other in search(after[node], lambda node: after.get(node, ()))
    }


class Relation:
    """Boolean matrices over the terms that occur in some facts."""

    def __init__(self, *relations):
        self.terms = sorted({term for pairs in relations for pair in pairs for term in pair})
        self.index = {term: number for number, term in enumerate(self.terms)}

    def matrix(self, pairs):
        """Pairs as a matrix."""
        matrix = np.zeros((len(self.terms),) * 2, dtype=bool)
        for first, second in pairs:
            matrix[self.index[first], self.index[second]] = True
        return matrix

    def pairs(self, matrix):
        """A matrix as pairs."""
        return {(self.terms[i], self.terms[j]) for i, j in np.argwhere(matrix).tolist()}


def transitive_closure(facts):
    """Searches from every node."""
    return {"path": closure(facts["edge"])}


def same_generation(facts):
    """Powers of the matrix of parents: S = P (I + S) Pᵀ without the diagonal."""
    relation = Relation(facts["parent"])
    parent = relation.matrix(facts["parent"])
    identity = np.eye(len(parent), dtype=bool)
    same, before = np.zeros_like(parent), None
    while before is None or (same != before).any():
        before, same = same, parent @ (identity | same) @ parent.T & ~identity
    return {"same": relation.pairs(same)}


def cspa(facts):
    """The equations of the analysis between boolean matrices."""
    relation = Relation(facts["assign"], facts["dereference"])
    assign, cell = relation.matrix(facts["assign"]), relation.matrix(facts["dereference"])
    used = np.diag((assign | assign.T).any(axis=0))
    flow = memory = value = np.zeros_like(assign)
    while True:
        new_flow = assign | used | assign @ memory | flow @ flow
        new_memory = used | cell.T @ value @ cell
        new_value = flow.T @ flow | flow.T @ memory @ flow
        if not ((new_flow != flow) | (new_memory != memory) | (new_value != value)).any():
            break
        flow, memory, value = new_flow, new_memory, new_value
    return {
        "valueFlow": relation.pairs(flow),
        "memoryAlias": relation.pairs(memory),
        "valueAlias": relation.pairs(value),
    }


def csda(facts):
    """A search from the origin of each null, which stops at tests."""
    after, checked = successors(facts["flow"]), {point for (point,) in facts["checked"]}
    null = {
        (born, point)
        for born, starts in successors(facts["nullEdge"]).items()
        for point in search(starts, lambda point: () if point in checked else after.get(point, ()))
    }
    used = {point for (point,) in facts["dereferenced"]} - checked
    warning = {(born, point) for born, point in null if point in used}
    warnings = set(Counter(point for _, point in warning).items())
    return {"null": null, "warning": warning, "warnings": warnings}


def andersen(facts):
    """Sets of objects and copies between them: each load or store adds copies as sets grow."""
    points, copies = successors(facts["address"]), set(facts["assign"])
    grown = True
    while grown:
        copies |= {(y, p) for y, x in facts["load"] for p in points[x]}
        copies |= {(p, x) for y, x in facts["store"] for p in points[y]}
        grown = False
        for target, source in copies:
            grown = grown or not points[source] <= points[target]
            points[target] |= points[source]
    followed = {x for _, x in facts["load"]} | {y for y, _ in facts["store"]}
    names = [name for name, objects in points.items() if objects]
    return {
        "points": {(name, each) for name in names for each in points[name]},
        "alias": {(x, y) for x, y in product(names, names) if x != y and points[x] & points[y]},
        "dangling": {(x,) for x in followed if not points[x]},
    }


def shortest_paths(facts):
    """Dijkstra's algorithm."""
    roads, distance = defaultdict(list), {}
    for source, target, length in facts["road"]:
        roads[source].append((target, length))
    queue = [(0, town) for (town,) in facts["start"]]
    heapq.heapify(queue)
    while queue:
        so_far, town = heapq.heappop(queue)
        if town not in distance:
            distance[town] = so_far
            for target, length in roads[town]:
                heapq.heappush(queue, (so_far + length, target))
    towns = {town for road in facts["road"] for town in road[:2]}
    return {
        "distance": set(distance.items()),
        "via": {
            (target, source)
            for source, target, length in facts["road"]
            if source in distance and distance[target] == distance[source] + length
        },
        "cutOff": {(town,) for town in towns - distance.keys()},
    }


def connected_components(facts, key=None):
    """Union and find; the key orders labels."""
    parent = {}

    def root(node):
        while parent.setdefault(node, node) != node:
            node = parent[node]
        return node

    for first, second in facts["link"]:
        least, greatest = sorted((root(first), root(second)), key=key)
        parent[greatest] = least
    component = {(node, root(node)) for node in list(parent)}
    return {"component": component, "size": set(Counter(least for _, least in component).items())}


def triangles(facts):
    """A check of every three nodes."""
    links = {frozenset(edge) for edge in facts["edge"]}
    nodes = sorted({node for edge in facts["edge"] for node in edge})
    triangles = {
        three
        for three in combinations(nodes, 3)
        if all(frozenset(pair) in links for pair in combinations(three, 2))
    }
    return {
        "triangle": triangles,
        "around": set(Counter(node for triangle in triangles for node in triangle).items()),
        "total": {(len(triangles),)} if triangles else set(),
    }


def reachability_with_negation(facts):
    """A search through what connects and is not blocked."""
    net = "http://example.org/net#"
    by = defaultdict(set)
    for source, name, target in facts["triple"]:
        by[name].add((source, target))
    blocks = by[URIRef(f"{net}blocks")]
    after = successors(by[URIRef(f"{net}connects")] - blocks)
    outside = [node for node, kind in by[RDF.type] if kind == URIRef(f"{net}Internet")]
    hosts = {node for node, kind in by[RDF.type] if kind == URIRef(f"{net}Host")}
    reached = search(outside, lambda node: after.get(node, ()))
    return {
        "exposed": {(host,) for host in hosts & reached},
        "safe": {(host,) for host in hosts - reached},
        "needless": {(x, y) for x, y in blocks if y in reached or x not in reached},
    }


def access_policies(facts):
    """Person by person, by sets."""
    above, roles = successors(facts["inherits"]), successors(facts["member"])
    may, conflict = set(), set()
    for person, first in roles.items():
        has = search(first, lambda role: above.get(role, ()))
        conflicts = {(r, s) for r, s in facts["excludes"] if {r, s} <= has}
        acts = has - {role for pair in conflicts for role in pair}
        denied = {(a, o) for role, a, o in facts["denies"] if role in has}
        denied -= {(a, o) for who, a, o in facts["exempts"] if who == person}
        granted = {(a, o) for role, a, o in facts["grants"] if role in acts}
        conflict |= {(person, r, s) for r, s in conflicts}
        may |= {(person, a, o) for a, o in granted - denied}
    return {"may": may, "conflict": conflict}


def bill_of_materials(facts):
    """Walks through every assembly, part by part, with the number of pieces on the way."""
    parts, price = defaultdict(dict), dict(facts["price"])
    for assembly, part, number in facts["part"]:
        parts[assembly][part] = number
    inside = closure({(assembly, part) for assembly, part, _ in facts["part"]})
    circular = {x for x, y in inside if x == y}
    faulty = circular | {x for x, y in inside if y in circular}

    def pieces(assembly, level, number):
        for part, each in parts.get(assembly, {}).items():
            yield part, level, number * each
            yield from pieces(part, level + 1, number * each)

    result = {"faulty": {(x,) for x in faulty}}
    result |= {name: set() for name in ("total", "level", "cost", "unpriced")}
    for assembly in parts.keys() - faulty:
        total, kinds, levels = Counter(), defaultdict(set), Counter()
        for part, level, number in pieces(assembly, 1, 1):
            total[part] += number
            kinds[level].add(part)
            levels[level] += number
        result["total"] |= {(assembly, part, number) for part, number in total.items()}
        result["level"] |= {(assembly, n, len(kinds[n]), levels[n]) for n in levels}
        if priced := total.keys() & price.keys():
            result["cost"].add((assembly, sum(total[part] * price[part] for part in priced)))
        bought = total.keys() - parts.keys() - price.keys()
        result["unpriced"] |= {(assembly, part) for part in bought}
    return result


def gdpr_erasure(facts):
    """Circles by union and find, statistics by lists of what the people of a city bought."""
    shop = "http://example.org/shop#"
    by = defaultdict(set)
    for subject, name, value in facts["triple"]:
        by[name.removeprefix(shop)].add((subject, value))
    bought, price = successors(by["bought"]), dict(by["price"])
    component = connected_components({"link": by["knows"]}, key=str)["component"]
    members = successors({(least, person) for person, least in component})
    circle = {pair for circle in members.values() for pair in product(circle, circle)}
    profile = {
        (person, mail, city)
        for (person, mail), (other, city) in product(by["mail"], by["livesIn"])
        if person == other
    }
    # People of one city who bought the same both count: this is a list, not a set.
    paid = defaultdict(list)
    for person, _, city in profile:
        paid[city] += [price[product] for product in bought[person] if product in price]
    return {
        "profile": profile,
        "circle": circle,
        "least": component,
        "advice": {(x, product) for x, y in circle if x != y for product in bought[y] - bought[x]},
        "customers": set(Counter(city for *_, city in profile).items()),
        "turnover": {(city, sum(paid[city])) for city in paid if paid[city]},
        "dearest": {(city, max(paid[city])) for city in paid if paid[city]},
    }


def ontology_versions(facts):
    """A search upward from the class of each cell."""
    by = defaultdict(set)
    for subject, name, value in facts["triple"]:
        by[name.split("/")[-1].split("#")[-1]].add((subject, value))
    up = successors(by["subClassOf"])
    types = {
        (cell, above)
        for cell, term in by["type"]
        for above in search([term], lambda term: up.get(term, ()))
    }
    watched = {term for _, term in by["watches"]}
    given_up = {term for term, value in by["deprecated"] if value is True}
    obsolete = {(cell, term) for cell, term in types if term in given_up}
    edges = {(each, RDFS.subClassOf, above) for each, above in closure(by["subClassOf"])}
    return {
        "triple": facts["triple"] | edges | {(cell, RDF.type, term) for cell, term in types},
        "watched": {(term,) for term in watched},
        "cells": set(Counter(term for _, term in types if term in watched).items()),
        "obsolete": obsolete,
        "successor": {
            (cell, term, new)
            for cell, term in obsolete
            for old, new in by["IAO_0100001"]
            if old == term
        },
    }


RESULTS = {
    "access-policies": access_policies,
    "andersen": andersen,
    "bill-of-materials": bill_of_materials,
    "connected-components": connected_components,
    "csda": csda,
    "cspa": cspa,
    "gdpr-erasure": gdpr_erasure,
    "ontology-versions": ontology_versions,
    "reachability-with-negation": reachability_with_negation,
    "same-generation": same_generation,
    "shortest-paths": shortest_paths,
    "transitive-closure": transitive_closure,
    "triangles": triangles,
}
"""By the name of the example."""
