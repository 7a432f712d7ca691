// Starts the page's Python from the memory that the builder has made (page/npm/prepare.mjs).
import { loadPyodide } from "./pyodide/pyodide.mjs";
import createModule from "./pyodide/pyodide.asm.mjs";

const at = (path) => new URL(path, import.meta.url).href;

/** Return the server's answer for a file of the page. */
export async function fetched(path) {
  const answer = await fetch(at(path));
  if (!answer.ok) throw new Error(`${path}: the server answers ${answer.status}`);
  return answer;
}

const LEAST_MB = 200; // with less memory for its Python, the page cannot hold three brokers

/** Return the error of a browser that has too little memory for the page. */
const tooLittle = () =>
  new Error("this browser does not give the page enough memory: it needs 500 MB. Close other tabs, and load the page again.");

/** Refuse a browser with too little memory. Pyodide would only wait for its module, without an end. */
function askForMemory() {
  try {
    new WebAssembly.Memory({ initial: LEAST_MB * 16 }); // pages of 64 KB, which it does not write
  } catch {
    throw tooLittle();
  }
}

/**
 * Return a Python that has imported the modules of the page, and has the files of these archives
 * in /app.
 */
export async function startPython(archives, step) {
  askForMemory();
  const files = archives.map((name) => fetched(name).then((answer) => answer.arrayBuffer()));
  for (const file of files) file.catch(() => {}); // they are awaited below
  let memory = fetched("snapshot.bin").then((answer) =>
    new Response(answer.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
  memory.catch(() => {});
  const python = await loadPyodide({
    indexURL: at("pyodide/"),
    _loadSnapshot: memory,
    // Pyodide's module begins with its own size, and does not grow before it takes the memory over.
    createPyodideModule: async (settings) => {
      const module = await createModule(settings);
      const { byteLength } = await memory;
      while (module.HEAP8.length < byteLength) {
        if (!module._malloc(byteLength - module.HEAP8.length)) {
          throw tooLittle();
        }
      }
      return module;
    },
  });
  memory = python._api.config._loadSnapshot = undefined; // else a second copy of the memory stays
  python.runPython("import random; random.seed()"); // else each visit has the same random numbers
  step("python", "Python runs. Its other files come.", 0.5);
  for (const file of files) python.unpackArchive(await file, "zip", { extractDir: "/app" });
  step("unpacked", "All files are loaded.", 0.7);
  return python;
}
