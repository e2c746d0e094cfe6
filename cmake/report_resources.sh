#!/bin/sh
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: report_resources.sh TABLE OBJECT…
# Writes what ptxas said about every kernel of the objects (record_resources.sh kept it) as a table
# with tabs, and prints one line per GPU architecture.
set -eu
table=$1
shift
for object in "$@"; do cat "$object.resources"; done |
  awk -v OFS='\t' '
    /Compiling entry function/ {
      split($0, quoted, "\047"); kernel = quoted[2]; gpu = quoted[4]; stack = spills = 0
    }
    /bytes stack frame/ { stack = $1; spills = $5 + $9 }
    /Used [0-9]+ registers/ {
      registers = $5; shared = 0
      if (match($0, /[0-9]+ bytes smem/)) shared = substr($0, RSTART) + 0
      print gpu, registers, shared, stack, spills, kernel
    }' | c++filt | sort >"$table.new"
{
  printf 'gpu\tregisters\tstatic shared bytes\tstack bytes\tspilled bytes\tkernel\n'
  cat "$table.new"
} >"$table"
rm "$table.new"
awk -F'\t' 'NR > 1 {
    count[$1]++
    if ($2 > registers[$1]) registers[$1] = $2
    if ($3 > shared[$1]) shared[$1] = $3
    spilled[$1] += $5
  }
  END {
    for (gpu in count)
      printf "%s: %d kernels, at most %d registers and %d bytes of static shared memory, %d bytes spilled\n", \
        gpu, count[gpu], registers[gpu], shared[gpu], spilled[gpu]
  }' "$table" | sort
