r"""The cheapest ray of one guess, by minimum cuts: the inner loop of pricing.

For weights w and an anchor a the cheapest ray minimises :math:`w \cdot x` over private columns
with :math:`x_a = 1`. Its dual is a flow. On an arc from i to j whose height difference is as
large as privacy allows (*tight*, :math:`x_j = \alpha^{|ij|} x_i`) a multiplier
:math:`y_{ij} \ge 0` of :math:`x_j - \alpha^{|ij|} x_i \ge 0` carries
:math:`y_{ij}\,x_j` from i to j; a node with a negative weight sends, one with a positive weight
receives :math:`|w_i| x_i`; the anchor takes whatever comes. Where everything arrives, the flow
proves that no ray has a gain; where all but the anchor is settled, flow and ray prove each other
optimal. Supply that cannot be sent shows a cut: all that its sources reach moves up together
until another arc gets tight, and likewise down for a demand that cannot be met (the primal-dual
method; Hochbaum and Naor, "Simple and fast algorithms for linear and integer programs with two
variables per inequality", 1994). Within a step the largest flow is found by Dinic's algorithm.

A network is the second part of :func:`tightrope.optimize.pricing.arcs`: where the arcs of each
node begin, their ends, the opposite arcs, their lengths, and the factor :math:`\alpha^{|ij|}`.
Flows are kept relative to the node where they start, so that neither they nor the weights change
when a part of the ray moves, and no number leaves the range of floats however steep the ray is.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# mypy: disallow-untyped-decorators=False
from __future__ import annotations

import math

import numpy as np

from tightrope.optimize.faces import TIGHT_TOLERANCE
from tightrope.optimize.loops import loop

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
MOST_PEAKS = 8

# Loops copy arrays entry by entry: Numba takes two seconds to compile the check of shapes in an
# assignment to a slice.


@loop
def _find_tight_arcs(network, heights, tight):
    """Mark the arcs along which the ray falls as fast as privacy allows."""
    first, end, _, length, _ = network
    for i in range(len(heights)):
        for e in range(first[i], first[i + 1]):
            tight[e] = abs(heights[end[e]] - heights[i] - length[e]) <= TIGHT_TOLERANCE


@loop
def _measure_demand(network, weights, floor, flow, demand, noise):
    """Compute what each node still demands, relative to the ray there, and its round-off.

    A negative demand is a supply.
    """
    first, _, back, _, fall = network
    for i in range(len(weights)):
        out = 0.0
        into = 0.0
        for e in range(first[i], first[i + 1]):
            out += flow[e]
            # A flow is kept relative to its start; the ray is lower here by this factor.
            into += flow[back[e]] / fall[e]
        # Conservation at a node: weight less inflow plus outflow is what is still demanded.
        demand[i] = weights[i] - into + out
        noise[i] = ROUND_OFF * (abs(weights[i]) + into + out) + floor


@loop
def _search_levels(network, tight, flow, noise, level, queue, way):
    """Search breadth first along residual arcs (1.0), or against them (-1.0).

    The search begins at the nodes of level 0. The queue gets all nodes that it reaches; how many
    they are is returned.
    """
    first, end, back, _, _ = network
    head = 0
    count = 0
    for i in range(len(level)):
        if level[i] == 0:
            queue[count] = i
            count += 1
    while head < count:
        i = queue[head]
        head += 1
        for e in range(first[i], first[i + 1]):
            j = end[e]
            if level[j] >= 0:
                continue
            along, other, node = (e, back[e], j) if way > 0 else (back[e], e, i)
            # A tight arc carries any amount, another one only gives back what flows against it.
            if tight[along] or flow[other] > noise[node]:
                level[j] = level[i] + 1
                queue[count] = j
                count += 1
    return count


@loop
def _send_from(network, work, source, anchor):
    """Send the supply of a source along shortest residual paths; return whether any is sent.

    This is the depth-first search of Dinic's algorithm: ``arc`` has the next arc to try at each
    node, ``path`` the arcs from the source to the node i.
    """
    first, end, back, _, fall = network
    tight, flow, demand, noise, level, arc, path = work
    depth = 0
    i = source
    sent = False
    while True:
        if -demand[source] <= noise[source]:
            return sent
        if i != source and (i == anchor or demand[i] > noise[i]):
            # Amounts are relative to the source, where the ray is 1.
            amount = -demand[source]
            ray = 1.0
            full = depth
            for d in range(depth):
                e = path[d]
                if tight[e]:
                    ray *= fall[e]
                    continue
                ray /= fall[e]
                # A residual arc gives back at most what flows against it.
                if flow[back[e]] * ray < amount:
                    amount = flow[back[e]] * ray
                    full = d
            # The demand of the last node may be the bottleneck.
            if i != anchor and demand[i] * ray <= amount:
                amount = demand[i] * ray
                full = depth
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
            demand[source] += amount
            demand[i] -= amount / ray
            # What round-off leaves of a demand that was met must not be sent for again.
            if i != anchor and demand[i] < 2 * noise[i]:
                demand[i] = min(demand[i], noise[i])
            # Go on from here, or from where the first arc is full.
            if full < depth:
                depth = full
                i = end[back[path[depth]]]
            continue
        stepped = False
        while arc[i] < first[i + 1]:
            e = arc[i]
            j = end[e]
            if level[j] == level[i] + 1 and (tight[e] or flow[back[e]] > noise[j]):
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


@loop
def _send_all(network, weights, floor, work, queue, anchor, may_send):
    """Send the supply of some nodes as long as it gets anywhere.

    On return the queue begins with the nodes that unsent supply reaches, and ``level`` is set
    there. How many they are is returned, and how often all arcs were visited.
    """
    first = network[0]
    tight, flow, demand, noise, level, arc, _ = work
    n = len(weights)
    count = passes = 0
    # Every phase lengthens the shortest residual path (Dinic), so n phases are enough.
    for _phase in range(n):
        passes += 1
        sources = 0
        for i in range(n):
            level[i] = -1
            if may_send[i] and demand[i] < -noise[i]:
                level[i] = 0
                sources += 1
        # Shortest residual distances from all sources at once.
        count = _search_levels(network, tight, flow, noise, level, queue, 1.0)
        reached = False
        for q in range(sources, count):
            i = queue[q]
            if i == anchor or demand[i] > noise[i]:
                reached = True
        if not reached:
            break
        for i in range(n):
            arc[i] = first[i]
        sent = False
        for q in range(sources):
            sent |= _send_from(network, work, queue[q], anchor)
        _measure_demand(network, weights, floor, flow, demand, noise)
        if not sent:
            break
    return count, passes


@loop
def _shift(network, heights, level, queue, count, way):
    """Move nodes up (1.0) or down (-1.0) together until an arc to or from others gets tight."""
    first, end, _, length, _ = network
    step = math.inf
    for q in range(count):
        i = queue[q]
        for e in range(first[i], first[i + 1]):
            # An arc that leaves the moving set limits the step by its slack.
            if level[end[e]] < 0:
                step = min(step, length[e] - way * (heights[end[e]] - heights[i]))
    for q in range(count):
        heights[queue[q]] -= way * step


@loop
def cheapest_ray(
    network, alpha, weights, floor, anchor, heights, flow, demand, noise, most
):
    """Move ``heights`` to the cheapest ray, or until its flow proves that no ray has a gain.

    On return ``flow`` holds the flows that prove the value, and ``demand`` what they do not meet,
    relative to the ray: the value at the anchor, elsewhere nothing or a surplus. How often all
    arcs were visited is returned.
    """
    n = len(weights)
    tight = np.zeros(len(flow), np.bool_)
    level = np.empty(n, np.int64)
    queue = np.empty(n + 1, np.int64)
    arc = np.empty(n, np.int64)
    path = np.empty(n + 1, np.int64)
    may_send = np.empty(n, np.bool_)
    work = tight, flow, demand, noise, level, arc, path
    flow[:] = 0.0
    _find_tight_arcs(network, heights, tight)
    _measure_demand(network, weights, floor, flow, demand, noise)
    passes = 0
    for _ in range(most):
        passes += 1
        if alpha ** (heights[_argmin(heights)] - heights[anchor]) > STEEP:
            # Relative to the anchor the peak leaves the range of floats: anchor the ray there.
            demand[anchor] = -math.inf
            return passes
        # Supply, to nodes with a demand and to the anchor.
        may_send[:] = True
        may_send[anchor] = False
        count, phases = _send_all(
            network, weights, floor, work, queue, anchor, may_send
        )
        passes += phases
        if count and level[anchor] >= 0:
            # The anchor takes all; what does not arrive is below the range of floats.
            return passes
        if count:
            # A cut: what unsent supply reaches moves up.
            _shift(network, heights, level, queue, count, 1.0)
        else:
            if demand[anchor] >= 0.0:
                return passes
            # The anchor's supply: no more than it has, as round-off grows with what is sent.
            may_send[:] = False
            may_send[anchor] = True
            passes += _send_all(network, weights, floor, work, queue, anchor, may_send)[
                1
            ]
            if demand[anchor] >= -noise[anchor]:
                return passes
            # The other cut: what could send to an unmet demand moves down.
            unmet = False
            for i in range(n):
                level[i] = -1
                if i != anchor and demand[i] > noise[i]:
                    level[i] = 0
                    unmet = True
            if not unmet:
                return passes
            count = _search_levels(network, tight, flow, noise, level, queue, -1.0)
            if level[anchor] >= 0:
                return passes
            _shift(network, heights, level, queue, count, -1.0)
        _find_tight_arcs(network, heights, tight)
        for e in range(len(flow)):
            # Complementary slackness: only tight arcs may carry a flow.
            if not tight[e]:
                flow[e] = 0.0
        _measure_demand(network, weights, floor, flow, demand, noise)
    return passes


@loop
def _argmin(values):
    """Return where the first of the smallest values is."""
    best = 0
    for i in range(len(values)):
        if values[i] < values[best]:
            best = i
    return best


@loop
def _cancel_excess(network, heights, anchor, flow, demand, noise):
    """Cancel inflow above the round-off bound of a demand, from the lowest of the ray on.

    Where a ray is low a weight may be huge, and so is its round-off. What a node lacks is a small
    part of it where the flow comes from: there the prices are lowered by much less.
    """
    first, end, back, _, fall = network
    # Interpreted and compiled loops must see ties in the same order: the sort is stable.
    for i in np.argsort(-heights, kind="mergesort"):
        lack = noise[i] - demand[i]
        if i == anchor or lack <= 0.0:
            continue
        for e in range(first[i], first[i + 1]):
            inflow = back[e]
            # A flow is relative to its start, where the ray is higher by 1/fall.
            cancelled = min(lack, flow[inflow] / fall[e])
            flow[inflow] -= cancelled * fall[e]
            demand[i] += cancelled
            demand[end[e]] -= cancelled * fall[e]
            lack -= cancelled


@loop
def cheapest_rays(
    network, alpha, weights, floors, peaks, heights, values, noise, shortfall, most
):
    """Find the cheapest ray of each guess (row of weights), starting from the given heights.

    ``peaks`` are the anchors, and on return where each ray is highest: ``values`` are measured
    there, up to ``noise``. ``shortfall`` is raised to what the proof of some guess lacks at each
    node: at prices that are lower by it no ray has a negative value. How often all arcs were
    visited is returned.
    """
    first, end = network[:2]
    n = len(first) - 1
    flow = np.zeros(len(end))
    demand = np.empty(n)
    unsure = np.empty(n)
    ray = np.empty(n)
    lacks = np.empty(n)
    passes = 0
    for k in range(len(peaks)):
        anchor = peaks[k]
        if weights[k, _argmin(weights[k])] >= 0.0:
            # No ray can be negative, and nothing is rounded.
            values[k] = 0.0
            noise[k] = 0.0
            continue
        for i in range(n):
            ray[i] = heights[k, i]
        for turn in range(MOST_PEAKS):
            passes += cheapest_ray(
                network, alpha, weights[k], floors[k], anchor, ray, flow, demand, unsure, most
            )  # fmt: skip
            if turn and demand[anchor] <= values[k]:
                break
            peaks[k] = anchor
            values[k] = demand[anchor]
            noise[k] = unsure[anchor]
            for i in range(n):
                heights[k, i] = ray[i] - ray[anchor]
                # What was too little to send is part of the demand.
                unsure[i] -= floors[k]
            _cancel_excess(network, ray, anchor, flow, demand, unsure)
            for i in range(n):
                lacks[i] = unsure[i] - demand[i]
            # A ray is a large multiple of its entry far from the peak, and so is its round-off:
            # where it is highest a guess lacks least.
            anchor = _argmin(ray)
            if values[k] >= 0.0 or ray[anchor] == ray[peaks[k]]:
                break
        for i in range(n):
            shortfall[i] = max(shortfall[i], lacks[i])
    return passes


@loop
def raise_to_private(network, columns, orders):
    """Raise each column (row) to its smallest private majorant.

    Entries are settled in the given orders: where the largest come first, mostly in one pass.
    """
    first, end, _, _, fall = network
    n = len(first) - 1
    waiting = np.empty(n, np.bool_)
    for c in range(len(columns)):
        column = columns[c]
        queue = orders[c]
        waiting[:] = True
        head = 0
        count = n
        while count:
            i = queue[head]
            head = (head + 1) % n
            count -= 1
            waiting[i] = False
            for e in range(first[i], first[i + 1]):
                j = end[e]
                # Privacy demands x_j ≥ α^|e|·x_i.
                least = fall[e] * column[i]
                # A label-correcting search: a node whose entry was raised is examined again.
                if column[j] < least:
                    column[j] = least
                    if not waiting[j]:
                        waiting[j] = True
                        queue[(head + count) % n] = j
                        count += 1


@loop
def join_tight(network, columns, sizes, rays, parts, tight):
    """Join the nodes of each column (row) by its tight edges.

    ``parts`` gets the first node of each node's part, ``sizes`` the largest entry of a part at its
    first node, ``rays`` the column that falls along the tight edges exactly.
    """
    first, end, _, _, fall = network
    n = len(first) - 1
    queue = np.empty(n, np.int64)
    for k in range(len(columns)):
        x = columns[k]
        ray = rays[k]
        part = parts[k]
        part[:] = -1
        # Breadth first along tight edges, from every node that no part has reached.
        for begin in range(n):
            if part[begin] >= 0:
                continue
            part[begin] = begin
            ray[begin] = x[begin]
            queue[0] = begin
            head = 0
            count = 1
            while head < count:
                i = queue[head]
                head += 1
                sizes[k, begin] = max(sizes[k, begin], x[i])
                for e in range(first[i], first[i + 1]):
                    j = end[e]
                    slack = TIGHT * (1 - fall[e])
                    # Slack of x_j ≥ α^|e|·x_i, relative to the largest possible.
                    down = x[j] - fall[e] * x[i] <= slack * x[i]
                    tight[k, e] = down
                    if part[j] < 0 and (down or x[i] - fall[e] * x[j] <= slack * x[j]):
                        part[j] = begin
                        ray[j] = ray[i] * fall[e] if down else ray[i] / fall[e]
                        queue[count] = j
                        count += 1
