"""The HTTP service: an API for programs and a page for people, with one worker that checks.

`server.py` starts it. The HTTP processes (`app.py`, `middleware.py`, `routes/`) answer requests
and hand the checks to the worker process (`worker/`), which alone has the models and batches
across requests. `storage/` holds reports and tokens, `proxy/` the chat proxy, `page/` the files of
the page.
"""
