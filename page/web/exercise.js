// The page of an exercise: an editor, and a worker in which the tests and the learner's code run.
"use strict";

const SILENCE_S = 20; // a test that takes longer is ended: the code does not come back
const INDENT = "    ";

const element = (id) => document.getElementById(id);
const code = element("code");
let worker = null;
let ready = false; // whether the worker's Python has started
let exercise = null; // what the page shows, as `opened` of page/exercise.py says it
let running = ""; // the test that runs, or ""
let begun = 0; // when it began
let known = null; // the text as this tab has last read or kept it
let hints = 0;
let leaves = false; // Tab leaves the editor, because Esc was typed before

function say(text, bad = false) {
  element("status").textContent = text;
  element("status").classList.toggle("bad", bad);
}

function show(text, how = "") {
  element("result").textContent = text;
  element("result").className = how;
  if (text) element("result").scrollIntoView({ block: "nearest" });
}

/** Kept texts: the browser may forbid them. Then the page says so, and goes on. */
const kept = {
  name: (part = "") => `kafka-edu-exercise-${exercise.id}${part}`,
  get(part) {
    try { return localStorage.getItem(this.name(part)); } catch { return null; }
  },
  set(text, part) {
    try { localStorage.setItem(this.name(part), text); } catch {
      say("This browser keeps no texts: download your file before you leave the page.", true);
    }
  },
};

function keep() {
  if (exercise === null) return;
  const now = kept.get();
  if (now !== null && now !== known && now !== code.value) { // another tab has written
    putAside(now, "Another tab has changed this exercise too. Its text");
  }
  known = code.value;
  kept.set(known);
}

function file(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/x-python" }));
  link.download = name;
  return link;
}

function putAside(text, what) {
  kept.set(text, "-aside");
  const link = file(text, `aside-${exercise.file}`);
  link.textContent = `${what} is here as a file.`;
  element("aside").replaceChildren(link);
}

/** Draw the numbers of the lines. The line `marked` is the one at which a test has failed. */
function drawNumbers(marked = 0) {
  const lines = code.value.split("\n").length;
  const number = (_, at) => (at + 1 === marked ? `▸${marked}` : at + 1);
  element("numbers").textContent = Array.from({ length: lines }, number).join("\n");
  if (marked) code.scrollTop = (code.scrollHeight / lines) * Math.max(marked - 8, 0);
  element("numbers").scrollTop = code.scrollTop;
}

function setText(text) {
  code.value = text;
  drawNumbers();
}

/** Replace text as if it was typed, so that the browser can undo it. */
function type(begin, end, text) {
  code.setSelectionRange(begin, end);
  if (!document.execCommand("insertText", false, text)) code.setRangeText(text, begin, end, "end");
}

function indent(less) {
  const { value, selectionStart: from, selectionEnd: to } = code;
  if (!less && from === to) return type(from, to, INDENT);
  const begin = value.lastIndexOf("\n", from - 1) + 1;
  const lines = value.slice(begin, to).split("\n");
  const moved = lines.map((line) => (less ? line.replace(/^ {1,4}/, "") : INDENT + line)).join("\n");
  type(begin, to, moved);
  code.setSelectionRange(from === to ? code.selectionEnd : begin, code.selectionEnd);
}

function newLine() {
  const { value, selectionStart: from, selectionEnd: to } = code;
  const line = value.slice(value.lastIndexOf("\n", from - 1) + 1, from);
  type(from, to, "\n" + /^ */.exec(line)[0] + (/:\s*$/.test(line) ? INDENT : ""));
}

function enable() {
  const idle = exercise !== null && ready && !running;
  for (const id of ["check", "again"]) element(id).disabled = !idle;
  element("save").disabled = exercise === null;
  element("stop").disabled = !running;
  element("hint").disabled = exercise === null || hints >= exercise.hints.length;
}

function check() {
  if (exercise === null || !ready || running) return;
  keep();
  show("");
  begins("the first test");
  worker.postMessage({ kind: "check", id: exercise.id, text: code.value });
}

function begins(test) {
  running = test;
  begun = performance.now();
  say(`${exercise.id}: ${test} runs`);
  enable();
}

function ended() {
  running = "";
  enable();
}

/** End the worker with the learner's code, and start another one. */
function stop(why) {
  const test = running;
  worker.terminate();
  show(`✗ ${test}\n   ${why}\n   Your text is kept. Change it, and check again.`, "failed");
  ended();
  begin();
  say("The check was ended. Python starts again.");
}

function openExercise(id) {
  exercise = null; // a result that still comes is not about the new one
  enable();
  say(`${id} is opened`);
  worker.postMessage({ kind: "open", id });
}

