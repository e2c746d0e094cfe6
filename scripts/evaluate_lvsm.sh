#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Measures a model of novel views on made-up scenes that no run trains on, as files and through
# `ttt render`: PSNR of the model, of the model with the fast-weight update switched off, and of the
# input view with the nearest camera. Writes OUT/summary.json and OUT/pictures.png, a scene a row:
# four of the inputs, nearest view, no update, rendered, truth.
# usage: scripts/evaluate_lvsm.sh [WEIGHTS [OUT]]   (default: the shipped weights, build/evaluate_lvsm)
#   TTT_SCENES  how many scenes (default 50)
#   TTT_RECIPE  the training's configuration (default configs/lvsm_procedural.yaml)
#   TTT_PROGRAM the program (default: built here)
set -euo pipefail
cd "$(dirname "$0")/.."

weights=${1:-assets/lvsm_procedural.safetensors}
out=${2:-build/evaluate_lvsm}
scenes=${TTT_SCENES:-50}
config=${TTT_RECIPE:-configs/lvsm_procedural.yaml}
ttt=${TTT_PROGRAM:-}
if [ -z "$ttt" ]; then
  scripts/build.sh release ttt >&2
  ttt=build/release/apps/ttt
fi
mkdir -p "$out"

measure=("$config" --set data=procedural --set data-weights=1 --validation-scenes "$scenes")
rm -rf "$out/scenes"
"$ttt" train "${measure[@]}" --export-scenes "$out/scenes" >&2
for kind in model no_update nearest_view; do
  more=()
  [ $kind = no_update ] && more=(--no-inner-update)
  [ $kind = nearest_view ] && more=(--baseline nearest)
  "$ttt" render "$out/scenes" --weights "$weights" --input-views 0-7 --target-views 8-15 \
    --metrics "$out/metrics_$kind/{scene}.json" --overwrite --format jsonl "${more[@]}" \
    2>"$out/$kind.log" | tail -1 >"$out/$kind.json" || { cat "$out/$kind.log" >&2; exit 1; }
done
"$ttt" train "${measure[@]}" --weights "$weights" --evaluate --output "$out" >"$out/evaluate.txt"
mv "$out/preview.png" "$out/pictures.png"
python3 - "$out" <<'PYTHON'
import json, pathlib, sys
out = pathlib.Path(sys.argv[1])
means, names = {}, []
for kind in ("model", "no_update", "nearest_view"):
    scenes = json.loads((out / f"{kind}.json").read_text())["scenes"]
    names = [scene["scene"] for scene in scenes]
    means[kind] = {key: sum(scene["mean"][key] for scene in scenes) / len(scenes)
                   for key in ("psnr", "ssim")}
best = max(means["no_update"]["psnr"], means["nearest_view"]["psnr"])
summary = {"scenes": len(names), "mean": means, "margin_db": means["model"]["psnr"] - best}
(out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
print(f"{len(names)} held-out made-up scenes, 8 inputs, 8 targets each   PSNR      SSIM")
for kind, text in (("model", "rendered by the model"), ("no_update", "fast-weight update off"),
                   ("nearest_view", "nearest input view")):
    print(f"  {text:<52} {means[kind]['psnr']:6.2f} dB {means[kind]['ssim']:8.4f}")
print(f"  above the better baseline by {summary['margin_db']:.2f} dB")
PYTHON
echo "pictures: $out/pictures.png"
