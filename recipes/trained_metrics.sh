#!/usr/bin/env bash
# How the shipped regressor and heads are made: docs/trained.md says what each part brought.
#
#     bash recipes/trained_metrics.sh WMT CORPUS MPNET OUT
#
# WMT      folder with da15.tsv.gz, da16.tsv.gz, da18-large.tsv.gz and mlqe.tsv (embedded_models.sh)
# CORPUS   a prepared corpus with samples.npz of `mtgauge train sample`
# MPNET    folder or hub id of all-mpnet-base-v2
#
# One H200, some ten minutes. Because of --minutes another machine takes another number of steps.
# The shipped ones' samples were rated by the rater alone; `distil` now takes the teacher's mean too.
# Paper protocols and learning curves are the `text` blocks of docs/trained.md.
set -euo pipefail
wmt=$1 corpus=$2 mpnet=$3 out=$4
mkdir -p "$out"
da=("$wmt/da15.tsv.gz" "$wmt/da16.tsv.gz" "$wmt/da18-large.tsv.gz")
english="cs-en de-en et-en fi-en ro-en ru-en tr-en zh-en"
views="hyp+src/hyp+ref=0.4 hyp+ref=0.2 hyp+src=0.4"
pairs="--pool compare --head mlp --max-length 160 --patience 50 --bf16"

mtgauge train pack --train "${da[@]}" "$wmt/mlqe.tsv" --dev-share 0.1 --dev-most 150 \
    --drop-overlap --out "$out/judged.npz"

# A large English model rates every segment into English, and translations that nobody judged
mtgauge train regressor --encoder "$mpnet" --train "${da[@]}" --pairs $english --dev-share 0.1 \
    --dev-most 150 --views hyp+ref $pairs --batch 128 --rate 5e-5 --head-rate 10 --epochs 20 \
    --average 0.995 --minutes 1.8 --weights-only --out "$out/rater"
mtgauge train distil --packed "$out/judged.npz" --rater "$out/rater" --rater-encoder "$mpnet" \
    --corpus "$corpus" --sample-limit 900000 --out "$out/distilled"

mtgauge train regressor --packed "$out/distilled/samples.npz" --views $views $pairs \
    --freeze-embeddings --batch 512 --rate 3e-4 --head-rate 3 --epochs 40 --average 0.998 \
    --minutes 2.3 --weights-only --out "$out/begun"
mtgauge train regressor --packed "$out/distilled/judged.npz" --start "$out/begun" --views $views \
    $pairs --freeze-embeddings --batch 256 --rate 1e-4 --head-rate 3 --epochs 40 --average 0.998 \
    --minutes 1.0 --out "$out/regressor"
# Shipped without the piece table, which is the encoder's
python "$(dirname "$0")/share_pieces.py" "$out/regressor" "$out/regressor-shared"

while read -r name hidden minutes; do
    mtgauge train "$name" --packed "$out/distilled/judged.npz" --hidden "$hidden" --dropout 0.2 \
        --batch 512 --rate 1.5e-3 --epochs 60 --patience 90 --average 0.998 \
        --minutes "$minutes" --out "$out/$name"
done <<HEADS
esim 200 0.95
bilstm-attention 160 0.75
bilstm 160 0.5
ruse 200 0.35
HEADS
