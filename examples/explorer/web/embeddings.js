// The view of embeddings: neighbors of a token, and a map of the first two principal components.

const map = {scale: 1, x: 0, y: 0, width: 0, height: 0, drag: null};

function vocabulary() {
  return data.embeddings[state.vocabulary];
}

function tokenOnMap(id) {
  return vocabulary().tokens.find(token => token.id === id) || null;
}

/// The token asked for, else the first of the sentence in view.
function chosenToken() {
  const own = [...idsInSentence()].map(tokenOnMap).find(token => token);
  return tokenOnMap(state.piece) || own || vocabulary().tokens[0] || null;
}

/// Ids of the tokens of the sentence in view that this vocabulary embeds.
function idsInSentence() {
  const sentence = data.sentences[state.sentence];
  const both = data.embeddings.length === 1;
  return new Set([...(both || state.vocabulary === 0 ? sentence.source_ids : []),
                  ...(both || state.vocabulary === 1 ? sentence.target_in_ids : [])]);
}

function fitMap() {
  const tokens = vocabulary().tokens;
  const extent = axis => {
    const values = tokens.map(token => token[axis]);
    return [Math.min(...values), Math.max(...values)];
  };
  const [left, right] = extent('x');
  const [low, high] = extent('y');
  map.scale = 0.92 * Math.min(map.width / (right - left || 1), map.height / (high - low || 1));
  map.x = (left + right) / 2;
  map.y = (low + high) / 2;
}

function onCanvas(token) {
  return {x: map.width / 2 + (token.x - map.x) * map.scale, y: map.height / 2 - (token.y - map.y) * map.scale};
}

function drawMap() {
  const context = sized(element('map'), map.width, map.height);
  const chosen = chosenToken();
  const near = new Set(chosen ? chosen.near.map(neighbor => neighbor[2]) : []);
  const own = idsInSentence();
  const rank = token => token === chosen ? 0 : near.has(token.id) ? 1 : own.has(token.id) ? 2 : 3;
  const colors = [css('--accent'), css('--accent'), css('--ink'), css('--quiet')];
  const order = [...vocabulary().tokens].sort((a, b) => rank(a) - rank(b));
  const taken = [];  // rectangles of the labels so far: the most important ones are written first
  for (const token of order) {
    const {x, y} = onCanvas(token);
    if (x < 0 || y < 0 || x > map.width || y > map.height) continue;
    const level = rank(token);
    context.font = `${level === 0 ? 'bold 15px' : level < 3 ? '13px' : '11px'} system-ui, "DejaVu Sans", sans-serif`;
    context.fillStyle = colors[level];
    context.globalAlpha = level === 3 ? 0.75 : 1;
    context.beginPath();
    context.arc(x, y, level < 2 ? 4 : level === 2 ? 3 : 1.8, 0, 2 * Math.PI);
    context.fill();
    const label = {x: x + 5, y: y - 7, width: context.measureText(token.piece).width + 2, height: 14};
    if (label.x + label.width > map.width) label.x = x - 5 - label.width;
    const free = taken.every(other => label.x > other.x + other.width || other.x > label.x + label.width ||
                                      label.y > other.y + other.height || other.y > label.y + label.height);
    if (!free) continue;
    taken.push(label);
    context.textBaseline = 'middle';
    context.fillText(token.piece, label.x, y);
  }
  context.globalAlpha = 1;
}

function writeNeighbors() {
  const chosen = chosenToken();
  element('neighbors-of').textContent = chosen ? `Nearest to ${chosen.piece}, by cosine` : '';
  element('neighbors').replaceChildren(...(chosen ? chosen.near : []).map(([piece, cosine, id]) => {
    const bar = make('span', {class: 'bar'});
    bar.style.width = (Math.max(0, cosine) * 100).toFixed(1) + '%';
    const name = tokenOnMap(id) ? make('button', {'data-piece': id}, ...pieceNodes(piece))
                                : make('span', {class: 'plain', title: 'not on the map'}, ...pieceNodes(piece));
    return make('li', {}, make('div', {class: 'row'}, name, make('span', {class: 'weight'}, cosine.toFixed(4)), bar));
  }));
  if (chosen) element('piece').value = chosen.piece;
}

