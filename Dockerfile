# SPDX-License-Identifier: MIT
# The server alone: one binary with the Swift runtime inside, and of Debian the libraries that it needs, the authorities to
# trust, and the time zones. No shell, no package manager.

FROM swift:6.3-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      ca-certificates libsqlite3-dev libssl-dev libyaml-dev pkg-config tzdata zlib1g-dev \
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
COPY scripts/image-files.sh scripts/image-files.sh
RUN swift build -c release --static-swift-stdlib --disable-local-rpath --product signal-server -Xlinker -z -Xlinker now \
 && scripts/image-files.sh .build/release/signal-server /image

# What follows is also what scripts/image.sh --base builds, without the stage above.
FROM scratch
COPY --from=build /image/root/ /
# A volume for who wants the store kept: SIGNAL_DATA_DIR=/data and -v signal:/data.
COPY --from=build --chown=65532:65532 /image/data/ /data/
# No port below 1024 is needed, so nobody in particular is enough.
USER 65532:65532
# In a container the loopback address reaches nobody. A variable, so that it holds for any command and can be overridden. So the
# server starts with access rules (SIGNAL_CONFIG) or SIGNAL_ACCESS_OPEN=true only.
ENV PATH=/usr/bin SIGNAL_HOST=0.0.0.0
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["signal-server", "health"]
ENTRYPOINT ["signal-server"]
CMD ["serve"]
