// On every page: "/" goes to the one box that asks.
"use strict";

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, textarea, select");
  const question = document.getElementById("q");
  if (event.key === "/" && question && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    question.focus();
    question.select();
  }
});
