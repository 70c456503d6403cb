// The page of `serve`. Text enters the document as text nodes only; styles that depend on data go through the CSSOM,
// which the Content-Security-Policy allows. Addresses are relative: behind a proxy the page may stand in any folder.
import * as choices from './choices.js';

const byId = (id) => document.getElementById(id);
const source = byId('source'), target = byId('target'), from = byId('from'), to = byId('to');
const status = byId('status'), glossary = byId('glossary');

const kPauseBeforeTranslating = 250;  // milliseconds without a keystroke
const kNumAlternatives = 6;
const kSureOfLanguage = 50;  // percent
const kDoubtful = 0.3;  // confidence below which a word is marked
const kTimeToSave = 60000;  // milliseconds that a translated document stays for the browser

let mostAlternatives = kNumAlternatives;  // that the server gives
let languages = [], running = null, pause = 0, last = null;

function say(text, isProblem = false) {
  status.textContent = text;
  status.classList.toggle('problem', isProblem);
}

async function ask(path, body, signal) {
  const isForm = body instanceof FormData;
  const headers = isForm ? {} : {'Content-Type': 'application/json'};
  if (byId('key').value) headers.Authorization = 'Bearer ' + byId('key').value;
  const sent = {method: 'POST', headers, body: isForm ? body : JSON.stringify(body), signal};
  const answer = await fetch(path, body === undefined ? {signal} : sent);
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  const error = new Error(problem.error || 'the server answered ' + answer.status);
  throw Object.assign(error, {status: answer.status});
}

// The events of a stream, as they come.
async function* eventsOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    text += piece.value;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const of = (name) => lines.find((line) => line.startsWith(name + ': '))?.slice(name.length + 2);
      yield {name: of('event'), data: JSON.parse(of('data'))};
    }
  }
}

const counted = (number, noun) => `${number} ${noun}${number === 1 ? '' : 's'}`;

// Lines that are not a term and its translation are reported and left out.
function glossaryEntries() {
  const entries = [], problems = [];
  glossary.value.split('\n').forEach((line, i) => {
    const terms = line.split('=').map((term) => term.trim());
    const problem = terms.length < 2 ? 'there is no “=” between the term and its translation'
      : terms.length > 2 ? 'there is more than one “=”'
      : !terms[0] ? 'there is no term before the “=”'
      : !terms[1] ? 'there is no translation after the “=”' : '';
    if (!problem) entries.push({source: terms[0], target: terms[1]});
    else if (line.trim()) problems.push(`Line ${i + 1} is ignored: ${problem}.`);
  });
  byId('glossary-problems').textContent = problems.join('\n');
  glossary.setAttribute('aria-invalid', String(problems.length > 0));
  return entries;
}

// `more` may name other languages than those that are chosen.
function requestFor(text, more) {
  const request = {text, source: from.value, target: to.value, ...more};
  const entries = glossaryEntries();
  if (entries.length && !more.alternatives) request.glossary = entries;
  return request;
}

// The server refuses the alignments of a long text (413), which is then translated without them.
async function askToTranslate(text, signal) {
  const asked = (alignments) => ask('v1/translate', requestFor(text, {stream: true, alignments}), signal);
  try {
    return await asked(true);
  } catch (error) {
    if (error.status !== 413) throw error;
    return asked(false);
  }
}

async function translate() {
  running?.abort();
  choices.close();
  const text = source.value;
  source.parentNode.dataset.text = text;
  byId('count').textContent = text ? counted([...text].length, 'character') : '';
  if (!text.trim()) {
    glossaryEntries();  // for what is wrong with them
    last = null;
    target.replaceChildren();
    return say('');
  }
  const mine = running = new AbortController();
  target.classList.add('working');
  say('Translating…');
  try {
    const answer = await askToTranslate(text, mine.signal);
    for await (const {name, data} of eventsOf(answer)) {
      if (mine !== running) return;
      if (name === 'text') target.textContent = data.text;
      if (name === 'error') throw new Error(data.error);
      if (name === 'done') show({...data.translations[0], typed: text}, data);
    }
    say(last?.detected ? detectionNotice(last.detected) : '');
  } catch (error) {
    if (mine === running && error.name !== 'AbortError') say(error.message, true);
  } finally {
    if (mine === running) target.classList.remove('working');
  }
}

