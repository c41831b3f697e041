"""The state of one machine: numba kernels over records in reserved address space."""
