#!/usr/bin/env bash
# Trains the large verifier on a machine with one GPU that is reached through small transfers.
#
# Where the data is (needs the halldetect package and `gguf`):
#   gpu.sh pack WORK CARRY [MIB]    pieces CARRY/p00, p01, ... of at most MIB MiB each
# On the GPU machine, in this order; every step can be run alone and writes WORK/logs/STEP.log:
#   gpu.sh take CARRY NN            take piece NN; unpacks, tokenises and compiles ahead early
#   gpu.sh chain                    all steps below, in the background
#   gpu.sh follow SECONDS           show the progress of the chain, return when it is done
#   gpu.sh fetch FILE ...           copy files of WORK to $OUT, divided into parts of 15 MiB
# Steps: train1 train2 soup evaluate label parts. TINY=1 tries them on a processor.
# To teach the small verifier: EARLY=early_base when taking the pieces, then the steps
# label base base_evaluate, with LABEL_ADAPTER. WORK then also holds mpnet/, shipped/, nli/ and
# what `training.base.evaluate prepare` wrote.
set -euo pipefail
here="$(cd "$(dirname "$0")/../.." && pwd)"
export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
export TOKENIZERS_PARALLELISM=true
export TORCHINDUCTOR_CACHE_DIR="${TORCHINDUCTOR_CACHE_DIR:-/tmp/large_inductor}"
WORK="${WORK:-/tmp/large}"
PY="${PY:-python3}"
DATA="tokenizer.json train_groups.jsonl.xz dev_groups.jsonl.xz eval_groups.jsonl.xz
  eval_rows.json.xz teach_groups.jsonl.xz own_groups.jsonl.xz write_prompts.jsonl.xz start.q8 start.json
  teacher.lora8 mpnet shipped labels nli eval_rows.jsonl.xz eval_documents.json.xz"

# What the runs differ in; all of it can be set from outside.
ROW="${ROW:-16384}" ROWS="${ROWS:-2}" RANK="${RANK:-64}"
SECONDS1="${SECONDS1:-420}" SECONDS2="${SECONDS2:-420}" LABEL_SECONDS="${LABEL_SECONDS:-150}"
TRAIN1="${TRAIN1:---rate 2e-4 --seed 1}"
TRAIN2="${TRAIN2:---rate 2e-4 --seed 2}"
# The way of attention that worked while compiling ahead, unless told otherwise.
if [ -z "${ATTENTION:-}" ] && grep -qs '"attention": "flex-wide"' "$WORK/logs/early.log"; then
  ATTENTION=flex-wide
fi
common="--row $ROW --rows $ROWS --attention ${ATTENTION:-flex}"
if [ -n "${TINY:-}" ]; then
  common="--row 2048 --rows 2 --device cpu --attention dense --no-compile"
  RANK=8
fi

start_option() {
  if [ -f "$WORK/start.q8" ]; then echo "--start $WORK/start.q8"; fi
}

step_pack() {
  local work="$1" carry="$2" mib="${3:-58}" names=()
  for name in $DATA; do
    [ -e "$work/$name" ] && names+=("$name")
  done
  rm -rf "$carry" && mkdir -p "$carry"
  # One stream: the data first, so that work on it can begin before the base has arrived.
  tar -C "$work" -chf "$carry/data.tar" "${names[@]}"
  local bytes
  bytes=$(stat -c %s "$carry/data.tar")
  cat "$carry/data.tar" "$work/base.safetensors" |
    split -b "${mib}M" -d -a 2 - "$carry/stream."
  local sum
  sum=$(sha256sum "$work/base.safetensors" | cut -d' ' -f1)
  for piece in "$carry"/stream.*; do
    local number="${piece##*.}"
    mkdir "$carry/p$number"
    mv "$piece" "$carry/p$number/piece"
    (cd "$carry/p$number" && sha256sum piece >sum)
  done
  echo "$bytes $sum $(find "$carry" -name piece | wc -l)" >"$carry/p00/plan"
  rm "$carry/data.tar"
  cat "$carry/p00/plan"
  du -sm "$carry"/p*
}

