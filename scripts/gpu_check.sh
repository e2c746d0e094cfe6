#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds for this machine's GPU, runs every GPU test, `ttt selftest` on all backends and a short
# benchmark, at most eight minutes, and writes one JSON file. Exit status: 0 all passed, 1 something
# failed, 7 no GPU.
#
#   scripts/gpu_check.sh [OUT.json]                  default: gpu_check.json
#   scripts/gpu_check.sh --pack FOLDER               builds for all GPUs, or $TTT_CUDA_ARCHS ("90;120"),
#                                                    and copies what a check needs
#   FOLDER/gpu_check.sh --packed [OUT.json]          runs it elsewhere, where a LibTorch 2.11 with CUDA
#                                                    is all there is: $TTT_LIBTORCH, or python3's torch
set -euo pipefail

programs=(test_cuda_standalone test_kernels_cuda test_vision_cuda ttt bench_cuda_ops)
# Opened by programs at run time, which their lists of libraries don't tell.
modules=(ttt_cuda_graph)
# Seconds for each; eight minutes together.
declare -A limits=([test_cuda_standalone]=110 [test_kernels_cuda]=110 [test_vision_cuda]=60 [ttt]=100
                  [bench_cuda_ops]=100)

die() { printf 'error: %s\nhint: %s\n' "$1" "$2" >&2; exit "${3:-1}"; }

# The build that the check uses is its own: it has no other GPU's code in it.
build() {
  scripts/setup.sh
  cmake --preset release -B build/gpu_check -DTTT_CUDA=ON -DTTT_CUDA_ARCHS="$1" >build-gpu_check.log ||
    { cat build-gpu_check.log >&2; exit 1; }
  rm build-gpu_check.log
  cmake --build build/gpu_check --target "${programs[@]}" >&2
}

find_program() {
  find "$folder" -type f -name "$1" -perm -u+x -print -quit
}

pack() {
  local to=$1 name program library
  mkdir -p "$to/lib"
  folder=build/gpu_check
  for name in "${programs[@]}"; do
    program=$(find_program "$name")
    strip -o "$to/$name" "$program"
    # All but what every system has, and LibTorch.
    ldd "$program" | awk '$3 ~ /^\// &&
        $3 !~ /\/(libc|libm|libdl|librt|libpthread|libutil|libstdc\+\+|libgcc_s|libgomp.*|libc10|libtorch.*)\.so/ { print $3 }' |
      while read -r library; do cp -L "$library" "$to/lib/"; done
  done
  for name in "${modules[@]}"; do
    strip -o "$to/lib/lib$name.so" "$(find "$folder" -type f -name "lib$name.so" -print -quit)"
  done
  git describe --always --dirty >"$to/commit"
  cp scripts/gpu_check.sh "$to/"
}

torch_libraries() {
  if [ -n "${TTT_LIBTORCH:-}" ]; then
    printf '%s/lib' "$TTT_LIBTORCH"
  else
    python3 -c 'import importlib.util as u, os
print(os.path.join(os.path.dirname(u.find_spec("torch").origin), "lib"))'
  fi
}

# The programs' own reports, and the exit status of each.
run() {
  local name
  for name in "${programs[@]}"; do
    local status=0 report=$reports/$name.json arguments
    case $name in
      ttt) arguments=(selftest --output "$report") ;;
      bench_*) arguments=(--benchmark_out="$report" --benchmark_out_format=json) ;;
      *) arguments=(--gtest_output="json:$report") ;;
    esac
    timeout "${limits[$name]}" "$(find_program "$name")" "${arguments[@]}" >&2 || status=$?
    printf '%s\n' "$status" >"$reports/$name.status"
  done
}

