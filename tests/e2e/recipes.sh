#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recipes of scripts/ in minutes' length: WMT14's archives (made here, of the real ones' layout) to text, the paper's
# experiment rehearsed to BLEU, and a table of configs that continues where it was.
# usage: tests/e2e/recipes.sh FOLDER-OF-PROGRAMS
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
programs=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() { echo "FAILED: $1" >&2; exit 1; }
expect() { # expect <what> <text> <part of it>
  [[ $2 == *"$3"* ]] || fail "$1: \"$3\" is not in: $2"
}

# -- download_wmt14.sh, from addresses on this machine
mkdir -p web/training web/dev web/test-full archives
for language in en de; do
  printf 'parliament %s\n' "$language" >"web/training/europarl-v7.de-en.$language"
  printf 'news %s\n' "$language" >"web/training/news-commentary-v9.de-en.$language"
  printf 'crawl %s\ncrawl again %s\n' "$language" "$language" >"web/commoncrawl.de-en.$language"
  printf 'valid %s\n' "$language" >"web/dev/newstest2013.$language"
done
printf '<refset>\n<doc>\n<seg id="1">Ein  Haus &amp; ein Hof.</seg>\n<seg id="2"> Zwei </seg>\n</doc>\n</refset>\n' \
  >web/test-full/newstest2014-deen-ref.de.sgm
printf '<srcset>\n<doc>\n<seg id="1">A house.</seg>\n<seg id="2">Two</seg>\n</doc>\n</srcset>\n' \
  >web/test-full/newstest2014-deen-src.en.sgm
