"""From multiplicities to presence: sets, lattices and reductions."""
