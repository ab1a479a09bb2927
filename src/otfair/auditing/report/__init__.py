"""The report of an audit: one page that needs no other."""
