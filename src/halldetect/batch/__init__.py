"""Check every row of files: many rows through one detector, in flat memory, safe against crashes.

`local` runs a job on this machine, `ray` on a cluster; both write the same bytes. Start reading
at `job` (what is to be done) and `local` (the loop).
"""
