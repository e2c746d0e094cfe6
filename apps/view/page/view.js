// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
'use strict';

// A view is {pivot, yaw, pitch, roll, distance, field_of_view, stretch, shift}, as the server has
// it: angles in degrees, lengths in the scene's units, z up.
const $ = (id) => document.getElementById(id);
const stage = $('stage'), picture = $('picture');
const clientName = Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, '0')).join('');
const copy = (view) => structuredClone(view);
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

let scene = null;
let view = null;
let sequence = 0;      // of the latest request
let shown = 0;         // of the request whose picture is on the screen
let restTimer = 0;
let drawPending = false;
let sharp = null;      // the latest picture in full size
const kept = [];       // views for a camera path

function tell(text, isError = false) {
  $('status').textContent = text;
  $('status').classList.toggle('error', isError);
}

// ---- pictures ----

async function ask(draft) {
  const mine = ++sequence;
  let response;
  try {
    response = await fetch('api/frame', {
      method: 'POST',
      headers: {'Content-Type': 'application/json'},
      body: JSON.stringify({client: clientName, sequence: mine, draft, view}),
    });
  } catch {
    return tell('the server has ended', true);
  }
  if (response.status === 204) return;
  if (!response.ok) {
    const problem = await response.json().catch(() => ({error: response.statusText}));
    return tell(problem.error, true);
  }
  const blob = await response.blob();
  if (mine < shown) return;
  const next = new Image();
  next.src = URL.createObjectURL(blob);
  await next.decode();
  if (mine < shown) return URL.revokeObjectURL(next.src);
  const before = picture.src;
  picture.src = next.src;
  if (before) URL.revokeObjectURL(before);
  shown = mine;
  sharp = draft ? null : blob;
  $('savePicture').disabled = draft;
  const milliseconds = Number(response.headers.get('X-Render-Milliseconds'));
  const size = response.headers.get('X-Picture-Size').replace('x', ' × ');
  tell(`${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms · ${size}${draft ? ' · draft' : ''}`);
  document.body.dataset.frame = String(mine);
  document.body.dataset.draft = String(draft);
}

/** Draws the view: small while it moves, in full once it rests. */
function draw(moving) {
  $('field').value = String(view.field_of_view);
  $('degrees').textContent = `${view.field_of_view.toFixed(1)}°`;
  clearTimeout(restTimer);
  if (!moving) return void ask(false);
  restTimer = setTimeout(() => ask(false), 180);
  if (drawPending) return;
  drawPending = true;
  requestAnimationFrame(() => {
    drawPending = false;
    ask(true);
  });
}

// ---- moves ----

function turn(yaw, pitch) {
  view.yaw = (view.yaw + yaw) % 360;
  view.pitch = clamp(view.pitch + pitch, -89.5, 89.5);
  draw(true);
}

/** Moves the pivot in the plane of the picture, by fractions of its width. */
function move(right, down) {
  const yaw = view.yaw * Math.PI / 180, pitch = view.pitch * Math.PI / 180, roll = view.roll * Math.PI / 180;
  const level = [-Math.sin(yaw), Math.cos(yaw), 0];
  const drop = [Math.sin(pitch) * Math.cos(yaw), Math.sin(pitch) * Math.sin(yaw), -Math.cos(pitch)];
  const width = 2 * view.distance * Math.tan(view.field_of_view * Math.PI / 360);
  const x = (Math.cos(roll) * right - Math.sin(roll) * down) * width;
  const y = (Math.sin(roll) * right + Math.cos(roll) * down) * width;
  for (let i = 0; i < 3; ++i) view.pivot[i] += x * level[i] + y * drop[i];
  draw(true);
}

function dolly(factor) {
  view.distance = clamp(view.distance * factor, 0.01, 1000);
  draw(true);
}

function roll(degrees) {
  view.roll = (view.roll + degrees) % 360;
  draw(true);
}

function field(degrees) {
  view.field_of_view = clamp(degrees, 10, 120);
  draw(true);
}

function go(to) {
  view = copy(to);
  draw(false);
}

function level() {
  view.roll = 0;
  draw(false);
}

// ---- pointers: one turns, two (or another button) move and pinch ----

const pointers = new Map();

stage.addEventListener('pointerdown', (event) => {
  if (!view || event.target === $('status')) return;
  stage.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
  stage.classList.add('turning');
  stage.focus({preventScroll: true});
});

stage.addEventListener('pointermove', (event) => {
  const last = pointers.get(event.pointerId);
  if (!last) return;
  const x = event.clientX - last.x, y = event.clientY - last.y;
  const width = Math.max(1, shownWidth());
  if (pointers.size === 1) {
    if (event.buttons & 6 || event.shiftKey) move(-x / width, -y / width);
    else turn(-180 * x / width, 180 * y / width);
  } else if (pointers.size === 2) {
    const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
    const before = Math.hypot(last.x - other.x, last.y - other.y);
    const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
    move(-x / 2 / width, -y / 2 / width);
    if (before > 8 && after > 8) dolly(before / after);
  }
  last.x = event.clientX;
  last.y = event.clientY;
});

