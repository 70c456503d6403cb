#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C

usage="usage: scripts/download_wmt14.sh [--output data/wmt14_en_de] [--archives FOLDER] [--list FILE]

Downloads the text of the paper's English-German experiment: Europarl v7, Common Crawl and News Commentary v9 to train
on (about 4.5 million pairs, 1.7 GB to download), newstest2013 to validate, newstest2014 (all 3,003 lines) to test.

Archives are kept in --archives and checked: against the checksum in scripts/wmt14_archives.txt (--list), or if that
has none, against what came the first time. What is there already is not fetched again; an archive may also be put there
by hand."
list="$(cd "$(dirname "$0")" && pwd)/wmt14_archives.txt"
output=data/wmt14_en_de
archives=
while [[ $# -gt 0 ]]; do
  case "$1" in
    --output) output=${2:?$usage}; shift 2 ;;
    --archives) archives=${2:?$usage}; shift 2 ;;
    --list) list=${2:?$usage}; shift 2 ;;
    --help) echo "$usage"; exit 0 ;;
    *) echo "download_wmt14: error: unknown argument $1"$'\n'"$usage" >&2; exit 2 ;;
  esac
done
archives=${archives:-$output/archives}
recorded=$archives/recorded.sha256
mkdir -p "$output" "$archives"

fail() { echo "download_wmt14: error: $1" >&2; exit 1; }

fetch() { # fetch <address> <file>: all of it or nothing
  echo "fetching $1"
  if command -v curl >/dev/null; then
    curl --fail --location --silent --show-error --retry 3 --continue-at - --output "$2.part" "$1" ||
      fail "$1 cannot be fetched; put the file into $archives by hand, or run this again"
  elif command -v wget >/dev/null; then
    wget --quiet --tries=3 --continue --output-document="$2.part" "$1" ||
      fail "$1 cannot be fetched; put the file into $archives by hand, or run this again"
  else
    fail "neither curl nor wget is installed; install one, or put the archives into $archives"
  fi
  mv "$2.part" "$2"
}

check() { # check <algorithm> <checksum or -> <file>
  local name found expected=$2
  name=$(basename "$3")
  found=$("$1sum" "$3" | cut -d' ' -f1)
  if [[ $expected == - ]]; then
    [[ -f $recorded ]] && expected=$(awk -v name="$name" '$2 == name { print $1 }' "$recorded") || expected=
    if [[ -z $expected ]]; then
      echo "$found  $name" >>"$recorded"
      echo "$name: no checksum is known; recorded $found"
      return
    fi
  fi
  [[ $found == "$expected" ]] ||
    fail "$3 has the $1 checksum $found, not $expected: it is damaged or another file; delete it and run this again"
}

while read -r algorithm checksum address; do
  [[ -z $algorithm || $algorithm == \#* ]] && continue
  file=$archives/$(basename "$address")
  [[ -f $file ]] || fetch "$address" "$file"
  check "$algorithm" "$checksum" "$file"
done <"$list"

unpack() { # unpack <archive> <member>: to standard output
  tar --extract --gzip --to-stdout --file "$archives/$1" "$2" || fail "$archives/$1 has no $2"
}
segments() { # the segments of an SGML file, one a line, as sacreBLEU takes them
  sed -n 's/^ *<seg[^>]*> *\(.*[^ ]\) *<\/seg>.*$/\1/p'
}

echo "unpacking into $output"
part=$output/part
rm -rf "$part"
mkdir "$part"
for language in en de; do
  {
    unpack training-parallel-europarl-v7.tgz "training/europarl-v7.de-en.$language"
    unpack training-parallel-commoncrawl.tgz "commoncrawl.de-en.$language"
    unpack training-parallel-nc-v9.tgz "training/news-commentary-v9.de-en.$language"
  } | gzip -c >"$part/train.$language.gz"
  unpack dev.tgz "dev/newstest2013.$language" >"$part/newstest2013.$language"
done
unpack test-full.tgz test-full/newstest2014-deen-src.en.sgm | segments >"$part/newstest2014.en"
unpack test-full.tgz test-full/newstest2014-deen-ref.de.sgm | segments >"$part/newstest2014.de"

for name in train newstest2013 newstest2014; do
  counts=()
  for language in en de; do
    if [[ $name == train ]]; then
      counts+=("$(gzip -dc "$part/$name.$language.gz" | wc -l)")
    else
      counts+=("$(wc -l <"$part/$name.$language")")
    fi
  done
  [[ ${counts[0]} -eq ${counts[1]} && ${counts[0]} -gt 0 ]] ||
    fail "$name has ${counts[0]} English and ${counts[1]} German lines; they must be as many"
  echo "$name: ${counts[0]} pairs"
done
mv "$part"/* "$output"
rmdir "$part"
