"""Findings, claims, plots and pages of tables: reads what `stowplan table` has written (rows.csv, cells.csv) and runs nothing.

    python3 -m stowplan.report [NAME...] [--results results] [--out site]

Needs the distribution's python3-numpy, python3-jinja2 and python3-yaml.
"""
