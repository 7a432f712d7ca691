// The page: a terminal (xterm.js) in front of a worker, in which the brokers and the dashboard run.
"use strict";

const KEYS = [ // what a phone has no keys for: the word on the button, and what it types
  ["space", " ", "stop or go on"], ["←", "\x1b[D", "broker before"], ["→", "\x1b[C", "next broker"],
  ["↑", "\x1b[A", "line up"], ["↓", "\x1b[B", "line down"], ["k", "k", "kill"],
  ["y", "y", "yes"], ["n", "n", "no"], ["s", "s", "start"], ["p", "p", "pause"],
  ["r", "r", "resume"], [",", ",", "a step back"], [".", ".", "a step on"], ["<", "<", "5 s back"],
  [">", ">", "5 s on"], ["z", "z", "to now"], ["+", "+", "faster"], ["-", "-", "slower"],
  ...Array.from("1234567890", (digit) => [digit, digit, "screen " + digit]),
  ["↵", "\r", "open"], ["⌫", "\x7f", "a page back"], ["R", "R", "this step again"], ["esc", "\x1b", "close"], ["?", "?", "what is this"], [":", ":", "all commands"],
];
const LEAST_COLUMNS = 80;
const FONT_PX = 15, LEAST_FONT_PX = 6;

const element = (id) => document.getElementById(id);
const times = (window.liveTimes = { opened: performance.now() });

function say(text, bad = false) {
  element("status").textContent = text;
  element("status").classList.toggle("bad", bad);
}

function fail(text) {
  say(text, true);
  element("step").textContent = text;
  element("step").classList.add("bad");
  element("progress").hidden = true;
}

/** Return why this browser cannot run the page, or "" if it can. */
function missing() {
  if (location.protocol === "file:") {
    return "A browser runs no Python from a file. Open a terminal in the folder above this one, run" +
      " python -m http.server, and open http://127.0.0.1:8000/live/ in the browser.";
  }
  if (typeof WebAssembly !== "object") {
    return "This browser has no WebAssembly, and the page cannot run Python without it. Use a newer" +
      " browser, or ask for WebAssembly to be allowed.";
  }
  if (typeof Worker !== "function") return "This browser has no workers. Use a newer browser.";
  return "";
}

/** Return the parts of a link such as #scenario=first&seed=7. Python reads the others. */
function wanted() {
  const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const link = { scenario: "first", seed: "1", ...given };
  if (!/^\d{1,15}$/.test(link.seed)) throw new Error(`the link's seed '${link.seed}' is no whole number`);
  if (!/^[a-z-]{1,40}$/.test(link.scenario)) throw new Error(`the link's scenario '${link.scenario}' is no name`);
  if (given.chapter !== undefined && !/^\d\d$/.test(given.chapter)) {
    throw new Error(`the link's chapter '${given.chapter}' is no number such as 02`);
  }
  return link;
}

function makeTerminal() {
  const terminal = new Terminal({
    fontFamily: "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
    fontSize: FONT_PX,
    scrollback: 0,
    cursorInactiveStyle: "none",
    theme: { background: "#121212" },
  });
  const fit = new FitAddon.FitAddon();
  terminal.loadAddon(fit);
  terminal.open(element("terminal"));
  const fitAll = () => { // a small window gets a smaller letter, so that a line of the dashboard fits
    if (element("terminal").offsetParent === null) return; // a phone shows the text of a chapter
    terminal.options.fontSize = FONT_PX;
    const columns = fit.proposeDimensions()?.cols ?? LEAST_COLUMNS;
    if (columns < LEAST_COLUMNS) {
      const size = Math.floor((10 * FONT_PX * columns) / LEAST_COLUMNS) / 10;
      terminal.options.fontSize = Math.max(size, LEAST_FONT_PX);
    }
    fit.fit();
  };
  fitAll();
  new ResizeObserver(fitAll).observe(element("terminal"));
  return terminal;
}

