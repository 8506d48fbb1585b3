"""What a mapping costs: cut, hops, delivered traffic, loads of links and cores."""
