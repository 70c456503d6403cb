// The view of positional encodings: the vectors themselves, and how alike they are.

function positionVectors(table) {
  return unpack(table.values, data.steps).map(value => (value * 2 - 1) * table.scale);
}

// Cosines of the angles between the vectors of every two positions.
function positionCosines(vectors, rows, width) {
  const norms = Array.from({length: rows}, (_, row) =>
    Math.hypot(...vectors.subarray(row * width, (row + 1) * width)));
  const cosines = new Float32Array(rows * rows);
  for (let a = 0; a < rows; ++a)
    for (let b = 0; b < rows; ++b) {
      let sum = 0;
      for (let i = 0; i < width; ++i) sum += vectors[a * width + i] * vectors[b * width + i];
      cosines[a * rows + b] = sum / (norms[a] * norms[b] || 1);
    }
  return cosines;
}

/// A picture with a rectangle for each value, from -scale to scale; pointing says the value.
function signedPicture(values, rows, columns, scale, cell, name, titles) {
  const canvas = make('canvas', {role: 'img', 'aria-label': name, tabindex: 0});
  const said = make('span', {'aria-live': 'polite'});
  const context = sized(canvas, columns * cell.width, rows * cell.height);
  const colors = {positive: css('--positive'), negative: css('--negative')};
  for (let row = 0; row < rows; ++row)
    for (let column = 0; column < columns; ++column) {
      const value = values[row * columns + column];
      context.fillStyle = `rgba(${value < 0 ? colors.negative : colors.positive}, ${Math.abs(value) / scale})`;
      context.fillRect(column * cell.width, row * cell.height, cell.width, cell.height);
    }
  const at = {row: 0, column: 0};
  const say = () => {
    said.textContent = ` ${titles[0]} ${at.row}, ${titles[1]} ${at.column}: ` +
      values[at.row * columns + at.column].toFixed(4);
  };
  const move = (row, column) => {
    at.row = Math.min(Math.max(row, 0), rows - 1);
    at.column = Math.min(Math.max(column, 0), columns - 1);
    say();
  };
  canvas.addEventListener('pointermove', event =>
    move(Math.floor(event.offsetY / cell.height), Math.floor(event.offsetX / cell.width)));
  canvas.addEventListener('focus', say);
  canvas.addEventListener('keydown', event => {
    const moves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
    if (!(event.key in moves)) return;
    move(at.row + moves[event.key][0], at.column + moves[event.key][1]);
    event.preventDefault();
  });
  return make('figure', {}, make('figcaption', {}, make('b', {}, name), said),
              make('div', {class: 'scroll'}, canvas));
}

let positionsShown = '';

function showPositions() {
  const room = element('positions').clientWidth - 32;
  const shows = room + css('--shade');
  if (shows === positionsShown) return;
  positionsShown = shows;
  element('position-figures').replaceChildren(...data.positions.flatMap(table => {
    const vectors = positionVectors(table);
    const wide = Math.max(2, Math.min(8, room / table.width));
    const square = Math.max(4, Math.min(9, Math.floor(room / table.rows)));
    return [
      signedPicture(vectors, table.rows, table.width, table.scale, {width: wide, height: 5},
                    `Position vectors, ${table.kind}, of ${table.name}: a row for each position from 0 on, a ` +
                    `column for each dimension; from -${table.scale.toFixed(2)} to ${table.scale.toFixed(2)}.`,
                    ['position', 'dimension']),
      signedPicture(positionCosines(vectors, table.rows, table.width), table.rows, table.rows, 1,
                    {width: square, height: square},
                    `Their cosines: how alike the vectors of two positions of ${table.name} are.`,
                    ['position', 'position']),
    ];
  }));
}
