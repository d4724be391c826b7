"""The HTTP service: an API for programs and a page for people, over one verifier worker.

`run.py` starts it all. HTTP processes (`app.py` and the route files) answer requests and hand
the checks to the worker process (`worker.py`), which alone has the models loaded and batches
across requests.
"""
