# The service with the verifier of the package; docs/deploy.md says how to build and run it.
FROM python:3.11-slim AS build
ARG EXTRAS=serve,postgres
WORKDIR /source
COPY .ci/constraints.txt constraints.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src src
RUN python -m venv /opt/halldetect \
    && /opt/halldetect/bin/pip install --no-cache-dir --constraint constraints.txt ".[$EXTRAS]"

FROM python:3.11-slim
COPY --from=build /opt/halldetect /opt/halldetect
# /data holds the SQLite database, where no other is named, and models that are fetched.
RUN useradd --system --uid 10001 --home-dir /data --no-create-home halldetect \
    && install -d -o halldetect -g halldetect -m 700 /data
ENV PATH=/opt/halldetect/bin:$PATH \
    HALLDETECT_HOME=/data \
    PYTHONDONTWRITEBYTECODE=1
VOLUME /data
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=8)"]
ENTRYPOINT ["halldetect"]
CMD ["serve", "--auth", "--host", "0.0.0.0", "--port", "8000"]
