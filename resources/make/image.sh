#!/bin/sh
# The image of Containerfile as an OCI archive, on a base that Debian's packages make: no registry is asked.
#
#   resources/make/image.sh ARCHIVE    # apt install mmdebstrap buildah
set -eu
archive=$1
for tool in mmdebstrap buildah; do
    command -v "$tool" >/dev/null || { echo "image: there is no $tool (Debian: apt install $tool)" >&2; exit 1; }
done
packed=$(mktemp -d)
trap 'rm -rf "$packed"' EXIT
mmdebstrap --variant=minbase --include=ca-certificates,python3-venv,rsync bookworm "$packed/base.tar"
base=$(buildah from scratch)
buildah add --quiet "$base" "$packed/base.tar" /
buildah commit --quiet --rm "$base" nnuelab-base
buildah build --build-arg BASE=localhost/nnuelab-base --tag nnuelab .
buildah push nnuelab "oci-archive:$packed/image.tar:nnuelab:latest"
mv "$packed/image.tar" "$archive"
