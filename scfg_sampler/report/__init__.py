"""The report of a run: one page of HTML that tells what was run, what came of it, and how certain it is.

A section is a function from what was read to `core.pages` markup; it returns a note where something that it
needs is not there. `page.write_report` puts them together.
"""
