"""What terms mean as values: kinds, comparison, order, arithmetic, functions, aggregates."""
