"""Check every row of files with one detector, in constant memory, safe against crashes.

`local` runs a `job` on this machine, `ray` on a cluster; both write the same bytes.
"""