function detectionNotice({language, confidence}) {
  const name = nameOf(language);
  if (confidence <= 0) return `Language unclear; taken to be ${name}`;
  return confidence < kSureOfLanguage ? `Probably ${name}` : `Detected: ${name}`;
}

function translateSoon() {
  source.parentNode.dataset.text = source.value;
  clearTimeout(pause);
  pause = setTimeout(translate, kPauseBeforeTranslating);
}

// Words of a hypothesis: pieces up to the next one that begins with a space mark.
function wordsOf(hypothesis) {
  const words = [];
  hypothesis.tokens.forEach((token, position) => {
    const text = token.replaceAll('▁', ' ');
    if (!words.length || text.startsWith(' ')) words.push({text: '', first: position, rows: []});
    const word = words.at(-1);
    word.text += text;
    word.rows.push(hypothesis.alignment?.[position] || []);
  });
  return words.map((word) => ({...word, text: word.text.trim()})).filter((word) => word.text);
}

const words = () => [...target.querySelectorAll('.word')];

// Each segment's words become buttons; where pieces do not spell its text (byte pieces), it stays plain.
function show(translation, answer) {
  last = {...translation, source: answer.source, target: answer.target};  // a source that was detected stays
  choices.close();  // those of what stood here before
  target.replaceChildren();
  let rest = translation.text;
  for (const segment of translation.segments) {
    const text = segment.hypotheses[0].text;
    const place = rest.indexOf(text);
    if (!text || place < 0) continue;
    target.append(rest.slice(0, place));
    appendSegment(segment, text);
    rest = rest.slice(place + text.length);
  }
  target.append(rest);
  const first = target.querySelector('.word');
  if (first) first.tabIndex = 0;
  byId('doubt-hint').hidden = !target.querySelector('.doubtful');
  byId('spoken').textContent = translation.text;
}

// The least confidence of the words there, 1 if the model is not calibrated. The server counts characters.
function confidenceAt({text, words = []}, place, length) {
  const begin = [...text.slice(0, place)].length, end = begin + [...text.slice(place, place + length)].length;
  return Math.min(1, ...words.filter((word) => word.place[0] < end && begin < word.place[1])
    .map((word) => word.confidence));
}

function appendSegment(segment, text) {
  let at = 0;
  for (const word of wordsOf(segment.hypotheses[0])) {
    const place = text.indexOf(word.text, at);
    if (place < 0) continue;
    target.append(text.slice(at, place));
    const element = document.createElement('span');
    element.className = 'word';
    element.role = 'button';
    element.tabIndex = -1;
    element.textContent = word.text;
    element.title = 'Alternatives from here on';
    const confidence = confidenceAt(segment.hypotheses[0], place, word.text.length);
    if (confidence < kDoubtful) {
      element.classList.add('doubtful');
      element.title = `May be wrong (confidence ${Math.round(100 * confidence)}%). ${element.title}`;
    }
    element.ariaHasPopup = 'listbox';
    const prefix = text.slice(0, place).trimEnd();
    element.addEventListener('click', () => showAlternatives(element, segment, prefix));
    element.addEventListener('pointerenter', (event) => event.pointerType === 'mouse' && showAttention(segment, word));
    element.addEventListener('pointerleave', hideAttention);
    element.addEventListener('focus', () => showAttention(segment, word));
    element.addEventListener('blur', hideAttention);
    target.append(element);
    at = place + word.text.length;
  }
  target.append(text.slice(at));
}

// The source's pieces, the darker the more the word attended to them.
function showAttention(segment, word) {
  hideAttention();
  if (!word.rows[0]?.length) return;
  const box = document.createElement('p');
  box.className = 'attention';
  box.append(`“${word.text}” looked at: `);
  segment.source_tokens.forEach((token, position) => {
    const weight = word.rows.reduce((sum, row) => sum + (row[position] || 0), 0) / word.rows.length;
    const piece = document.createElement('span');
    piece.className = 'attended';
    piece.textContent = token.replaceAll('▁', ' ');
    piece.style.setProperty('background-color', `rgb(var(--mark) / ${Math.min(0.75, weight).toFixed(3)})`);
    box.append(piece);
  });
  source.after(box);
}

