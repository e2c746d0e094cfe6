#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs what the build needs on Debian 12: packages (as root or through sudo) and LibTorch.
# Does nothing, in a second, when all is there. --tests adds what only the tests use.
#
#   TTT_LIBTORCH   folder of an installed LibTorch 2.11 (holds include/ and lib/) to use instead
#   XDG_CACHE_HOME where LibTorch goes otherwise: $XDG_CACHE_HOME/ttt, by default ~/.cache/ttt
set -euo pipefail
cd "$(dirname "$0")/.."

torch_version=2.11.0
packages=(
  build-essential ccache clang-format cmake git ninja-build pkg-config python3-dev python3-venv
  libbenchmark-dev libcli11-dev libcpp-httplib-dev libfmt-dev libgif-dev libgtest-dev libjpeg-dev libopencv-dev libspdlog-dev
  libpng-dev libssl-dev libtiff-dev libwebp-dev libyaml-cpp-dev libzip-dev nlohmann-json3-dev zlib1g-dev
)

[ "${1:-}" = --tests ] && packages+=(chromium) # tests of the page of `ttt view`

say() { printf 'setup: %s\n' "$*" >&2; }
die() { printf 'error: %s\nhint: %s\n' "$1" "$2" >&2; exit 1; }

install_packages() {
  command -v dpkg-query >/dev/null ||
    die "this is not a Debian system" "install these by hand, then run cmake --preset release: ${packages[*]}"
  local missing=() name
  for name in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "installing Debian packages: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "packages are missing and there is no sudo" \
      "as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -q >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
}

# True when the folder holds a LibTorch that the build takes.
fits() {
  local header=$1/include/torch/headeronly/version.h
  [ -f "$1/lib/libtorch_cpu.so" ] && [ -f "$header" ] &&
    grep -q 'TORCH_VERSION_MAJOR 2$' "$header" && grep -q 'TORCH_VERSION_MINOR 11$' "$header"
}

install_libtorch() {
  if [ -n "${TTT_LIBTORCH:-}" ]; then
    fits "$TTT_LIBTORCH" || die "TTT_LIBTORCH=$TTT_LIBTORCH holds no LibTorch 2.11" \
      "point it at a folder with include/ and lib/, or unset it"
    return
  fi
  local cache=${XDG_CACHE_HOME:-$HOME/.cache}/ttt
  local venv=$cache/libtorch-$torch_version found
  for found in "$venv"/lib/python3*/site-packages/torch; do
    # The marker is written last: an interrupted installation is not taken for a whole one.
    [ -f "$venv/complete" ] && fits "$found" && return
  done
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock 9 # another clone may be installing it
  [ -f "$venv/complete" ] && return
  local free_kib
  free_kib=$(df --output=avail -k "$cache" | tail -n 1)
  [ "$free_kib" -gt $((7 * 1024 * 1024)) ] ||
    die "LibTorch needs 7 GB while it is installed; $cache has $((free_kib / 1024)) MB free" \
      "free some space, or set XDG_CACHE_HOME to a larger disk"
  say "installing LibTorch $torch_version in $venv (about a minute, 4.7 GB)"
  rm -rf "$venv"
  local python=/usr/bin/python3
  [ -x "$python" ] || python=python3
  "$python" -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check --no-cache-dir "torch==$torch_version" >&2
  fits "$(echo "$venv"/lib/python3*/site-packages/torch)" ||
    die "the torch package came without LibTorch" "remove $venv and try again"
  touch "$venv/complete"
}

install_packages
install_libtorch
if ! command -v nvcc >/dev/null && [ ! -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; then
  say "no CUDA toolkit here: the build will be for the CPU"
fi
