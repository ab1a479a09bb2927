"""The report of an audit: one page of words, tables and charts."""