(
  cd web
  tar -czf training-parallel-europarl-v7.tgz training/europarl-v7.de-en.en training/europarl-v7.de-en.de
  tar -czf training-parallel-nc-v9.tgz training/news-commentary-v9.de-en.en training/news-commentary-v9.de-en.de
  tar -czf training-parallel-commoncrawl.tgz commoncrawl.de-en.en commoncrawl.de-en.de
  tar -czf dev.tgz dev
  tar -czf test-full.tgz test-full
)
address=file://$folder/web
cat >list.txt <<END
# a comment
sha256 $(sha256sum <web/training-parallel-europarl-v7.tgz | cut -d' ' -f1) $address/training-parallel-europarl-v7.tgz
sha256 - $address/training-parallel-commoncrawl.tgz
md5 $(md5sum <web/training-parallel-nc-v9.tgz | cut -d' ' -f1) $address/training-parallel-nc-v9.tgz
sha256 - $address/dev.tgz
sha256 - $address/test-full.tgz
END
# wget knows no file:// addresses; where curl is missing the archives are put there by hand.
command -v curl >/dev/null || cp web/*.tgz archives
download() { "$root/scripts/download_wmt14.sh" --output text --archives archives --list list.txt 2>&1; }
said=$(download) || fail "download_wmt14.sh: $said"
expect "first download" "$said" "dev.tgz: no checksum is known; recorded"
expect "first download" "$said" "train: 4 pairs"
[[ $(gzip -dc text/train.de.gz) == $'parliament de\ncrawl de\ncrawl again de\nnews de' ]] || fail "train.de.gz"
[[ $(<text/newstest2013.en) == "valid en" ]] || fail "newstest2013.en"
[[ $(<text/newstest2014.de) == $'Ein  Haus &amp; ein Hof.\nZwei' ]] || fail "newstest2014.de: $(<text/newstest2014.de)"
said=$(download) || fail "second download: $said"
[[ $said != *fetching* && $said != *recorded* ]] || fail "what was there was fetched again: $said"
cp archives/test-full.tgz archives/dev.tgz
said=$(download) && fail "an archive that had changed was taken: $said"
expect "changed archive" "$said" "damaged or another file"
cp web/dev.tgz archives/dev.tgz
echo rubbish >archives/training-parallel-nc-v9.tgz
said=$(download) && fail "an archive with a wrong checksum was taken: $said"
expect "wrong checksum" "$said" "has the md5 checksum"

# -- compound_split_bleu.sh: the tokenizer's place is taken by one that parts full stops
printf 'while (<STDIN>) { s/([.])/ $1/g; print; }\n' >tokenizer.pl
printf 'ein rot-grünes Haus steht an der Nord-Süd-Straße.\n' >reference.txt
printf 'ein rot-grünes Haus steht an der Nord-Ost-Straße.\n' >hypothesis.txt
said=$("$root/scripts/compound_split_bleu.sh" --tokenizer tokenizer.pl --programs "$programs" hypothesis.txt reference.txt)
# By hand, from "ein rot ##AT##-##AT## grünes Haus steht an der Nord ##AT##-##AT## Süd ##AT##-##AT## Straße .": 13 of 14
# words, 11 of 13 pairs, 9 of 12 triples and 7 of 11 quadruples are right.
expect "compound-split BLEU" "$said" "92.9/84.6/75.0/63.6"

# -- wmt14.sh: every step, in small
said=$("$root/scripts/wmt14.sh" --rehearse --data text --programs "$programs" 2>&1) && fail "a rehearsal replaced text"
expect "text in the way" "$said" "text that a rehearsal would replace"
said=$("$root/scripts/wmt14.sh" --rehearse --data rehearsed --run-folder run --programs "$programs" --device cpu \
  --tokenizer tokenizer.pl 2>&1) || fail "wmt14.sh: $said"
expect "rehearsal" "$said" "tok:13a"
expect "rehearsal" "$said" "compound-split, tokenized by Moses: "
expect "rehearsal" "$said" "newstest2013 with the last checkpoint alone"
expect "rehearsal" "$said" "perplexity"
for text in newstest2013 newstest2014; do
  [[ $(wc -l <run/$text.de) -eq 60 ]] || fail "$text.de has $(wc -l <run/$text.de) lines"
done
"$programs/translate" --model run/checkpoints/step-000000060 --input rehearsed/newstest2013.en --length-alpha 0.6 |
  cmp - run/newstest2013.de || fail "newstest2013 was not translated with the last checkpoint"
said=$("$root/scripts/wmt14.sh" --data rehearsed --programs "$programs" 2>&1) && fail "a rehearsal's text was taken"
expect "a rehearsal's text" "$said" "generated text"
grep -q 'average_checkpoints: 5' run/config.yaml || fail "the average of the base model is over 5 checkpoints"

# -- compare_configs.sh and table3_small.sh: a row that is done is not done again
for part in train:train val:newstest2013; do
  for language in en de; do
    mkdir -p small
    if [[ $part == train:* ]]; then
      cp "rehearsed/train.$language.gz" "small/train.$language.gz"
    else
      gzip -c "rehearsed/newstest2013.$language" >"small/val.$language.gz"
    fi
  done
done
table() {
  "$root/scripts/table3_small.sh" --data small --output table --programs "$programs" --rows "$1" --beam-size 1 \
    --set tokenizer.vocab_size=300 --set training.max_steps=4 --set training.batch_tokens=256 \
    --set training.checkpoint_every=2 --set validation.every=2 2>&1
}
said=$(table "c_layers_1") || fail "table3_small.sh: $said"
expect "one row" "$said" "c_layers_1: training"
said=$(table "c_layers_1 c_d_model_64") || fail "table3_small.sh again: $said"
expect "two rows" "$said" "c_layers_1: finished before"
expect "two rows" "$said" "c_d_model_64: training"
[[ $(grep -cE '^\| c_[a-z0-9_]+ \| [0-9,]+ \| 4 \| [0-9.]+ \| [0-9.]+ \| [0-9.]+ \| [0-9:]+ \|$' table/table.md) -eq 2 ]] ||
  fail "the table: $(<table/table.md)"
said=$("$root/scripts/compare_configs.sh" --output table --source small/val.en.gz --target small/val.de.gz \
  --programs "$programs" --set data.folder=small "$root/configs/table3_small/c_layers_1.yaml" 2>&1) &&
  fail "rows of different settings were put into one table"
expect "other settings" "$said" "was begun with another config or --set"
cp small/train.en.gz train.en.gz
gzip -dc train.en.gz | sed '1s/$/ more/' | gzip -c >small/train.en.gz
said=$(table "c_layers_1") && fail "a row of another training text was taken"
expect "another training text" "$said" "c_layers_1 was trained when $PWD/small/train.en.gz had another content; delete"
mv train.en.gz small/train.en.gz
said=$(table "c_layers_1") || fail "table3_small.sh with the old text: $said"
expect "the old text" "$said" "c_layers_1: finished before"
mkdir small/a small/b
touch small/{a,b}/one.yaml
said=$("$root/scripts/compare_configs.sh" --output table --source small/val.en.gz --target small/val.de.gz \
  --programs "$programs" small/a/one.yaml small/b/one.yaml 2>&1) && fail "two rows of one name were taken"
expect "one name" "$said" "two configs are named one"
said=$(table "c_layers_9") && fail "a row that does not exist was taken"
expect "unknown row" "$said" "no row c_layers_9; there are: base a_heads_1"

# -- compare_configs.sh: what is in a row, from programs that say what they are told to
mkdir stubs
cat >stubs/train <<'END'
#!/usr/bin/env bash
while [[ $1 != --run-folder ]]; do shift; done
mkdir -p "$2/model"
echo "[2026-01-01 00:00:00] LibTorch 1.13.0, device cpu, 2 workers, float32 products, 1,234,567 parameters" >"$2/train.log"
echo "[2026-01-01 00:01:00] finished after step 1,700 (2,345 target tokens, 1:02 of training)" >>"$2/train.log"
echo '{"type":"validation","step":900,"loss":2.0,"perplexity":7.389,"seconds":1}' >"$2/metrics.jsonl"
echo '{"type":"validation","step":1700,"loss":1.7,"perplexity":5.47394,"seconds":2}' >>"$2/metrics.jsonl"
END
cat >stubs/translate <<'END'
#!/usr/bin/env bash
while [[ $1 != --output ]]; do shift; done
printf 'one\ntwo\nthree\nfour or five\n' >"$2"
END
printf '#!/usr/bin/env bash\necho 12.34\n' >stubs/evaluate
chmod +x stubs/*
printf 'a\nb\nc\nd\n' >four.en
printf 'one\ntwo\nthree\nfour\n' >four.de
said=$("$root/scripts/compare_configs.sh" --output stubbed --source four.en --target four.de --programs "$programs" \
  --set training.max_step=4 "$root/configs/demo.yaml" 2>&1) && fail "compare_configs.sh passed over a slip"
expect "a slip" "$said" 'did you mean "max_steps"?'
# Nothing has come of the slip: the same folder takes the settings without it.
said=$("$root/scripts/compare_configs.sh" --output stubbed --source four.en --target four.de --programs stubs \
  "$root/configs/demo.yaml") || fail "compare_configs.sh with stubs: $said"
expect "a row" "$said" "| demo | 1,234,567 | 1,700 | 5.474 | 12.34 | 75.0 | 1:02 |"
# Slips that translate and evaluate would find are found before the training.
compare() { # compare <argument>…
  "$root/scripts/compare_configs.sh" --source four.en --target four.de --programs stubs "$@" \
    "$root/configs/demo.yaml" 2>&1
}
for beam in x 0 4.0 10001; do
  said=$(compare --output slips --beam-size "$beam") && fail "compare_configs.sh took a beam of $beam"
  expect "a beam of $beam" "$said" "--beam-size must be a whole number from 1 to 10000, not $beam"
done
printf 'one\ntwo\nthree' | gzip -c >three.de.gz
said=$(compare --output slips --target three.de.gz) && fail "compare_configs.sh took a reference of other lines"
expect "a reference of other lines" "$said" "four.en has 4, three.de.gz 3"
[[ ! -e slips ]] || fail "compare_configs.sh trained before it found a slip"
# Another beam or another text only translates again.
cp -r stubs trained
cat >trained/train <<'END'
#!/usr/bin/env bash
echo >>trainings
[[ $(wc -l <trainings) -eq 1 ]] || exit 0
mkdir -p kept/demo/checkpoints/step-000001700
exec stubs/train "$@"
END
rm -f trainings
said=$(compare --output kept --programs trained) || fail "compare_configs.sh: $said"
said=$(compare --output kept --programs trained --beam-size 5) || fail "compare_configs.sh with another beam: $said"
expect "another beam" "$said" "finished model, beam 5;"
tail -n +2 four.en >three.en
printf '#!/usr/bin/env bash\necho 56.78\n' >trained/evaluate
said=$(compare --output kept --programs trained --source three.en --target three.de.gz) ||
  fail "compare_configs.sh with another text: $said"
expect "another text" "$said" "| 56.78 |"
said=$(compare --output kept --programs trained --set training.max_steps=9) && fail "another --set went into the folder"
expect "another --set" "$said" "kept/demo was begun with another config or --set"

# Carriage returns and a byte order mark are no part of a line, tabs are; lines are compared as text, not as numbers.
cp -r stubs numeric
cat >numeric/translate <<'END'
#!/usr/bin/env bash
while [[ $1 != --output ]]; do shift; done
printf 'one\n100\n007\na\tb\n' >"$2"
END
printf '\xef\xbb\xbfone\r\n1e2\r\n7\r\na\tc\r\n' | gzip -c >windows.de.gz
said=$("$root/scripts/compare_configs.sh" --output exact --source four.en --target windows.de.gz --programs numeric \
  "$root/configs/demo.yaml") || fail "compare_configs.sh with lines like numbers: $said"
expect "exact lines" "$said" "| demo | 1,234,567 | 1,700 | 5.474 | 12.34 | 25.0 | 1:02 |"
mkdir unvalidated
cp stubs/* unvalidated
echo ': >"$2/metrics.jsonl"' >>unvalidated/train
said=$("$root/scripts/compare_configs.sh" --output unmeasured --source four.en --target four.de --programs unvalidated \
  "$root/configs/demo.yaml") || fail "compare_configs.sh without a validation: $said"
expect "a row without a validation" "$said" "| demo | 1,234,567 | 1,700 | - | 12.34 | 75.0 | 1:02 |"

# -- reproduce.sh: what is compared, with the same programs
mkdir -p reproduced/data/demo photos
cp four.en reproduced/data/demo/train.en
cp four.en reproduced/data/demo/test.en
cp four.de reproduced/data/demo/test.de
cat >figures.md <<'END'
| `configs/demo.yaml` | test | BLEU | 99 | 0.1 |
<!-- reproduced figures -->
| model | text | measure | value | tolerance |
|---|---|---|---|---|
| `configs/demo.yaml` | test | BLEU | 12.3 | 0.1 |
| `configs/demo.yaml` | test | exact, % | 75.5 | 1 |
| `configs/demo.yaml` | valid | perplexity | 5.4 | 0.1 |
| `configs/multi30k_en_de.yaml` | val | BLEU | 40 | 1 |
<!-- end of reproduced figures -->
END
reproduce() {
  "$root/scripts/reproduce.sh" --output reproduced --multi30k photos --programs stubs --table figures.md "$@" 2>&1
}
said=$(reproduce) || fail "reproduce.sh: $said"
[[ $(grep -c "as documented" <<<"$said") -eq 3 ]] || fail "three figures are as documented: $said"
expect "a text that is not there" "$said" "left out: no photos/train.en.gz"
expect "a model that is not there" "$said" "configs/demo.yaml: training in"
said=$(reproduce --only $'configs/demo.yaml\nconfigs/multi30k_en_de.yaml\n') || fail "reproduce.sh --only, in lines: $said"
[[ $(grep -c "as documented" <<<"$said") -eq 3 ]] || fail "--only in lines measures what it names: $said"
said=$(reproduce) || fail "reproduce.sh again: $said"
[[ $said != *training* ]] || fail "what had finished was trained again: $said"
sed -i 's/| 12.3 |/| 13 |/' figures.md
said=$(reproduce) && fail "a figure that deviates was accepted: $said"
expect "a deviation" "$said" "DEVIATES by -0.66"
said=$(reproduce --only configs/multi30k_en_de.yaml) || fail "reproduce.sh --only: $said"
echo "# another build" >>stubs/train
said=$(reproduce) && fail "a model of another build was taken"
expect "another build" "$said" "was begun with another build"

# -- reproduce.sh: a build that failed at once can be mended
mkdir broken rebuilt
cp stubs/* broken
printf '#!/usr/bin/env bash\necho "train: error: broken" >&2\nexit 1\n' >broken/train
cp -r reproduced/data rebuilt
rebuild() { # rebuild <programs>
  "$root/scripts/reproduce.sh" --output rebuilt --multi30k photos --programs "$1" --table figures.md 2>&1
}
said=$(rebuild broken) && fail "reproduce.sh passed over a training that failed"
expect "a training that fails" "$said" "train: error: broken"
said=$(rebuild stubs) && fail "a figure that deviates was accepted: $said"
expect "a build that was mended" "$said" "DEVIATES by -0.66"

# -- reproduce.sh: the beginning of a translation that failed is not taken for all of it
mkdir halting
cp stubs/* halting
printf '#!/usr/bin/env bash\nwhile [[ $1 != --output ]]; do shift; done\necho one >"$2"\nexit 1\n' >halting/translate
rm rebuilt/demo/test.translated
said=$(rebuild halting) && fail "reproduce.sh passed over a translation that failed"
expect "a translation that fails" "$said" "translating test failed"
said=$(rebuild stubs) && fail "a figure that deviates was accepted: $said"
[[ $(grep -c "as documented" <<<"$said") -eq 2 ]] || fail "part of a translation was measured: $said"

# -- config_with_bases.sh: the ways to write a path and its key
echo "# the base" >'C# "one".yaml'
for base in 'C# "one".yaml' 'C# "one".yaml # why' '"C# \"one\".yaml" # why' "'C# \"one\".yaml' # why"; do
  printf 'base: %s\n' "$base" >written.yaml
  said=$("$root/scripts/config_with_bases.sh" written.yaml 2>&1) || fail "config_with_bases.sh: $said"
  expect "base: $base" "$said" "# the base"
done
for key in 'base :' '"base":' "'base' :"; do
  printf '%s C# "one".yaml\n' "$key" >written.yaml
  said=$("$root/scripts/config_with_bases.sh" written.yaml 2>&1) || fail "config_with_bases.sh: $said"
  expect "$key" "$said" "# the base"
done
printf '\xef\xbb\xbfbase: C# "one".yaml\n' >written.yaml
said=$("$root/scripts/config_with_bases.sh" written.yaml 2>&1) || fail "config_with_bases.sh: $said"
expect "a byte order mark" "$said" "# the base"

# -- reproduce.sh: a config is also what it is based on
mkdir -p based/scripts based/configs
cp "$root/scripts/"{reproduce,config_with_bases,exact,settle,yaml}.sh based/scripts
echo "base: parent.yaml" >based/configs/child.yaml
echo "# a stub does not read it" >based/configs/parent.yaml
printf '%s\n' '<!-- reproduced figures -->' '| `configs/child.yaml` | test | BLEU | 12.3 | 0.1 |' \
  '<!-- end of reproduced figures -->' >child.md
reproduce_child() {
  based/scripts/reproduce.sh --output reproduced --programs stubs --table child.md 2>&1
}
said=$(reproduce_child) || fail "reproduce.sh with a base: $said"
echo "# another" >>based/configs/parent.yaml
said=$(reproduce_child) && fail "a model of another base was taken"
expect "another base" "$said" "was begun with another build or config"

# -- compare_configs.sh --jobs: each row waits until the other one has begun; the table is in the configs' order
mkdir meeting
cp stubs/* meeting
sed -i '2a \
touch "meeting/begun.$(basename "$2")"\
for ((i = 0; i < 100 && $(ls meeting/begun.* | wc -l) < 2; ++i)); do sleep 0.1; done\
(($(ls meeting/begun.* | wc -l) == 2)) || exit 1\
[[ $2 != */bad ]] || { echo "train: error: bad" >&2; exit 1; }' meeting/train
for name in good last bad; do echo "# a stub does not read it" >"$name.yaml"; done
meet() { # meet <config>…
  rm -f meeting/begun.*
  "$root/scripts/compare_configs.sh" --output met --source four.en --target four.de --programs meeting --jobs 2 "$@" 2>&1
}
said=$(meet last.yaml good.yaml) || fail "compare_configs.sh --jobs: $said"
[[ $(sed -nE 's/^\| ([a-z]+) \| 1.*/\1/p' met/table.md | tr '\n' ' ') == "last good " ]] || fail "rows: $(<met/table.md)"
rm -r met
said=$(meet bad.yaml good.yaml) && fail "compare_configs.sh --jobs passed over a row that failed"
expect "a row that fails" "$said" "train: error: bad"
expect "a row that fails" "$said" "training of bad failed"
[[ -f met/good/row.txt ]] || fail "the row beside one that failed was not finished"

