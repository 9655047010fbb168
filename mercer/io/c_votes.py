"""What the values of a machine mean, in C: the class that they decide for, and probabilities."""

from __future__ import annotations

from collections.abc import Iterator

from mercer.io.formulas import MachineFormula
from mercer.machines._pairs import LEAST_LEAD, LIBSVM_LEAST, SINGULAR


def decision(machine: MachineFormula, name: str) -> Iterator[str]:
    """Write a function from values to the place of a class."""
    k, t = _sizes(machine)
    yield f"static int {name}_decision(const double *f) {{"
    if t == 1:
        yield f"  return f[0] {machine.above} 0.0;"
    elif machine.pairs:
        yield f"  double votes[{k}] = {{0.0}}, sums[{k}] = {{0.0}};"
        for o, (i, j) in enumerate(machine.pairs):
            first = f"f[{o}] >= 0.0" if machine.ties else f"f[{o}] > 0.0"
            yield f"  votes[{first} ? {i} : {j}] += 1.0; sums[{i}] += f[{o}]; sums[{j}] -= f[{o}];"
        if machine.ties:
            yield f"  for (int c = 0; c < {k}; c++)"
            yield "    votes[c] += sums[c] / (3.0 * (fabs(sums[c]) + 1.0));"
        yield "  (void)sums;"
        yield from _largest("votes", k)
    else:
        yield from _largest("f", k)
    yield "}"


def _sizes(machine: MachineFormula) -> tuple[int, int]:
    """Return the numbers of classes and of values."""
    return len(machine.classes), machine.coefs.shape[1]  # type: ignore[arg-type]


def _largest(values: str, k: int) -> Iterator[str]:
    yield "  int best = 0;"
    yield f"  for (int c = 1; c < {k}; c++) if ({values}[c] > {values}[best]) best = c;"
    yield "  return best;"


# -------------------------------------------------------------------- probabilities
def probabilities(machine: MachineFormula, name: str) -> Iterator[str]:
    """Write a function from rows to the probabilities of all classes."""
    k, t = _sizes(machine)
    if machine.pairs:
        yield from _coupled(machine, name)
    if machine.agrees:
        yield from _agreed(name, k)
    yield f"void {name}_probabilities(const double *x, double *p) {{"
    yield f"  double f[{t}];"
    yield f"  {name}_values(x, f);"
    yield from _single(machine, name, k, t)
    if machine.agrees:
        yield f"  {name}_agree(p, {name}_decision(f));"
    yield "}"


def _single(machine: MachineFormula, name: str, k: int, t: int) -> Iterator[str]:
    """Write p from values f: of one, of all against the rest, of pairs."""
    assert machine.odds is not None
    if machine.odds.slopes is None:
        yield from _softmax(k) if t > 1 else ["  p[1] = 1.0 / (1.0 + exp(-f[0]));"]
    else:
        yield f"  double r[{t}];"
        yield f"  for (int o = 0; o < {t}; o++) {{"
        logit = f"f[o] * {name}_slope[o][f[o] < 0.0 ? 0 : 1] + {name}_shift[0][o]"
        yield f"    r[o] = 1.0 / (1.0 + exp(-({logit})));"
        if machine.odds.shifts is not None:
            yield f"    r[o] = fmin(fmax(r[o], {LIBSVM_LEAST!r}), 1.0 - {LIBSVM_LEAST!r});"
        yield "  }"
        if t == 1:
            yield "  p[1] = r[0];"
        elif machine.pairs:
            yield f"  {name}_couple(r, p);"
        else:
            yield "  double total = 0.0;"
            yield f"  for (int c = 0; c < {k}; c++) total += r[c];"
            yield f"  for (int c = 0; c < {k}; c++) p[c] = r[c] / fmax(total, 1e-300);"
    if t == 1:
        yield "  p[0] = 1.0 - p[1];"


def _softmax(k: int) -> Iterator[str]:
    yield "  double most = f[0], total = 0.0;"
    yield f"  for (int c = 1; c < {k}; c++) most = fmax(most, f[c]);"
    yield f"  for (int c = 0; c < {k}; c++) total += p[c] = exp(f[c] - most);"
    yield f"  for (int c = 0; c < {k}; c++) p[c] /= total;"


def _coupled(machine: MachineFormula, name: str) -> Iterator[str]:
    """Write p with Qp = −λ, Σp = 1, of probabilities of pairs: Q is definite, without pivots."""
    k, _ = _sizes(machine)
    yield f"static void {name}_couple(const double *r, double *p) {{"
    yield f"  double Q[{k}][{k}] = {{{{0.0}}}}, total = 0.0;"
    for o, (i, j) in enumerate(machine.pairs):
        yield f"  Q[{i}][{i}] += (1.0 - r[{o}]) * (1.0 - r[{o}]); Q[{j}][{j}] += r[{o}] * r[{o}];"
        yield f"  Q[{i}][{j}] = Q[{j}][{i}] = -r[{o}] * (1.0 - r[{o}]);"
    yield f"  for (int c = 0; c < {k}; c++) {{ Q[c][c] += {SINGULAR!r}; p[c] = 1.0; }}"
    yield f"  for (int s = 0; s < {k}; s++)"
    yield f"    for (int i = s + 1; i < {k}; i++) {{"
    yield "      const double factor = Q[i][s] / Q[s][s];"
    yield f"      for (int j = s; j < {k}; j++) Q[i][j] -= factor * Q[s][j];"
    yield "      p[i] -= factor * p[s];"
    yield "    }"
    yield f"  for (int s = {k - 1}; s >= 0; s--) {{"
    yield f"    for (int j = s + 1; j < {k}; j++) p[s] -= Q[s][j] * p[j];"
    yield "    p[s] /= Q[s][s];"
    yield "  }"
    yield f"  for (int c = 0; c < {k}; c++) total += p[c] = fmax(p[c], 0.0);"
    yield f"  for (int c = 0; c < {k}; c++) p[c] /= total;"
    yield "}"


def _agreed(name: str, k: int) -> Iterator[str]:
    """Write what moves p until the predicted class is the likeliest: see ``agree``."""
    yield f"static void {name}_agree(double *p, int own) {{"
    yield f"  double q[{k}], sum = p[own], level = p[own], total = 0.0;"
    yield "  int n = 0, best = 0;"
    yield f"  for (int c = 1; c < {k}; c++) if (p[c] > p[best]) best = c;"
    yield "  if (best == own) return;"
    yield f"  for (int c = 0; c < {k}; c++) if (c != own) {{"
    yield "    int i = n++;"
    yield "    for (; i > 0 && q[i - 1] < p[c]; i--) q[i] = q[i - 1];"
    yield "    q[i] = p[c];"
    yield "  }"
    yield "  for (int i = 0; i < n; i++) { sum += q[i]; level = fmax(level, sum / (i + 2)); }"
    yield f"  for (int c = 0; c < {k}; c++) p[c] = fmin(p[c], level);"
    yield f"  p[own] = level + {LEAST_LEAD!r};"
    yield f"  for (int c = 0; c < {k}; c++) total += p[c];"
    yield f"  for (int c = 0; c < {k}; c++) p[c] /= total;"
    yield "}"
