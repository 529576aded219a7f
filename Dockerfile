# Postern as an image: built in one stage, run in another that holds neither compiler nor headers.
#
#   docker build --tag postern .
#
# docs/guides/container.md says how it is run. BASE is any Debian with Node 24, npm, Node's headers
# and a user `node`, like the official slim images.
ARG BASE=docker.io/library/node:24-slim

FROM ${BASE} AS build
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends g++
WORKDIR /source
# What takes long comes first, so that it is kept while other files change.
COPY package.json package-lock.json ./
COPY dataplane/native dataplane/native
# The addon is optional on a host; an image without it would be of no use, so it is loaded here.
RUN npm ci --no-audit --no-fund \
 && node -e 'require("/source/dataplane/native/build/Release/postern.node")'
COPY . .
# The image holds the bundle (tools/bundle.ts) and nothing else of this stage. It lies where the image
# has it, because the compiled code is found by the path of its file.
RUN node tools/write-bundle.ts \
 && mv dist/postern /app
WORKDIR /app
# From the second start on compiled code is read, not made: config/container/warm makes a first one.
RUN /source/config/container/warm

# The system that runs it: Node, nft for doctor, and nothing that installs or compiles. Whoever starts
# it as some user can write /data; the entrypoint closes the folder where it may.
FROM ${BASE} AS system
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nftables \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /usr/local/include /usr/local/lib/node_modules \
      /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn* \
 && install --directory --owner=node --group=root --mode=1777 /data
COPY --from=build /app /app
RUN ln -s /app/config/container/entrypoint /usr/local/bin/postern

# What was removed above is in no layer of the image.
FROM scratch
COPY --from=system / /
WORKDIR /app
# The health check, too, reads the compiled code that the image holds.
ENV NODE_COMPILE_CACHE=node_modules/.cache/postern \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    DATA_DIR=/data \
    HTTP_HOST=0.0.0.0 \
    WIREGUARD_UAPI=off \
    LOG_FORMAT=json
VOLUME /data
EXPOSE 51820/udp 13000/tcp
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 CMD ["node", "lib/start/ready.js"]
ENTRYPOINT ["postern"]
CMD ["serve"]
