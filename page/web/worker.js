// The worker: Pyodide, and in it the simulated brokers and the dashboard, in one thread.
import { fetched, startPython } from "./python.js";

const send = (message) => postMessage(message);
const step = (name, text, done) => send({ kind: "step", name, text, done });

let live = null;
const waiting = []; // what was typed before the dashboard was there
step("loading", "Python comes: 34 MB at the first visit.", 0.1);
const python = startPython(["python.zip"], step); // the page still reads what the link names
python.catch(() => {}); // it is awaited below

async function start({ link, version, columns, rows }) {
  const file = link.chapter ? `chapters/${link.chapter}.json` : `scenarios/${link.scenario}.sim`;
  const text = fetched(file).then((answer) => answer.text());
  text.catch(() => {}); // it is awaited below
  const pyodide = (self.python = await python);
  const page = pyodide.pyimport("page.start");
  step("imported", "The brokers start.", 0.9);
  const terminal = {
    write: (text) => send({ kind: "write", text }),
    keep: (file, text) => send({ kind: "keep", name: file, text }),
    progress: (chapter, at, steps, to) => send({ kind: "progress", chapter, at, steps, to }),
    ended: (why) => send({ kind: "ended", why }),
  };
  live = page.start(terminal, await text, JSON.stringify({ link, version }), columns, rows);
  for (const message of waiting.splice(0)) take(message);
}

function take(message) {
  if (live === null) waiting.push(message);
  else if (message.kind === "keys") live.keys(message.keys);
  else if (message.kind === "link") send({ kind: "link", to: live.link() });
  else if (message.kind === "size") live.resize(message.columns, message.rows);
}

onmessage = ({ data }) => {
  if (data.kind !== "start") take(data);
  else {
    start(data).catch((error) => {
      const lines = String(error.message ?? error).trim().split("\n");
      send({ kind: "failed", why: `The page cannot begin: ${lines[lines.length - 1]}` });
    });
  }
};
