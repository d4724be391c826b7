"""Check every row of files: many rows through one detector, in flat memory, safe against crashes.

`local` runs a `job` on this machine, `ray` on a cluster; both write the same bytes.
"""
