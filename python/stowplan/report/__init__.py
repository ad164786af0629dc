"""Findings, claims, plots and pages of tables: reads what `stowplan table` has written (rows.csv, cells.csv) and runs nothing.

    python3 -m stowplan.report [NAME...] [--results results] [--out site] [--write-md] [--tex] [--csv]

table.py reads the cells, claims.py and gate.py judge, facts.py has the numbers that findings quote, plots.py what is drawn, pages.py puts
it together by templates/. What a person writes of a table is templates/findings/NAME.md: the lead of its page, with numbers as Jinja
expressions (`f` is Facts), below these settings between two lines of three dashes, all optional:

    summary: "..."                 a sentence for the index
    per: seconds per training step
    plot: {columns: {KEY: name}, over: bound or KEY, search: no, label: "..."}    a line for each workload; without `over` in seconds
    plot: {by: agent, agents: [KEY...], over: KEY, label: "..."}                  a line for each agent, in % slower than `over`
    plot: {by: agent, against: {KEY: KEY...}, label: "..."}                       the same, each against another
    table: {columns: [KEY...]} or {over: KEY}
    cards: [{name: "...", value: "...", note: "..."}]
    claims: ["how a claim begins"...]                                             those of table.md

Needs the distribution's python3-numpy, python3-jinja2 and python3-yaml.
"""
