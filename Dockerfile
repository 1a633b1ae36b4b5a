# The service in a container: docker build -t demeter .
# It runs as nobody in particular (uid 10001), writes nothing but /data, and needs no package of
# the image beyond what Debian's smallest one has. docs/self-hosting.md says how to run it.

#
# Tags can be moved; digests can't. What a tag stands for is said by
#   docker buildx imagetools inspect debian:12-slim --format '{{.Manifest.Digest}}'
# and built upon with --build-arg DEBIAN_IMAGE=debian:12-slim@sha256:…, DENO_IMAGE alike.
ARG DENO_IMAGE=denoland/deno:bin-2.9.6
ARG DEBIAN_IMAGE=debian:12-slim

FROM ${DENO_IMAGE} AS deno

FROM ${DEBIAN_IMAGE} AS build
COPY --from=deno /deno /usr/local/bin/deno
WORKDIR /src
COPY . .
# By deno.lock alone, which deno.json freezes: a package that differs from it ends the build.
RUN deno task bundle && mkdir /data

FROM ${DEBIAN_IMAGE}
COPY --from=deno /deno /usr/local/bin/deno
COPY --from=build /src/dist/bundle /opt/demeter
COPY --from=build --chown=10001:10001 /data /data
RUN ln -s /opt/demeter/demeter /usr/local/bin/demeter
USER 10001:10001
# A container's own address is where others reach it. The start still insists on TLS_CERT_FILE and
# TLS_KEY_FILE, TRUST_PROXY=true behind a proxy that ends TLS, or ALLOW_PLAIN_HTTP=true.
ENV HOST=0.0.0.0 PORT=8787 DATA_DIR=/data HOME=/tmp DENO_DIR=/tmp/deno
EXPOSE 8787
VOLUME /data
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=10s --start-period=30s --retries=3 \
  CMD ["demeter", "admin", "health"]
ENTRYPOINT ["demeter"]
CMD ["start"]
