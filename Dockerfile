# Two images: `docker build --target collector .` and `docker build --target detector .`; docker-compose.yml builds both.

# --- Collector: built from the same manifest as `make components` ---------------------------------------------------------
FROM golang:1.26.8-bookworm AS collector-build
WORKDIR /build
ENV CGO_ENABLED=0 GOFLAGS=-buildvcs=false
RUN go install go.opentelemetry.io/collector/cmd/builder@v0.161.0
COPY deploy/builder-manifest.yaml ./
RUN builder --config=builder-manifest.yaml

# Alpine and not a bare image: its wget is the health check.
FROM alpine:3.22.2 AS collector
RUN adduser -D -H -u 10001 otelcol && mkdir -p /var/lib/otelcol && chown otelcol /var/lib/otelcol
COPY --from=collector-build /build/_build/otelcol-agents /usr/local/bin/otelcol-agents
COPY otel-collector.yaml /etc/otelcol/config.yaml
ENV OTELCOL_QUEUE_DIR=/var/lib/otelcol/queue
USER 10001
VOLUME /var/lib/otelcol
ENTRYPOINT ["otelcol-agents"]
CMD ["--config=/etc/otelcol/config.yaml"]

# --- Detector -------------------------------------------------------------------------------------------------------------
FROM python:3.12.12-slim-bookworm AS detector-build
WORKDIR /src
RUN python -m venv /opt/spanward
COPY pyproject.toml README.md LICENSE ./
COPY instrumentation ./instrumentation
COPY detector_service ./detector_service
COPY proto ./proto
RUN /opt/spanward/bin/pip install --no-cache-dir --disable-pip-version-check '.[detector]'

FROM python:3.12.12-slim-bookworm AS detector
RUN useradd --uid 10001 --no-create-home spanward && mkdir -p /var/lib/spanward && chown spanward /var/lib/spanward
COPY --from=detector-build /opt/spanward /opt/spanward
ENV PATH=/opt/spanward/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
VOLUME /var/lib/spanward
EXPOSE 4327 8327
ENTRYPOINT ["spanward"]
CMD ["up", "--grpc-address", "0.0.0.0:4327", "--http-address", "0.0.0.0:8327", "--data-dir", "/var/lib/spanward"]
