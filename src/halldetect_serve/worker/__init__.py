"""The worker process that holds the models, and the parts that talk to it."""
