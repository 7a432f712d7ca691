// Does one long job in the live page with a real browser:
//   node course.mjs JOB
// JOB is JSON: { modules, chromium, python, folder, profile, pictures, kind, … }, and the kind is
//   chapter { chapter, steps }  takes the chapter from its first step to its last one, by keys
//   link { chapter, steps, fact, wanted }  clicks the link ⟲ of a number in the text of the chapter,
//                                and waits until the run stands still in the wanted step
//   minutes { chapter, steps, minutes }  takes the chapter, and lets its cluster run on after it
// Prints one line of JSON: what was found. Each minute goes to standard error.
import { setTimeout as pause } from "node:timers/promises";
import { inflateSync } from "node:zlib";

import { DESKTOP, launched, lines, memory, opened, says, seconds, served, stopped } from "./browser.mjs";

const job = JSON.parse(process.argv[2]);
const LOOK_MS = 150;
const AGAIN_MS = 30_000; // a key that has changed nothing after this time is pressed again; a busy machine is slow
const PATIENT_MS = 900_000; // how long a step may wait for what it expects
const STAYS_MS = 5_000; // a run that stands still for this time is at the moment of a link
const MOST_UNREAD = 5_000; // acked records: a consumer that has read less than a tenth of them does not work
const LEARNER_SURE = "2";

const errors = [];
const [server, address] = await served(job.python, job.folder);
const browser = await launched(job.modules, job.chromium, job.profile);
const at = (fragment) => opened(browser, DESKTOP, `${address}#${fragment}`, errors);
const picture = (page, name) => job.pictures && page.screenshot({ path: `${job.pictures}/${name}.png` });

/** Return what the page shows of a chapter with so many steps. */
async function look(page, steps) {
  const text = await page.evaluate(lines);
  const status = await page.$eval("#status", (line) =>
    (line.classList.contains("bad") || line.textContent.includes("has ended") ? line.textContent : ""));
  const title = new RegExp(`^[^\\w]*(\\d+)/${steps} · (.*?)[\\s│┃▐▕]*$`, "m").exec(text);
  const panel = title ? text.slice(title.index) : ""; // the screen above it has the same signs
  return {
    text, status,
    step: title ? Number(title[1]) : 0,
    title: title ? title[2].trim() : "",
    ends: text.includes("[space] ends · "),
    hint: /\[space\].*|\[0\]….*|waits until it has happened.*|not seen yet: .*|your turn: .*/.exec(text)?.[0] ?? "",
    failures: [...panel.matchAll(/^[^\w✗]*✗ (.*?)[\s│┃▐▕]*$/gm)].map((line) => line[1]),
    waits: [...panel.matchAll(/^[^\w○]*○ (.*?)[\s│┃▐▕]*$/gm)].map((line) => line[1]),
    digits: Number(/\[1\]…\[(\d)\] chooses/.exec(text)?.[1] ?? 0),
  };
}

/** Take a chapter from its first step to its last page, as a learner does by keys. */
async function taken(page, id, steps) {
  const began = performance.now();
  const found = { steps: [], failures: [], "not shown": [] };
  let step = 0, since = began, changed = began, before = "", pressed = "", patient = began;
  for (;;) {
    const now = await look(page, steps);
    if (now.status) throw new Error(`chapter ${id}: ${now.status}`);
    const [acked, read] = counts(now.text);
    if (acked > MOST_UNREAD && read < acked / 10) throw new Error(`chapter ${id}: the load has ${acked} acked, and read ${read}`);
    if (now.step > step || now.ends) {
      if (step) {
        found.steps.push(seconds(performance.now() - since));
        await picture(page, `chapter-${id}-${String(step).padStart(2, "0")}-end`);
      }
      if (now.ends) break;
      [step, since, patient] = [now.step, performance.now(), performance.now()];
    }
    for (const why of now.failures) {
      const line = `step ${step}: ${why}`;
      if (!found.failures.includes(line)) found.failures.push(line);
    }
    const state = `${step} ${now.hint} ${now.text.includes("How sure are you?")} ${now.failures.length}`;
    if (state !== before) [before, changed, pressed] = [state, performance.now(), ""];
    const key = keyFor(now, step);
    if (key === "wait") {
      if (performance.now() - patient > PATIENT_MS) {
        found["not shown"].push(`step ${step}: ${now.waits.join("; ")}`);
        await page.keyboard.press("Space");
        await page.keyboard.press("Space");
        patient = performance.now();
      }
    } else if (key && (!pressed || performance.now() - changed > AGAIN_MS)) {
      if (/tries again|continues without it/.test(now.hint)) found["not shown"].push(`step ${step}: ${now.hint}`);
      for (const each of key) await page.keyboard.press(each);
      [pressed, changed] = [key.join(), performance.now()];
    } else if (!key && performance.now() - patient > PATIENT_MS) {
      throw new Error(`chapter ${id}, step ${step}: no key goes on\n${now.text}`);
    }
    await pause(LOOK_MS);
  }
  return { ...found, seconds: seconds(performance.now() - began) };
}

