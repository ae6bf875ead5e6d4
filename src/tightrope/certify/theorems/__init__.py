"""Theorems: one file each, with statement, proof, checker, header fields and sections."""
