// Answers as one types, and more by scrolling. Without this script the form and its links do the same, page by page.
"use strict";

const PAUSE = 150; // milliseconds of not typing before asking
const asking = document.getElementById("asking");
const filters = document.getElementById("filters");
const found = document.getElementById("found");
const context = document.getElementById("told");
let timer = 0;
let running = null;

const get = async (query, signal) => {
  const answer = await fetch(`/ask?${query}`, { signal, credentials: "same-origin" });
  if (answer.redirected) location.reload(); // the session is over
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return answer.ok ? page.body : (page.querySelector("[role=alert]")?.textContent ?? "The server is busy; try again.");
};

const ask = async () => {
  running?.abort();
  running = new AbortController();
  const query = new URLSearchParams([...new FormData(filters)].filter(([, value]) => value !== ""));
  query.set("q", asking.elements.q.value);
  filters.elements.q.value = asking.elements.q.value;
  for (const field of asking.querySelectorAll("input[type=hidden]")) {
    if (!["user", "tenant"].includes(field.name)) field.value = query.get(field.name) ?? "";
  }
  history.replaceState(null, "", `?${query}`);
  query.set("fragment", "1");
  const busy = (state) => [found, context].forEach((each) => each.setAttribute("aria-busy", state));
  busy("true");
  try {
    const told = await get(query, running.signal);
    if (typeof told === "string") found.textContent = told;
    else for (const part of [found, context]) part.replaceChildren(...told.querySelector(`#${part.id}`).childNodes); // escaped by the server
    watch();
  } catch (error) {
    if (error.name === "AbortError") return;
    found.textContent = "The server does not answer.";
  }
  busy("false");
};

const soon = () => {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
};

const more = async (link) => {
  const list = document.getElementById("list");
  const query = new URL(link.href).searchParams;
  query.set("fragment", "hits");
  query.set("first", list.children.length);
  link.removeAttribute("id");
  const told = await get(query).catch(() => "The server does not answer.");
  if (typeof told === "string") return;
  list.append(...told.querySelector("ol").children);
  const next = told.querySelector("#more");
  if (next) link.replaceWith(next);
  else link.remove();
  watch();
};

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) {
      seen.unobserve(entry.target);
      more(entry.target);
    }
  }
});
const watch = () => {
  const link = document.getElementById("more");
  if (link) seen.observe(link);
};

asking.addEventListener("input", soon);
asking.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  ask();
});
filters.addEventListener("input", soon);
document.getElementById("tokens").addEventListener("input", soon);
filters.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
watch();
