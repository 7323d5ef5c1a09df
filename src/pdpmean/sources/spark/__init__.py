"""Spark: DataFrames, counted and summed by Spark itself."""
