"""Models in files that hold numbers and names, never code; and for other programs and languages."""

from mercer.io.allowed import ModelFileError
from mercer.io.c_code import write_c
from mercer.io.files import inspect, load, save
from mercer.io.libsvm import read_libsvm, write_libsvm
from mercer.io.onnx_graph import write_onnx

__all__ = [
    "ModelFileError",
    "inspect",
    "load",
    "read_libsvm",
    "save",
    "write_c",
    "write_libsvm",
    "write_onnx",
]
