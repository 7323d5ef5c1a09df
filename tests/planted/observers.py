"""Bugs that show an observer more than released numbers."""

from __future__ import annotations

from planted.bugs import Bug

_SEES = "tests/test_observer.py::test_records_are_invisible_in_the_unbounded_model"
_TRACES = "tests/test_traces.py::"

BUGS = (
    Bug(
        name="a CSV column is compared as numbers if all of its entries are",
        file="sources/files/delimited.py",
        text="        column = records.column(name)\n        missing =",
        replacement="""        column = records.column(name)
        if not math.isnan(numbers(column).sum()):
            raise self.problem("holds numbers")
        missing =""",
        caught_by=("tests/test_observer.py::test_text_entries_are_invisible_in_the_unbounded_model[CSV]",),
    ),
    Bug(
        name="an unbounded sample is not thinned where the exact number of records is small",
        file="release/locate.py",
        text="thinning = thinning_of(plans, grouped=source.groups is not None)",
        replacement=(
            "thinning = thinning_of(plans, grouped=source.groups is not None)\n"
            "    thinning = thinning.among(60 if (source.rows or 0) <= 100 else 0)"
        ),
        caught_by=(f"{_SEES}[arrays-so many that few are located]",),
    ),
    Bug(
        name="the exact number of records caps how many an unbounded sample keeps",
        file="release/locate.py",
        text="    kept = source.sample(thinning, randomness)\n",
        replacement=(
            "    thinning = replace(thinning, density=thinning.density * min((source.rows or 0) / 5000, 1.0))\n"
            "    kept = source.sample(thinning, randomness)\n"
        ),
        caught_by=(f"{_SEES}[arrays-so many that few are located]",),
    ),
    Bug(
        name="progress is told in records where their number is private",
        file="estimate.py",
        text="counted=options.model.budgets_are_public",
        replacement="counted=True",
        caught_by=(f"{_SEES}[arrays-no groups]",),
    ),
    Bug(
        name="a warning counts records",
        file="estimate.py",
        text="    for text in result.warnings:\n",
        replacement=(
            "    if not source.rows:\n"
            '        warnings.warn(f"{source.rows} records", PopulationWarning, stacklevel=2)\n'
            "    for text in result.warnings:\n"
        ),
        caught_by=(f"{_SEES}[arrays-no groups]",),
    ),
    Bug(
        name="hundredths that small files do not reach are not told",
        file="core/progress.py",
        text="            self._tell(step, _PARTS)\n",
        replacement="            self._tell(step, self._told)\n",
        caught_by=(f"{_SEES}[CSV-no groups]",),
    ),
    Bug(
        name="loops that are compiled for many records are kept on disk",
        file="estimate.py",
        text="            leave_no_trace()\n",
        replacement="            pass\n",
        caught_by=(f"{_TRACES}test_traces_are_left_where_the_number_of_rows_is_public",),
    ),
    Bug(
        name="loops that are kept on disk show how many rows people have",
        file="core/options.py",
        text="return self.rows is not None or not self.model.budgets_are_public",
        replacement="return not self.model.budgets_are_public",
        caught_by=(f"{_TRACES}test_traces_are_left_where_the_number_of_rows_is_public",),
    ),
    Bug(
        name="bytecode of what many records need is kept on disk",
        file="core/traces.py",
        text="sys.dont_write_bytecode = before or _discreet",
        replacement="sys.dont_write_bytecode = before",
        caught_by=(f"{_TRACES}test_bytecode_is_a_trace_only_where_that_is_private",),
    ),
    Bug(
        name="a loop is compiled once more for a column with missing values",
        file="core/compiled.py",
        text="        compiled.disable_compile()\n",
        replacement="        compiled = numba.njit(nogil=True, cache=True)(self._loop)\n",
        caught_by=(f"{_TRACES}test_a_loop_is_compiled_once_however_its_columns_lie",),
        compiled=True,
    ),
)
