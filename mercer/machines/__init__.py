"""Machines in a reproducing kernel Hilbert space."""

from mercer.machines.ridge import KernelRidge

__all__ = ["KernelRidge"]