# -- compare_configs.sh: a row that fails at the same moment as another one ends; the script is stopped until both have
mkdir together
cp stubs/* together
sed -i '2a \
if [[ $2 == */bad ]]; then\
  touch together/begun\
  for ((i = 0; i < 100; ++i)); do [[ ! -f together/stopped ]] || break; sleep 0.1; done\
  exit 1\
fi\
if [[ $2 == */good ]]; then\
  for ((i = 0; i < 100; ++i)); do [[ ! -f together/begun ]] || break; sleep 0.1; done\
  read -r _ _ _ script _ <"/proc/$PPID/stat"\
  kill -STOP "$script"\
  touch together/stopped\
  (sleep 2; kill -CONT "$script") >/dev/null 2>&1 &\
  sleep 0.5\
fi' together/train
mkdir -p side/bad
echo "a row of other settings" >side/bad/row.txt
said=$("$root/scripts/compare_configs.sh" --output side --source four.en --target four.de --programs together --jobs 2 \
  good.yaml bad.yaml last.yaml 2>&1) && fail "compare_configs.sh passed over a row that failed beside another: $said"
expect "a row that fails beside another" "$said" "training of bad failed"

# -- compare_configs.sh: a translation that fails is said to
cp stubs/* together
printf '#!/usr/bin/env bash\necho "translate: error: no such thing" >&2\nexit 1\n' >together/translate
said=$("$root/scripts/compare_configs.sh" --output silent --source four.en --target four.de --programs together \
  good.yaml 2>&1) && fail "compare_configs.sh passed over a translation that failed: $said"
expect "a translation that fails" "$said" "translate: error: no such thing"
expect "a translation that fails" "$said" "translating with good failed (all of it: silent/good/translate.log)"

# -- attention_variants.sh: every scoring function trains and translates
mkdir -p demo
for part in train:train valid:newstest2013 test:newstest2014; do
  for language in en de; do
    if [[ $part == train:* ]]; then
      gzip -dc "rehearsed/train.$language.gz" >"demo/train.$language"
    else
      cp "rehearsed/${part#*:}.$language" "demo/${part%:*}.$language"
    fi
  done
done
text='demo, "one": #1' # what YAML would read otherwise
ln -s demo "$text"
said=$("$root/scripts/attention_variants.sh" --data "$text" --output variants --programs "$programs" --widths 64 \
  --set tokenizer.vocab_size=300 --set training.max_steps=2 --set training.batch_tokens=128 --beam-size 1 \
  --set training.checkpoint_every=1 --set validation.every=1 2>&1) || fail "attention_variants.sh: $said"
for row in scaled_dot_product dot_product additive bilinear uniform scaled_dot_product_d_k_64 dot_product_d_k_64; do
  grep -q "^| $row | [0-9,]* | 2 |" variants/table.md || fail "no row $row in $(<variants/table.md)"
done
grep -q 'score_function: additive' variants/additive/config.yaml || fail "additive is not additive"
grep -q 'd_k: 64' variants/dot_product_d_k_64/config.yaml || fail "dot_product_d_k_64 is not 64 wide"

# -- distill.sh: teachers, a student of their translations and of those back, and what the text alone makes of it
cat >distilled.yaml <<END
data: {folder: "$PWD", train_source: demo/train.en, train_target: demo/train.de}
tokenizer: {vocab_size: 200}
model: {num_encoder_layers: 1, num_decoder_layers: 1, d_model: 16, num_heads: 2, d_ff: 32}
training: {max_steps: 4, batch_tokens: 512, checkpoint_every: 2}
END
head -n 40 demo/train.en >few.en
head -n 40 demo/train.de >few.de
sed 's/.*/0-0/' few.en >few.align
distill() {
  "$root/scripts/distill.sh" --config distilled.yaml --source few.en --target few.de --output distilled --teachers 2 \
    --programs "$programs" --threads 1 --reverse-model run/model --tune training.max_steps=2 "$@" 2>&1
}
mkdir half
ln -s "$programs/train" half/train
cp halting/translate half
halted=$(distill --programs half) && fail "distill.sh passed over a translation that failed"
expect "a translation that fails" "$halted" "translating failed"
said=$halted$(distill) || fail "distill.sh: $said"
for name in teacher_1 teacher_2 student tuned; do expect "distillation" "$said" "distill: training $name in"; done
expect "distillation" "$said" "the model is in $PWD/distilled/tuned/model"
[[ $(wc -l <distilled/distilled.target) -eq 40 && $(wc -l <distilled/back_translated.source) -eq 40 ]] ||
  fail "distill.sh translated another number of lines"
