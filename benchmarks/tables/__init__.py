"""Tables of other people, with our rows in them: people, methods, and networks."""
