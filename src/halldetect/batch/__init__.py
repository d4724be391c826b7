"""Files in, files out: many rows through one detector, in flat memory, safe against crashes."""
