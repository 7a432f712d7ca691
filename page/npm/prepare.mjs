// Prepares the Python of the page, by the page's own Python:
//   node prepare.mjs NODE_MODULES FOLDER SNAPSHOT
// It compiles the modules in FOLDER. Each one gets a file in __pycache__ that is never checked against
// its source. Then a second Python imports what the page imports, and its memory is written to
// SNAPSHOT: a page that loads it need not start Python and import again. The last line of the output
// is JSON: the names of the modules in that memory, whose files the page does not need.
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [modules, folder, snapshot] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${modules}/pyodide/pyodide.mjs`).href);
const compiler = await loadPyodide();
compiler.mountNodeFS("/app", folder);
const compiled = compiler.runPython(`
import compileall, py_compile
compileall.compile_dir(
    "/app", quiet=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
)`);
if (!compiled) process.exit(1);
const python = await loadPyodide({ _makeSnapshot: true });
python.mountNodeFS("/app", folder); // the page has its files under the same name
const imported = python.runPython(`
import gc, json, sys
sys.path[:0] = ["/app", "/app/page/instead"]
import page.start
gc.collect()
files = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
json.dumps(sorted(file.removeprefix("/app/") for file in files if file.startswith("/app/")))`);
writeFileSync(snapshot, python.makeMemorySnapshot());
console.log(imported);
