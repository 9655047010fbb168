"""Sounds that never were, for the separation of sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.datasets.toys import check_size, checked

RATE = 8000
"""Samples a second."""


def make_cocktail_party(
    n_samples: int = 8000,
    *,
    n_sources: int = 3,
    noise: float = 0.0,
    random_state: Any = None,
    return_mixing: bool = False,
) -> Any:
    """Make sounds in a room, and what as many microphones hear of them.

    X = S Aᵀ + noise · ε. The columns of S are sounds of 8000 samples a second, of mean 0 and
    variance 1: a voice (syllables of harmonics), a melody (plucked notes), a drum (bursts of
    noise) and an engine (a hum with its overtones). The entry a_ij of A is 1 where i = j and falls
    off with the distance of microphone i from source j.

    Parameters
    ----------
    n_samples : int, default=8000
        Number of samples: one second.
    n_sources : int, default=3
        Number of sounds and of microphones, from 2 to 4.
    noise : float, default=0.0
        Standard deviation of the noise of the microphones.
    random_state : int, Generator or None
        Seed.
    return_mixing : bool, default=False
        Return A as well.

    Returns
    -------
    X : ndarray of shape (n_samples, n_sources)
        What the microphones hear.
    S : ndarray of shape (n_samples, n_sources)
        The sounds.
    A : ndarray of shape (n_sources, n_sources)
        The mixing, if asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_cocktail_party
    >>> X, S, A = make_cocktail_party(1000, random_state=0, return_mixing=True)
    >>> np.allclose(X, S @ A.T)
    True
    """
    n, noise, rng = checked(n_samples, noise, random_state, least=2)
    k = check_size("n_sources", n_sources, 2)
    if k > len(_SOUNDS):
        raise ValueError(f"n_sources must be from 2 to {len(_SOUNDS)}; got {n_sources!r}")
    time = np.arange(n) / RATE
    S = np.column_stack([_standard(sound(time, rng)) for sound in _SOUNDS[:k]])
    A = _room(k, rng)
    X = S @ A.T + noise * rng.normal(size=(n, k))
    return (X, S, A) if return_mixing else (X, S)


def _room(k: int, rng: np.random.Generator) -> np.ndarray:
    """Place the sources on a circle, a microphone before each: a_ij = d_ii / d_ij.

    The nearest sound is the loudest in each microphone, so that A is well conditioned.
    """
    angle = 2 * np.pi * (np.arange(k) + rng.uniform(-0.15, 0.15, k)) / k
    sources = np.column_stack([np.cos(angle), np.sin(angle)])
    microphones = rng.uniform(0.4, 0.6, (k, 1)) * sources
    distance = np.linalg.norm(microphones[:, None] - sources[None], axis=2)
    return np.diag(distance)[:, None] / distance


def _standard(sound: np.ndarray) -> np.ndarray:
    return (sound - sound.mean()) / sound.std()


# ---------------------------------------------------------------- sounds
def _voice(time: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return harmonics of a gliding pitch, a few syllables a second."""
    pitch = 120 + 15 * np.sin(2 * np.pi * 1.3 * time + rng.uniform(0, 2 * np.pi))
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    tones = sum(np.sin(h * phase) / h for h in range(1, 9))
    syllables = np.maximum(np.sin(2 * np.pi * 3.7 * time + rng.uniform(0, np.pi)), 0.02) ** 2
    return syllables * tones


def _melody(time: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return plucked notes of a pentatonic scale, five a second."""
    note = np.floor(5 * time).astype(int)
    scale = 330 * 2.0 ** (np.array([0, 2, 4, 7, 9, 12]) / 12)
    pitch = rng.choice(scale, note[-1] + 1)[note]
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    return np.exp(-9 * (time - note / 5)) * (np.sin(phase) + 0.4 * np.sin(2 * phase))


def _drum(time: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return bursts of noise, seven a second, every fourth one louder."""
    beat = np.floor(7 * time).astype(int)
    burst = np.exp(-45 * (time - beat / 7)) * np.where(beat % 4 == 0, 1.0, 0.6)
    return burst * rng.normal(size=len(time))


def _engine(time: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a saw-toothed hum whose revolutions waver."""
    speed = 47 + 4 * np.sin(2 * np.pi * 0.7 * time + rng.uniform(0, 2 * np.pi))
    turns = np.cumsum(speed) / RATE + rng.uniform()
    return 2 * (turns % 1.0) - 1


_SOUNDS: list[Callable[[np.ndarray, np.random.Generator], np.ndarray]] = [
    _voice,
    _melody,
    _drum,
    _engine,
]
