# SPDX-License-Identifier: Apache-2.0
# For scripts that source it.

# How many percent of the lines of a translation are exactly those of its reference, plain or gzipped. Both are read as
# the programs read text: without byte order mark and carriage returns.
exact_percent() { # exact_percent <translation> <reference>
  awk '
    FNR == 1 { sub(/^\357\273\277/, "") }
    { sub(/\r$/, "") }
    NR == FNR { translation[FNR] = $0; next }
    ("x" $0) == ("x" translation[FNR]) { ++right } # as text: 1e2 is not 100
    END { printf "%.1f\n", 100 * right / FNR }' "$1" <(gzip -dcf "$2")
}
