"""A batch of messages to encoded updates, and changes to messages."""
