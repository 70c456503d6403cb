#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recipes of scripts/ in minutes' length: WMT14's archives (made here, of the real ones' layout) to text, the paper's
# experiment rehearsed to BLEU, distillation and parsing.
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

# -- every script explains itself, and refuses an option that it does not know before it does anything
for script in "$root"/scripts/*.{sh,py}; do
  [[ -x $script ]] || continue # yaml.sh is sourced
  [[ -n $("$script" --help </dev/null) ]] || fail "$script --help"
  [[ $script != */test.sh ]] || continue # hands its options to ctest
  said=$("$script" --no-such-option </dev/null 2>&1 >out) && fail "$script took an option that does not exist"
  [[ -n $said && ! -s out ]] || fail "$script refuses an option with: $said; on standard output: $(<out)"
done

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
mkdir -p store/transmute/models
ln -s "$PWD/run/model" store/transmute/models/reverse
distill() {
  XDG_DATA_HOME=$PWD/store "$root/scripts/distill.sh" --config distilled.yaml --source few.en --target few.de --output distilled --teachers 2 \
    --programs "$programs" --threads 1 --reverse-model reverse --tune training.max_steps=2 "$@" 2>&1
}
# At a line that cannot be translated, translate ends after it has written those before.
mkdir half
ln -s "$programs/train" half/train
printf '#!/usr/bin/env bash\necho "$*" >half/arguments
while [[ $1 != --output ]]; do shift; done\necho one >"$2"\nexit 1\n' >half/translate
chmod +x half/translate
halted=$(distill --programs half) && fail "distill.sh passed over a translation that failed"
expect "a translation that fails" "$halted" "translating failed"
expect "a translation that fails" "$(<half/arguments)" " --continue "
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
said=$(distill --set 'data.train_languages=[en-de]') && fail "distill.sh translated without the tag of a language"
expect "several languages" "$said" "leave out data.train_languages"
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

# -- distill.sh: models of many languages are told the languages of the text
from_many() { # from_many <argument>…
  "$root/scripts/distill.sh" --config distilled.yaml --source few.en --target few.de --output from_many \
    --teacher "$many" --reverse-model "$many" --programs "$programs" --threads 1 "$@" 2>&1
}
many=$root/tests/data/formats/nllb
said=$(from_many) && fail "distill.sh named no languages to a model of many"
expect "languages that are not named" "$said" "name the source language"
said=$(from_many --source-language eng_Latn --target-language deu_Latn) || fail "distill.sh from a model of many languages: $said"
by_hand --model "$many" --source-language eng_Latn --target-language deu_Latn --input few.en
cmp -s by_hand from_many/distilled.target || fail "the languages did not reach the teacher"
by_hand --model "$many" --source-language deu_Latn --target-language eng_Latn --input few.de
cmp -s by_hand from_many/back_translated.source || fail "the languages did not reach the reverse model"
said=$(from_many --source-language eng_Latn --target-language fra_Latn) && fail "distill.sh took other languages' translations"
expect "other languages" "$said" "was begun with another"

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
