"""Rows of tables: formats whose updates a mapping of the configuration makes."""