grep -qF '/few.en", "'"$PWD/distilled/back_translated.source" distilled/student/config.yaml ||
  fail "the student's text: $(grep train_ distilled/student/config.yaml)"
said=$(distill) || fail "distill.sh again: $said"
[[ $said != *training* ]] || fail "distill.sh trained again: $said"
said=$(distill --tune training.warmup_steps=9) && fail "another --tune went into the same folder"
expect "another --tune" "$said" "was begun with another --tune"
said=$(distill --rerank) && fail "--rerank took translations that were not reranked"
expect "--rerank" "$said" "was begun with another --rerank"

# -- distill.sh: finished teachers, and each direction's translations reranked by a model of the other one
from_models() {
  "$root/scripts/distill.sh" --config distilled.yaml --source few.en --target few.de --output from_models \
    --teacher distilled/teacher_1/model --teacher distilled/teacher_2/model --programs "$programs" --threads 1 "$@" 2>&1
}
said=$(from_models --set 'data.train_weights=[1]') && fail "distill.sh left weights of texts out"
expect "--teacher and weights" "$said" "cannot be combined with data.train_weights"
said=$(from_models --teachers 2) && fail "distill.sh took both --teachers and --teacher"
expect "--teacher and --teachers" "$said" "exclude each other"
said=$(from_models --rerank) && fail "distill.sh reranked without a reverse model"
expect "--rerank alone" "$said" "--rerank needs a --reverse-model"
said=$(from_models --reverse-model run/model --rerank --config distilled/teacher_1/config.yaml) ||
  fail "distill.sh from models, with a config that train wrote: $said"
