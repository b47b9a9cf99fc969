// On every page: "/" goes to the one box that asks, and on a phone the row of pages shows the current one.
"use strict";

const current = document.querySelector("nav [aria-current]");
if (current) {
  const row = current.parentElement;
  row.scrollLeft = current.offsetLeft - (row.clientWidth - current.offsetWidth) / 2;
}

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, textarea, select");
  const question = document.getElementById("q");
  if (event.key === "/" && question && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    question.focus();
    question.select();
  }
});
