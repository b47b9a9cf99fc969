// Find as you type. Without this script the form does the same, one page at a time.
"use strict";

const form = document.getElementById("find");
const hits = document.getElementById("hits");
const question = document.getElementById("q");
const PAUSE = 150; // milliseconds of not typing before asking

if (form && hits && question) {
  let timer = 0;
  let asking = null;

  const find = async () => {
    asking?.abort();
    asking = new AbortController();
    const query = new URLSearchParams(new FormData(form));
    history.replaceState(null, "", `?${query}`);
    query.set("fragment", "1");
    hits.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(`/?${query}`, { signal: asking.signal, credentials: "same-origin" });
      if (answer.redirected) {
        location.reload(); // the session is over
        return;
      }
      const text = await answer.text();
      if (answer.ok) {
        hits.innerHTML = text; // escaped by the server
      } else {
        const told = new DOMParser().parseFromString(text, "text/html").querySelector("[role=alert]");
        hits.textContent = told?.textContent ?? "The server is busy; try again.";
      }
      hits.setAttribute("aria-busy", "false");
    } catch (error) {
      if (error.name !== "AbortError") {
        hits.textContent = "The server does not answer.";
        hits.setAttribute("aria-busy", "false");
      }
    }
  };

  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(find, PAUSE);
  };

  form.addEventListener("input", soon);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    find();
  });
}

// The budget's slider asks anew when it is let go.
document.getElementById("tokens")?.addEventListener("change", (event) => event.target.form.requestSubmit());

// "/" goes to the question, as in many tools.
document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, textarea, select");
  if (event.key === "/" && question && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    question.focus();
  }
});
