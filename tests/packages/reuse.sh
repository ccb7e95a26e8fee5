#!/usr/bin/env bash
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
#
# A launcher of compilers: takes the object of another build in place of compiling, where that build has compiled the same source by
# the same words. It only leaves out what does not change an object: where that is written to, and headers that are compiled once.
#
#   reuse.sh TABLE LOG COMPILER WORDS...      a line of TABLE: source, object, words of its compilation, between tabs
set -euo pipefail
table=$1 log=$2
shift 2
words=() object="" source=""
command=("$@")
while (($#)); do
  case $1 in
    -o) object=$2 && shift ;;
    -c) source=$2 && shift ;;
    -MD) ;;
    -MT | -MF) shift ;;
    *) words+=("$1") ;;
  esac
  shift
done
if [[ -n $object && -n $source ]] && line=$(grep -m 1 -F -- "$source	" "$table"); then
  IFS=$'\t' read -r _ old old_words <<<"$line"
  if [[ $old_words == "${words[*]}" && -f $old && ! $source -nt $old ]]; then
    cp "$old" "$object"
    printf 'taken %s\n' "$source" >>"$log"
    exit
  fi
  printf 'other words: %s\n  %s\n  %s\n' "$source" "$old_words" "${words[*]}" >>"$log"
else
  printf 'compiled %s\n' "$source" >>"$log"
fi
exec "${command[@]}"
