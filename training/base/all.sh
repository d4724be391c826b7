#!/usr/bin/env bash
# Every step that needs a GPU, in order, on one machine: about twenty minutes on an H200.
# Usage: all.sh WORK DATA   (WORK holds what the steps before it in README.md made)
set -euo pipefail
work=$1 data=$2
export PYTHONUNBUFFERED=1 PYTHONPATH=.:src
ln -sfn "$(realpath "$data/nli")" "$work/nli"
made="pairs.jsonl.xz rule_pairs.jsonl.xz"

step() {
  local name=$1
  shift
  echo "== $name $(date +%T)"
  python3 -m "$@" > "$work/$name.log" 2>&1 ||
    { echo "$name failed"; tail -n 5 "$work/$name.log"; return 1; }
}

step convert halldetect_bench.models.gguf_to_transformers "$work/qwen2.5-coder-1.5b.gguf" "$work/qwen2.5-coder-1.5b"
# Writing claims leaves the chip half idle: it runs beside the first students' training.
step write training.base.generate write "$work" --seconds "${WRITE:-170}" &
step first training.base.train "$work" --out first --pairs $made --seed 1 \
  --seconds "${FIRST:-165}"
step second training.base.train "$work" --out second --pairs $made --shares 1 0.3 --seed 2 \
  --seconds "${SECOND:-155}"
wait
step pair training.base.generate pair "$work" --judge first
step third training.base.train "$work" --out third --pairs $made llm_pairs.jsonl.xz \
  --shares 1 0.6 1 --seed 3 --seconds "${THIRD:-210}"
step soup training.base.soup "$work" first second third --out base
step eval_base training.base.evaluate run "$work" --model base
