#!/bin/sh
# Snakemake runs this in the folder of the workflow, with the new environment active.
set -e
if [ -e requirements.lock ]; then
    python -m pip install --require-hashes -r requirements.lock
    python -m pip install torch==2.13.0
    python -m pip install --no-deps --no-build-isolation --editable .
else # a project of `nnuelab new`, or one that has this workflow as a module
    python -m pip install "nnuelab[train]"
fi
