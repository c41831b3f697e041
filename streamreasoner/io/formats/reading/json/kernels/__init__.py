"""Compiled readers of messages. Invariant: a message that one is not sure about is refused."""
