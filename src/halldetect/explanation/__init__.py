"""Why a claim fails: which part, what kind of error, and what its citations say."""
