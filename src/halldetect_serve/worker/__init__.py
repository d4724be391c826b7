"""The worker process that holds the models, and what the HTTP processes need to talk to it."""
