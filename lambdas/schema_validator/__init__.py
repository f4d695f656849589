"""Judges uploaded contracts, makes their tables and puts them in force."""
