"""The report: one HTML file that opens offline. Needs ``pip install everypair[report]``.

`write_report` writes a `Comparison`. The numbers are computed here, in Python (`cuts`,
`drawn`); the folder ``page`` holds the template, the style and the scripts that draw them. All
of it goes into the one file, which asks the network for nothing.
"""

from everypair.app.report.write import write_report

__all__ = ["write_report"]
