"""The database with the stored reports and the access tokens."""