function opened(data) {
  exercise = data;
  document.title = `${data.id} ${data.title} · kafka-edu`;
  element("text").innerHTML = data.task; // made from README.md of this page's own files
  element("name").textContent = `your file: ${data.file}`;
  known = kept.get();
  setText(known ?? data.starter);
  hints = 0;
  element("hints").replaceChildren();
  element("aside").replaceChildren();
  const aside = kept.get("-aside");
  if (aside !== null) putAside(aside, "A text that was replaced");
  show("");
  say(`${data.id} ${data.title}`);
  enable();
}

function showHint() {
  const section = document.createElement("section");
  section.innerHTML = `<p><strong>Hint ${hints + 1} of ${exercise.hints.length}</strong></p>${exercise.hints[hints]}`;
  element("hints").append(section);
  hints += 1;
  enable();
}

function again() {
  if (code.value !== exercise.starter) putAside(code.value, "Your text from before");
  setText(exercise.starter);
  keep();
  show("");
}

function fill(exercises) {
  if (element("choice").options.length) return;
  for (const { id, title, minutes } of exercises) {
    element("choice").add(new Option(`${id} ${title} (${minutes} min)`, id));
  }
}

/** Return the exercise that the address names, or the first one. */
function wanted() {
  const name = location.hash.slice(1);
  try { return decodeURIComponent(name) || element("choice").options[0].value; } catch { return name; }
}

function take({ data }) {
  switch (data.kind) {
    case "step":
      if (exercise === null) say(data.text);
      break;
    case "ready":
      ready = true;
      fill(data.exercises);
      window.exerciseReady = performance.now();
      if (exercise === null) goTo();
      else say(`${exercise.id} ${exercise.title}`);
      enable();
      break;
    case "opened":
      opened(data);
      break;
    case "begins":
      begins(data.test);
      break;
    case "checked":
      if (exercise === null) { ended(); break; }
      show(data.text + (data.passed ? `\n\n${exercise.id}: the public tests pass.` +
        (exercise.live ? " On a machine, `lab check` also tries it in a live cluster." : "") : ""),
      data.passed ? "passed" : "failed");
      drawNumbers(data.line);
      ended();
      say(`${exercise.id}: ${data.passed ? "passed" : "not passed yet"}`);
      break;
    case "failed":
      if (running) stop(data.why); // Python may be broken: another worker starts
      else say(data.why, true);
      break;
  }
}

function goTo() {
  if (!element("choice").options.length) return; // they come with the worker
  const id = wanted();
  const known = Array.from(element("choice").options, (option) => option.value);
  if (!known.includes(id)) return say(`The page has no exercise '${id}'. Choose one above.`, true);
  element("choice").value = id;
  openExercise(id);
}

function begin() {
  ready = false;
  worker = new Worker("exercise-worker.js", { type: "module" });
  worker.onmessage = take;
  worker.onerror = (error) => say(`The worker has ended: ${error.message ?? "it could not load"}`, true);
}

function listen() {
  code.addEventListener("input", () => { drawNumbers(); keep(); });
  code.addEventListener("scroll", () => { element("numbers").scrollTop = code.scrollTop; });
  code.addEventListener("keydown", (event) => {
    const { key } = event;
    if (key === "Tab" && !leaves) { event.preventDefault(); indent(event.shiftKey); }
    if (key === "Enter") { event.preventDefault(); event.ctrlKey || event.metaKey ? check() : newLine(); }
    if (key !== "Shift") leaves = key === "Escape";
  });
  element("choice").onchange = () => { location.hash = element("choice").value; };
  addEventListener("hashchange", () => { if (running) stop("You chose another exercise."); goTo(); });
  element("check").onclick = check;
  element("stop").onclick = () => stop("You stopped the check.");
  element("hint").onclick = showHint;
  element("again").onclick = again;
  element("save").onclick = () => file(code.value, exercise.file).click();
  setInterval(() => {
    if (running && performance.now() - begun > SILENCE_S * 1000) {
      stop(`Your code did not come back within ${SILENCE_S} s: is there a loop that never ends?`);
    }
  }, 500);
}

if (location.protocol === "file:") {
  say("A browser runs no Python from a file. Open a terminal in the folder above this one, run" +
    " python -m http.server, and open http://127.0.0.1:8000/live/exercise.html", true);
} else if (typeof WebAssembly !== "object" || typeof Worker !== "function") {
  say("This browser has no WebAssembly or no workers, and the page cannot run Python without them." +
    " Use a newer browser, or ask for both to be allowed.", true);
} else {
  element("task").open = matchMedia("(min-width: 62rem)").matches;
  listen();
  begin();
}
