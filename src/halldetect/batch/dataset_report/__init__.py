"""The report of a dataset: what the results of a batch come to, as HTML, Markdown and JSON."""

from halldetect.batch.dataset_report.dataset_page import (
    PAGE,
    dataset_page,
    require_folder,
    write_report,
)
from halldetect.batch.dataset_report.summary import Summary, summarise

__all__ = ["PAGE", "Summary", "dataset_page", "require_folder", "summarise", "write_report"]
