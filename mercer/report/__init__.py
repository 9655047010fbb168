"""Report: what a person reads of a fitted model, as one page for the browser."""

from mercer.report._rivals import baseline, boosted_trees, linear_model
from mercer.report._rows import as_rows
from mercer.report.compare import Comparison, compare, comparison_page
from mercer.report.examine import environment, examine
from mercer.report.proofs import explain
from mercer.report.render import embedding_page, render
from mercer.report.study import Cloud, Proof, Study
from mercer.report.write import write_report, write_text

__all__ = [
    "Cloud",
    "Comparison",
    "Proof",
    "Study",
    "as_rows",
    "baseline",
    "boosted_trees",
    "compare",
    "comparison_page",
    "embedding_page",
    "environment",
    "examine",
    "explain",
    "linear_model",
    "render",
    "write_report",
    "write_text",
]
