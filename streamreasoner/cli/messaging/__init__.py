"""Commands about topics and messages."""