step_take() {
  local carry="$1" number="$2"
  mkdir -p "$WORK/in" "$WORK/logs"
  (cd "$carry/p$number" && sha256sum -c --quiet sum)
  mv "$carry/p$number/piece" "$WORK/in/$number"
  [ -f "$carry/p$number/plan" ] && cp "$carry/p$number/plan" "$WORK/plan"
  local bytes sum count have
  read -r bytes sum count <"$WORK/plan"
  have=$(stat -c %s "$WORK"/in/* | awk '{ total += $1 } END { print total }')
  echo "piece $number taken, $(ls "$WORK/in" | wc -l) of $count, $have bytes"
  if [ ! -f "$WORK/unpacked" ] && [ "$have" -ge "$bytes" ]; then
    # Not a pipe: `head` ends before `cat` does, which would count as a failure.
    head -c "$bytes" < <(cat "$WORK"/in/* 2>/dev/null) >"$WORK/data.tar"
    tar -C "$WORK" -xf "$WORK/data.tar"
    touch "$WORK/unpacked"
    background "${EARLY:-early}"
  fi
  if [ "$(ls "$WORK/in" | wc -l)" -eq "$count" ]; then
    cat "$WORK"/in/* | tail -c "+$((bytes + 1))" >"$WORK/base.partial"
    echo "$sum  $WORK/base.partial" | sha256sum -c --quiet
    mv "$WORK/base.partial" "$WORK/base.safetensors"
    rm -r "$WORK/in"
    echo "the base is whole"
  fi
}

background() {
  # A session of its own lets it run on after the command that started it has returned.
  mkdir -p "$WORK/logs"
  WORK="$WORK" setsid nohup bash "$here/training/large/gpu.sh" "$@" >"$WORK/logs/$1.log" 2>&1 </dev/null &
  echo "$1 started"
}

step_early() {
  date +%T
  command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,memory.used --format=csv,noheader
  "$PY" -m training.large.pack "$WORK/train_groups.jsonl.xz" "$WORK/dev_groups.jsonl.xz" \
    --tokenizer "$WORK/tokenizer.json"
  ("$PY" -m training.large.pack "$WORK/eval_groups.jsonl.xz" --tokenizer "$WORK/tokenizer.json"
    if [ -f "$WORK/teach_groups.jsonl.xz" ]; then
      "$PY" -m training.large.pack "$WORK/teach_groups.jsonl.xz" --tokenizer "$WORK/tokenizer.json"
    fi) &
  if [ -z "${TINY:-}" ]; then
    # Random weights of the real sizes: fills the caches of the compiler, shows speed and memory.
    "$PY" -m training.large.train "$WORK" --out warm --random --check --steps 40 --every 10 \
      --dev-claims 400 --save-every 9999 --rank "$RANK" $common $TRAIN1 || true
  fi
  wait
  date +%T
  touch "$WORK/early.done"
}

step_early_base() {
  date +%T
  "$PY" -m training.base.taught "$WORK" encode --processes 14 &
  if [ ! -d "$WORK/labels" ]; then
    "$PY" -m training.large.pack "$WORK/teach_groups.jsonl.xz" --tokenizer "$WORK/tokenizer.json"
  fi
  touch "$WORK/early.done"
  wait
  date +%T
}

step_train1() {
  "$PY" -m training.large.train "$WORK" --out run1 --seconds "$SECONDS1" --rank "$RANK" \
    $(start_option) $common $TRAIN1
}

step_train2() {
  "$PY" -m training.large.train "$WORK" --out run2 --seconds "$SECONDS2" --rank "$RANK" \
    $(start_option) $common $TRAIN2
}

runs() {
  for run in run1 run2; do
    [ -f "$WORK/$run/adapter.safetensors" ] && echo "$WORK/$run/adapter.safetensors"
  done
  return 0
}

step_soup() {
  "$PY" -m training.large.adapter soup "$WORK/soup.safetensors" $(runs) --rank "$RANK"
  # Two forms of at most 30 MB that may ship, and a finer one of 57 MB to go on from.
  "$PY" -m training.large.adapter prune "$WORK/soup.safetensors" "$WORK/soup24.lora8" --rank 24 &
  "$PY" -m training.large.adapter prune "$WORK/soup.safetensors" "$WORK/soup45.lora4" --rank 45 &
  "$PY" -m training.large.adapter prune "$WORK/soup.safetensors" "$WORK/soup48.lora8" --rank 48 &
  wait
}

step_evaluate() {
  local adapters=() path
  for path in ${EVALUATE:-$(runs) $WORK/soup.safetensors $WORK/soup24.lora8 $WORK/soup45.lora4}; do
    [ -f "$path" ] && adapters+=(--adapter "$path")
  done
  "$PY" -m training.large.evaluate run "$WORK" --name "${NAME:-final}" "${adapters[@]}" $common \
    ${EVAL_OPTIONS---whole}
  local number count=$((${#adapters[@]} / 2))
  for ((number = 0; number < count; number++)); do
    echo "== ${adapters[$((2 * number + 1))]}"
    "$PY" -m training.large.evaluate report "$WORK" --name "${NAME:-final}:$number"
  done
  if [ "$count" -gt 1 ]; then
    echo "== probabilities of the first two averaged"
    "$PY" -m training.large.evaluate report "$WORK" --name "${NAME:-final}:0,1"
  fi
}

step_parts() {
  EVALUATE="$WORK/soup.safetensors" NAME=parts EVAL_OPTIONS="" step_evaluate
}

step_label() {
  [ -f "$WORK/teach_groups.jsonl.xz" ] || { echo "nothing to label"; return 0; }
  "$PY" -m training.large.label "$WORK" --adapter "${LABEL_ADAPTER:-$WORK/soup.safetensors}" \
    --out "$WORK/labels" --seconds "$LABEL_SECONDS" $common
  tar -C "$WORK" -cf "$WORK/labels.tar" labels
}

step_base() {
  while [ ! -f "$WORK/taught.npz" ]; do sleep 1; done
  "$PY" -m training.base.train "$WORK" --start shipped --taught "$WORK/labels" --out base \
    --seconds "${BASE_SECONDS:-540}" ${BASE:---rounded 0.4 --rate 5e-5 --seed 1}
}

step_base_evaluate() {
  "$PY" -m training.base.evaluate run "$WORK" --model base --rounded
  "$PY" -m training.base.evaluate run "$WORK" --model shipped
  "$PY" -m training.base.evaluate run "$WORK" --model base
}

step_own() {
  # Small labelled suites of our own, judged by one adapter: OWN names it.
  "$PY" -m training.large.label "$WORK" --groups own_groups.jsonl.xz --adapter "$OWN" \
    --out "$WORK/own_$(basename "$OWN" | tr . _)" --no-compile $common
}

step_write() {
  "$PY" -m training.large.write run "$WORK" --base "$WORK/base.safetensors" \
    --out "$WORK/written.jsonl.xz" --seconds "${WRITE_SECONDS:-150}"
}

step_heal() {
  # Pruning moves the products; a short run at a low rate brings the pruned adapter back.
  "$PY" -m training.large.train "$WORK" --out heal --seconds "${HEAL_SECONDS:-120}" \
    --rank "${HEAL_RANK:-24}" --start "${HEAL_START:-$WORK/soup24.lora8}" $common \
    ${HEAL:---rate 1e-4 --seed 3}
}

step_final() {
  # The healed adapter as it would ship, and the suites of our own on it and on the whole soup.
  "$PY" -m training.large.adapter prune "$WORK/heal/adapter.safetensors" "$WORK/heal24.lora8" \
    --rank "${HEAL_RANK:-24}"
  EVALUATE="$WORK/heal24.lora8" NAME=heal step_evaluate
  OWN="$WORK/heal24.lora8" step_own
  OWN="$WORK/soup.safetensors" step_own
  (cd "$WORK" && tar -cf own.tar own_*/)
}

