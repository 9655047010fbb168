# mypy: ignore-errors
"""Compiled loops of the suffix automaton of many strings.

A state stands for substrings that end in the same places of all strings; it holds one of each
length above that of its link, up to its own. Following links from a state passes all endings of
its strings, so that a walk over a string meets all its substrings. State 0 is the empty string.
Edges lie in a table that is open to collisions, and in a list for each state.
"""

from __future__ import annotations

import numpy as np

from mercer._compiled import compiled, compiled_part


@compiled_part()
def _slot(table, state, letter, source, label):
    """Return where in the table the edge of a state by a letter stands, or could stand."""
    mask = np.uint64(len(table) - 1)
    mixed = np.uint64(state) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(letter + 1) * np.uint64(0xD1B54A32D192ED03)
    place = (mixed ^ (mixed >> np.uint64(29))) & mask
    while table[place] >= 0:
        edge = table[place]
        if source[edge] == state and label[edge] == letter:
            break
        place = (place + np.uint64(1)) & mask
    return place


@compiled_part()
def _add_edge(table, edges, n_edges, head, state, letter, target):
    """Add an edge to the table and to the list of its state; return the number of edges."""
    source, label, goal, following = edges
    source[n_edges], label[n_edges], goal[n_edges] = state, letter, target
    following[n_edges] = head[state]
    head[state] = n_edges
    table[_slot(table, state, letter, source, label)] = n_edges
    return n_edges + 1


@compiled_part()
def _split(table, edges, n_edges, head, links, lengths, n_states, p, letter):
    """Split the state that p reaches by a letter: its strings of up to len(p) + 1 become a state.

    Return the new state (or the old one, if nothing is to be split off) and both numbers.
    """
    source, label, goal, following = edges
    q = goal[table[_slot(table, p, letter, source, label)]]
    if lengths[q] == lengths[p] + 1:
        return q, n_edges, n_states
    clone = n_states
    lengths[clone], links[clone], head[clone] = lengths[p] + 1, links[q], -1
    edge = head[q]
    while edge >= 0:
        n_edges = _add_edge(table, edges, n_edges, head, clone, label[edge], goal[edge])
        edge = following[edge]
    links[q] = clone
    while p >= 0:
        place = _slot(table, p, letter, source, label)
        if table[place] < 0 or goal[table[place]] != q:
            break
        goal[table[place]] = clone
        p = links[p]
    return clone, n_edges, n_states + 1


@compiled()
def build(letters, starts, stops, table, source, label, goal, following, head, links, lengths):
    """Build the automaton of all strings into arrays that are large enough; return its states."""
    edges = (source, label, goal, following)
    links[0], lengths[0], head[0] = -1, 0, -1
    n_states, n_edges = 1, 0
    for row in range(len(starts)):
        last = 0
        for i in range(starts[row], stops[row]):
            letter = letters[i]
            if table[_slot(table, last, letter, source, label)] >= 0:  # of a string before
                last, n_edges, n_states = _split(
                    table, edges, n_edges, head, links, lengths, n_states, last, letter
                )
                continue
            new = n_states
            n_states += 1
            lengths[new], head[new] = lengths[last] + 1, -1
            p = last
            while p >= 0 and table[_slot(table, p, letter, source, label)] < 0:
                n_edges = _add_edge(table, edges, n_edges, head, p, letter, new)
                p = links[p]
            if p < 0:
                links[new] = 0
            else:
                found, n_edges, n_states = _split(
                    table, edges, n_edges, head, links, lengths, n_states, p, letter
                )
                links[new] = found
            last = new
    return n_states


@compiled()
def walk(letters, starts, stops, table, source, label, goal, links, lengths, states, matched):
    """Write the state and the length of the longest known ending after each letter of strings.

    A letter that no string of the automaton has is −1.
    """
    for row in range(len(starts)):
        state, length = 0, 0
        for i in range(starts[row], stops[row]):
            letter = letters[i]
            place = _slot(table, state, letter, source, label)
            while table[place] < 0 and state > 0:
                state = links[state]
                length = lengths[state]
                place = _slot(table, state, letter, source, label)
            if table[place] >= 0:
                state = goal[table[place]]
                length += 1
            states[i], matched[i] = state, length


@compiled()
def count_states(states, starts, stops, links, sizes):
    """Write how many states each string meets, the links of those it ends in included."""
    met = np.full(len(links), -1, np.int64)
    for row in range(len(starts)):
        sizes[row] = 0
        for i in range(starts[row], stops[row]):
            state = states[i]
            while state > 0 and met[state] != row:
                met[state] = row
                sizes[row] += 1
                state = links[state]


@compiled()
def fill_states(states, matched, starts, stops, links, lengths, sums, ends, columns, counts, parts):
    """Write the states that strings meet, how often, and what their substrings weigh together.

    sums[l] is what one string of each length from 1 to l weighs.
    """
    place = np.full(len(links), -1, np.int64)
    waiting = np.zeros(len(columns), np.int32)  # states whose link is this one, not counted yet
    for row in range(len(starts)):
        at, begin = ends[row], ends[row]
        for i in range(starts[row], stops[row]):
            state = states[i]
            while state > 0 and place[state] < begin:
                place[state] = at
                columns[at] = state
                counts[at] = parts[at] = 0.0
                at += 1
                state = links[state]
                if state > 0 and place[state] >= begin:
                    waiting[place[state]] += 1
                elif state > 0:
                    waiting[at] += 1
            if states[i] > 0:
                counts[place[states[i]]] += 1.0
                # of a state that is met in the middle, only the shorter strings are there
                parts[place[states[i]]] += sums[matched[i]] - sums[lengths[states[i]]]
        for first in range(begin, ends[row + 1]):
            k = first
            while k >= 0 and waiting[k] == 0:
                waiting[k] = -1
                state = columns[k]
                link = links[state]
                parts[k] += counts[k] * (sums[lengths[state]] - sums[lengths[link]])
                if link == 0:
                    break
                counts[place[link]] += counts[k]
                waiting[place[link]] -= 1
                k = place[link]
