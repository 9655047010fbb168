"""What a careful colleague looks at before a score is praised: leaks, groups, time, odd columns."""

from mercer.checks.finding import Finding, open_leaks, worst_first
from mercer.checks.rows import RowKeys, check_parts
from mercer.checks.splits import GroupFolds, TimeFolds, held_out_groups, held_out_latest
from mercer.checks.table import check_table

__all__ = [
    "Finding",
    "GroupFolds",
    "RowKeys",
    "TimeFolds",
    "check_parts",
    "check_table",
    "held_out_groups",
    "held_out_latest",
    "open_leaks",
    "worst_first",
]