[[ $said != *"training teacher"* ]] || fail "distill.sh trained teachers beside those given: $said"
expect "from models" "$said" "the model is in $PWD/from_models/student/model"
by_hand() { "$programs/translate" --threads 1 "$@" --output by_hand 2>/dev/null; } # by_hand <argument>…
teachers=(--model distilled/teacher_1/model --model distilled/teacher_2/model)
by_hand "${teachers[@]}" --input few.en
! cmp -s by_hand from_models/distilled.target || fail "reranking changed nothing, so nothing was tested"
by_hand "${teachers[@]}" --input few.en --rerank run/model
cmp -s by_hand from_models/distilled.target || fail "the translations were not reranked by the reverse model"
by_hand --model run/model --input few.de --rerank distilled/teacher_1/model
cmp -s by_hand from_models/back_translated.source || fail "back translations were not reranked by the first teacher"

# -- distill.sh: a model replaced at its path is another one
cp -r distilled/teacher_1/model first
cp -r run/model other_way
replaced() {
  "$root/scripts/distill.sh" --config distilled.yaml --source few.en --target few.de --output replaced \
    --teacher first --reverse-model other_way --programs "$programs" --threads 1 2>&1
}
said=$(replaced) || fail "distill.sh from a model: $said"
said=$(replaced) || fail "distill.sh from a model again: $said"
[[ $said != *training* ]] || fail "distill.sh from a model trained again: $said"
rm -r other_way
cp -r run/best other_way
said=$(replaced) && fail "distill.sh took another reverse model at the same path"
expect "another reverse model" "$said" "was begun with another --reverse-model"
rm -r first
cp -r distilled/teacher_2/model first
said=$(replaced) && fail "distill.sh took another teacher at the same path"
expect "another teacher" "$said" "was begun with another config, text, teachers or --set"

