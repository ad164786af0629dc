"""Whole models and steps that others measured, predicted with default prices (what each module reads: its first lines)."""
