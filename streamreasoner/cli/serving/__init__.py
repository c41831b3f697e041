"""Commands that answer questions by HTTP."""