function hideAttention() {
  document.querySelector('.attention')?.remove();
}

// A segment by itself: a tag such as >>deu<<, which tells some models the language, holds for the segments behind it.
function sourceOf(segment) {
  const upTo = last.segments.slice(0, last.segments.indexOf(segment) + 1);
  const tag = upTo.map(({source}) => source.match(/^>>\S+?<</)?.[0]).filter(Boolean).at(-1);
  return !tag || segment.source.startsWith('>>') ? segment.source : `${tag} ${segment.source}`;
}

async function showAlternatives(element, segment, prefix) {
  choices.open(element, 'Looking for alternatives…');
  try {
    const more = {
      source: last.source, target: last.target, prefix, split_sentences: false,
      alternatives: mostAlternatives,
    };
    const answer = await (await ask('v1/translate', requestFor(sourceOf(segment), more))).json();
    if (!choices.isOpenAt(element)) return;  // closed, or translated again meanwhile
    const found = answer.translations[0].segments[0].hypotheses.map((hypothesis) => hypothesis.text);
    const at = words().indexOf(element);
    choices.fill(counted(found.length, 'alternative'), found, (text) => take(segment, text, at));
  } catch (error) {
    if (!choices.isOpenAt(element)) return;
    choices.close();
    say(error.message, true);
  }
}

// Puts an alternative into its segment's place; the word at which it was chosen gets the focus.
function take(segment, text, wordAt) {
  const old = segment.hypotheses[0].text;
  const place = last.segments.slice(0, last.segments.indexOf(segment))
    .reduce((at, other) => last.text.indexOf(other.hypotheses[0].text, at) + other.hypotheses[0].text.length, 0);
  const found = last.text.indexOf(old, place);
  segment.hypotheses[0] = {text, tokens: [], alignment: []};
  const changed = {...last, text: last.text.slice(0, found) + text + last.text.slice(found + old.length)};
  choices.close();
  rescore(changed, segment, text, wordAt);
}

// The words of an alternative come with the search that its whole text begins.
async function rescore(translation, segment, text, wordAt) {
  show(translation, translation);
  target.focus();
  say('');
  try {
    const more = {
      source: translation.source, target: translation.target, prefix: text, split_sentences: false, alternatives: 1,
      alignments: true,
    };
    const answer = await (await ask('v1/translate', requestFor(sourceOf(segment), more))).json();
    const hypothesis = answer.translations[0].segments[0].hypotheses[0];
    if (last?.text !== translation.text || !hypothesis.text.startsWith(text)) return;
    segment.hypotheses[0] = {...hypothesis, text};
    show(translation, translation);
    words()[wordAt]?.focus();
  } catch (error) {
    say(error.message, true);
  }
}

