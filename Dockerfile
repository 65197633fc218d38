# syntax=docker/dockerfile:1
FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY service service
COPY actors actors
COPY providers providers
# With the client for LEDGER_URL=redis://..., which two replicas need.
RUN --mount=type=cache,target=/root/.cache/pip \
    python -m venv /opt/research-mcp \
 && /opt/research-mcp/bin/pip install --constraint constraints.txt '.[redis]'

FROM python:3.11-slim
LABEL org.opencontainers.image.title="research-mcp" \
      org.opencontainers.image.licenses="MIT" \
      io.modelcontextprotocol.server.name="io.github.research-mcp/research-mcp"
RUN useradd --uid 10001 --home-dir /app --create-home --shell /usr/sbin/nologin research \
 && mkdir /app/data && chown research /app/data
COPY --from=build /opt/research-mcp /opt/research-mcp
USER research
WORKDIR /app
ENV PATH=/opt/research-mcp/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    MCP_HOST=0.0.0.0
VOLUME /app/data
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=10s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + (os.environ.get('MCP_PORT') or '8000') + '/healthz', timeout=4)"]
CMD ["research-mcp"]