# -- distill.sh: lists with an entry for each text, paths that YAML would read otherwise, and slips that cost nothing
cp few.en 'few, #1.en'
cp few.de 'few, #1.de'
paste few.en few.de >few.tsv
weighed='weighed, "one": #1'
weigh() { # weigh <argument>…
  "$root/scripts/distill.sh" --config distilled.yaml --source 'few, #1.en' --target 'few, #1.de' \
    --output "$weighed" --teachers 1 --programs "$programs" --threads 1 --set data.train_pairs=few.tsv \
    --set 'data.train_weights=[0.5, 2]' --set 'data.train_alignments=[few.align, ""]' \
    --set training.guided_alignment=0.1 "$@" 2>&1
}
said=$(weigh --set training.max_step=4) && fail "distill.sh passed over a slip"
expect "a slip" "$said" 'did you mean "max_steps"?'
said=$(weigh --tune training.max_step=2) && fail "distill.sh passed over a slip of --tune"
expect "a slip of --tune" "$said" "training of tuned failed"
said=$(weigh --tune training.max_steps=2) || fail "distill.sh with weights and alignments: $said"
[[ $said != *"training student"* ]] || fail "a slip of --tune cost the student: $said"
lists() { grep -E '^  train_(weights|alignments): ' "$weighed/$1/config.yaml"; } # lists <run>
[[ $(lists student) == $'  train_weights: [0.5, 0.5, 2]\n  train_alignments: ["few.align", "", ""]' ]] ||
  fail "the student's lists: $(lists student)"
