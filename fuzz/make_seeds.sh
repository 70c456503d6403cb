#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sound inputs for the fuzzers to begin with: make_seeds.sh FOLDER makes a folder for each.
set -euo pipefail
export LC_ALL=C

folder=${1:?usage: fuzz/make_seeds.sh FOLDER}
root="$(cd "$(dirname "$0")/.." && pwd)"
seed() { # seed <fuzzer> <name>: standard input
  mkdir -p "$folder/$1"
  cat >"$folder/$1/$2"
}

for config in "$root"/configs/*.yaml; do seed config "$(basename "$config")" <"$config"; done
echo -n 'training.warmup_steps=8000' | seed config assignment
echo -n , | seed config comma
printf 'model: {num_heads: 8}\n...\n,' | seed config comma_after_a_document
echo -n 'training.seed=,1' | seed config comma_in_an_assignment
printf 'one\ntwo \xc3\xa4\r\n\nlast' | seed lines plain
printf '\xef\xbb\xbfone\n' | seed lines marked
printf 'one\ntwo\n' | gzip -n | seed lines packed
printf 'red house\trotes Haus\nbridge\tBr\xc3\xbccke\n' | seed glossary two_terms
printf '\x20a <b>red</b> {x}<br/>house</p>  \x0drotes Haus ok\1\2\3\1\2\3\0\0\377\1\200' | seed inline_tags tags
printf 'One. Two? \xe4\xb8\x89\xe3\x80\x82 Mr. Four!' | seed sentences several
printf '\x161,000.5 m\xc2\xb2 in 2020-01-01At 7:30, 12\xe6\x9c\x88 {0} %%s www.a.org \xf0\x9f\x98\x80 two' | seed checks numbers
printf '0-0 1-2 2-1' | seed word_links three
printf '\x0eThe red house.The &amp; red-1.5 house, <skipped>\xe2\x82\xac 3,000' | seed metric_text lines
printf '\xe2\x96\x81das \xe2\x96\x81the 0.5\n\xe2\x96\x81ist \xe2\x96\x81is 0.25\n' | seed shortlist table
printf '{"version": 3, "step": 10, "epoch": 1, "window": 0, "batch": 3, "target_tokens": 99, "seconds": 1.5,
 "metric": "bleu", "conditions": "beam_size 4", "best_score": 7.5, "validations_since_best": 0, "score": null,
 "batches_per_step": 1, "validation_due": false, "interim": false}' | seed run_state state
printf '{"type":"train","step":1,"loss":2.5,"time":1.0}\n{"type":"validation","step":1,"bleu":7,"samples":[{"source":"a",
"reference":"b","translation":"c"}]}\n' | seed run_state metrics
header='{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"__metadata__":{"format":"pt"}}'
{ printf '%b' "\\x$(printf %02x ${#header})\0\0\0\0\0\0\0"; printf '%s' "$header"; printf '\0\0\200\77'; } |
  seed tensor_file one
# Two pairs of 2-byte tokens: lengths 1 2, 2 1, then the tokens; and the same with a link each.
printf '\1\1\0\1\0\2\0\2\0\1\0\4\0\5\0\6\0\4\0\5\0\6\0' | seed token_shards pairs
printf '\3\0\0\1\0\1\0\2\0\4\0\5\0\0\0\0\0' | seed token_shards link
# Texts of one call each.
printf '\1\0\x0dthe red house' | seed c_interface translate
printf '\201\0\x0dthe red house' | seed c_interface score
# The pickle of a module with one tensor of 16 numbers, and an archive around nothing.
printf '\x80\2c__torch__.m\nM\n)\x81}X\1\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\x10tQK\0K\4K\4\x86K\4K\1\x86\x89ccollections\nOrderedDict\n)RtRsb.' |
  seed torchscript_records module
printf '{"a":[1,-2.5e3,{"b":null}],"c":"\\u00e4\xc3\xa4","a":true}' | seed json object
printf '\0{"q":["a <b>red</b> house","x"],"source":"en","target":"de","format":"html"}' | seed http_request libretranslate
printf '\1\2ein<p>A <b title="x &quot;y">red</b> house.<br>Two &lt;&#115;cript&gt; & <i>three</i>! <!-- a --><pre>b</pre></p>' |
  seed document page
printf '\0\0''1\n00:00:01,000 --> 00:00:02,000\nA <i>red\n\n2\n00:00:02,000 --> 00:00:03,000\nhouse</i> here.\n' |
  seed document_files srt
printf '\1\0WEBVTT\n\nNOTE x\n\na\n00:01.000 --> 00:02.000 line:0\n<v Ann>A <c.red>red</c>\n- house\n' | seed document_files vtt
printf '\2\0[Events]\nFormat: Start, End, Text\nDialogue: 0:00:01.00,0:00:02.00,{\\i1}A{\\i0} dog\\Nruns\n' |
  seed document_files ass
printf '\3\0msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=n != 1;\\n"\n\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\n' |
  seed document_files po
printf '\3\2&xmsgid "&File"\nmsgstr ""\n\nmsgid "Cu&t && x"\nmsgstr ""\n\nmsgid "E&xit"\nmsgstr ""\n' |
  seed document_files po_accelerators
printf '\4\0<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>A dog</w:t><w:br/></w:r><w:hyperlink><w:r><w:t>x</w:t></w:r></w:hyperlink></w:p>' |
  seed document_files docx
printf '\5\0<text:p>A <text:span>red</text:span><text:note><text:p>note</text:p></text:note> dog<text:tab/></text:p>' |
  seed document_files odt
printf '\6\0<sst><si><t xml:space="preserve">A dog </t></si><si><r><rPr><b/></rPr><t>red</t></r><r><t> house</t></r></si></sst>' |
  seed document_files xlsx
printf '\7\0<ncx><navMap><navPoint><navLabel><text>A dog</text></navLabel><content src="a.xhtml"/></navPoint></navMap></ncx>' |
  seed document_files epub
printf '\10\0<html><head><title>A</title></head><body><p lang="en">A <b>red</b>&nbsp;dog<br>runs <code>x</code></p></body></html>' |
  seed document_files html
printf '\11\0# A *red*\n\n- [b](c) `d`\n\n| a |\n|---|\n| <b>b</b> |\n' | seed document_files markdown
printf '\12\0<xliff version="1.2"><file><trans-unit><source>A <g>b</g><x/></source></trans-unit></file></xliff>' |
  seed document_files xliff
printf '\13\0{"a": "b {n, plural, one {# c} other {d}}", "e": ["\\u00e4", 1]}' | seed document_files json
printf '\14\0a: b c\nd: "e"\nf: |\n  g\n  h\ni: [j, &k l]\n' | seed document_files yaml
printf '\15\0a = b \\\n  c\nd=It\x27\x27s {0}\n' | seed document_files properties
{ printf '\1\0'; cat "$root/tests/data/formats/torch_save/views.archive.bin"; } | seed document_files archive
printf '\16\0<root><data name="a"><value>b {0}</value></data></root>' | seed document_files resx
printf '\20\0> A paragraph of a mail that somebody has cut\r\n> into lines, by hand or not.\r\n\r\n- item\r\n' | seed document_files txt
printf '\21\0/* a */ "b" = "c \\"d\\" %%@\\n";\ne = "\\U00e4";\n' | seed document_files strings
printf '\17\0<resources><string name="a">b \\n <b>c</b> "d"</string></resources>' | seed document_files android
printf '\1q=a+red%%20house&q=b&source=en&target=de&format=text' | seed http_request form
printf '\4{"text":"One. Two?","source":"en","target":"de","prefix":"Eins","glossary":[{"source":"a","target":"b"}],
"sampling":{"top_k":3},"num_hypotheses":2}' | seed http_request v1
for file in "$root"/tests/data/formats/{marian_ctranslate2/model,ctranslate2_types/*}.bin; do
  { printf '\0'; cat "$file"; } | seed foreign_weights "ctranslate2_$(basename "$file" .bin)"
done
{ printf '\1'; cat "$root/tests/data/formats/npz/model.npz"; } | seed foreign_weights npz
eight() { printf "\\x$(printf %02x "$1")\0\0\0\0\0\0\0"; }
# One item, the settings: its name's length, its type (257), dimensions and bytes, then name, shape, space and content.
{ printf '\1'; eight 1; eight 1; eight 18; printf '\1\1\0\0\0\0\0\0'; eight 1; eight 11
  printf 'special:model.yml\0\13\0\0\0'; eight 0; printf 'dim-emb: 8\n'; } | seed foreign_weights marian_binary
{ printf '\2'; printf '</s>: 0\n<unk>: 1\n"\\xC3": 2\n? ":"\n: 3\n'; } | seed foreign_weights vocabulary
{ printf '\3'; printf 'dim-emb: 8\nvocabs:\n  - a.spm\n  - b.spm\nbeam-size: 6\n'; } | seed foreign_weights settings
printf '\3,' | seed foreign_weights settings_comma
for kind in nllb mbart; do
  { printf '\6'; cat "$root/tests/data/formats/transformers_5/$kind/tokenizer.json"; } | seed foreign_weights "tokenizer_$kind"
done
for file in "$root"/tests/data/formats/torch_save/*.bin; do
  { printf '\4'; cat "$file"; } | seed foreign_weights "torch_$(basename "$file" .bin)"
done
{ printf '\5'; printf '%b' "\\x$(printf %02x ${#header})\0\0\0\0\0\0\0"; printf '%s' "$header"; printf '\0\0\200\77'; } |
  seed foreign_weights safetensors
for file in "$root"/tests/data/formats/*/*.*; do
  name=${file#"$root/tests/data/formats/"}
  case $name in
    */expected.json | ctranslate2_types/* | torch_save/*) ;; # of no model
    *) { printf '%s\n' "$name"; cat "$file"; } | seed foreign_models "${name/\//_}" ;;
  esac
done
# Of other programs, and one of each algorithm with this project's reserved ids: field 1 a piece (its text, score and
# type), field 2 the trainer's settings.
for model in marian/source.spm nllb/sentencepiece.bpe.model; do
  { printf '\1'; cat "$root/tests/data/formats/$model"; } | seed tokenizer_model "${model%%/*}"
done
bytes() { printf '%b' "$(printf '\\x%02x' "$@")"; }
piece() { # piece <text> [type]
  local text
  printf -v text %b "$1"
  bytes 10 $((${#text} + 9)) 10 ${#text}
  printf '%s\x15\0\0\x80\xbf' "$text"
  bytes 24 "${2:-1}"
}
for algorithm in 1 2; do
  {
    printf '\0'
    piece '<pad>' 3
    piece '<unk>' 2
    piece '<s>' 3
    piece '</s>' 3
    piece '>>de<<' 3
    for text in '\xe2\x96\x81' t h e r d a '\n' '\xe2\x96\x81t' he '\xe2\x96\x81the' re '\xe2\x82\xac'; do piece "$text"; done
    bytes 18 14 24 $algorithm 192 2 1 200 2 2 208 2 3 216 2 0
  } | seed tokenizer_model "own$algorithm"
done
printf 'PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' | seed zip_records empty
seed zip_records records <"$root/tests/data/formats/torch_save/views.archive.bin"
