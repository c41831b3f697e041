"""Graphs in Turtle, TriG, JSON-LD and RDF/XML, through pyoxigraph."""
