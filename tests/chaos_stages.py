"""Every stage of the command line that writes files, made tiny, in the order that they need.

But for `nnuelab download`: tests/data/test_kill.py has a server for it.
"""

from __future__ import annotations

_SMALL = "--l1 32 --l2 8 --epochs 2 --batch-size 256"
_LEARN = "--games 2 --max-plies 20 --evaluation-games 2 --evaluation-plies 10 --evaluate-every 1"
_DATA = "--train ../label/out/train.npy --validation ../label/out/validation.npy"
_POSITIONS = "--positions ../label/out/validation.npy"
_NETS = "ALL#1=../quantize/out/net.nnue H#1=../other-net/out/net.nnue"
_GAMES = "--book ../book.epd --nodes 20 --max-plies 60 --workers 2 --output out/games.pgn"
_SAME = "ALL#1=../quantize/out/net.nnue ALL#2=../quantize/out/net.nnue"
_TRACES = "../trace/out/train.trace --validation ../trace-held-out/out/validation.trace"

STAGES = {
    "datagen": "datagen --games 60 --nodes 20 --workers 2 --seed 3 --output out/games.pgn.zst",
    "datagen-part": "datagen --games 60 --nodes 20 --workers 2 --seed 3 --part 1/2"
    " --output out/games.part",
    "datagen-parts": "datagen --games 60 --nodes 20 --workers 2 --seed 3"
    " --parts ../datagen-part/out/games.part --output out/games.pgn.zst",
    "sample": "sample ../datagen/out/games.pgn.zst --workers 2 --output out/sampled.npy"
    " --report out/report.json --plot out/report.svg",
    "sample-part": "sample-part ../datagen/out/games.pgn.zst --workers 2 --output out/all.sample",
    "sample-parts": "sample --parts ../sample-part/out/all.sample --output out/sampled.npy"
    " --report out/report.json --plot out/report.svg",
    "label": "label ../sample/out/sampled.npy --labeller result --validation-share 0.4"
    " --test-share 0.2 --train out/train.npy --validation out/validation.npy --test out/test.npy",
    "label-search": "label ../sample/out/sampled.npy --labeller engine --nodes 20 --workers 2"
    " --validation-share 0.3 --train out/train.npy --validation out/validation.npy",
    "label-part": "label-part ../sample/out/sampled.npy --labeller engine --nodes 20 --workers 2"
    " --part 1/1 --output out/all.labels",
    "label-parts": "label ../sample/out/sampled.npy --labeller engine --nodes 20 --workers 2"
    " --validation-share 0.3 --train out/train.npy --validation out/validation.npy"
    " --parts ../label-part/out/all.labels",
    "convert": "data convert ../label/out/train.npy out/train.plain.zst",
    "binpack": "data convert ../label/out/train.npy out/train.binpack",
    "bulletformat": "data convert ../label/out/train.npy out/train.bf",
    "decoded": "data convert ../binpack/out/train.binpack out/train.npy",
    "index": "data index ../label/out/train.npy=0.5 ../binpack/out/train.binpack"
    " --output out/all.shards",
    "train": f"train --features ALL {_DATA} {_SMALL} --threads 1"
    " --checkpoint out/checkpoint.pt --history out/history.csv",
    "other-train": f"train --features H {_DATA} {_SMALL} --threads 1"
    " --checkpoint out/checkpoint.pt --history out/history.csv",
    "wide-train": f"train --features H {_DATA} --l1 64 --l2 8 --epochs 1 --batch-size 256"
    " --threads 1 --checkpoint out/checkpoint.pt --history out/history.csv",
    "slow-train": f"train --features ALL {_DATA} {_SMALL} --threads 1 --learning-rate 0.0005"
    " --checkpoint out/checkpoint.pt --history out/history.csv",
    "quantize": "quantize ../train/out/checkpoint.pt --positions ../label/out/train.npy"
    " --output out/net.nnue",
    "other-net": "quantize ../other-train/out/checkpoint.pt --output out/net.nnue",
    "wide-net": "quantize ../wide-train/out/checkpoint.pt --output out/net.nnue",
    "study-net": "quantize ../train/out/checkpoint.pt --scheme study --output out/net.nnue",
    "verify": "verify ../quantize/out/net.nnue --checkpoint ../train/out/checkpoint.pt --count 100"
    f" {_POSITIONS} --max-abs-mean 9999 --min-share-within-50 0"
    " --output out/verify.json --plot out/verify.png",
    "other-verify": "verify ../other-net/out/net.nnue --checkpoint ../other-train/out/checkpoint.pt"
    f" {_POSITIONS} --count 100 --max-abs-mean 9999 --min-share-within-50 0"
    " --output out/verify.json --plot out/verify.png",
    "net": "net convert ../quantize/out/net.nnue out/net.bin",
    "study-file": "net convert ../study-net/out/net.nnue out/net.nn",
    "onnx": "net convert ../train/out/checkpoint.pt out/net.onnx",
    "mask": "net mask ../quantize/out/net.nnue --without ALL --output out/masked.nnue",
    "export": "export ../quantize/out/net.nnue out/code --lang c --games 2",
    "importance": f"importance ../train/out/checkpoint.pt {_POSITIONS} --by role --count 200"
    " --output out/importance.csv --plot out/importance.svg",
    "importance-path": f"importance-path ../train/out/checkpoint.pt {_POSITIONS} --by role"
    " --count 200 --output out/path.csv --plot out/path.svg",
    "learning-rate": "learning-rate ../train/out/checkpoint.pt"
    " ../slow-train/out/checkpoint.pt --output out/rate.json --losses out/losses.csv",
    "cost": f"cost ALL=../quantize/out/net.nnue H=../other-net/out/net.nnue {_POSITIONS}"
    " --rounds 3 --output out/cost.csv",
    "size": "size ../quantize/out/net.nnue ../other-net/out/net.nnue ../wide-net/out/net.nnue"
    f" {_POSITIONS} --rounds 3 --output out/size.json --costs out/size.csv",
    "stats": "features stats ALL+H ../label/out/train.npy --positions 50 --csv out/stats.csv"
    " --plot out/stats.svg",
    "topk": "features topk ../label/out/train.npy --output out/pairs.csv",
    "new": "new out/project",
    "block": "features new RING --folder out",
    "tournament": f"tournament {_NETS} --book ../book.epd --games-per-pairing 40 --nodes 20"
    " --max-plies 60 --workers 2 --output out/games.pgn",
    "part": f"tournament {_NETS} --book ../book.epd --games-per-pairing 40 --nodes 20"
    " --max-plies 60 --workers 2 --part 1/2 --output out/games.part",
    "parts": f"tournament {_NETS} --book ../book.epd --games-per-pairing 40 --nodes 20"
    " --max-plies 60 --workers 2 --parts ../part/out/games.part --output out/games.pgn",
    "judged": f"tournament {_NETS} --engine 'nnuelab uci' --games-per-pairing 8 {_GAMES}",
    "sequential": f"tournament {_SAME} --format match --sprt=-100,100 --games-per-pairing 40"
    f" {_GAMES}",
    "sequential-table": "sprt-table ../sequential/out/games.pgn --csv out/table.csv",
    "rate": "rate ../tournament/out/games.pgn --anchor ALL#1 --sets ALL --csv out/table.csv"
    " --details out/details.json",
    "spread": "spread ../rate/out/details.json --csv out/spread.csv",
    "table": "table ALL#1=../nets/ALL/1/net.nnue H#1=../nets/H/1/net.nnue --experiment axis"
    " --pgn ../tournament/out/games.pgn --csv out/table.csv --markdown out/table.md",
    "report": "report axis --results ../gathered/results --output out/report.html"
    " --figures out/figures --metrics out/metrics",
    "paper": "paper axis --results ../gathered/results --output out",
    "crate": "crate out --name chaos --date 2026-01-02",
    "openbench": "openbench '../my engine' --path make --net ../quantize/out/net.nnue"
    " --net ../other-net/out/net.nnue --name Mine --repository https://github.com/me/mine"
    " --output out",
    "puzzles": "puzzles --net default --nodes 20 --count 30 --workers 2"
    " --output out/puzzles.json --csv out/puzzles.csv",
    "pqr": f"pqr ../quantize/out/net.nnue {_POSITIONS} --count 100 --output out/pqr.json"
    " --csv out/pqr.csv --plot out/pqr.svg",
    "search": f"search {_DATA} --terms ALL --terms H --generations 1 --population 2"
    " --positions 1100 --epochs 1 --l1 32 --eta 2 --play 1 --workers 2 --output out/search",
    "search-check": f"search-check {_DATA} --terms ALL --terms H --terms V --count 3"
    " --full-epochs 1 --positions 1100 --epochs 1 --l1 32 --workers 2 --csv out/check.csv",
    "spsa": "spsa --tune bishop_pair=10,0,200 --iterations 6 --nodes 20 --workers 2 --max-plies 30"
    " --book ../book.epd --output out/tuned.yaml --history out/history.csv --plot out/spsa.svg",
    "texel-positions": "texel positions ../datagen/out/games.pgn.zst --workers 2"
    " --validation-share 0.4 --output out/train.npy --validation out/validation.npy"
    " --filters out/filters.csv",
    "trace": "texel trace ../texel-positions/out/train.npy --output out/train.trace",
    "trace-held-out": "texel trace ../texel-positions/out/validation.npy"
    " --output out/validation.trace",
    "tune": f"texel tune {_TRACES} --generations 20 --threads 1 --output out/tuned.yaml"
    " --history out/history.csv --terms out/terms.csv",
    "texel-plot": "texel plot ../tune/out/history.csv --error out/error.svg",
    "residuals": "texel residuals ../trace/out/train.trace --output out/residuals.json"
    " --positions ../texel-positions/out/train.npy --k-plot out/k.svg --plot out/residuals.svg",
    "simplify": f"texel simplify {_TRACES} --evaluation ../tune/out/tuned.yaml --steps 1"
    " --threads 1 --output out/simplify.csv",
    "errors": "texel errors ../texel-positions/out/validation.npy tuned=../tune/out/tuned.yaml"
    " net=../quantize/out/net.nnue --csv out/errors.csv",
    "texel-export": "texel export ../tune/out/tuned.yaml --output out/tuned.h",
    "match-table": "texel match-table ../tournament/out/games.pgn --output out/table.txt"
    " --csv out/table.csv --anchor ALL#1",
    "policy": f"policy train --features ALL --layers 16 --epochs 2 --batch-size 256 {_DATA}"
    " --checkpoint out/checkpoint.pt --history out/history.csv --output out/net.policy",
    "evaluate": f"policy evaluate ../policy/out/net.policy {_POSITIONS} --count 100"
    " --csv out/evaluation.csv",
    "policy-table": "policy table ../policies/pair/1 --csv out/table.csv",
    "agreement": "policy agreement ../policy/out/net.policy --games ../tournament/out/games.pgn"
    " --count 5 --csv out/agreement.csv",
    "score": "policy score ../tournament/out/games.pgn --csv out/scores.csv",
    "gif": "policy gif ../tournament/out/games.pgn --output out/games.gif",
    "as-the-seed": "policy selfplay seed --iterations 2 --epochs 1 --evaluation-games 2"
    " --evaluation-plies 10 --evaluate-every 1 --max-plies 20 --output out/net.policy"
    " --history out/history.csv",
    "gradient": f"policy selfplay gradient --iterations 2 {_LEARN} --gate-games 2 --layers 16"
    " --output out/net.policy --history out/history.csv",
    "expert": f"policy selfplay expert --iterations 2 {_LEARN} --simulations 4 --layers 16"
    " --workers 2 --output out/net.policy --history out/history.csv",
}

# Folders that stages read, of files that others made, each with its record.
GATHERED = {
    "nets": {
        "ALL/1/net.nnue": "quantize/out/net.nnue",
        "ALL/1/history.csv": "train/out/history.csv",
        "ALL/1/history_times.csv": "train/out/history_times.csv",
        "ALL/1/verify.json": "verify/out/verify.json",
        "H/1/net.nnue": "other-net/out/net.nnue",
        "H/1/history.csv": "other-train/out/history.csv",
        "H/1/history_times.csv": "other-train/out/history_times.csv",
        "H/1/verify.json": "other-verify/out/verify.json",
    },
    "gathered": {
        "results/axis_table.csv": "table/out/table.csv",
        "results/tournament/axis.pgn": "tournament/out/games.pgn",
        "results/tournament/axis_ratings.csv": "rate/out/table.csv",
        "results/data/validation.npy": "label/out/validation.npy",
    },
    "policies": {
        "pair/1/evaluation.csv": "evaluate/out/evaluation.csv",
        "pair/1/history.csv": "policy/out/history.csv",
        "pair/1/history_times.csv": "policy/out/history_times.csv",
    },
}
FILLED = {"crate": "spread"}  # what lies in its folder before, made by another stage
