"""Ctrl-C at a chosen instruction of the code under test."""

from __future__ import annotations

import sys


class CtrlC:
    """Raises KeyboardInterrupt before the k-th instruction of the code under test."""

    def __init__(self, moment, files):
        self.moment, self.files, self.count = moment, files, 0

    def __call__(self, frame, event, arg):
        if not frame.f_code.co_filename.endswith(self.files):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.count += 1
            if self.count == self.moment:
                raise KeyboardInterrupt
        return self

    def run(self, function):
        """Return whether the moment came."""
        before = sys.gettrace()
        sys._getframe().f_trace_opcodes = True  # Python 3.12 looks at this when tracing begins
        sys.settrace(self)
        try:
            function()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False
