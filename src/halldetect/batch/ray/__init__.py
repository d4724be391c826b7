"""A batch job on a Ray cluster: Ray tasks read and write, a pool of Ray actors checks."""
