# SPDX-License-Identifier: MIT
# The server alone: one binary with the Swift runtime inside, and the OpenSSL, SQLite, libyaml and zlib of the distribution.

FROM swift:6.3-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends libsqlite3-dev libssl-dev libyaml-dev pkg-config zlib1g-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /build
# Dependencies in a layer of their own: they change less often than the sources.
COPY Package.swift ./
RUN swift package resolve
COPY Sources Sources
# Part of what is served.
COPY Clients/javascript Clients/javascript
# The manifest names the tests, so it cannot be read without them; they are not built.
COPY Tests Tests
RUN swift build -c release --static-swift-stdlib --product signal-server \
 && strip -o /signal-server .build/release/signal-server

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends libsqlite3-0 libssl3 libstdc++6 libyaml-0-2 zlib1g \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /signal-server /usr/local/bin/signal-server
# A volume for who wants the store kept: SIGNAL_DATA_DIR=/data and -v signal:/data.
RUN mkdir /data && chown 65532:65532 /data
# No port below 1024 is needed, so nobody in particular is enough.
USER 65532:65532
# In a container the loopback address reaches nobody. A variable, so that it holds for any command and can be overridden. So the
# server starts with access rules (SIGNAL_CONFIG) or SIGNAL_ACCESS_OPEN=true only.
ENV SIGNAL_HOST=0.0.0.0
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["signal-server", "health"]
ENTRYPOINT ["signal-server"]
CMD ["serve"]
