"""Planted bugs of how data are read and sampled: records lost, repeated, or kept by other coins than their own."""

from __future__ import annotations

from planted.bugs import Bug

_LAW = "tests/sources/test_sample_law.py"
_ONCE = "tests/sources/test_once.py::test_every_record_is_there_exactly_once"
_FEW = f"{_LAW}::test_few_records_are_kept_by_independent_coins"
_MANY = f"{_LAW}::test_many_records_are_kept_at_their_rates_and_independently"

_MERGE = "tests/sources/test_merge.py::"

BUGS = (
    Bug(
        name="a column of Arrow is read as a whole",
        file="sources/labels.py",
        text="held = in_arrow(column)",
        replacement="held = None",
        caught_by=("tests/test_group_labels.py::test_an_entry_that_is_no_python_object_is_of_no_group",),
    ),
    Bug(
        name="Arrow finds a type for categories of objects",
        file="sources/labels.py",
        text='np.dtype(object) in (kind, getattr(categories, "dtype", None))',
        replacement="kind == np.dtype(object)",
        caught_by=("tests/test_group_labels.py::test_a_category_decides_on_no_type",),
    ),
    Bug(
        name="an id that is no text raises what quotes it",
        file="sources/people.py",
        text="texts.validate(full=True)",
        replacement="texts.validate()",
        caught_by=(
            "tests/ledger/test_estimating.py::"
            "test_bytes_that_are_no_text_are_left_out_quietly_in_the_unbounded_model[None]",
        ),
    ),
    Bug(
        name="a person has a record in each of their groups",
        file="sources/merge.py",
        text='ids, people = _numbered(rows["id"])',
        replacement="ids, people = _numbered(pc.binary_join_element_wise("
        'rows["id"], rows["group"].cast(pa.large_string()), ""))',
        caught_by=(f"{_MERGE}test_a_person_is_one_record_more_or_less",),
    ),
    Bug(
        name="rows are parted by where they are",
        file="sources/merge.py",
        text='hashes_of(records["id"]) >> shift',
        replacement="hashes_of(pa.array(np.arange(len(records)))) >> shift",
        caught_by=(f"{_MERGE}test_replacing_all_rows_of_a_person_replaces_one_value",),
    ),
    Bug(
        name="the largest budget of a person's rows counts",
        file="sources/merge.py",
        text="np.minimum.reduceat",
        replacement="np.maximum.reduceat",
        caught_by=(f"{_MERGE}test_a_record_is_what_the_documents_say_whatever_the_order_of_rows",),
    ),
    Bug(
        name="the last of several row groups of a Parquet piece is read again",
        file="sources/files/parquet.py",
        text="groups, records = [], 0",
        replacement="groups, records = groups[1:][-1:], 0",
        caught_by=(f"{_ONCE}[Parquet-small]",),
    ),
    Bug(
        name="the larger of two samples is kept where that of the reserve is small",
        file="passes/source.py",
        text="""        if found is None:
            parts = list(self._watched("sample", lambda: partial(kept, own_randomness.spawn()), values=True))
            found = joined(parts, grouped=self.groups is not None)
""",
        replacement="""        if found is None or found.budgets.size < 100:
            parts = list(self._watched("sample", lambda: partial(kept, own_randomness.spawn()), values=True))
            again = joined(parts, grouped=self.groups is not None)
            found = again if found is None or again.budgets.size > found.budgets.size else found
""",
        caught_by=(f"{_FEW}[Parquet-enough is set aside-together]",),
    ),
    Bug(
        name="a file is read again if fewer were set aside than there is room for",
        file="passes/reserve.py",
        text="        all_records = int(self._seen.sum())\n",
        replacement="""        all_records = int(self._seen.sum())
        if sum(part.first.size for part in parts) < min(self._room, all_records):
            return None
""",
        caught_by=(f"{_FEW}[Parquet-enough is set aside-together]",),
    ),
    Bug(
        name="batches of one size are set aside by the same coins",
        file="passes/reserve.py",
        text="first = coins.first_pairs(batch.budgets.size)",
        replacement="first = self.__dict__.setdefault(batch.budgets.size, coins.first_pairs(batch.budgets.size))",
        caught_by=(f"{_MANY}[Parquet-enough is set aside-together]",),
    ),
    Bug(
        name="a reserve serves every sample of its source",
        file="passes/source.py",
        text="reserve, self.full_reserve = self.full_reserve, None",
        replacement="reserve = self.full_reserve",
        caught_by=(f"{_LAW}::test_two_samples_are_independent[Parquet]",),
    ),
    Bug(
        name="the rest of a CSV block is lost where the block before it was as long",
        file="sources/files/delimited.py",
        text="            for records in reader:\n",
        replacement="""            before = 0
            for records in reader:
                before, repeated = records.num_rows, records.num_rows == before
                records = records.slice(0, records.num_rows - (repeated and before > 1))
""",
        caught_by=(f"{_ONCE}[CSV-small]",),
    ),
    Bug(
        name="a mapped Arrow batch is sliced by its own size from the second on",
        file="sources/files/arrow.py",
        text="            for part in _sliced(reader.get_batch(number)):\n",
        replacement="""            batch = reader.get_batch(number)
            for part in _sliced(batch) if number == 0 else [batch.slice(0, _PIECE)]:
""",
        caught_by=(f"{_ONCE}[Arrow file-mapped]",),
    ),
)
