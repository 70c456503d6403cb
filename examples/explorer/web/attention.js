// The view of lines, matrix and thumbnails.

const WEAKEST_LINE = {ofOneToken: 0.01, ofAll: 0.04};
let pointed = null;  // the token under the pointer or the keyboard's focus, like state.token

function element(id) {
  return document.getElementById(id);
}

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/// Sizes a canvas in CSS pixels, sharp on any screen; returns its context.
function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = width + 'px';
  canvas.style.height = height + 'px';
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

function headColor(head, opacity = 1) {
  const apart = [212, 22, 145, 345, 275, 185, 48, 315];
  const hue = data.model.heads <= apart.length ? apart[head] : Math.round(head * 360 / data.model.heads);
  return `hsl(${hue} ${css('--head-saturation')} ${css('--head-lightness')} / ${opacity})`;
}

/// A piece with its word-start mark (U+2581) set back.
function pieceNodes(piece) {
  if (!piece.startsWith('\u2581')) return [piece];
  return piece.length > 1 ? [make('i', {}, '\u2581'), piece.slice(1)] : ['\u2581'];
}

/// What a token is to the model: the decoder reads one and writes the next.
function describe(side, index) {
  const sentence = data.sentences[state.sentence];
  const piece = (side === 'query' ? KINDS[state.kind].queries : KINDS[state.kind].keys)(sentence)[index];
  const place = `${side} ${index + 1} “${piece}”`;
  if (side === 'key' || state.kind === 'encoder') return place;
  const probability = `probability ${sentence.probabilities[index].toFixed(4)}`;
  return state.kind === 'decoder' ? `${place}, to write “${sentence.target_out[index]}” (${probability}),`
                                  : `${place} (${probability}), after “${sentence.target_in[index]}”,`;
}

function isUnknown(side, index) {
  const sentence = data.sentences[state.sentence];
  if (state.kind === 'decoder') return sentence.target_in_ids[index] === 1;
  if (state.kind === 'cross' && side === 'query') return sentence.target_in_ids[index + 1] === 1;
  return sentence.source_ids[index] === 1;
}

const lines = {across: true, step: 24, width: 0, height: 0};

function layOutLines() {
  const {queries, keys} = sizes();
  const room = element('attention').clientWidth - 30;
  const count = Math.max(queries, keys);
  lines.across = state.layout === 'auto' ? room >= 700 && count * 20 <= room : state.layout === 'across';
  element('lines').className = lines.across ? 'across' : 'down';
  if (lines.across) {
    lines.step = Math.min(Math.max(Math.floor(room / count), 20), 64);
    lines.width = lines.step * count;
    lines.height = Math.round(Math.min(Math.max(count * 9, 190), 330));
  } else {
    lines.step = 24;
    lines.height = lines.step * count;
  }
  for (const [side, list, length] of [['query', 'queries', queries], ['key', 'keys', keys]]) {
    const pieces = KINDS[state.kind][list](data.sentences[state.sentence]);
    const buttons = [];
    for (let index = 0; index < length; ++index) {
      const button = make('button', {class: 'token', role: 'option', 'data-side': side, 'data-index': index,
                                     'aria-label': describe(side, index), title: describe(side, index)},
                          ...pieceNodes(pieces[index]));
      if (isUnknown(side, index)) button.classList.add('unknown');
      button.style[lines.across ? 'width' : 'height'] = lines.step + 'px';
      button.tabIndex = index === 0 ? 0 : -1;
      buttons.push(button);
    }
    element(list).replaceChildren(...buttons);
  }
  if (!lines.across)
    lines.width = Math.max(80, element('lines').clientWidth - element('queries').offsetWidth -
                               element('keys').offsetWidth - 4);
}

function tokenButton({side, index}) {
  return element(side === 'query' ? 'queries' : 'keys').children[index];
}

