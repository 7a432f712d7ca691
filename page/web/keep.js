// Keeps the files of the page for later visits, also without a network. A browser allows this only
// on localhost and over https. The builder writes the version and the names of the files. The browser
// asks the server for each of them, also for one that it has: a new version needs new files.
"use strict";

const VERSION = "@version@";
const FILES = ["@files@"];

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(VERSION).then((kept) => kept.addAll(FILES.map((name) => new Request(name, { cache: "no-cache" })))));
});

self.addEventListener("activate", (event) => {
  const old = (name) => name.startsWith("kafka-edu-live-") && name !== VERSION;
  event.waitUntil(
    caches.keys().then((names) => Promise.all(names.filter(old).map((name) => caches.delete(name)))),
  );
});

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  const kept = caches.open(VERSION).then((files) => files.match(event.request, { ignoreSearch: true }));
  event.respondWith(kept.then((file) => file ?? fetch(event.request)));
});
