#!/usr/bin/env bash
# Every step that needs a GPU, in order: about four minutes on an H200 without a teacher, eight with.
# Usage: all.sh WORK SMOLLM2.gguf [QWEN.gguf]   (WORK holds what step 1 and `detect prepare` made)
set -euo pipefail
work=$1 base=$2 teacher=${3:-}
export PYTHONUNBUFFERED=1 PYTHONPATH=.:src${PYTHONPATH:+:$PYTHONPATH} TOKENIZERS_PARALLELISM=true

step() {
  local name=$1
  shift
  echo "== $name $(date +%T)"
  "$@" > "$work/$name.log" 2>&1 || { echo "$name failed"; tail -n 5 "$work/$name.log"; return 1; }
  tail -n 2 "$work/$name.log"
}
py() { python3 -m "training.$@"; }

step weights py gguf_weights "$base" "$work/base"
step small py extractor.train "$work" --base "$work/base" --name small --without-teacher \
  --rank 8 --alpha 16 --passes "${PASSES:-4}" --seconds "${TRAIN:-120}"
step plain py extractor.train "$work" --base "$work/base" --name plain --without-teacher \
  --rank 16 --alpha 32 --passes "${PASSES:-8}" --seconds "${TRAIN:-120}"
if [ -n "$teacher" ]; then
  step teacher_weights py gguf_weights "$teacher" "$work/teacher"
  step teach py extractor.teach "$work" --model "$work/teacher" --seconds "${TEACH:-200}"
  step taught py extractor.train "$work" --base "$work/base" --name taught \
    --rank 8 --alpha 16 --passes "${PASSES:-4}" --seconds "${TRAIN:-120}"
fi
# The choice between them is made on the held-out sentences of the sets that are trained on;
# PropSegmEnt, which is not, stays out of it.
python3 - "$work" <<'PY'
import json, shutil, sys
from pathlib import Path
work = Path(sys.argv[1])
found = {n: json.loads((work / f"{n}.json").read_text()) for n in ("plain", "taught", "small")
         if (work / f"{n}.json").exists()}
best = max(found, key=lambda n: found[n]["held_out"]["trained sets"]["model"]["f1"])
for name, result in found.items():
    print(name, result["held_out"])
print("best:", best)
for part in (".json", ".safetensors"):
    shutil.copy(work / f"{best}{part}", work / f"adapter{part}")
PY
step choose py extractor.detect choose "$work" --base "$work/base"
if [ -e "$work/eval/eval_rows.jsonl.xz" ]; then
  step rows py extractor.detect rows "$work/eval" "$work"
fi
