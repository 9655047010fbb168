"""Tests of mercer.nets."""