[[ $(lists tuned) == $'  train_weights: [0.5, 2]\n  train_alignments: ["few.align", ""]' ]] ||
  fail "the lists of --tune: $(lists tuned)"
said=$(weigh --set training.max_steps=6) && fail "another --set went into the same folder"
expect "another --set" "$said" "was begun with another config, text, teachers or --set"

# -- distill.sh: --source and --target take the place of all of the config's text
sed -E 's/train_source.*/train_pairs: few.tsv, train_weights: [0.5]}/' distilled.yaml >paired.yaml
said=$("$root/scripts/distill.sh" --config paired.yaml --source few.en --target few.de --output paired --teachers 1 \
  --programs "$programs" --threads 1 2>&1) || fail "distill.sh with a config of pairs: $said"
for name in teacher_1 student; do
  grep -qxF '  train_pairs: []' "paired/$name/config.yaml" || fail "$name also learned from the config's pairs"
done
grep -qxF '  train_weights: [0.5, 0.5]' paired/student/config.yaml || fail "the student's weights of a config of pairs"

# -- parsing.sh: trees of a little grammar to a parser; under the constraint it writes nothing but trees
mkdir bank
for part in train dev test; do
  awk -v seed="${#part}" -v trees="$([[ $part == train ]] && echo 300 || echo 12)" '
    function one(words,   list) { return list[1 + int(rand() * split(words, list, " "))] }
    function np(depth) {
      if (depth < 2 && rand() < 0.3) return "(NP " np(depth + 1) " (PP-LOC (IN " one("in near under") ") " np(depth + 1) "))"
      return "(NP (DT " one("a the") ") (NN " one("dog cat house tree") "))"
    }
    BEGIN {
      srand(seed)
      for (i = 0; i < trees; ++i)
        print "( (S (NP-SBJ " np(1) ")\n  (VP (VBZ " one("sees likes") ") " np(0) " (NP (-NONE- *T*)))\n  (. .)) )"
    }' >"bank/$part.mrg"
