# The service in a container: docker build -t llm-gateway .
# It runs as nobody in particular (uid 10001), writes nothing but /data, and needs no package of
# the image beyond what Debian's smallest one has. docs/self-hosting.md says how to run it.

FROM denoland/deno:bin-2.9.6 AS deno

FROM debian:12-slim AS build
COPY --from=deno /deno /usr/local/bin/deno
WORKDIR /src
COPY . .
RUN deno task bundle && mkdir /data

FROM debian:12-slim
COPY --from=deno /deno /usr/local/bin/deno
COPY --from=build /src/dist/bundle /opt/llm-gateway
COPY --from=build --chown=10001:10001 /data /data
RUN ln -s /opt/llm-gateway/llm-gateway /usr/local/bin/llm-gateway
USER 10001:10001
# A container's own address is where others reach it. The start still insists on TLS_CERT_FILE and
# TLS_KEY_FILE, TRUST_PROXY=true behind a proxy that ends TLS, or ALLOW_PLAIN_HTTP=true.
ENV HOST=0.0.0.0 PORT=8787 DATA_DIR=/data HOME=/tmp DENO_DIR=/tmp/deno
EXPOSE 8787
VOLUME /data
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=10s --start-period=30s --retries=3 \
  CMD ["llm-gateway", "admin", "health"]
ENTRYPOINT ["llm-gateway"]
CMD ["start"]
