// The slider of time asks as it is moved. Without this script it is sent with a button.
"use strict";

const when = document.getElementById("when");
if (when) {
  const day = document.getElementById("day");
  const line = document.getElementById("line");
  const shown = document.getElementById("shown").firstElementChild;
  const EPOCH = 719163; // the number of 1 January 1970, where 1 January of the year 1 is 1
  let timer = 0;
  let running = null;

  const show = async () => {
    running?.abort();
    running = new AbortController();
    const query = new URLSearchParams(new FormData(when));
    history.replaceState(null, "", `?${query}`);
    query.set("fragment", "1");
    line.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(`/time?${query}`, { signal: running.signal, credentials: "same-origin" });
      if (answer.redirected) location.reload(); // the session is over
      if (answer.ok) line.innerHTML = await answer.text(); // escaped by the server
      else line.textContent = "The server is busy; try again.";
    } catch (error) {
      if (error.name === "AbortError") return;
      line.textContent = "The server does not answer.";
    }
    line.setAttribute("aria-busy", "false");
  };
  day.addEventListener("input", () => {
    const text = new Date((day.value - EPOCH) * 86400000).toISOString().slice(0, 10);
    shown.textContent = text;
    document.querySelector("input[name=as_of]").value = text;
    day.setAttribute("aria-valuetext", text);
    clearTimeout(timer);
    timer = setTimeout(show, 120);
  });
}
