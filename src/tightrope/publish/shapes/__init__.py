"""Question shapes: one class each, with everything that is particular to it.

============================================================  ==================
SQL                                                           query
============================================================  ==================
``SELECT COUNT(*) FROM t [WHERE …]``                          ``count(n)``
``SELECT COUNT(DISTINCT person) FROM t [WHERE …]``            ``count(n)``
``SELECT COUNT(DISTINCT c) FROM t [WHERE …]``                 ``count(n)``
``SELECT SUM(c) FROM t [WHERE …]``                            ``sum(n,v)``
``SELECT AVG(c) FROM t [WHERE …]``                            ``sum(n,v)``, and ``count(n)``
``SELECT g, COUNT(*) FROM t [WHERE …] GROUP BY g``            ``histogram(n,c)``
``SELECT g, SUM(COUNT(*)) OVER (ORDER BY g) … GROUP BY g``    ``count(n)`` for each cell
``SELECT g, COUNT(DISTINCT person) FROM t … GROUP BY g``      ``counts(n,c)``, or steps
``SELECT g, h, COUNT(*) FROM t … GROUP BY CUBE (g, h)``       one job of several tables
``SELECT g, h, SUM(c) FROM t … GROUP BY CUBE (g, h)``         one job, steps of 1 in each cell
``SELECT g, COUNT(*), COUNT(*) FILTER (…) … GROUP BY g``     one job, g × the conditions
``SELECT g, SUM(c) FROM t [WHERE …] GROUP BY g``              ``sum(n,v)`` for each group
``SELECT VAR_POP(c), CORR(c, d) FROM t [WHERE …]``            several ``sum(n,v)``, ``count(n)``
``SELECT COUNT(*) FILTER (WHERE …), … FROM t``                ``counts(n,k)``
``SELECT g FROM t GROUP BY g ORDER BY COUNT(*) DESC LIMIT 1``  ``choice(c)``
``SELECT COUNT(*) % m FROM t [WHERE …]``                      ``count_mod(n,m)``
``SELECT g, COUNT(*) … GROUP BY g``, values of g not declared  ``count(n)``, with δ
``SELECT g, AVG(c) … GROUP BY g``, values of g not declared   ``count(n)``, δ; ``sum(2n,v)``
============================================================  ==================

By a mechanism by scores, which sees the counts of all values and not one answer:

============================================================  ======================
``SELECT g FROM t GROUP BY g ORDER BY COUNT(*) DESC LIMIT 1``  ``commonest(c)``
``SELECT [h,] MODE(g) FROM t [WHERE …] [GROUP BY h]``         ``commonest(c)``, for each group
``SELECT MEDIAN(c) FROM t [WHERE …]``                         ``quantile(1/2,v)``, by ``ask``
                                                              ``bracket(1/2,v,A,S)``
``SELECT QUANTILE(c, .1), MEDIAN(c), … FROM t [WHERE …]``     ``quantiles(1/10,1/2,v,R)``
``SELECT PERCENTILE_DISC(.9) WITHIN GROUP (ORDER BY c) …``    ``quantile(9/10,v)``
``SELECT MIN(c)``, ``MAX(c)``                                 ``quantile(1/100,v)``, …
============================================================  ======================

Groups are the values of a column, bins written in SQL, or the parts of a partition; of several
columns, every combination. With a ``contributions`` rule of k > 1 rows for each person, a count
is ``sum(n,k)`` and a sum is ``sum(n,kv)``; by group each row is a step, ``histogram(nk,c)``, and
k of them are paid for.

>>> from tightrope.publish.facts import Column, Table
>>> Count(Table("people", 100)).question
'count(100)'
>>> Count(Table("visits", 100, person="id", contributions=3)).question
'sum(100,3)'
>>> age = Column("age", "integer", bounds=(20, 80))
>>> Sum(Table("people", 100), column=age).question
'sum(100,60)'
"""

# In this order targets of SQL are offered to the shapes.
from tightrope.publish.shapes.base import (
    OTHER as OTHER,
    SHAPES as SHAPES,
    Draw as Draw,
    Parsed as Parsed,
    PlannedTable as PlannedTable,
    Reading as Reading,
    SelectParts as SelectParts,
    Shape as Shape,
    estimates as estimates,
)

from tightrope.publish.shapes.count import Count as Count  # isort: skip
from tightrope.publish.shapes.people import PeopleByGroup as PeopleByGroup  # isort: skip
from tightrope.publish.shapes.running import RunningCount as RunningCount  # isort: skip
from tightrope.publish.shapes.tables import Tables as Tables  # isort: skip
from tightrope.publish.shapes.cross import Crossed as Crossed  # isort: skip
from tightrope.publish.shapes.counts import Counts as Counts  # isort: skip
from tightrope.publish.shapes.modulo import Modulo as Modulo  # isort: skip
from tightrope.publish.shapes.sum import Sum as Sum  # isort: skip
from tightrope.publish.shapes.cubes import SumTables as SumTables  # isort: skip
from tightrope.publish.shapes.mean import Mean as Mean  # isort: skip
from tightrope.publish.shapes.moments import Moments as Moments  # isort: skip
from tightrope.publish.shapes.distinct import DistinctValues as DistinctValues  # isort: skip
from tightrope.publish.shapes.found import FoundGroups as FoundGroups  # isort: skip
from tightrope.publish.shapes.found import FoundMeans as FoundMeans  # isort: skip
from tightrope.publish.shapes.mode import Mode as Mode  # isort: skip
from tightrope.publish.shapes.quantile import Quantile as Quantile  # isort: skip
from tightrope.publish.shapes.declared import Declared as Declared  # isort: skip
