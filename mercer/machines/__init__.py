"""Machines in a reproducing kernel Hilbert space."""

from mercer.machines.kernel_machine import KernelMachine
from mercer.machines.laplacian_ridge import LaplacianRidge, LaplacianRidgeClassifier
from mercer.machines.laplacian_svm import LaplacianSVC
from mercer.machines.linear_svc import LinearSVC
from mercer.machines.logistic import KernelLogistic
from mercer.machines.metric_ridge import MetricRidge, MetricRidgeClassifier
from mercer.machines.neighbours import KNN, KNNRegressor, NearestNeighbors
from mercer.machines.nu import NuSVC, NuSVR
from mercer.machines.perceptron import Perceptron
from mercer.machines.ridge import KernelRidge, KernelRidgeClassifier
from mercer.machines.spreading import GraphSpreading
from mercer.machines.svm import SVC
from mercer.machines.svr import SVR, OneClassSVM

__all__ = [
    "KNN",
    "SVC",
    "SVR",
    "GraphSpreading",
    "KNNRegressor",
    "KernelLogistic",
    "KernelMachine",
    "KernelRidge",
    "KernelRidgeClassifier",
    "LaplacianRidge",
    "LaplacianRidgeClassifier",
    "LaplacianSVC",
    "LinearSVC",
    "MetricRidge",
    "MetricRidgeClassifier",
    "NearestNeighbors",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Perceptron",
]
