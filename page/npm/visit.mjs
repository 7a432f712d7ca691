// Visits the live page with a real browser, and takes the first lesson there:
//   node visit.mjs NODE_MODULES CHROMIUM PYTHON FOLDER PROFILE PICTURES SOLUTIONS
// SOLUTIONS is a file of JSON: the solution of each exercise of the page, by its id.
// It serves the folder with `python -m http.server`, and stops that for the visit without a network.
// Prints one line of JSON: what was measured. Ends with 1 and a sentence if something is not shown.
import { readFileSync } from "node:fs";

import {
  DESKTOP, launched, memory, opened as openedAt, PATIENCE_MS, PHONE, renderers, says, seconds, served, shows, stopped,
} from "./browser.mjs";

const [modules, chromium, python, folder, profile, pictures, answers] = process.argv.slice(2);
const found = {};
const errors = [];

const opened = (browser, view, path = "") => openedAt(browser, view, address + path, errors);

/** Return how long the parts of a visit took, in seconds since the page was opened. */
async function visit(page) {
  const brokers = await shows(page, "every replica in sync");
  const [tab] = await renderers(browser);
  const times = await page.evaluate(() => window.liveTimes);
  const sent = await page.evaluate(() => performance.getEntriesByType("resource").length);
  return {
    "Python runs, s": seconds(times.python),
    "modules are imported, s": seconds(times.imported),
    "the dashboard is shown, s": seconds(times.shown),
    "three brokers are in sync, s": seconds(brokers),
    "processor time of the tab until then, s": Math.round(tab.seconds * 100) / 100,
    requests: sent,
  };
}

const picture = (page, name) => page.screenshot({ path: `${pictures}/${name}.png` });

async function lesson(page) {
  await page.keyboard.press("Space");
  await shows(page, "‖ sim");
  await picture(page, "desktop-brokers");
  await page.keyboard.type("k");
  await shows(page, "kill -9 broker 1?");
  await picture(page, "desktop-question");
  const killed = performance.now();
  await page.keyboard.type("y");
  await shows(page, "killed (SIGKILL)");
  found["a key to its effect: kill, s"] = Math.round(performance.now() - killed) / 1000;
  await page.keyboard.press("Space");
  await shows(page, "▶ sim", "is the controller now (epoch 2)", "leader of t-2 nobody → broker 1");
  await picture(page, "desktop-election");
  await page.keyboard.press("Space");
  await shows(page, "‖ sim");
  await page.keyboard.type("<");
  await shows(page, "behind");
  await picture(page, "desktop-rewind");
  const back = performance.now();
  await page.keyboard.press("Space");
  await shows(page, "▶ sim", "future 1");
  found["back in time, executed again, s"] = Math.round(performance.now() - back) / 1000;
  await page.keyboard.press("Space");
  await shows(page, "‖ sim");
  await picture(page, "desktop-after-rewind");
}

/** Take a step of a chapter with its question, and open a link to the moment that it comes to. */
async function chapter(browser) {
  const page = await opened(browser, DESKTOP, "#chapter=00&step=1");
  await shows(page, "1/5 · Records arrive");
  await page.waitForFunction(() => document.querySelector("#text h1")?.textContent === "00 A first lesson");
  await page.keyboard.press("Space");
  await shows(page, "✓ the HW of a partition of `web` rises");
  await page.keyboard.press("Space");
  await shows(page, "2/5 · Kill a leader");
  await page.keyboard.press("Space");
  await shows(page, "Who will notice first");
  await picture(page, "desktop-prediction");
  await page.keyboard.type("3");
  await shows(page, "How sure are you?");
  await page.keyboard.type("2");
  await shows(page, "✓ the process has ended", "Yes.");
  await picture(page, "desktop-chapter");
  await page.click("#copy");
  await page.waitForFunction(() => document.getElementById("link").value.includes("place="));
  const link = await page.$eval("#link", (field) => field.value);
  found["characters of a link into a chapter"] = link.length;
  found["progress that the browser keeps"] = await page.evaluate(
    () => JSON.parse(localStorage.getItem("kafka-edu.chapter.00")).at);
  await page.close();
  const began = performance.now();
  const there = await opened(browser, DESKTOP, link.slice(link.indexOf("#")).replace(/&v=.*/, "&v=other"));
  await shows(there, "‖ sim", "2/5 · Kill a leader");
  found["a link into a chapter is open, s"] = Math.round(performance.now() - began) / 1000;
  found["a link of another version says"] = await says(there);
  if (!found["a link of another version says"].includes("of another version")) {
    throw new Error("the page does not say that the link is of another version");
  }
  await there.$eval("#course", (list) => { list.open = true; });
  await picture(there, "desktop-link");
  await there.close();
  const phone = await opened(browser, PHONE, "#chapter=00&step=1");
  await shows(phone, "1/5 · Records arrive");
  await picture(phone, "phone-chapter");
  await phone.click("#reading");
  await picture(phone, "phone-chapter-text");
  await phone.close();
}

