"""The HTTP service: an API for programs and a page for people, with one worker that checks.

`server.py` starts it. The application (`app.py`, `middleware.py`, `routes/`) answers requests and
hands the checks to the worker process (`worker/`), which alone has the models. `report_store.py`
keeps reports, `access.py` knows the tokens, `proxy/` is the chat proxy, `page/` the page.
"""