/** Return how many records of the load are acked and how many are read, as its line says. */
function counts(text) {
  const line = /load .* acked ([\d,]+) .* read ([\d,]+) · sent/.exec(text); // a shorter line is cut off
  return line ? [line[1], line[2]].map((number) => Number(number.replaceAll(",", ""))) : [0, 0];
}

/** Return the keys that a learner presses here, "wait", or null if the hint is out of sight. */
function keyFor(now, step) {
  if (now.text.includes("How sure are you?")) return [LEARNER_SURE];
  if (/waits until it has happened|not seen yet/.test(now.hint)) return "wait";
  if (/\[enter\] answers/.test(now.text)) return ["Enter"];
  if (/\[0\]…\[9\] types a number/.test(now.text)) return ["7"]; // Enter comes when the page offers it
  if (now.digits) return [String(1 + (step % now.digits))];
  if (now.hint) return ["Space"];
  if (/^ *esc back/m.test(now.text)) return ["Escape"]; // a box is in front of the panel
  return ["PageDown"];
}

/** Ask the page for a link to the shown moment, as the button does. */
async function link(page) {
  await page.click("#copy");
  await page.waitForFunction(() => document.getElementById("link").value.includes("#"));
  return (await page.$eval("#link", (field) => field.value)).split("#")[1];
}

/** Return the names that the chapter has bound at the place of a link (page/link.py packs it). */
function names(fragment) {
  const packed = new URLSearchParams(fragment).get("place");
  return packed ? JSON.parse(inflateSync(Buffer.from(packed, "base64url"))).names : {};
}

/** Return the virtual time that the status line shows, in seconds. */
const virtual = (text) => Number(/[▶‖] sim ([\d.,]+)/.exec(text)?.[1].replaceAll(",", "") ?? 0);

const jobs = {
  async chapter() {
    const page = await at(`chapter=${job.chapter}&step=1`);
    await page.waitForFunction(() => window.liveTimes.shown, { timeout: PATIENT_MS });
    const found = await taken(page, job.chapter, job.steps);
    found["virtual seconds"] = virtual(await page.evaluate(lines));
    found.names = names(await link(page));
    found["memory, MB"] = await memory(browser);
    await picture(page, `chapter-${job.chapter}-end`);
    await page.keyboard.press("Space");
    await page.waitForFunction(() => document.getElementById("status").textContent.includes("has ended"), { timeout: PATIENT_MS });
    found.says = await says(page);
    found.kept = await page.evaluate((id) => JSON.parse(localStorage.getItem(`kafka-edu.chapter.${id}`)), job.chapter);
    return found;
  },
  async link() {
    const page = await at(`chapter=${job.chapter}&step=1`);
    const sign = `a.rewind[href="#chapter=${job.chapter}&fact=${job.fact}"]`;
    await page.waitForSelector(sign, { timeout: PATIENT_MS });
    const began = performance.now();
    await page.$eval(sign, (link) => { window.before = true; link.click(); });
    await page.waitForFunction(() => !window.before && window.liveTimes?.shown, { timeout: PATIENT_MS });
    let here = "", since = began;
    for (;;) { // played up to the moment without keys: there it stays
      const now = await look(page, job.steps);
      if (now.status) throw new Error(`${sign}: ${now.status}`);
      const there = /‖ (?:sim [\d.,]+|[^│\n]*? behind)/.exec(now.text)?.[0] ?? "";
      if (there !== here) [here, since] = [there, performance.now()];
      if (there && now.step === job.wanted && performance.now() - since > STAYS_MS) break;
      if (there && !now.step) await page.keyboard.press("PageUp");
      if (performance.now() - began > PATIENT_MS * 2) throw new Error(`${sign} is not open: step ${now.step}\n${now.text}`);
      await pause(LOOK_MS);
    }
    await picture(page, `link-${job.chapter}-${job.fact}`);
    const found = { step: job.wanted, seconds: seconds(since - began), "virtual seconds": virtual(here) || null };
    return { ...found, "memory, MB": await memory(browser) };
  },
  async minutes() {
    const page = await at(`chapter=${job.chapter}&step=1`);
    await page.waitForFunction(() => window.liveTimes.shown, { timeout: PATIENT_MS });
    const began = performance.now();
    await taken(page, job.chapter, job.steps);
    const looks = [];
    for (let minute = Math.ceil((performance.now() - began) / 60_000); minute <= job.minutes; minute += 1) {
      await pause(Math.max(began + minute * 60_000 - performance.now(), 0));
      const one = { minute, "memory, MB": await memory(browser), "virtual seconds": virtual(await page.evaluate(lines)) };
      console.error(JSON.stringify(one));
      looks.push(one);
    }
    return { looks };
  },
};

let found = {};
let failed = "";
try {
  found = await jobs[job.kind]();
} catch (error) {
  failed = error.message;
  const pages = await browser.pages().catch(() => []);
  if (pages.length > 0) await Promise.resolve(picture(pages[pages.length - 1], "failed")).catch(() => {});
} finally {
  await stopped(server);
  await browser.close();
}
console.log(JSON.stringify({ found, errors, failed }));
process.exit(failed ? 1 : 0);
