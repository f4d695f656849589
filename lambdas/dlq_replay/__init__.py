"""Sends archived dead letters to their queue again: a chosen set, at a given rate, each once per replay."""
