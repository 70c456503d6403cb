'use strict';
// The page's data: JSON in the element "data", written by page.cpp.
//
// sentences[i].weights[kind] is base64 of unsigned 16-bit integers, the lower byte first, one for each weight, in the
// order [layer][head][query][key]; divided by `steps` they are the weights.

const data = JSON.parse(document.getElementById('data').textContent);

// The decoder reads one token to write the next: self-attention shows those that are read, on both sides; attention to
// the source shows those that are written.
const KINDS = {
  encoder: {queries: s => s.source, keys: s => s.source, layers: 'encoder_layers', note: ''},
  decoder: {queries: s => s.target_in, keys: s => s.target_in, layers: 'decoder_layers',
            note: 'Tokens stand where the decoder reads them, to write the next.'},
  cross: {queries: s => s.target_out, keys: s => s.source, layers: 'decoder_layers',
          note: 'Queries are the tokens to be written.'},
};

function unpack(base64, steps) {
  const bytes = atob(base64);
  const values = new Float32Array(bytes.length / 2);
  for (let i = 0; i < values.length; ++i)
    values[i] = (bytes.charCodeAt(2 * i) | bytes.charCodeAt(2 * i + 1) << 8) / steps;
  return values;
}

const unpacked = new Map();

/// One head's weights: {rows, columns, values}, values[query * columns + key].
function headWeights(sentence, kind, layer, head) {
  const name = sentence + ' ' + kind;
  if (!unpacked.has(name)) unpacked.set(name, unpack(data.sentences[sentence].weights[kind], data.steps));
  const rows = KINDS[kind].queries(data.sentences[sentence]).length;
  const columns = KINDS[kind].keys(data.sentences[sentence]).length;
  const first = (layer * data.model.heads + head) * rows * columns;
  return {rows, columns, values: unpacked.get(name).subarray(first, first + rows * columns)};
}

/// The mean of several heads' weights, in the same form.
function meanWeights(sentence, kind, layer, heads) {
  const each = heads.map(head => headWeights(sentence, kind, layer, head));
  const {rows, columns} = each.length ? each[0] : headWeights(sentence, kind, layer, 0);
  const values = new Float32Array(rows * columns);
  for (const head of each)
    for (let i = 0; i < values.length; ++i) values[i] += head.values[i] / each.length;
  return {rows, columns, values};
}
