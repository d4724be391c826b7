#!/usr/bin/env bash
# Every step that needs a GPU, in order, on one machine: about 25 minutes on an H200.
# Usage: all.sh WORK   (WORK holds what `fetch --teacher`, `teacher tokenizer` and `data` made)
set -euo pipefail
work=$1
export PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=true
step() { local name=$1; shift; echo "== $name $(date +%T)"; "$@" > "$work/$name.log" 2>&1 || { echo "$name failed"; tail -5 "$work/$name.log"; return 1; }; }
py() { python3 -m "training.verifier.$@"; }

until [ -e "$work/teacher.ready" ]; do sleep 1; done
py generate "$work" --seconds "${GENERATE:-280}" > "$work/generate.log" 2>&1 &
generating=$!
step teacher py teacher train "$work" --tokens 12288 --seconds "${TEACHER:-400}" ||
  step teacher py teacher train "$work" --tokens 12288 --seconds "${TEACHER:-400}" --no-compile
step teacher_mnli py teacher label "$work" --pairs nli/mnli_dev.eval.jsonl.xz --rows 3000 --out teacher_mnli.npy
wait $generating || true
step pair py generate "$work" --pair
py train "$work" --base mpnet --out x --pairs llm_pairs.jsonl.xz --prepare > "$work/prepare_llm.log" 2>&1 &
step label_llm py teacher label "$work" --pairs llm_pairs.jsonl.xz --out llm_labels.npy --seconds "${LABEL_LLM:-90}"
step agreed py generate "$work" --keep-agreed
step label py teacher label "$work" --pairs pairs.jsonl.xz --out labels.npy --seconds "${LABEL:-160}"
wait
step base py train "$work" --base mpnet --start "${START:-first}" --out base --seconds "${BASE:-440}" --pairs pairs.jsonl.xz llm_pairs.jsonl.xz --labels labels.npy llm_labels.npy
touch "$work/base.ready"
step eval_base py evaluate run "$work" --model base
step small py train "$work" --base mpnet --start base --keep 0,2,4,6,8,11 --master base --out small --rate 1e-4 --mix 0.8 --seconds "${SMALL:-130}" --pairs pairs.jsonl.xz llm_pairs.jsonl.xz
step eval_small py evaluate run "$work" --model small
echo "== done $(date +%T)"
touch "$work/all.ready"