function moveBetweenWords(event) {
  const all = words(), at = all.indexOf(document.activeElement);
  if (at < 0) return;
  const steps = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
  if (event.key in steps) {
    const next = all[Math.max(0, Math.min(all.length - 1, at + steps[event.key]))];
    all[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  } else if (event.key === 'Enter' || event.key === ' ') {
    all[at].click();
  } else if (event.key === 'Escape') {
    source.focus();
  } else {
    return;
  }
  event.preventDefault();
}

const nameOf = (code) => languages.find((language) => language.code === code)?.name || code;

function fill(select, codes, wanted) {
  select.replaceChildren(...codes.map((code) => new Option(code === 'auto' ? 'Detect' : nameOf(code), code)));
  if (codes.includes(wanted)) select.value = wanted;
}

// The server lists each language as a target of its own, too: such text stays as it is.
const targetsOf = (language) => language.targets.filter((code) => code !== language.code);

function fillTargets(wanted) {
  const of = languages.find((language) => language.code === from.value);
  fill(to, [...new Set(of ? targetsOf(of) : languages.flatMap(targetsOf))], wanted);
}

function swap() {
  // A text that is still to be translated must not give way to the translation of the one before.
  const shown = last?.typed === source.value && last.target === to.value ? last : null;
  const oldFrom = from.value === 'auto' ? shown?.detected?.language : from.value;
  const [oldTo, text] = [to.value, shown?.text];
  if (!oldFrom) return say('The language of the text is not known yet; type a text, or choose its language.', true);
  if (oldFrom === oldTo) return say(`The text is in ${nameOf(oldTo)} already; there is nothing to swap.`, true);
  if (!languages.some((language) => language.code === oldTo && language.targets.includes(oldFrom)))
    return say(`There is no model from ${nameOf(oldTo)} to ${nameOf(oldFrom)}.`, true);
  from.value = oldTo;
  fillTargets(oldFrom);
  if (text) source.value = text;
  translate();
}

async function copy() {
  try {
    await navigator.clipboard.writeText(target.textContent);
    say('Copied');
  } catch {  // over plain HTTP a browser has no clipboard for the page
    say('The browser allows the page to copy over HTTPS only; select the translation and copy it yourself.', true);
  }
}

async function readFile(file) {
  const limit = 8 << 20;
  if (file.size > limit) return say('The file is larger than 8 MB; translate it with the program translate.', true);
  try {
    const isPacked = file.name.endsWith('.gz');
    const stream = isPacked ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream();
    const bytes = await new Response(stream).arrayBuffer();
    source.value = new TextDecoder('utf-8', {fatal: true}).decode(bytes);
    translate();
  } catch {
    say(`${file.name} is no UTF-8 text.`, true);
  }
}

// A translated document is a file, which the browser saves.
async function translateFile(file) {
  const form = new FormData();
  for (const [name, value] of [['file', file], ['source', from.value], ['target', to.value]]) form.append(name, value);
  say(`Translating ${file.name} …`);
  const answer = await ask('v1/documents', form);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await answer.blob());
  link.download = decodeURIComponent(answer.headers.get('Content-Disposition').match(/''(.*)/)[1]);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), kTimeToSave);
  say(`${file.name} was translated.`);
}

async function takeFile(file) {
  try {
    const {supportedFilesFormat} = await (await ask('frontend/settings')).json();
    const name = file.name.toLowerCase();
    const isDocument = supportedFilesFormat.some((ending) => ending !== '.txt' && name.endsWith(ending));
    await (isDocument ? translateFile(file) : readFile(file));
  } catch (error) {
    say(error.message, true);
  }
}

function listen() {
  source.addEventListener('input', translateSoon);
  glossary.addEventListener('input', translateSoon);
  byId('access').addEventListener('submit', (event) => {
    event.preventDefault();  // the key goes nowhere but into the headers of the page's requests
    translate();
  });
  from.addEventListener('change', () => { fillTargets(to.value); translate(); });
  to.addEventListener('change', translate);
  byId('swap').addEventListener('click', swap);
  byId('copy').addEventListener('click', copy);
  target.addEventListener('keydown', moveBetweenWords);
  document.addEventListener('keydown', (event) => {
    const isMac = /Mac|iPhone|iPad/.test(navigator.platform);  // where Option alone types characters
    if (!event.altKey || event.ctrlKey !== isMac || event.metaKey) return;
    const act = {KeyS: swap, KeyC: copy}[event.code];
    if (!act) return;
    event.preventDefault();
    act();
  });
  for (const kind of ['dragover', 'dragleave', 'drop'])
    source.addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      source.classList.toggle('dropping', kind === 'dragover');
      if (kind === 'drop' && event.dataTransfer.files[0]) takeFile(event.dataTransfer.files[0]);
    });
}

async function start() {
  listen();
  try {
    languages = await (await ask('languages')).json();
    const codes = languages.filter((language) => targetsOf(language).length).map((language) => language.code);
    fill(from, codes.length > 1 ? ['auto', ...codes] : codes, codes.length > 1 ? 'auto' : codes[0]);
    fillTargets();
    if (source.value) translate();
    const {components} = await (await ask('openapi.json')).json();
    const {maximum} = components.schemas.V1Request.properties.alternatives;
    mostAlternatives = Math.min(kNumAlternatives, maximum);
  } catch (error) {
    say(error.message, true);
  }
}

start();
