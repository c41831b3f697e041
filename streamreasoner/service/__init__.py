"""A pipeline as a service: started from a configuration, recovered, watched and started again."""
