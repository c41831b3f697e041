"""Documents of columns: Parquet files and Delta tables. Invariant: a row is a triple or a quad."""
