"""How the cells of a table were made; a template has the words."""

from typing import Any, Dict, List

from .table import Block, Table


def not_run(block: Block) -> List[str]:
    return sorted({f"{cell.row.name}, {cell.column.title}: {cell.note}" for cell in block.cells.values() if cell.state == "not run"})


def made(table: Table) -> Dict[str, Any]:
    records = [record for cell in table.cells for record in cell.records]

    def all_of(field: str, length: int = 100) -> List[str]:
        return sorted({record.fields[field][:length] for record in records if record.fields.get(field)})

    return {
        "revisions": all_of("revision", 12), "dates": all_of("date", 10), "machines": all_of("machine"), "prices": all_of("cost_model"),
        "clusters": sorted({row.cluster for block in table.blocks for row in block.rows}),
        "budgets": sorted({cell.budget for cell in table.cells if cell.run and cell.sampled and cell.budget > 1}),
        "seeds": sorted({len(cell.records) for cell in table.cells if cell.run and cell.sampled}),
        "hours": sum(float(record.fields["wall_seconds"] or 0) for record in records) / 3600,
        "fitted": [fit.get("kind") for fit in table.says.get("fit", [])],
        "presets": sorted({f"{cell.column.title}: {cell.column.preset or 'tuned'}" for cell in table.cells if cell.column.learner and cell.run}),
        "not_run": [text for block in table.blocks for text in not_run(block)]}
