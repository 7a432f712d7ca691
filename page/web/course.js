// The chapters in the page: their list, their text, and how far the reader is, kept in the browser.
"use strict";

const KEPT = "kafka-edu.chapter."; // a key of localStorage, followed by the chapter's number

/** Return the version of the code, and the chapters that the page has. */
async function course() {
  const answer = await fetch("chapters/index.json");
  if (!answer.ok) throw new Error(`chapters/index.json: the server answers ${answer.status}`);
  return answer.json();
}

/** Return the browser's storage, or null if it has none for this page. */
function storage() {
  try {
    localStorage.setItem(`${KEPT}test`, "1");
    localStorage.removeItem(`${KEPT}test`);
    return localStorage;
  } catch {
    return null;
  }
}

/** Return how far the reader is in a chapter, or null: { at, steps, to }. `at` is 0 at its end. */
function progressOf(id) {
  try {
    const kept = JSON.parse(storage()?.getItem(KEPT + id) ?? "null");
    return Number.isInteger(kept?.at) && typeof kept.to === "string" ? kept : null;
  } catch {
    return null;
  }
}

/** Keep how far the reader is. A reload and a later visit continue there. */
function keepProgress(chapters, { chapter, at, steps, to }) {
  if (to) history.replaceState(null, "", `#${to}`); // it begins no other run, as another link does
  const known = progressOf(chapter);
  const done = at === 0 || known?.done === true;
  if (at && known && at <= known.at) return; // opened again, or gone back: the furthest step stays
  let why = "";
  try {
    storage()?.setItem(KEPT + chapter, JSON.stringify({ at, steps, to, done }));
  } catch (error) {
    why = `This browser keeps no more progress: ${error.message}`;
  }
  showCourse(chapters, chapters.find((each) => each.id === chapter));
  if (why) element("kept").textContent = why;
}

function anchor(text, fragment) {
  const link = document.createElement("a");
  link.textContent = text;
  link.href = `#${fragment}`;
  return link;
}

/** List the chapters, each with how far the reader is. */
function showCourse(chapters, present) {
  element("kept").textContent = storage()
    ? "Your progress is kept in this browser."
    : "This browser keeps no progress, because it allows this page no storage. Copy a link to continue later.";
  element("chapters").replaceChildren(...chapters.map((each) => {
    const line = document.createElement("li");
    const known = progressOf(each.id);
    line.append(anchor(`${each.id} ${each.title}`, `chapter=${each.id}&step=1`));
    if (each === present) line.append(" · open now");
    if (known?.done) line.append(" · finished ✓");
    if (known?.to) {
      line.append(" · ", anchor(`continue at step ${known.at} of ${known.steps}`, known.to));
    } else if (!known?.done) {
      line.append(` · ${each.steps} steps`);
    }
    if (each.left_out.length) line.append(` · not in a page: steps ${each.left_out.join(", ")}`);
    return line;
  }));
}

/** Show the text of a chapter. Return the parts of the link to open: a chapter without a step
 * continues where the reader was. */
function showChapter(chapter, link) {
  element("text").hidden = false;
  element("reading").hidden = false;
  element("reading").onclick = () => {
    const reads = document.body.classList.toggle("reading");
    element("reading").textContent = reads ? "brokers" : "text";
  };
  document.title = `kafka-edu: ${chapter.title}`;
  fetch(`chapter-${chapter.id}.html`)
    .then((answer) => (answer.ok ? answer.text() : Promise.reject(new Error(`the server answers ${answer.status}`))))
    .then((text) => {
      element("text").innerHTML = text;
      for (const link of element("text").querySelectorAll('a:not([href^="#"])')) link.target = "_blank";
    })
    .catch((error) => { element("text").textContent = `The text of the chapter is not here: ${error.message}`; });
  const known = progressOf(chapter.id);
  const given = ["step", "fact", "at"].some((name) => name in link);
  if (given || !known?.to) return link;
  return { ...link, ...Object.fromEntries(new URLSearchParams(known.to)) };
}
