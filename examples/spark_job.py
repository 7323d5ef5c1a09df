"""A Spark job: one mean a region, at every person's own budget, on a DataFrame made up here.

Run it by `python examples/spark_job.py`, or on a cluster by `spark-submit`, whose workers need pdpmean installed.
"""

from __future__ import annotations

import argparse
import os
import sys

import pyspark.sql.functions as sql
from pyspark.sql import DataFrame, SparkSession

import pdpmean

REGIONS = {"north": 36.0, "south": 38.0, "west": 41.0}  # and their true means
STD = 6.0


def main() -> None:
    """Make people, or read them from a table of Spark's, and estimate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7, help="made-up people")
    parser.add_argument("--table", help="a Parquet table with columns hours, epsilon and region, instead")
    options = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # for Spark on this machine; spark-submit has its own way
    session = SparkSession.builder.appName("pdpmean").getOrCreate()
    frame = session.read.parquet(options.table) if options.table else people(session, int(options.rows))

    # Who takes part is secret here, too; public are the regions and the budgets that people could choose.
    means = pdpmean.estimate_mean(
        frame,
        value="hours",
        budget="epsilon",
        by="region",
        groups=REGIONS,
        model="unbounded",
        budget_range=(0.1, 1.0),
    )
    print(means)
    if not options.table:
        print("\ntrue means: " + ", ".join(f"{region} {mean:g}" for region, mean in REGIONS.items()))
    session.stop()


def people(session: SparkSession, rows: int) -> DataFrame:
    """People of three regions and three tiers, from seeds: every pass over the data must find the same people."""
    place = (sql.col("id") % len(REGIONS)).cast("int")
    region, mean = (sql.get(sql.array(*map(sql.lit, entries)), place) for entries in (REGIONS, REGIONS.values()))
    tier = sql.rand(seed=1)
    epsilon = sql.when(tier < 0.54, 0.1).when(tier < 0.91, 0.5).otherwise(1.0)
    return session.range(rows).select(
        region.alias("region"), epsilon.alias("epsilon"), (mean + STD * sql.randn(seed=2)).alias("hours")
    )


if __name__ == "__main__":
    main()