/// Draws the lines of the token pointed at, else of the one held, else all; and says in words what it looks at.
function drawLines() {
  const context = sized(element('lines-canvas'), lines.width, lines.height);
  const focus = pointed || state.token;
  const middle = index => (index + 0.5) * lines.step;
  for (const head of state.heads) {
    const {rows, columns, values} = headWeights(state.sentence, state.kind, state.layer, head);
    context.strokeStyle = headColor(head);
    // Heads lie beside each other, so that lines between the same tokens stay apart.
    const shift = (state.heads.indexOf(head) - (state.heads.length - 1) / 2) * Math.min(2, 12 / state.heads.length);
    for (let query = 0; query < rows; ++query) {
      if (focus && focus.side === 'query' && focus.index !== query) continue;
      for (let key = 0; key < columns; ++key) {
        if (focus && focus.side === 'key' && focus.index !== key) continue;
        const weight = values[query * columns + key];
        if (weight < (focus ? WEAKEST_LINE.ofOneToken : WEAKEST_LINE.ofAll)) continue;
        context.globalAlpha = Math.min(1, (focus ? 0.08 : 0) + weight);
        context.lineWidth = focus ? 1 + 3 * weight : 0.7 + 1.6 * weight;
        context.beginPath();
        if (lines.across) {
          context.moveTo(middle(query) + shift, 0);
          context.lineTo(middle(key) + shift, lines.height);
        } else {
          context.moveTo(0, middle(query) + shift);
          context.lineTo(lines.width, middle(key) + shift);
        }
        context.stroke();
      }
    }
  }
  shadeTokens(focus);
  writeReadout(focus);
}

// Behind each token a stripe for each head, as strong as its weight: figures 3 to 5 of the paper.
function shadeTokens(focus) {
  for (const button of document.querySelectorAll('.token')) {
    button.style.backgroundImage = '';
    button.classList.remove('focus', 'held');
    button.setAttribute('aria-selected', 'false');
  }
  if (state.token) tokenButton(state.token).classList.add('held');
  if (!focus) return;
  tokenButton(focus).classList.add('focus');
  tokenButton(focus).setAttribute('aria-selected', 'true');
  const otherSide = focus.side === 'query' ? 'key' : 'query';
  const heads = state.heads.map(head => [head, headWeights(state.sentence, state.kind, state.layer, head)]);
  const count = otherSide === 'key' ? sizes().keys : sizes().queries;
  for (let index = 0; index < count; ++index) {
    const stripes = heads.map(([head, {columns, values}], place) => {
      const weight = otherSide === 'key' ? values[focus.index * columns + index] : values[index * columns + focus.index];
      const color = headColor(head, (Math.sqrt(weight) * 0.8).toFixed(3));
      return `${color} ${place * 100 / heads.length}% ${(place + 1) * 100 / heads.length}%`;
    });
    if (stripes.length)
      tokenButton({side: otherSide, index}).style.backgroundImage = `linear-gradient(${lines.across ? -90 : 90}deg, ${stripes.join(', ')})`;
  }
}

function headChip(head) {
  const chip = make('span', {class: 'chip'}, `head ${head + 1}`);
  chip.style.setProperty('--head', headColor(head));
  return chip;
}

function writeSummary(readout) {
  const statistics = data.sentences[state.sentence].statistics[state.kind][state.layer];
  readout.replaceChildren(make('div', {class: 'quiet'}, 'All tokens:'), make('div', {class: 'looks'},
    ...state.heads.flatMap(head => [headChip(head), make('span', {class: 'weight'},
      `entropy ${statistics[head].entropy.toFixed(2)} bits, distance ${statistics[head].distance.toFixed(2)} tokens, ` +
      `diagonal ${statistics[head].diagonal.toFixed(2)}`)])));
}

function writeReadout(focus) {
  const readout = element('readout');
  readout.style.minHeight = lines.across ? 1.6 * (state.heads.length + 1.5) + 'rem' : '';  // what follows stays in place
  if (!focus) return writeSummary(readout);
  const sentence = data.sentences[state.sentence];
  const fromQuery = focus.side === 'query';
  const others = (fromQuery ? KINDS[state.kind].keys : KINDS[state.kind].queries)(sentence);
  const rows = [];
  for (const head of state.heads) {
    const {columns, values} = headWeights(state.sentence, state.kind, state.layer, head);
    const weightOf = other => fromQuery ? values[focus.index * columns + other] : values[other * columns + focus.index];
    const order = others.map((_, other) => other).sort((a, b) => weightOf(b) - weightOf(a))
      .filter((other, place) => place === 0 || (place < 5 && weightOf(other) >= 0.00005));
    const chip = headChip(head);
    const list = make('ul', {'data-head': head + 1});
    for (const other of order)
      list.append(make('li', {'data-index': other + 1}, ...pieceNodes(others[other]), make('sub', {}, `${other + 1}`),
                       ' ', make('span', {class: 'weight'}, weightOf(other).toFixed(4))));
    rows.push(chip, list);
  }
  readout.replaceChildren(make('div', {class: 'said'}, describe(focus.side, focus.index),
                               fromQuery ? ' looks at' : ' is looked at by'), make('div', {class: 'looks'}, ...rows));
}

