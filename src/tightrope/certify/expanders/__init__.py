"""Expanders: untrusted code that makes multipliers, which the kernel checks, out of less."""
