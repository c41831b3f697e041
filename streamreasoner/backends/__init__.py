"""Where the state lives: one package per backend, none knowing another."""