for (const name of ['pointerup', 'pointercancel'])
  stage.addEventListener(name, (event) => {
    pointers.delete(event.pointerId);
    if (pointers.size === 0) stage.classList.remove('turning');
  });
stage.addEventListener('contextmenu', (event) => event.preventDefault());
stage.addEventListener('wheel', (event) => {
  event.preventDefault();
  const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1);
  if (view) dolly(Math.exp(clamp(pixels, -400, 400) * 0.0012));
}, {passive: false});

/** Width of the picture on the screen. */
function shownWidth() {
  const box = picture.getBoundingClientRect();
  return Math.min(box.width, box.height * scene.size[0] / scene.size[1]);
}

// ---- keys ----

const keys = {
  ArrowLeft: () => turn(-4, 0), ArrowRight: () => turn(4, 0),
  ArrowUp: () => turn(0, 4), ArrowDown: () => turn(0, -4),
  '+': () => dolly(0.93), '=': () => dolly(0.93), '-': () => dolly(1 / 0.93),
  w: () => move(0, -0.04), s: () => move(0, 0.04), a: () => move(-0.04, 0), d: () => move(0.04, 0),
  q: () => roll(-3), e: () => roll(3),
  '[': () => field(view.field_of_view - 2), ']': () => field(view.field_of_view + 2),
  r: () => go(scene.start), l: level, n: () => pose(1), p: () => pose(-1), k: keep,
};

document.addEventListener('keydown', (event) => {
  const typing = event.target.closest('select, input, button, summary');
  const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!view || !action || event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing && event.key.startsWith('Arrow')) return;
  if (event.target.closest('select')) return;
  event.preventDefault();
  action();
});

// ---- poses and paths ----

function pose(step) {
  const list = $('poses');
  if (list.options.length === 0) return;
  list.selectedIndex = (list.selectedIndex + step + list.options.length) % list.options.length;
  go(scene.poses[list.selectedIndex].view);
}

let playing = 0;

function stopPlaying() {
  clearInterval(playing);
  playing = 0;
  $('play').textContent = 'Play';
}

function along(moving) {
  view = copy(scene.paths[$('paths').selectedIndex].views[Number($('along').value)]);
  draw(moving);
}

function play() {
  if (playing) {
    stopPlaying();
    return draw(false);
  }
  $('play').textContent = 'Stop';
  playing = setInterval(() => {
    if (shown < sequence && sequence - shown > 2) return;
    const slider = $('along');
    slider.value = String((Number(slider.value) + 1) % (Number(slider.max) + 1));
    along(true);
  }, 100);
}

function choosePath() {
  stopPlaying();
  $('along').max = String(scene.paths[$('paths').selectedIndex].views.length - 1);
  $('along').value = '0';
}

// ---- files ----

function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function saveCameras(views, name) {
  try {
    const response = await fetch('api/cameras', {
      method: 'POST',
      headers: {'Content-Type': 'application/json'},
      body: JSON.stringify({views}),
    });
    if (!response.ok) return tell((await response.json()).error, true);
    save(await response.blob(), name);
  } catch {
    tell('the server has ended', true);
  }
}

function showKept() {
  $('saveCameras').textContent = `List (${kept.length})`;
  $('saveCameras').disabled = $('clearCameras').disabled = kept.length === 0;
}

function keep() {
  kept.push(copy(view));
  showKept();
}

// ---- start ----

function fill(list, names) {
  list.replaceChildren(...names.map((name) => {
    const option = document.createElement('option');
    option.textContent = name;
    return option;
  }));
}

function connect() {
  $('reset').addEventListener('click', () => go(scene.start));
  $('level').addEventListener('click', level);
  $('field').addEventListener('input', () => field(Number($('field').value)));
  $('poses').addEventListener('change', () => pose(0));
  $('previous').addEventListener('click', () => pose(-1));
  $('next').addEventListener('click', () => pose(1));
  $('paths').addEventListener('change', () => { choosePath(); along(false); });
  $('along').addEventListener('input', () => { stopPlaying(); along(true); });
  $('play').addEventListener('click', play);
  $('savePicture').addEventListener('click', () => sharp && save(sharp, 'view.png'));
  $('saveCamera').addEventListener('click', () => saveCameras([view], 'camera.json'));
  $('addCamera').addEventListener('click', keep);
  $('saveCameras').addEventListener('click', () => saveCameras(kept, 'cameras.json'));
  $('clearCameras').addEventListener('click', () => { kept.length = 0; showKept(); });
}

async function begin() {
  try {
    scene = await (await fetch('api/scene')).json();
  } catch {
    return tell('the server does not answer', true);
  }
  document.title = `${scene.scene} – ttt view`;
  $('name').textContent = scene.scene;
  $('about').textContent = `${scene.model}, ${scene.input_views} input views, ${scene.mode} mode, ${scene.device}`;
  fill($('poses'), scene.poses.map((one) => `${one.index}: ${one.name}${one.input ? ' (input)' : ''}`));
  $('posesPart').hidden = scene.poses.length === 0;
  fill($('paths'), scene.paths.map((one) => one.name));
  $('pathsPart').hidden = scene.paths.length === 0;
  if (scene.paths.length > 0) choosePath();
  connect();
  go(scene.start);
  stage.focus({preventScroll: true});
}

begin();
