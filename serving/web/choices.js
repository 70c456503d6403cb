// The list of alternatives, which opens beside a word.
const byId = (id) => document.getElementById(id);
const box = byId('choices'), list = byId('alternatives'), caption = byId('choices-caption');

const kMargin = 8;  // pixels between the list and the edges of the window

let opener = null;  // the word that the list belongs to

export const isOpenAt = (word) => opener === word;

export function open(word, title) {
  close();
  opener = word;
  caption.textContent = title;
  box.hidden = false;
  place();
  list.focus({preventScroll: true});
}

// `take` gets the text that the user chooses.
export function fill(title, texts, take) {
  caption.textContent = title;
  list.replaceChildren(...texts.map((text, number) => {
    const item = document.createElement('li');
    item.role = 'option';
    item.id = 'alternative-' + number;
    item.textContent = text;
    item.addEventListener('click', () => take(text));
    return item;
  }));
  place();
  choose(0);
}

export function close() {
  opener = null;
  box.hidden = true;
  list.replaceChildren();
}

function goBackToTheWord() {
  const word = opener;
  close();
  word?.focus();
}

// Below the word, or above it where only there is room; always within the window.
function place() {
  if (!opener) return;
  box.style.left = box.style.maxHeight = '';  // first, lest the page become wider for a moment, which phones zoom
  const {clientWidth, clientHeight} = document.documentElement;
  const word = [...opener.getClientRects()].at(-1);
  const above = word.top - byId('top').getBoundingClientRect().bottom - kMargin, below = clientHeight - word.bottom - kMargin;
  const isBelow = box.offsetHeight <= below || below >= above;
  box.style.maxHeight = `${isBelow ? below : above}px`;
  const {width, height} = box.getBoundingClientRect();
  box.style.left = `${scrollX + Math.max(kMargin, Math.min(word.left, clientWidth - kMargin - width))}px`;
  box.style.top = `${scrollY + (isBelow ? word.bottom : word.top - height)}px`;
}

function choose(number) {
  const items = [...list.children];
  if (!items.length) return;
  const wanted = (number + items.length) % items.length;
  items.forEach((item, i) => item.setAttribute('aria-selected', String(i === wanted)));
  list.setAttribute('aria-activedescendant', items[wanted].id);
  items[wanted].scrollIntoView({block: 'nearest'});
}

function move(event) {
  const chosen = [...list.children].findIndex((item) => item.getAttribute('aria-selected') === 'true');
  if (event.key === 'ArrowDown') choose(chosen + 1);
  else if (event.key === 'ArrowUp') choose(chosen - 1);
  else if (event.key === 'Enter') list.children[chosen]?.click();
  else return;
  event.preventDefault();
}

list.addEventListener('keydown', move);
box.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  event.preventDefault();
  goBackToTheWord();
});
byId('close').addEventListener('click', goBackToTheWord);
document.addEventListener('pointerup', (event) => { if (!box.contains(event.target)) close(); });
box.addEventListener('focusout', ({relatedTarget}) => {
  if (relatedTarget && !box.contains(relatedTarget)) close();
});
window.addEventListener('resize', place);
