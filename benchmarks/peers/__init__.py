"""What others offer for the same work, timed in the same run: `make bench-peers`."""
