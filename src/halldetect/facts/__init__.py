"""Facts in a text, found by rule: numbers, units, dates, names."""
