#!/usr/bin/env bash
# Writes the completion scripts here and the manual pages in docs/man from what the program declares.
#   cli/completions/refresh.sh build/cpu/warpmer
set -euo pipefail
warpmer=$(realpath "${1:?which warpmer binary?}")
cd "$(dirname "$0")/../.."

"$warpmer" completion bash >cli/completions/warpmer.bash
"$warpmer" completion zsh >cli/completions/_warpmer
"$warpmer" completion fish >cli/completions/warpmer.fish
"$warpmer" help --man >docs/man/warpmer.1
"$warpmer" --help | sed -n '/^Commands:/,/^Options:/s/^  \([a-z-]\{1,\}\)  *[A-Z].*/\1/p' | while read -r command; do
  "$warpmer" help --man "$command" >"docs/man/warpmer-$command.1"
done
