"""The HTTP service: an API for programs and a page for people, with one worker that checks.

`server.py` starts it. The application (`middleware.py`, `routes/`) answers requests and
sends checks to the worker process (`worker/`), which alone loads the models. `report_store.py`
stores reports, `access.py` checks tokens, `proxy/` is the chat proxy, `page/` the web page.
"""
