# stowplan in a container:
#
#   docker build -t stowplan .
#   docker run --rm -v "$PWD:/data" stowplan place --agent annealing --graph 'nmt(layers=2)' --cluster 'k40(gpus=2)'
FROM debian:12 AS build
WORKDIR /stowplan
COPY .ci/install .ci/install
RUN .ci/install --with-checks
COPY . .
RUN cmake --preset release -D STOWPLAN_BUILD_TESTS=OFF && cmake --build --preset release && cpack --config build/release/CPackConfig.cmake -B /packages

FROM debian:12-slim
COPY --from=build /packages/stowplan_*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb && rm -rf /tmp/*.deb /var/lib/apt/lists/*
WORKDIR /data
ENTRYPOINT ["stowplan"]