function offer(name, text) {
  const known = document.querySelector(`#futures a[download="${name}"]`);
  const link = known ?? document.createElement("a");
  link.download = name;
  link.textContent = `${name}: this run as a file, for kafka-edu sim run`;
  if (known) URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  if (!known) element("futures").appendChild(document.createElement("li")).appendChild(link);
}

/** Offer a link to the shown moment. When it is copied, the keys go to the brokers again. */
function showLink(to, terminal) {
  const address = `${location.href.split("#")[0]}#${to}`;
  element("link").hidden = false;
  element("link").value = address;
  element("link").select();
  const copied = navigator.clipboard?.writeText(address) ?? Promise.reject(new Error("no clipboard"));
  copied.then(
    () => { say("The link to this moment is copied."); terminal.focus(); },
    () => say("Copy the link to this moment from the field above."),
  );
}

async function begin() {
  const link = wanted();
  const worker = new Worker("worker.js", { type: "module" }); // it fetches Python meanwhile
  const { version, chapters } = await course();
  const chapter = chapters.find((each) => each.id === link.chapter);
  if (link.chapter && !chapter) {
    throw new Error(`chapter ${link.chapter} is not in this page: there are ${chapters.map((each) => each.id).join(", ")}`);
  }
  const parts = chapter ? showChapter(chapter, link) : link;
  showCourse(chapters, chapter);
  const other = parts.v !== undefined && parts.v !== version
    ? ` · the link is of another version (${parts.v}, here ${version}): the run may differ` : "";
  const title = (chapter ? `chapter ${chapter.id} in virtual time`
    : `three simulated brokers · scenario ${parts.scenario} · seed ${parts.seed}`) + other;
  for (const [word, keys, title] of KEYS) { // before the terminal, which takes the rest of the room
    const button = document.createElement("button");
    button.textContent = word;
    button.title = title;
    button.onclick = () => type(keys);
    element("keys").appendChild(button);
  }
  const terminal = (window.liveTerminal = makeTerminal());
  const type = (keys) => worker.postMessage({ kind: "keys", keys });
  worker.onerror = (error) => fail(`The worker has ended: ${error.message ?? "it could not load"}`);
  worker.onmessage = ({ data }) => {
    switch (data.kind) {
      case "step":
        times[data.name] = performance.now();
        element("step").textContent = data.text;
        element("progress").value = data.done;
        say(data.text);
        break;
      case "write":
        if (!times.shown) {
          times.shown = performance.now();
          element("wait").hidden = true;
          say(title);
          terminal.focus();
          navigator.serviceWorker?.register("keep.js").catch(() => {}); // later visits load again
        }
        terminal.write(data.text);
        break;
      case "keep":
        offer(data.name, data.text);
        break;
      case "progress":
        keepProgress(chapters, data);
        break;
      case "link":
        showLink(data.to, terminal);
        break;
      case "ended":
        if (data.why) fail(`The dashboard has ended: ${data.why}`);
        else say("The dashboard has ended. Load the page again to begin again.");
        break;
      case "failed":
        fail(data.why);
        break;
    }
  };
  terminal.onData(type);
  terminal.onBinary(type);
  terminal.onResize(({ cols, rows }) => worker.postMessage({ kind: "size", columns: cols, rows }));
  element("copy").onclick = () => worker.postMessage({ kind: "link" });
  worker.postMessage({ kind: "start", link: parts, version, columns: terminal.cols, rows: terminal.rows });
}

// Another link begins another run. A link to the present address changes nothing by itself.
addEventListener("hashchange", () => location.reload());
addEventListener("click", ({ target }) => {
  const link = target.closest?.('a[href^="#"]');
  if (link?.hash && link.hash === location.hash) location.reload();
});

try {
  const why = missing();
  if (why) fail(why);
  else begin().catch((error) => fail(`The page cannot begin: ${error.message}`));
} catch (error) {
  fail(`The page cannot begin: ${error.message}`);
}
