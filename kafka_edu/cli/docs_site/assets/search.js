// Search without a network, in a folder without a server, and for Chinese words.
(() => {
  const Browser = window.Worker;

  // Browsers start no worker from a file. The build has put its source into `searchWorkerSource`.
  const address = (url) =>
    location.protocol === "file:"
      ? URL.createObjectURL(new Blob([window.searchWorkerSource], { type: "text/javascript" }))
      : url;

  // The index has each Chinese character as a word. So a Chinese word is asked for as its
  // characters, all of which must be there.
  const characters = (query) =>
    query.replace(/[\u3400-\u9fff]+/g, (word) => ` ${[...word].map((c) => `+${c}`).join(" ")} `);

  window.Worker = class extends Browser {
    constructor(url, options) {
      super(address(url), options);
    }
    postMessage(message, ...rest) {
      if (typeof message?.data === "string") message = { ...message, data: characters(message.data) };
      super.postMessage(message, ...rest);
    }
  };
})();