write_json() {
  python3 - "$reports" "$out" "$gpu" "$commit" <<'PYTHON'
import json, pathlib, sys
reports, out, gpu, commit = pathlib.Path(sys.argv[1]), *sys.argv[2:5]
name, driver, capability = [part.strip() for part in gpu.split(",")]
result = {"gpu": name, "driver": driver, "compute_capability": capability, "commit": commit,
          "ok": True, "tests": [], "benchmarks": []}
for status_file in sorted(reports.glob("*.status")):
    program, status = status_file.stem, int(status_file.read_text())
    report = status_file.with_suffix(".json")
    data = json.loads(report.read_text()) if report.exists() and report.stat().st_size else {}
    if program.startswith("bench_"):
        for b in data.get("benchmarks", []):
            result["benchmarks"].append({k: b[k] for k in ("name", "real_time", "time_unit", "GB/s",
                                                           "GFLOP/s") if k in b})
        passed = status == 0 and bool(result["benchmarks"])
        result["benchmark_exit_status"] = status
    elif program == "ttt":
        rows = [r for r in data.get("results", []) if r["kind"] != "backend"]
        failed = [f'{r["name"]} {r["backend"]} {r["dtype"]}: {r["error"]}' for r in rows
                  if r["status"] != "ok"]
        checked = {b: sum(r["backend"] == b for r in rows) for b in ("reference", "cpu", "cuda")}
        passed = status == 0 and all(checked.values()) and not failed
        result["selftest"] = {"exit_status": status, "checks": checked, "failed": failed,
                              "time_ms": data.get("summary", {}).get("total_time_ms")}
    else:
        cases = [c for suite in data.get("testsuites", []) for c in suite["testsuite"]]
        names = lambda wanted: [f'{c["classname"]}.{c["name"]}' for c in cases if wanted(c)]
        failed = names(lambda c: "failures" in c)
        skipped = names(lambda c: c.get("result") == "SKIPPED")
        passed = status == 0 and len(cases) > 0 and not failed and not skipped
        result["tests"].append({"program": program, "exit_status": status, "tests": len(cases),
                                "failed": failed, "skipped": skipped, "time": data.get("time")})
    result["ok"] = result["ok"] and passed
pathlib.Path(out).write_text(json.dumps(result, indent=1) + "\n")
sys.exit(0 if result["ok"] else 1)
PYTHON
}

here=$(cd "$(dirname "$0")" && pwd)
mode=check
case ${1:-} in
  --pack | --packed) mode=${1#--}; shift ;;
esac
usage="scripts/gpu_check.sh [OUT.json], --pack FOLDER or --packed [OUT.json]"
case ${1:-} in -*) die "there is no option $1" "$usage" 2 ;; esac
[ $# -le 1 ] || die "there are $# names instead of one" "$usage" 2
if [ "$mode" = pack ]; then
  [ $# -eq 1 ] || die "--pack needs a folder" "$usage" 2
  to=$(realpath -m "$1")
  cd "$here/.."
  build "${TTT_CUDA_ARCHS:-80;90;100;120}"
  pack "$to"
  exit
fi

out=$(realpath -m "${1:-gpu_check.json}")
[ -d "$(dirname "$out")" ] && [ ! -d "$out" ] && [ -w "$(dirname "$out")" ] ||
  die "$out can't be written" "give the name of a file in a folder that is there" 5
# Without a driver nvidia-smi says so where its answer would be.
if listed=$(nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null)
then gpu=${listed%%$'\n'*}; else gpu=; fi
[ -n "$gpu" ] || die "nvidia-smi finds no GPU on this machine" \
  "run it on a machine with an NVIDIA GPU and driver" 7
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
if [ "$mode" = packed ]; then
  folder=$here
  commit=$(cat "$here/commit")
  libraries=$(torch_libraries) ||
    die "no LibTorch was found" "set TTT_LIBTORCH to the folder of a LibTorch 2.11 with CUDA"
  export LD_LIBRARY_PATH=$here/lib:$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
else
  cd "$here/.."
  folder=build/gpu_check
  commit=$(git describe --always --dirty)
  build "$(printf '%s' "$gpu" | awk -F', ' '{ sub(/\./, "", $3); print $3 }')"
fi
run
write_json