done
parse() {
  "$root/scripts/parsing.sh" --data parsed/data --run-folder parsed/run --programs "$programs" --threads 1 \
    --train 'bank/train*.mrg' --dev bank/dev.mrg --test 'bank/test.mrg' --set tokenizer.vocab_size=50 \
    --set tokenizer.target_vocab_size=30 --set model.num_encoder_layers=1 --set model.num_decoder_layers=1 \
    --set model.d_model=32 --set model.d_ff=64 --set model.num_heads=2 --set training.batch_tokens=256 \
    --set training.max_steps=40 --set training.warmup_steps=20 --set training.checkpoint_every=20 \
    --set validation.every=40 --set training.precision=float32 2>&1
}
said=$("$root/scripts/parsing.sh" --data parsed/data --programs "$programs" --train 'bank/train*.mrg' --dev 'bank/x*.mrg' \
  --test bank/test.mrg 2>&1) && fail "parsing.sh passed over a pattern without files"
expect "a pattern without files" "$said" "no files of trees for dev"
said=$("$root/scripts/parsing.sh" --data parsed/data --programs "$programs" --train 'bank/train*.mrg' --dev bank/x.mrg \
  --test bank/test.mrg 2>&1) && fail "parsing.sh passed over a file that is not there"
expect "a file that is not there" "$said" "bank/x.mrg: no such file"
[[ ! -e parsed/data/train.words ]] || fail "trees were written although some are missing"
said=$(parse) || fail "parsing.sh: $said"
[[ $(head -n 1 parsed/data/train.labels) == "(S (NP (NP "* ]] || fail "labels: $(head -n 1 parsed/data/train.labels)"
[[ $(wc -l <parsed/data/train.words) -eq 300 ]] || fail "$(wc -l <parsed/data/train.words) training sentences"
expect "constrained" "${said##*Parsing: constrained}" "12 trees; 0 repaired (0 unbalanced, 0 with other numbers of words)"
expect "scores" "${said##*Parsing: constrained}" "<= 40 words: F1 "
head -n 12 bank/test.mrg >test.mrg
mv bank/test.mrg whole.mrg
said=$(parse) || fail "parsing.sh without the trees that its text was written from: $said"
mv test.mrg bank/test.mrg
said=$(parse) && fail "parsing.sh scored trees that have changed since"
expect "changed trees" "$said" "the trees of test have changed since parsed/data/test.words was written"
said=$("$root/scripts/parsing.sh" --data slips --programs "$programs" --beam-size 0 2>&1) &&
  fail "parsing.sh took a beam of 0"
expect "a beam of 0" "$said" "--beam-size must be a whole number from 1 to 10000, not 0"
said=$("$root/scripts/parsing.sh" --data parsed/data --treebank bank --programs "$programs" 2>&1) && fail "trees were mixed"
expect "other trees" "$said" "parsed/data has the text of other trees"
said=$("$root/scripts/parsing.sh" --data none --treebank bank --programs "$programs" 2>&1) && fail "a folder without CRAFT"
expect "a folder without CRAFT" "$said" "no such file; is it the folder of CRAFT's trees?"

echo "recipes: all as expected"