/** Take two chapters in two tabs at once, and load one of them again in the middle of its lesson. */
async function tabs(browser) {
  const first = await opened(browser, DESKTOP, "#chapter=00&step=1");
  await shows(first, "1/5 · Records arrive");
  const second = await opened(browser, DESKTOP, "#chapter=01&step=1");
  await shows(second, "1/13 · Numbers");
  for (const [key, shown] of [
    ["Space", "As an unsigned varint"], ["2", "How sure are you?"], ["2", "Yes."], ["Space", "2/13 · "],
  ]) {
    await second.keyboard.press(key);
    await shows(second, shown);
  }
  await first.bringToFront();
  await first.keyboard.press("Space");
  await shows(first, "✓ the HW of a partition of `web` rises");
  await first.keyboard.press("Space");
  await shows(first, "2/5 · Kill a leader");
  const reached = (page, step) => page.waitForFunction(
    (wanted) => location.hash.includes(`step=${wanted}&`), { timeout: PATIENCE_MS }, step);
  await reached(first, 2);
  found["steps reached in two tabs"] = await first.evaluate(() =>
    ["00", "01"].map((id) => JSON.parse(localStorage.getItem(`kafka-edu.chapter.${id}`)).at));
  if (found["steps reached in two tabs"].join() !== "2,2") throw new Error("the progress of a tab is lost");
  await second.close();
  const began = performance.now();
  await first.reload();
  await shows(first, "2/5 · Kill a leader");
  found["a reload in a lesson continues there after, s"] = seconds(performance.now() - began);
  await first.close();
}

/** Visit the page with a browser that cannot run it. Return what the page says. */
async function refused(flag, path, sign) {
  const other = await launched(modules, chromium, undefined, [`--js-flags=${flag}`]);
  try {
    const page = await opened(other, DESKTOP, path);
    await page.waitForSelector("#status.bad", { timeout: PATIENCE_MS });
    const said = await says(page);
    if (!said.includes(sign)) throw new Error(`${flag}: the page says only: ${said}`);
    return said;
  } finally {
    await other.close();
  }
}

