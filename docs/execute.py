"""Run the notebooks in fresh kernels and write them back with what they show.

What changes from run to run, or tells of a machine, is left out: timings, versions, widths.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

NOTEBOOKS = sorted((Path(__file__).parent / "notebooks").glob("*.ipynb"))
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
SECONDS = 120  # for one cell


def read(path: Path) -> NotebookNode:
    """Return the notebook of a file."""
    return nbformat.read(path, as_version=4)


def execute(path: Path) -> NotebookNode:
    """Return the notebook as it comes out of a fresh kernel; an error in a cell is raised."""
    notebook = read(path)
    where = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        resources=where,
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],
    )
    return tidy(client.execute())


def tidy(notebook: NotebookNode) -> NotebookNode:
    """Leave out what is no part of the story."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
        for output in cell.get("outputs", []):
            if "metadata" in output:
                output.metadata = nbformat.from_dict({})
    return notebook


if __name__ == "__main__":
    for path in NOTEBOOKS:
        nbformat.write(execute(path), path)
        print(path)
