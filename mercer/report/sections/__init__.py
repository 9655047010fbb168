"""The parts of a report: each takes what it draws from a `Study` and returns markup."""
