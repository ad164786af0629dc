#!/usr/bin/env bash
# The portable folder, copied elsewhere, runs with an empty environment and loads nothing of this machine but the C
# library; packed it stays small enough to be carried.   moved_folder.sh FOLDER
set -euo pipefail
folder=$1
elsewhere=$(mktemp -d)
trap 'rm -rf "$elsewhere"' EXIT
cp -r "$folder" "$elsewhere/carried"
cd "$elsewhere"

fail() { echo "moved_folder: $*" >&2; exit 1; }

outside=$(env -i ldd carried/stowplan | awk '$2 == "=>" {print $1, $3}' |
          grep -v -E "^(libc|libm|libpthread|libdl|librt|libresolv|libutil)\.so" | grep -v -F " $elsewhere/carried/" || true)
[ -z "$outside" ] || fail "loaded from outside the folder: $outside"

env -i ./carried/stowplan list agents > list.txt || fail "stowplan list agents ended with $?"
grep -q -w random list.txt || fail "stowplan list agents does not show the agent random"

env -i ./carried/stowplan speed --graph 'random_dag(ops=1000)' --cluster 'k80(gpus=2)' \
  --placements 20 --json speed.json || fail "stowplan speed ended with $?"
grep -q '"ops_per_second"' speed.json || fail "stowplan speed wrote no ops_per_second"

# Without COIN-OR's Clp where the machine has none: the default agent does without m_sct.
env -i ./carried/stowplan place 'chain(ops=8)' --cluster 'k80(gpus=2)' --samples 60 --out placed > placed.txt ||
  fail "stowplan place ended with $?"
grep -q '"samples": 60' placed/run.json || fail "stowplan place did not spend its samples"
[ -s placed/placement.json ] || fail "stowplan place wrote no placement"

env -i ./carried/stowplan-profile list > probes.txt || fail "stowplan-profile list ended with $?"
grep -q -w gemm probes.txt || fail "stowplan-profile list does not show the probe gemm"

env -i ./carried/stowplan-profile run softmax --device cpu --cores 1 --quick --out cpu.json 2> cpu.txt ||
  fail "stowplan-profile run --device cpu ended with $?: $(cat cpu.txt)"
grep -q '"hot"' cpu.json || fail "stowplan-profile run --device cpu timed nothing"

bytes=$(tar -c carried | gzip -9 | wc -c)
echo "moved_folder: $((bytes >> 10)) KiB packed"
[ "$bytes" -lt $((32 << 20)) ] || fail "$bytes bytes packed are too much to carry"
