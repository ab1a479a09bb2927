"""Parts of docs/benchmarks.py: the runs and how they are compared, networks, figures."""
