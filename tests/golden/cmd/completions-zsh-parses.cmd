# SPDX-License-Identifier: BSD-2-Clause
command -v zsh >/dev/null || { echo "no zsh"; exit 77; }
ebeam completions zsh >script
zsh -f -n script && echo parses
