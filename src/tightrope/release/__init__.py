"""Release: real data, exact draws, and a budget that cannot be overspent."""
