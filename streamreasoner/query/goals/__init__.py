"""Goals: facts that are asked for, and programs that derive no more than they need."""
