"""The paper's experiments: what is run, how, where results are kept, and what they say."""
