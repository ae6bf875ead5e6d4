r"""The cheapest ray of one guess, by minimum cuts: the compiled inner loop of pricing.

For weights w and an anchor a the cheapest ray minimises :math:`w \cdot x` over private columns
with :math:`x_a = 1`. Its dual is a flow. On an arc from i to j whose height difference is as
large as privacy allows (*tight*, :math:`x_j = \alpha^{|ij|} x_i`) a multiplier
:math:`y_{ij} \ge 0` of :math:`x_j - \alpha^{|ij|} x_i \ge 0` carries
:math:`y_{ij}\,x_j` from i to j; a node with a negative weight sends, one with a positive weight
receives :math:`|w_i| x_i`; the anchor takes whatever comes. Where everything arrives, the flow
proves that no ray has a gain; where all but the anchor is settled, flow and ray prove each other
optimal. What cannot be sent shows a cut: all that its senders
reach moves up together until another arc gets tight, and likewise down for what cannot be
received (the primal-dual method; Hochbaum and Naor, "Simple and fast algorithms for linear and
integer programs with two variables per inequality", 1994). Within a step the largest flow is
found by Dinic's algorithm.

Flows are kept relative to the node where they start, so that neither they nor the weights change
when a part of the ray moves, and no number leaves the range of floats however steep the ray is.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# mypy: disallow-untyped-decorators=False
from __future__ import annotations

import math

import numpy as np
from numba import njit

from tightrope.optimize.faces import TIGHT_TOLERANCE

#: Round-off, in units of the machine precision times what passes a node, that is left unsent.
ROUND_OFF = 8 * 2.0**-52
#: Amounts below this are lost in the range of floats; above the other a ray is too steep.
UNDERFLOW = 1e-250
STEEP = 1e200
#: Weights below this part of the mean weight are taken for round-off of the others.
FLOOR = 2.0**-54
#: An edge of a column is tight when its slack is within this part of the largest it could have.
TIGHT = 1e-6
#: How often a ray that is higher elsewhere than at its anchor is anchored there instead.
MOST_PLACES = 8


@njit(cache=True, nogil=True)
def _tight_arcs(net, heights, tight):
    first, end, _, length, _ = net
    for i in range(len(heights)):
        for e in range(first[i], first[i + 1]):
            tight[e] = abs(heights[end[e]] - heights[i] - length[e]) <= TIGHT_TOLERANCE


@njit(cache=True, nogil=True)
def _measure(net, weights, floor, flow, left, slight):
    """Compute what is left at every node, relative to the ray there, and its round-off."""
    first, _, back, _, fall = net
    for i in range(len(weights)):
        out = 0.0
        into = 0.0
        for e in range(first[i], first[i + 1]):
            out += flow[e]
            into += flow[back[e]] / fall[e]
        left[i] = weights[i] - into + out
        slight[i] = ROUND_OFF * (abs(weights[i]) + into + out) + floor


@njit(cache=True, nogil=True)
def _levels(net, tight, flow, slight, level, queue, count, against):
    """Search along residual arcs, or ``against`` them, from the first ``count`` of the queue."""
    first, end, back, _, _ = net
    head = 0
    while head < count:
        i = queue[head]
        head += 1
        for e in range(first[i], first[i + 1]):
            j = end[e]
            if level[j] >= 0:
                continue
            along, other, node = (back[e], e, i) if against else (e, back[e], j)
            if tight[along] or flow[other] > slight[node]:
                level[j] = level[i] + 1
                queue[count] = j
                count += 1
    return count


@njit(cache=True, nogil=True)
def _send(net, work, source, anchor):
    """Send what is left at the source along shortest residual paths; say if anything is sent."""
    first, end, back, _, fall = net
    tight, flow, left, slight, level, arc, path = work
    depth = 0
    i = source
    sent = False
    while True:
        if -left[source] <= slight[source]:
            return sent
        if i != source and (i == anchor or left[i] > slight[i]):
            # Amounts are relative to the source, where the ray is 1.
            amount, ray, full = -left[source], 1.0, depth
            for d in range(depth):
                e = path[d]
                if tight[e]:
                    ray *= fall[e]
                    continue
                ray /= fall[e]
                if flow[back[e]] * ray < amount:
                    amount, full = flow[back[e]] * ray, d
            if i != anchor and left[i] * ray <= amount:
                amount, full = left[i] * ray, depth
            if amount <= UNDERFLOW:
                # Too far below the source for floats: as good as nothing. Look elsewhere.
                depth -= 1
                i = end[back[path[depth]]]
                arc[i] += 1
                continue
            ray = 1.0
            for d in range(depth):
                e = path[d]
                if tight[e]:
                    flow[e] += amount / ray
                    ray *= fall[e]
                else:
                    ray /= fall[e]
                    flow[back[e]] = max(flow[back[e]] - amount / ray, 0.0)
            sent = True
            left[source] += amount
            left[i] -= amount / ray
            if i != anchor:
                left[i] = min(left[i], slight[i]) if left[i] < 2 * slight[i] else left[i]
            # Go on from here, or from where the first arc is full.
            if full < depth:
                depth = full
                i = end[back[path[depth]]]
            continue
        stepped = False
        while arc[i] < first[i + 1]:
            e = arc[i]
            j = end[e]
            if level[j] == level[i] + 1 and (tight[e] or flow[back[e]] > slight[j]):
                path[depth] = e
                depth += 1
                i = j
                stepped = True
                break
            arc[i] += 1
        if stepped:
            continue
        if i == source:
            return sent
        # A dead end: leave it for good.
        depth -= 1
        i = end[back[path[depth]]]
        arc[i] += 1


@njit(cache=True, nogil=True)
def _send_all(net, weights, floor, work, queue, anchor, drawn):
    """Send what nodes owe, or what the anchor does (``drawn``), as long as it gets anywhere.

    The queue is left with the nodes that what is left reaches, and ``level`` is set there. How
    many they are is returned, and how often it has gone through the arcs.
    """
    first = net[0]
    tight, flow, left, slight, level, arc, _ = work
    n = len(weights)
    count = passes = 0
    for _phase in range(n):
        passes += 1
        level[:] = -1
        count = 0
        for i in range(n):
            if (i == anchor) == drawn and left[i] < -slight[i]:
                level[i] = 0
                queue[count] = i
                count += 1
        senders = count
        if not senders:
            break
        count = _levels(net, tight, flow, slight, level, queue, count, False)
        reached = False
        for q in range(senders, count):
            i = queue[q]
            if i == anchor or left[i] > slight[i]:
                reached = True
        if not reached:
            break
        arc[:] = first[:n]
        sent = False
        for q in range(senders):
            sent |= _send(net, work, queue[q], anchor)
        _measure(net, weights, floor, flow, left, slight)
        if not sent:
            break
    return count, passes


@njit(cache=True, nogil=True)
def _move(net, heights, level, queue, count, way):
    """Move nodes up (1) or down (-1) together until an arc between them and others gets tight."""
    first, end, _, length, _ = net
    step = math.inf
    for q in range(count):
        i = queue[q]
        for e in range(first[i], first[i + 1]):
            if level[end[e]] < 0:
                step = min(step, length[e] - way * (heights[end[e]] - heights[i]))
    for q in range(count):
        heights[queue[q]] -= way * step


@njit(cache=True, nogil=True)
def cheapest_ray(net, alpha, weights, floor, anchor, heights, flow, left, slight, most):
    """Move ``heights`` to the cheapest ray, or until its flow proves that no ray has a gain.

    On return ``flow`` holds the flows that prove the value; ``left`` what is left at each node,
    relative to the ray there: the value at the anchor, elsewhere nothing or a surplus. How often
    it has gone through the arcs is returned.
    """
    n = len(weights)
    tight = np.zeros(len(flow), np.bool_)
    level = np.empty(n, np.int64)
    queue = np.empty(n + 1, np.int64)
    arc = np.empty(n, np.int64)
    path = np.empty(n + 1, np.int64)
    work = tight, flow, left, slight, level, arc, path
    flow[:] = 0.0
    _tight_arcs(net, heights, tight)
    _measure(net, weights, floor, flow, left, slight)
    passes = 0
    for _ in range(most):
        passes += 1
        if alpha ** (heights.min() - heights[anchor]) > STEEP:
            # Relative to the anchor the peak leaves the range of floats: anchor the ray there.
            left[anchor] = -math.inf
            return passes
        # Negative weights, to receivers and the anchor.
        count, phases = _send_all(net, weights, floor, work, queue, anchor, False)
        passes += phases
        if count and level[anchor] >= 0:
            # The anchor takes all; what does not arrive is below the range of floats.
            return passes
        if count:
            # What they reach moves up.
            _move(net, heights, level, queue, count, 1)
        else:
            if left[anchor] >= 0.0:
                return passes
            # The anchor, to receivers: no more than it owes, as round-off grows with what is sent.
            passes += _send_all(net, weights, floor, work, queue, anchor, True)[1]
            if left[anchor] >= -slight[anchor]:
                return passes
            # What can send to a receiver that is left moves down.
            level[:] = -1
            count = 0
            for i in range(n):
                if i != anchor and left[i] > slight[i]:
                    level[i] = 0
                    queue[count] = i
                    count += 1
            if not count:
                return passes
            count = _levels(net, tight, flow, slight, level, queue, count, True)
            if level[anchor] >= 0:
                return passes
            _move(net, heights, level, queue, count, -1)
        _tight_arcs(net, heights, tight)
        for e in range(len(flow)):
            if not tight[e]:
                flow[e] = 0.0
        _measure(net, weights, floor, flow, left, slight)
    return passes


@njit(cache=True, nogil=True)
def _call_back(net, heights, anchor, flow, left, slight):
    """Take back what nodes have received beyond doubt of round-off, from the lowest of the ray on.

    Where a ray is low a weight may be huge, and so is its round-off. What a node lacks is a small
    part of it where the flow comes from: there the prices are lowered by much less.
    """
    first, end, back, _, fall = net
    for i in np.argsort(-heights):
        lack = slight[i] - left[i]
        if i == anchor or lack <= 0.0:
            continue
        for e in range(first[i], first[i + 1]):
            b = back[e]
            taken = min(lack, flow[b] / fall[e])
            flow[b] -= taken * fall[e]
            left[i] += taken
            left[end[e]] -= taken * fall[e]
            lack -= taken


@njit(cache=True, nogil=True)
def cheapest_rays(net, alpha, weights, places, heights, values, noise, short, most):
    """Find the cheapest ray of each guess (row of weights), starting from the given heights.

    ``places`` are the anchors, and on return where each ray is highest: ``values`` are measured
    there, up to ``noise``. ``short`` is raised to what the proof of some guess lacks at each
    node: at prices that are lower by it no ray has a negative value. How often the arcs were gone
    through is returned.
    """
    first, end = net[:2]
    n = len(first) - 1
    flow = np.zeros(len(end))
    left = np.empty(n)
    slight = np.empty(n)
    ray = np.empty(n)
    lacks = np.empty(n)
    passes = 0
    for k in range(len(places)):
        floor = FLOOR * np.abs(weights[k]).mean()
        place = places[k]
        ray[:] = heights[k]
        if weights[k].min() >= 0.0:
            # No ray can be negative, and nothing is rounded.
            values[k] = 0.0
            noise[k] = 0.0
            continue
        for turn in range(MOST_PLACES):
            passes += cheapest_ray(
                net, alpha, weights[k], floor, place, ray, flow, left, slight, most
            )
            if turn and left[place] <= values[k]:
                break
            places[k] = place
            values[k] = left[place]
            noise[k] = slight[place]
            heights[k] = ray - ray[place]
            slight -= floor  # what was too little to send is in what is left
            _call_back(net, ray, place, flow, left, slight)
            lacks[:] = slight - left
            # A ray is a large multiple of its entry far from the peak, and so is its round-off:
            # where it is highest a guess lacks least.
            place = np.argmin(ray)
            if values[k] >= 0.0 or ray[place] == ray[places[k]]:
                break
        for i in range(n):
            short[i] = max(short[i], lacks[i])
    return passes


@njit(cache=True, nogil=True)
def raise_to_private(net, columns):
    """Raise each column (row) to its smallest private majorant."""
    first, end, fall = net[0], net[1], net[4]
    n = len(first) - 1
    queue = np.empty(n, np.int64)
    waiting = np.empty(n, np.bool_)
    for c in range(len(columns)):
        column = columns[c]
        # Largest entries first: most nodes are then settled in one pass.
        queue[:] = np.argsort(-column)
        waiting[:] = True
        head, count = 0, n
        while count:
            i = queue[head]
            head = (head + 1) % n
            count -= 1
            waiting[i] = False
            for e in range(first[i], first[i + 1]):
                j = end[e]
                least = fall[e] * column[i]
                if column[j] < least:
                    column[j] = least
                    if not waiting[j]:
                        waiting[j] = True
                        queue[(head + count) % n] = j
                        count += 1


@njit(cache=True, nogil=True)
def join_tight(net, columns, sizes, rays, parts, tight):
    """Join the nodes of each column (row) by its tight edges.

    ``parts`` gets the first node of each node's part, ``sizes`` the largest entry of a part at its
    first node, ``rays`` the column that falls along the tight edges exactly.
    """
    first, end, _, _, fall = net
    n = len(first) - 1
    queue = np.empty(n, np.int64)
    for k in range(len(columns)):
        x, ray, part = columns[k], rays[k], parts[k]
        part[:] = -1
        for begin in range(n):
            if part[begin] >= 0:
                continue
            part[begin], ray[begin], queue[0] = begin, x[begin], begin
            at, many = 0, 1
            while at < many:
                i = queue[at]
                at += 1
                sizes[k, begin] = max(sizes[k, begin], x[i])
                for e in range(first[i], first[i + 1]):
                    j, slack = end[e], TIGHT * (1 - fall[e])
                    down = x[j] - fall[e] * x[i] <= slack * x[i]
                    tight[k, e] = down
                    if part[j] < 0 and (down or x[i] - fall[e] * x[j] <= slack * x[j]):
                        part[j], ray[j] = begin, ray[i] * fall[e] if down else ray[i] / fall[e]
                        queue[many] = j
                        many += 1
