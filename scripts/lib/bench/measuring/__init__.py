"""Shared by all groups of workloads: suites, load, baselines, rounds, statistics, tables."""