step_chain() {
  local waited=0
  while [ ! -f "$WORK/early.done" ] && [ "$waited" -lt 120 ]; do sleep 1; waited=$((waited + 1)); done
  for step in ${STEPS:-train1 train2 soup evaluate label parts}; do
    echo "$(date +%T) $step"
    bash "$here/training/large/gpu.sh" "$step" >"$WORK/logs/$step.log" 2>&1 ||
      echo "$(date +%T) $step FAILED: $(tail -n 3 "$WORK/logs/$step.log")"
  done
  echo "$(date +%T) the chain is done"
}

step_follow() {
  local limit="$1" start=$SECONDS shown=""
  while [ $((SECONDS - start)) -lt "$limit" ]; do
    grep -q "the chain is done" "$WORK/logs/chain.log" 2>/dev/null && break
    sleep 2
    local line
    line=$(tail -qn 1 "$WORK"/logs/{early,early_base,base,base_evaluate,train1,train2,soup,evaluate,heal,final,write,label,parts}.log 2>/dev/null | tail -n 1 | cut -c1-400 || true)
    if [ "$line" != "$shown" ]; then echo "$line"; shown="$line"; fi
  done
  echo "---"; cat "$WORK/logs/chain.log" 2>/dev/null || true
  (cd "$WORK" && tar -cJf logs.tar.xz logs $(find . -maxdepth 2 -name 'log.jsonl' -o -maxdepth 1 -name '*_report.json'))
  if [ -n "${OUT:-}" ]; then cp "$WORK/logs.tar.xz" "$OUT/"; fi
}

step_fetch() {
  for name in "$@"; do
    if [ "$(stat -c %s "$WORK/$name")" -gt 15728640 ]; then
      split -b 15M -d -a 2 "$WORK/$name" "$OUT/$(basename "$name").part"
    else
      cp "$WORK/$name" "$OUT/"
    fi
  done
  (cd "$WORK" && sha256sum "$@")
  ls -la "$OUT"
}

command="$1"
shift
case "$command" in
  chain) if [ "${1:-}" = here ]; then step_chain; else background chain here; fi ;;
  pack | take | early | train1 | train2 | soup | evaluate | label | parts | early_base | base | base_evaluate | own | write | heal | final | follow | fetch)
    "step_$command" "$@" ;;
  *) echo "unknown step $command" >&2; exit 2 ;;
esac
