"""What fairness costs: distances, the cheapest plan, its pairs, and how sure its cost is."""
