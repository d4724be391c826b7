#!/usr/bin/env bash
# Every step that needs a GPU, in order, on one machine: under half an hour on an H200.
# Usage: all.sh WORK SHARED   (WORK holds what the steps before it in README.md made)
set -euo pipefail
work=$1 shared=$2
export PYTHONUNBUFFERED=1 PYTHONPATH=.:src
ln -sfn "$(realpath "$shared/nli")" "$work/nli"

step() {
  local name=$1
  shift
  echo "== $name $(date +%T)"
  "$@" > "$work/$name.log" 2>&1 || { echo "$name failed"; tail -n 5 "$work/$name.log"; return 1; }
}
py() { python3 -m "training.verifier.$@"; }

step first py train "$work" --out first --seconds "${FIRST:-110}"
# Writing claims leaves the chip half idle: it runs beside the teacher's training.
py generate "$work" --seconds "${GENERATE:-280}" > "$work/generate.log" 2>&1 &
step teacher py teacher train "$work" --tokens 12288 --seconds "${TEACHER:-400}"
wait
step teacher_mnli py teacher label "$work" --pairs nli/mnli_dev.eval.jsonl.xz --rows 3000 \
  --out teacher_mnli.npy
step pair py generate "$work" --pair
step label_llm py teacher label "$work" --pairs llm_pairs.jsonl.xz --out llm_labels.npy
step agreed py generate "$work" --keep-agreed
step label py teacher label "$work" --seconds "${LABEL:-105}" --pairs pairs.jsonl.xz \
  --out labels.npy
step base py train "$work" --start first --out base --seconds "${BASE:-380}" \
  --pairs pairs.jsonl.xz llm_pairs.jsonl.xz --labels labels.npy llm_labels.npy
step eval_base py evaluate run "$work" --model base
step small py train "$work" --start base --keep 0,2,4,6,8,11 --master base --out small \
  --rate 1e-4 --mix 0.8 --seconds "${SMALL:-130}" --pairs pairs.jsonl.xz llm_pairs.jsonl.xz
step eval_small py evaluate run "$work" --model small