const matrix = {left: 0, top: 0, cell: 10};

function drawMatrix() {
  const {rows, columns, values} = meanWeights(state.sentence, state.kind, state.layer, state.heads);
  const sentence = data.sentences[state.sentence];
  const labels = [KINDS[state.kind].queries(sentence), KINDS[state.kind].keys(sentence)];
  const canvas = element('matrix');
  const room = canvas.parentElement.clientWidth;
  const measure = canvas.getContext('2d');
  const family = 'system-ui, "DejaVu Sans", sans-serif';
  const clipped = piece => (piece.length > 14 ? piece.slice(0, 13) + '…' : piece).replace('\u2581', '_');
  const longest = side => Math.max(...labels[side].map(piece => measure.measureText(clipped(piece)).width)) + 8;
  measure.font = `13px ${family}`;
  matrix.cell = Math.max(9, Math.min(30, Math.floor((room - longest(0) - 4) / columns)));
  const font = `${Math.min(13, matrix.cell - 1)}px ${family}`;
  measure.font = font;
  matrix.left = longest(0);
  matrix.top = longest(1);
  const context = sized(canvas, matrix.left + columns * matrix.cell + 1, matrix.top + rows * matrix.cell + 1);
  context.font = font;
  context.textBaseline = 'middle';
  const shade = css('--shade');
  for (let query = 0; query < rows; ++query)
    for (let key = 0; key < columns; ++key) {
      const weight = values[query * columns + key];
      context.fillStyle = `rgba(${shade}, ${Math.sqrt(weight)})`;
      context.fillRect(matrix.left + key * matrix.cell, matrix.top + query * matrix.cell, matrix.cell, matrix.cell);
    }
  context.strokeStyle = css('--edge');
  context.strokeRect(matrix.left + 0.5, matrix.top + 0.5, columns * matrix.cell, rows * matrix.cell);
  context.fillStyle = css('--ink');
  context.textAlign = 'right';
  labels[0].forEach((piece, query) =>
    context.fillText(clipped(piece), matrix.left - 4, matrix.top + (query + 0.5) * matrix.cell));
  context.textAlign = 'left';
  labels[1].forEach((piece, key) => {
    context.save();
    context.translate(matrix.left + (key + 0.5) * matrix.cell, matrix.top - 4);
    context.rotate(-Math.PI / 2);
    context.fillText(clipped(piece), 0, 0);
    context.restore();
  });
  if (state.cell) {
    const {query, key} = state.cell;
    context.strokeStyle = css('--accent');
    context.lineWidth = 2;
    context.strokeRect(matrix.left + key * matrix.cell, matrix.top + query * matrix.cell, matrix.cell, matrix.cell);
    element('cell').textContent = `Query ${query + 1} “${labels[0][query]}” to key ${key + 1} “${labels[1][key]}”: ` +
      values[query * columns + key].toFixed(4);
  } else {
    element('cell').textContent = '';
  }
}

function cellAt(event) {
  const query = Math.floor((event.offsetY - matrix.top) / matrix.cell);
  const key = Math.floor((event.offsetX - matrix.left) / matrix.cell);
  const {queries, keys} = sizes();
  return query >= 0 && key >= 0 && query < queries && key < keys ? {query, key} : null;
}

