// The view of heads in numbers: a table that can be sorted.

const STATISTICS = [
  {name: 'layer', title: 'layer, head'},
  {name: 'entropy', title: 'entropy, bits'},
  {name: 'distance', title: 'distance, tokens'},
  {name: 'diagonal', title: 'diagonal'},
  {name: 'similar', title: 'most alike: layer.head (bits)'},
];

function headRows() {
  const rows = [];
  data.sentences[state.sentence].statistics[state.kind].forEach((heads, layer) =>
    heads.forEach((head, number) => rows.push({layer, head: number, ...head})));
  const by = {
    layer: (a, b) => a.layer - b.layer || a.head - b.head,
    entropy: (a, b) => a.entropy - b.entropy,
    distance: (a, b) => a.distance - b.distance,
    diagonal: (a, b) => b.diagonal - a.diagonal,
    similar: (a, b) => (a.similar.length ? a.similar[0][2] : 0) - (b.similar.length ? b.similar[0][2] : 0),
  };
  return rows.sort(by[state.sort] || by.layer);
}

function headButton(layer, head, text) {
  return make('button', {'data-layer': layer, 'data-head': head, title: 'Show this head'}, text);
}

function showStatistics() {
  const rows = headRows();
  const most = name => Math.max(1e-9, ...rows.map(row => row[name]));
  const scale = {entropy: most('entropy'), distance: most('distance'), diagonal: 1};
  const table = element('statistics-table');
  table.tHead.replaceChildren(make('tr', {}, ...STATISTICS.map(({name, title}) => {
    const button = make('button', {'data-sort': name}, title + (state.sort === name ? ' ▾' : ''));
    return make('th', {scope: 'col', 'aria-sort': state.sort === name ? 'ascending' : 'none'}, button);
  })));
  table.tBodies[0].replaceChildren(...rows.map(row => {
    const cells = [make('td', {}, headButton(row.layer, row.head, `${row.layer + 1}.${row.head + 1}`))];
    for (const name of ['entropy', 'distance', 'diagonal']) {
      const bar = make('span', {class: 'bar'});
      bar.style.width = (5 * row[name] / scale[name]).toFixed(2) + 'rem';
      cells.push(make('td', {'data-name': name}, row[name].toFixed(4), bar));
    }
    const similar = make('td', {'data-name': 'similar'});
    for (const [layer, head, divergence] of row.similar)
      similar.append(headButton(layer, head, `${layer + 1}.${head + 1}`), ` ${divergence.toFixed(4)} `);
    cells.push(similar);
    const line = make('tr', {'data-layer': row.layer + 1, 'data-head': row.head + 1}, ...cells);
    if (row.layer === state.layer && state.heads.length === 1 && state.heads[0] === row.head) line.className = 'chosen';
    return line;
  }));
}

function wireStatistics() {
  element('statistics-table').addEventListener('click', event => {
    const button = event.target.closest('button');
    if (!button) return;
    if (button.dataset.sort) return update({sort: button.dataset.sort});
    update({view: 'attention', layer: Number(button.dataset.layer), heads: [Number(button.dataset.head)]});
  });
}
