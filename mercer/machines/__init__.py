"""Machines in a reproducing kernel Hilbert space."""

from mercer.machines.linear_svc import LinearSVC
from mercer.machines.ridge import KernelRidge
from mercer.machines.svm import SVC
from mercer.machines.svr import SVR, OneClassSVM

__all__ = ["SVC", "SVR", "KernelRidge", "LinearSVC", "OneClassSVM"]
