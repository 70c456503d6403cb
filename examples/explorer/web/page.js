// Controls, keyboard, and what is shown when the state changes.

function update(changes) {
  Object.assign(state, changes);
  tidyState();
  writeAddress();
  show();
}

function show() {
  if (state.theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = state.theme;
  const sentence = data.sentences[state.sentence];
  element('theme').value = state.theme;
  element('sentence').value = state.sentence;
  element('previous').disabled = state.sentence === 0;
  element('next').disabled = state.sentence === data.sentences.length - 1;
  element('source-text').textContent = sentence.source_text;
  element('target-text').textContent = sentence.target_text;
  element('forced').hidden = !sentence.forced;
  element('kind').value = state.kind;
  element('layout').value = state.layout;
  showLayers();
  showHeads();
  for (const view of VIEWS) {
    element(view).hidden = view !== state.view;
    element('tab-' + view).setAttribute('aria-selected', view === state.view);
    element('tab-' + view).tabIndex = view === state.view ? 0 : -1;
  }
  element('kind-controls').hidden = !['attention', 'statistics'].includes(state.view);
  for (const part of document.querySelectorAll('.attention-only')) part.hidden = state.view !== 'attention';
  ({attention: showAttention, statistics: showStatistics, positions: showPositions, embeddings: showEmbeddings})[
    state.view]();
}

function showLayers() {
  const layers = layersOf(state.kind);
  if (element('layer').children.length !== layers)
    element('layer').replaceChildren(...Array.from({length: layers}, (_, layer) =>
      make('option', {value: layer}, `${layer + 1} of ${layers}`)));
  element('layer').value = state.layer;
}

function showHeads() {
  const heads = element('heads');
  if (heads.children.length === 0)
    heads.replaceChildren(...allHeads().map(head => make('button', {'data-head': head}, `${head + 1}`)));
  for (const button of heads.children) {
    const head = Number(button.dataset.head);
    button.style.setProperty('--head', headColor(head));
    button.setAttribute('aria-pressed', state.heads.includes(head));
    button.title = `Show or hide head ${head + 1}` + (head < 9 ? ` (${head + 1})` : '');
  }
}

function toggleHead(head) {
  if (head >= data.model.heads) return;
  update({heads: state.heads.includes(head) ? state.heads.filter(other => other !== head) : [...state.heads, head]});
}

function setUp() {
  const {model} = data;
  element('model').textContent = `${data.title} · ${model.encoder_layers}+${model.decoder_layers} layers, ` +
    `${model.heads} heads, d_model ${model.d_model}, ${model.parameters.toLocaleString('en')} parameters`;
  // A decoder with recurrent units has no self-attention.
  for (const option of element('kind').options) option.hidden = !CHOICES.kind.includes(option.value);
  element('sentence').replaceChildren(...data.sentences.map((sentence, i) =>
    make('option', {value: i}, `${i + 1} of ${data.sentences.length}: ${sentence.source_text}`)));
  element('vocabulary').replaceChildren(...data.embeddings.map((table, i) => make('option', {value: i}, table.name)));
  element('vocabulary').parentElement.hidden = data.embeddings.length < 2;

  const number = event => Number(event.target.value);
  element('theme').addEventListener('change', event => update({theme: event.target.value}));
  element('sentence').addEventListener('change', event => update({sentence: number(event)}));
  element('previous').addEventListener('click', () => update({sentence: state.sentence - 1}));
  element('next').addEventListener('click', () => update({sentence: state.sentence + 1}));
  element('kind').addEventListener('change', event => update({kind: event.target.value}));
  element('layer').addEventListener('change', event => update({layer: number(event)}));
  element('layout').addEventListener('change', event => update({layout: event.target.value}));
  element('heads').addEventListener('click', event => {
    const button = event.target.closest('button');
    if (button) toggleHead(Number(button.dataset.head));
  });
  element('all-heads').addEventListener('click', () => update({heads: allHeads()}));
  wireTabs();
  wireAttention();
  wireStatistics();
  wireEmbeddings();
  document.addEventListener('keydown', shortcut);
  window.addEventListener('hashchange', () => {
    readAddress();
    tidyState();
    show();
  });
  let resized = 0;
  window.addEventListener('resize', () => {
    clearTimeout(resized);
    resized = setTimeout(show, 100);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show);
  state.heads = allHeads();
  readAddress();
  tidyState();
  show();
}

function wireTabs() {
  for (const view of VIEWS) {
    element('tab-' + view).addEventListener('click', () => update({view}));
    element('tab-' + view).addEventListener('keydown', event => {
      const move = {ArrowLeft: -1, ArrowRight: 1}[event.key];
      if (!move) return;
      const next = VIEWS[(VIEWS.indexOf(view) + move + VIEWS.length) % VIEWS.length];
      update({view: next});
      element('tab-' + next).focus();
    });
  }
}

function shortcut(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, select')) return;
  if (event.key >= '1' && event.key <= '9') return toggleHead(Number(event.key) - 1);
  const actions = {
    n: () => update({sentence: state.sentence + 1}),
    p: () => update({sentence: state.sentence - 1}),
    e: () => update({kind: 'encoder'}),
    d: () => update({kind: 'decoder'}),
    c: () => update({kind: 'cross'}),
    '.': () => update({layer: state.layer + 1}),
    ',': () => update({layer: state.layer - 1}),
    a: () => update({heads: allHeads()}),
    Escape: () => {
      if (document.activeElement) document.activeElement.blur();
      update({token: null, cell: null});
    },
  };
  if (Object.hasOwn(actions, event.key)) actions[event.key]();
}

setUp();
