"""Scripts that measure, one claim each."""
