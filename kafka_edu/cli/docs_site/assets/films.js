// The recording of a chapter in its page: asciinema's player, loaded when somebody wants to see it.
// Data and player are scripts, not fetched files, so that it works in a page opened from a folder.
(() => {
  const loaded = {};
  const load = (address) =>
    (loaded[address] ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = address;
      script.onload = done;
      script.onerror = () => failed(new Error(`${address} cannot be loaded`));
      document.head.append(script);
    }));

  const open = async (box) => {
    if (box.player) return box.player;
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = box.dataset.style;
    document.head.append(style);
    await Promise.all([load(box.dataset.player), load(box.dataset.source)]);
    const cast = window.kafkaEduFilms[box.dataset.film];
    box.moments = JSON.parse(cast.slice(0, cast.indexOf("\n"))).moments;
    box.replaceChildren();
    box.player = AsciinemaPlayer.create({ data: cast }, box, {
      fit: "width", controls: true, preload: true, terminalLineHeight: 1.2,
      terminalFontFamily: "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace",
    });
    return box.player;
  };

  document.addEventListener("click", async (event) => {
    const moment = event.target.closest("a.moment");
    const button = event.target.closest(".film > button");
    if (!moment && !button) return;
    event.preventDefault();
    const box = moment
      ? document.getElementById(moment.getAttribute("href").slice(1))
      : button.parentElement;
    try {
      const player = await open(box);
      box.scrollIntoView({ behavior: "smooth", block: "center" });
      if (!moment) return await player.play();
      const at = box.moments[moment.dataset.name];
      if (at !== undefined) await player.seek(Math.max(at - 0.05, 0) + 0.1);
    } catch (error) {
      box.textContent = String(error);
    }
  });
})();
