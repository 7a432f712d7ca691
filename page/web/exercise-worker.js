// The worker of an exercise: Pyodide, and in it the tests and the learner's code. It is apart from the
// worker of the brokers. The page ends it if the learner's code does not come back.
import { startPython } from "./python.js";

const send = (message) => postMessage(message);
const page = { begins: (test) => send({ kind: "begins", test }) };

async function start() {
  const step = (name, text) => send({ kind: "step", text });
  step("loading", "Python comes: 36 MB at the first visit.");
  const python = await startPython(["python.zip", "exercises.zip"], step);
  const exercise = python.pyimport("page.exercise");
  send({ kind: "ready", exercises: JSON.parse(exercise.exercises()) });
  return exercise;
}

const lastLine = (error) => String(error.message ?? error).trim().split("\n").pop();
const starting = start();
starting.catch((error) => send({ kind: "failed", why: `Python cannot start: ${lastLine(error)}` }));

onmessage = async ({ data }) => {
  const exercise = await starting;
  try {
    if (data.kind === "open") send({ kind: "opened", id: data.id, ...JSON.parse(exercise.opened(data.id)) });
    else send({ kind: "checked", ...JSON.parse(exercise.check(data.id, data.text, page)) });
  } catch (error) {
    const broken = error.pyodide_fatal_error || error instanceof RangeError;
    const why = broken ? "Your code broke Python, probably by an endless recursion." : lastLine(error);
    send({ kind: "failed", why: `The check has failed: ${why}` });
  }
};