/// Every head of the kind as a small picture, a pixel for each weight.
function drawOverview() {
  const overview = element('overview');
  const layers = layersOf(state.kind);
  const side = data.model.heads > 8 ? 36 : 46;
  overview.style.gridTemplateColumns = `max-content repeat(${data.model.heads}, ${side}px)`;
  const shade = css('--shade').split(',').map(Number);
  const cells = [make('span', {class: 'label'}, '')];
  for (const head of allHeads()) cells.push(make('span', {class: 'label'}, `${head + 1}`));
  for (let layer = 0; layer < layers; ++layer) {
    cells.push(make('span', {class: 'label'}, `layer ${layer + 1}`));
    for (const head of allHeads()) {
      const {rows, columns, values} = headWeights(state.sentence, state.kind, layer, head);
      const canvas = make('canvas', {'aria-hidden': 'true'});
      canvas.width = columns;
      canvas.height = rows;
      const context = canvas.getContext('2d');
      const image = context.createImageData(columns, rows);
      for (let i = 0; i < values.length; ++i) {
        image.data[4 * i] = shade[0];
        image.data[4 * i + 1] = shade[1];
        image.data[4 * i + 2] = shade[2];
        image.data[4 * i + 3] = Math.round(255 * Math.sqrt(values[i]));
      }
      context.putImageData(image, 0, 0);
      const button = make('button', {'data-layer': layer, 'data-head': head, title: `layer ${layer + 1}, head ${head + 1}`,
                                     'aria-label': `layer ${layer + 1}, head ${head + 1}`}, canvas);
      button.style.height = side + 'px';
      cells.push(button);
    }
  }
  overview.replaceChildren(...cells);
}

function markOverview() {
  for (const button of element('overview').querySelectorAll('button')) {
    const shown = Number(button.dataset.layer) === state.layer && state.heads.includes(Number(button.dataset.head));
    button.setAttribute('aria-pressed', shown);
  }
}

let overviewShows = '';

function showAttention() {
  pointed = null;
  element('kind-note').textContent = KINDS[state.kind].note;
  layOutLines();
  drawLines();
  drawMatrix();
  const shows = [state.sentence, state.kind, css('--shade')].join(' ');
  if (shows !== overviewShows) drawOverview();
  overviewShows = shows;
  markOverview();
}

function wireAttention() {
  for (const list of ['queries', 'keys']) {
    const side = list === 'queries' ? 'query' : 'key';
    const token = event => {
      const button = event.target.closest('.token');
      return button && {side, index: Number(button.dataset.index)};
    };
    const point = found => {
      pointed = found;
      drawLines();
    };
    const same = found => state.token && found && state.token.side === side && state.token.index === found.index;
    element(list).addEventListener('pointerover', event => event.pointerType !== 'touch' && point(token(event)));
    element(list).addEventListener('pointerleave', () => point(null));
    element(list).addEventListener('focusin', event => point(token(event)));
    element(list).addEventListener('focusout', () => point(null));
    element(list).addEventListener('click', event => {
      const found = token(event);
      if (!found) return;
      state.token = same(found) ? null : found;
      writeAddress();
      drawLines();
    });
    element(list).addEventListener('keydown', event => {
      const found = token(event);
      const moves = lines.across ? {ArrowLeft: -1, ArrowRight: 1} : {ArrowUp: -1, ArrowDown: 1};
      const across = lines.across ? ['ArrowUp', 'ArrowDown'] : ['ArrowLeft', 'ArrowRight'];
      let next = null;
      if (found && event.key in moves) next = element(list).children[found.index + moves[event.key]];
      if (found && event.key === 'Home') next = element(list).firstElementChild;
      if (found && event.key === 'End') next = element(list).lastElementChild;
      if (found && across.includes(event.key)) {
        const other = element(list === 'queries' ? 'keys' : 'queries').children;
        next = other[Math.min(found.index, other.length - 1)];
      }
      if (!next) return;
      for (const button of next.parentElement.children) button.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
      event.preventDefault();
    });
  }
  element('overview').addEventListener('click', event => {
    const button = event.target.closest('button');
    if (!button) return;
    const head = Number(button.dataset.head);
    const layer = Number(button.dataset.layer);
    const more = (event.shiftKey || event.ctrlKey || event.metaKey) && layer === state.layer;
    update({layer, heads: more ? [...state.heads, head] : [head]});
  });
  const setCell = cell => {
    state.cell = cell;
    writeAddress();
    drawMatrix();
  };
  element('matrix').addEventListener('pointermove', event => event.pointerType !== 'touch' && setCell(cellAt(event)));
  element('matrix').addEventListener('click', event => setCell(cellAt(event)));
  element('matrix').addEventListener('keydown', event => {
    const moves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
    if (!(event.key in moves)) return;
    event.preventDefault();
    const {queries, keys} = sizes();
    if (!state.cell) return setCell({query: 0, key: 0});
    const [down, right] = moves[event.key];
    setCell({query: Math.min(Math.max(state.cell.query + down, 0), queries - 1),
             key: Math.min(Math.max(state.cell.key + right, 0), keys - 1)});
  });
}