let mapShown = '';

function showEmbeddings() {
  const {name, explained, tokens} = vocabulary();
  const percent = share => (100 * share).toFixed(1) + '%';
  const total = vocabulary().vocabulary;
  element('map-caption').textContent =
    `${tokens.length} of the ${total.toLocaleString('en')} embeddings (${name}) in the plane of their first two principal components, which ` +
    `hold ${percent(explained[0])} and ${percent(explained[1])} of their variance. The sentence's tokens stand ` +
    `out, the chosen one and its neighbors are colored. Neighbors are found among all ` +
    `${total.toLocaleString('en')}.`;
  if (element('pieces').dataset.name !== name) {
    element('pieces').dataset.name = name;
    element('pieces').replaceChildren(...tokens.map(token => make('option', {value: token.piece})));
  }
  const room = element('map').parentElement.clientWidth - 28;
  const shows = [name, room].join(' ');
  if (shows !== mapShown) {
    map.width = Math.max(200, room);
    map.height = Math.round(Math.min(Math.max(room * 0.75, 300), 620));
    fitMap();
  }
  mapShown = shows;
  drawMap();
  writeNeighbors();
}

function zoom(factor) {
  map.scale *= factor;
  drawMap();
}

function wireEmbeddings() {
  const canvas = element('map');
  element('zoom-in').addEventListener('click', () => zoom(1.5));
  element('zoom-out').addEventListener('click', () => zoom(1 / 1.5));
  element('zoom-all').addEventListener('click', () => {
    fitMap();
    drawMap();
  });
  element('piece').addEventListener('change', event => {
    const typed = event.target.value.trim();
    const tokens = vocabulary().tokens;
    const found = tokens.find(token => token.piece === typed) || tokens.find(token => token.piece === '\u2581' + typed);
    if (found) return update({piece: found.id});
    element('neighbors-of').textContent = `"${typed}" is not among the ${tokens.length} tokens of this map`;
    element('neighbors').replaceChildren();
  });
  element('neighbors').addEventListener('click', event => {
    const button = event.target.closest('button');
    if (button) update({piece: Number(button.dataset.piece)});
  });
  element('vocabulary').addEventListener('change', event =>
    update({vocabulary: Number(event.target.value), piece: null}));
  canvas.addEventListener('pointerdown', event => {
    map.drag = {x: event.offsetX, y: event.offsetY, moved: false};
    if (event.pointerType !== 'touch') canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', event => {
    if (!map.drag || event.pointerType === 'touch') return;
    const [right, down] = [event.offsetX - map.drag.x, event.offsetY - map.drag.y];
    if (!map.drag.moved && Math.hypot(right, down) < 4) return;
    map.x -= right / map.scale;
    map.y += down / map.scale;
    map.drag = {x: event.offsetX, y: event.offsetY, moved: true};
    drawMap();
  });
  canvas.addEventListener('pointerup', event => {
    const dragged = map.drag && map.drag.moved;
    map.drag = null;
    if (dragged) return;
    let best = null;
    for (const token of vocabulary().tokens) {
      const {x, y} = onCanvas(token);
      const distance = Math.hypot(x - event.offsetX, y - event.offsetY);
      if (distance < 24 && (!best || distance < best.distance)) best = {token, distance};
    }
    if (best) update({piece: best.token.id});
  });
  canvas.addEventListener('keydown', event => {
    const moves = {ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0]};
    if (event.key === '+' || event.key === '=') return zoom(1.5);
    if (event.key === '-') return zoom(1 / 1.5);
    if (!(event.key in moves)) return;
    map.x += moves[event.key][0] * 40 / map.scale;
    map.y += moves[event.key][1] * 40 / map.scale;
    event.preventDefault();
    drawMap();
  });
}
