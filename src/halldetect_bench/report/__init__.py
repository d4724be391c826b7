"""The report of a folder of results: Markdown, HTML, CSV and charts."""
