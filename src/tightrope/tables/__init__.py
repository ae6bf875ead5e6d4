"""The algebra of tables: domains and margins, plans, estimates and their laws.

No data, no SQL and no ledger: numbers of classes go in, and what to measure comes out; drawn
numbers go in, and tables that agree come out.

>>> job = Job.of({"sex": 2, "region": 9}, [["sex"], ["region"], ["sex", "region"]])
>>> round(plan(job, 1).error, 3)
2.714
"""

from tightrope.tables.domain import Domain as Domain, TableColumn as TableColumn
from tightrope.tables.estimates import Estimates as Estimates, estimate as estimate
from tightrope.tables.floors import JobFloor as JobFloor, job_floor as job_floor
from tightrope.tables.laws import (
    ErrorLaw as ErrorLaw,
    TableNoise as TableNoise,
    error_law as error_law,
)
from tightrope.tables.noise import (
    ADD_REMOVE as ADD_REMOVE,
    CHANGE_ONE as CHANGE_ONE,
    EITHER as EITHER,
    Relation as Relation,
    independent_excess as independent_excess,
)
from tightrope.tables.planning import (
    COUNT as COUNT,
    Job as Job,
    JobPlan as JobPlan,
    MeasuredTable as MeasuredTable,
    PublishedTable as PublishedTable,
    Settings as Settings,
    least_epsilon as least_epsilon,
    plan as plan,
    split_error as split_error,
    split_plans as split_plans,
)
from tightrope.tables.whole import (
    WholeTable as WholeTable,
    check_cells as check_cells,
    whole_table as whole_table,
)
