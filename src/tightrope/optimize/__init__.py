"""The best mechanism for a consumer: planner, engine, certificates."""
