// What is shown. It stands in the address behind '#', numbers from 1, so that a view can be kept and passed on.

const state = {
  view: 'attention',
  sentence: 0,
  kind: 'encoder',
  layer: 0,
  heads: [],         // those shown, ascending
  token: null,       // {side: 'query' or 'key', index}, held
  cell: null,        // {query, key} of the matrix
  layout: 'auto',
  theme: 'auto',
  sort: 'layer',
  vocabulary: 0,
  piece: null,       // id of the token on the map
};

const VIEWS = ['attention', 'statistics', 'positions', 'embeddings'];

const CHOICES = {  // the first is the default
  view: VIEWS,
  kind: Object.keys(KINDS).filter(kind => data.sentences.every(sentence => sentence.weights[kind])),
  layout: ['auto', 'across', 'down'],
  theme: ['auto', 'light', 'dark'],
  sort: ['layer', 'entropy', 'distance', 'diagonal', 'similar'],
};

function layersOf(kind) {
  return data.model[KINDS[kind].layers];
}

function allHeads() {
  return Array.from({length: data.model.heads}, (_, head) => head);
}

function sizes() {
  const sentence = data.sentences[state.sentence];
  return {queries: KINDS[state.kind].queries(sentence).length, keys: KINDS[state.kind].keys(sentence).length};
}

/// Brings what does not exist (another sentence's token, a deeper layer) back to what does.
function tidyState() {
  const within = (value, count) => Math.min(Math.max(Number.isInteger(value) ? value : 0, 0), count - 1);
  for (const [name, choices] of Object.entries(CHOICES)) if (!choices.includes(state[name])) state[name] = choices[0];
  state.sentence = within(state.sentence, data.sentences.length);
  state.layer = within(state.layer, layersOf(state.kind));
  state.heads = allHeads().filter(head => state.heads.includes(head));
  if (!Number.isInteger(state.piece)) state.piece = null;
  state.vocabulary = within(state.vocabulary, data.embeddings.length);
  const {queries, keys} = sizes();
  const exists = (index, count) => index >= 0 && index < count;
  if (state.token && !exists(state.token.index, state.token.side === 'query' ? queries : keys)) state.token = null;
  if (state.cell && !(exists(state.cell.query, queries) && exists(state.cell.key, keys))) state.cell = null;
}

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const number = name => parseInt(given.get(name), 10) - 1;
  Object.assign(state, {layout: 'auto', theme: 'auto', sort: 'layer', vocabulary: 0, piece: null});  // addresses omit these
  for (const name of ['view', 'kind', 'layout', 'theme', 'sort']) if (given.has(name)) state[name] = given.get(name);
  for (const name of ['sentence', 'layer', 'vocabulary']) if (given.has(name)) state[name] = number(name);
  if (given.has('heads')) state.heads = given.get('heads').split(',').map(head => parseInt(head, 10) - 1);
  const token = /^([qk])([0-9]+)$/.exec(given.get('token') || '');
  state.token = token && {side: token[1] === 'q' ? 'query' : 'key', index: token[2] - 1};
  const cell = /^([0-9]+),([0-9]+)$/.exec(given.get('cell') || '');
  state.cell = cell && {query: cell[1] - 1, key: cell[2] - 1};
  if (given.has('piece')) state.piece = parseInt(given.get('piece'), 10);
}

function writeAddress() {
  const parts = new URLSearchParams({view: state.view, sentence: state.sentence + 1, kind: state.kind,
                                     layer: state.layer + 1, heads: state.heads.map(head => head + 1).join(',')});
  if (state.token) parts.set('token', (state.token.side === 'query' ? 'q' : 'k') + (state.token.index + 1));
  if (state.cell) parts.set('cell', (state.cell.query + 1) + ',' + (state.cell.key + 1));
  if (state.layout !== 'auto') parts.set('layout', state.layout);
  if (state.theme !== 'auto') parts.set('theme', state.theme);
  if (state.sort !== 'layer') parts.set('sort', state.sort);
  if (state.vocabulary) parts.set('vocabulary', state.vocabulary + 1);
  if (state.piece !== null) parts.set('piece', state.piece);
  history.replaceState(null, '', '#' + parts.toString().replace(/%2C/g, ','));
}
