#!/usr/bin/env bash
# How the embedded encoder and language model are made: docs/models.md says what each part brought.
#
#     bash recipes/embedded_models.sh PARALLEL WMT MINILM MPNET SMOLLM OUT
#
# PARALLEL  folder of XX-en.tsv.zst (foreign, English, origin)
# WMT       folder with da15.tsv.gz, da16.tsv.gz, mlqe-train.tsv.gz and mlqe-train-overlap.tsv
# MINILM    folder of all-MiniLM-L6-v2; MPNET: folder of all-mpnet-base-v2; SMOLLM: its GGUF file
#
# One H200, about an hour. The shipped models were trained in more and shorter runs than these, some
# of them dead ends; runs that follow the clock (--seconds) do not repeat bit by bit.
set -euo pipefail
parallel=$1 wmt=$2 minilm=$3 mpnet=$4 smollm=$5 out=$6
here=$(dirname "$0")
corpus=$out/corpus
mkdir -p "$out"

# MLQE's training set without rows whose sources recur in its dev and test sets, Nepali and Sinhala;
# three people scored each segment, and judgements are weighted by their number (column n)
awk -F'\t' -v OFS='\t' 'NR == FNR { if (FNR > 1) out[$1]; next }
    FNR == 1 { print $0, "n" }
    FNR > 1 && !((FNR - 1) in out) && $1 !~ /^(ne|si)-/ { print $0, 3 }' \
    "$wmt/mlqe-train-overlap.tsv" <(zcat "$wmt/mlqe-train.tsv.gz") > "$out/mlqe.tsv"
# Of these, what people scored above average joins the parallel text
mkdir -p "$out/mlqe"
awk -F'\t' -v dir="$out/mlqe" 'FNR > 1 && $6 > 0 { split($1, l, "-")
    if (l[2] == "en") print $4 "\t" $5 "\tmlqe" > (dir "/" l[1] "-en.tsv")
    else print $5 "\t" $4 "\tmlqe" > (dir "/" l[2] "-en.tsv") }' "$out/mlqe.tsv"

python "$here/pack_teacher.py" "$mpnet/model.safetensors" --out "$out/teacher.npz"
python "$here/reader.py" pack "$smollm" --out "$out"
python "$here/tokenizer.py" --parallel "$parallel" --out "$out/tokenizer.json"
mtgauge train prepare --parallel "$parallel" --extra "$out"/mlqe/*-en.tsv --out "$corpus" \
    --tokenizer "$out/tokenizer.json" --teacher-tokenizer "$mpnet/tokenizer.json" \
    --shares "$here/shares.json" --cap europarl=60000 tatoeba=60000
python "$here/reader.py" prepare "$smollm" --corpus "$corpus"
python "$here/warm_start.py" --corpus "$corpus" --parent "$minilm"

# A language model that translates, machine translations by it, and one that ranks them
python "$here/reader.py" train --reader "$out"/reader-*.npz --corpus "$corpus" --seconds 900 \
    --out "$out/lm" --fuse
mtgauge train sample --corpus "$corpus" --teacher "$out/teacher.npz" \
    --start "$out/lm/fluency.safetensors" --rows 450000
mtgauge train fluency --corpus "$corpus" --start "$out/lm/fluency.safetensors" --samples \
    --seconds 200 --rate 3e-4 --warmup 50 --given 0.75 --out "$out/ranked" --fuse

# The encoder: MiniLM's body, then the teacher's matches, then those of the tuned teacher
mtgauge train encoder --corpus "$corpus" --teacher "$out/teacher.npz" --start "$corpus/warm.npz" \
    --samples --dev "$wmt/da15.tsv.gz" "$wmt/da16.tsv.gz" --seconds 1700 --out "$out/encoder" --fuse
mtgauge train teacher --corpus "$corpus" --teacher "$out/teacher.npz" \
    --train "$wmt/da15.tsv.gz" "$wmt/da16.tsv.gz" --out "$out/tuned.npz"
mtgauge train sample --corpus "$corpus" --teacher "$out/tuned.npz" \
    --start "$out/lm/fluency.safetensors" --rows 600000
mtgauge train encoder --corpus "$corpus" --teacher "$out/tuned.npz" \
    --start "$out/encoder/student.safetensors" --samples --train "$out/mlqe.tsv" \
    --dev "$wmt/da15.tsv.gz" "$wmt/da16.tsv.gz" --seconds 620 --out "$out/encoder-tuned" --fuse
mtgauge train fluency --corpus "$corpus" --start "$out/ranked/fluency.safetensors" --samples \
    --train "$out/mlqe.tsv" --seconds 200 --rate 3e-4 --warmup 50 --given 0.75 \
    --out "$out/lm-tuned" --fuse

mtgauge train export --kind encoder --weights "$out/encoder-tuned/student.safetensors" \
    --corpus "$corpus" --out "$out/models/encoder"
mtgauge train export --kind fluency --weights "$out/lm-tuned/fluency.safetensors" \
    --corpus "$corpus" --out "$out/models/fluency"

# The second generation, not shipped (docs/models.md): free text only, both directions, copies of the
# source not to be mistaken for translations. Runs where GENERATION=2, with da18-out.tsv.gz (learned
# from) and da18-dev.tsv (watched) of WMT18 out of English in WMT. It ran in three parts, an earlier
# text and earlier translations in the first (language model 132 and 190 s, encoder 215, 555, 700 and
# 700 s; the last with --people-rows 576 and judgements of WMT15 and WMT16 beside the others); as one
# sequence these commands have not run.
[ "${GENERATION:-1}" = 2 ] || exit 0
second=$out/second
corpus=$second/corpus
dev=("$wmt/da15.tsv.gz" "$wmt/da16.tsv.gz")
mkdir -p "$second"
python "$here/select_text.py" --parallel "$parallel" "$out/mlqe" --out "$second/clean"
mtgauge train prepare --parallel "$second/clean" --out "$corpus" \
    --teacher-tokenizer "$mpnet/tokenizer.json" --shares "$here/shares-second.json"
python "$here/warm_start.py" --corpus "$corpus" --parent "$minilm"
mtgauge train fluency --corpus "$corpus" --seconds 320 --given 0.87 --reverse 0.05 --dev "${dev[@]}" \
    --out "$second/lm" --fuse
mtgauge train teacher --corpus "$corpus" --teacher "$out/teacher.npz" --train "${dev[@]}" \
    --out "$second/tuned.npz"
mtgauge train sample --corpus "$corpus" --teacher "$second/tuned.npz" \
    --start "$second/lm/fluency.safetensors" --rows 250000 --each 2
both=(--directions both --corpus "$corpus" --teacher "$second/tuned.npz" --rate 5e-4 --fuse
    --train "$out/mlqe.tsv" "$wmt/da18-out.tsv.gz" --dev "${dev[@]}" "$wmt/da18-dev.tsv")
mtgauge train encoder "${both[@]}" --start "$corpus/warm.npz" --versions 2 --seconds 215 \
    --schedule-end 0.25 --out "$second/a"
mtgauge train encoder "${both[@]}" --start "$second/a/student.safetensors" --samples --versions 4 \
    --batch-pieces 320000 --seconds 1250 --warmup 100 --seed 2 --out "$second/b"
echo '{"turned": 48}' > "$second/facts.json"
mtgauge train export --kind encoder --weights "$second/b/student.safetensors" --corpus "$corpus" \
    --facts "$second/facts.json" --out "$second/models/encoder"
# Trained metrics on it: as trained_metrics.sh, with `distil --slips 200000 --faults 20000`