/** Solve an exercise: fail, never come back, come again after a reload, pass. */
async function exercise(browser) {
  const tells = (page, ...texts) => page.waitForFunction((wanted) => {
    const text = `${document.getElementById("status").textContent}\n${document.getElementById("result").textContent}`;
    return wanted.every((each) => text.includes(each));
  }, { timeout: PATIENCE_MS, polling: 100 }, texts);
  const write = async (page, text) => {
    await page.$eval("#code", (code, value) => {
      code.value = value;
      code.dispatchEvent(new Event("input"));
    }, text);
  };
  const check = async (page) => {
    await page.waitForSelector("#check:not(:disabled)", { timeout: PATIENCE_MS });
    await page.click("#check");
  };
  const solutions = JSON.parse(readFileSync(answers, "utf8"));
  const page = await opened(browser, DESKTOP, "exercise.html#02-1");
  await tells(page, "Write TimingWheel.add");
  found["an exercise can be edited, s"] = seconds(await page.evaluate(() => performance.now()));
  const starter = await page.$eval("#code", (code) => code.value);
  await write(page, `${starter}\n`);
  await check(page);
  await tells(page, "not passed yet", "TimingWheel.add is not written yet", "more tests, by the same error");
  const seed = () => page.$eval("#result", (result) => /seed (\d+)/.exec(result.textContent)[1]);
  const first = await seed();
  await page.click("#hint");
  await picture(page, "exercise-failed");
  await write(page, starter.replace("        raise NotImplementedError(", "        while True:\n            pass\n        raise NotImplementedError("));
  await check(page);
  await tells(page, "is there a loop that never ends?");
  await picture(page, "exercise-endless");
  await page.waitForSelector("#check:not(:disabled)", { timeout: PATIENCE_MS });
  await page.reload();
  await tells(page, "Write TimingWheel.add");
  const again = await page.$eval("#code", (code) => code.value);
  if (!again.includes("while True:")) throw new Error("the text of the exercise is lost by a reload");
  await write(page, solutions["02-1"]);
  const began = performance.now();
  await check(page);
  await tells(page, "02-1: passed", "the public tests pass");
  found["an exercise is checked, s"] = seconds(performance.now() - began);
  if (await seed() === first) throw new Error("two visits have the same random numbers");
  await picture(page, "exercise-passed");
  found["memory of the tab with an exercise, MB"] = await memory(browser);
  for (const [id, text] of Object.entries(solutions)) {
    await page.evaluate((hash) => { location.hash = hash; }, id);
    await page.waitForFunction((title) => document.title.startsWith(title), { timeout: PATIENCE_MS }, id);
    await write(page, text);
    await check(page);
    await tells(page, `${id}: passed`);
  }
  found["exercises whose solution passes in the page"] = Object.keys(solutions).length;
  await page.close();
  const phone = await opened(browser, PHONE, "exercise.html#02-1");
  await tells(phone, "Write TimingWheel.add");
  await picture(phone, "phone-exercise");
  await phone.close();
}

const [server, address] = await served(python, folder);
const browser = await launched(modules, chromium, profile);
let failed = "";
try {
  const page = await opened(browser, DESKTOP);
  found["first visit"] = await visit(page);
  await lesson(page);
  await page.waitForFunction( // for a later visit
    () => navigator.serviceWorker.getRegistration().then((kept) => kept?.active?.state === "activated"),
    { timeout: PATIENCE_MS }).catch(() => { throw new Error("the browser has not kept the page's files"); });
  found["memory of the tab, MB"] = await memory(browser);
  await page.close();
  const again = await opened(browser, DESKTOP);
  found["later visit"] = await visit(again);
  await again.close();
  const phone = await opened(browser, PHONE);
  await shows(phone, "every replica in sync");
  await picture(phone, "phone-brokers");
  await phone.evaluate(() => {
    for (const word of ["space", "k"]) {
      [...document.querySelectorAll("#keys button")].find((b) => b.textContent === word).click();
    }
  });
  await shows(phone, "kill -9 broker 1?");
  await picture(phone, "phone-question");
  await phone.close();
  await chapter(browser);
  const bad = await opened(browser, PHONE, "#seed=x");
  found["a bad link says"] = await says(bad);
  await bad.close();
  await tabs(browser);
  for (const path of ["", "exercise.html"]) {
    const name = path || "the brokers";
    found[`${name} without WebAssembly`] = await refused("--jitless", path, "no WebAssembly");
    found[`${name} with 13 MB of memory`] = await refused("--wasm-max-mem-pages=200", path, "enough memory");
  }
  await exercise(browser);
  await stopped(server);
  const offline = await opened(browser, DESKTOP);
  found["a visit when the server has gone"] = await visit(offline);
  await offline.close();
} catch (error) {
  failed = error.message;
  const pages = await browser.pages().catch(() => []);
  if (pages.length > 0) await picture(pages[pages.length - 1], "failed").catch(() => {});
} finally {
  await stopped(server);
  await browser.close();
}
console.log(JSON.stringify({ found, errors, failed }));
process.exit(failed ? 1 : 0);
