// A real browser that visits the live page: shared by visit.mjs (a short visit) and course.mjs (whole
// chapters). The folder is served as a reader would serve it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

export const PATIENCE_MS = 120_000;
export const DESKTOP = { width: 1366, height: 820, deviceScaleFactor: 1 };
export const PHONE = { width: 390, height: 800, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
const FLAGS = ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"];

/** Serve the folder as a reader would. Return the process, and its address when it serves. */
export function served(python, folder) {
  const server = spawn(
    python, ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", folder],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  return new Promise((resolve, reject) => {
    server.on("exit", () => reject(new Error("python -m http.server has ended")));
    server.stdout.on("data", (text) => {
      const port = /port (\d+)/.exec(String(text))?.[1];
      if (port) resolve([server, `http://127.0.0.1:${port}/`]);
    });
  });
}

/** End the server, and wait until it has ended. */
export async function stopped(server) {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, "exit");
  server.kill();
  await ended;
}

/** Start the browser, with more flags if the visit needs them. */
export async function launched(modules, chromium, profile, flags = []) {
  const main = `${modules}/puppeteer-core/lib/puppeteer/puppeteer-core.js`;
  const { default: puppeteer } = await import(pathToFileURL(main).href);
  return puppeteer.launch({
    executablePath: chromium, userDataDir: profile, headless: true, args: [...FLAGS, ...flags],
    protocolTimeout: 600_000,
  });
}

/** Open an address in a new tab. What the browser's console calls an error goes into `errors`. */
export async function opened(browser, view, address, errors) {
  const page = await browser.newPage();
  await page.setViewport(view);
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (line) => line.type() === "error" && errors.push(line.text()));
  await page.goto(address);
  return page;
}

/** Return the lines of the terminal, from inside the page. */
export const lines = () => {
  const buffer = window.liveTerminal?.buffer.active;
  if (!buffer) return "";
  return Array.from({ length: buffer.length }, (_, at) =>
    buffer.getLine(at)?.translateToString(true) ?? "").join("\n");
};

/** Return what the page says in its line of status. */
export const says = (page) => page.$eval("#status", (status) => status.textContent);

/** Wait until the terminal shows all these texts. Return the milliseconds since the page opened. */
export async function shows(page, ...texts) {
  const source = `(${lines})()`;
  try {
    const seen = await page.waitForFunction(
      (read, wanted) => {
        const text = eval(read);
        return wanted.every((each) => text.includes(each)) && performance.now();
      },
      { timeout: PATIENCE_MS, polling: 50 }, source, texts,
    );
    return await seen.jsonValue();
  } catch (error) {
    const text = await page.evaluate(lines);
    throw new Error(`never shown: ${texts.join(" and ")} (${error.message})\n${await says(page)}\n${text}`);
  }
}

/** Return the processes of the browser that have a page, the one with the most memory first. */
export async function renderers(browser) {
  const session = await browser.target().createCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const resident = (id) => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? 0) / 1000;
  return processInfo.filter((one) => one.type === "renderer")
    .map(({ id, cpuTime }) => ({ seconds: cpuTime, megabytes: resident(id) }))
    .sort((one, other) => other.megabytes - one.megabytes);
}

/** Return the memory of the largest process of the browser that has a page, in MB. */
export const memory = async (browser) => Math.round((await renderers(browser))[0]?.megabytes ?? 0);

/** Return milliseconds as seconds with two digits. */
export const seconds = (ms) => Math.round(ms / 10) / 100;
