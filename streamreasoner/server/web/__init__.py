"""The server that is asked for facts, an ASGI application. Invariant: it only reads."""
