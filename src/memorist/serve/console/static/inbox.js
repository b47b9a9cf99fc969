// On pages of decisions, as the inbox: one key does what a button of the marked form does; s skips, c changes.
"use strict";

const waiting = [...document.querySelectorAll("form.waits[tabindex]")];
let marked = waiting[0];

function mark(form) {
  if (marked) marked.removeAttribute("data-marked");
  marked = form;
  if (marked) marked.setAttribute("data-marked", "");
}

document.addEventListener("focusin", (event) => {
  const form = event.target.closest("form.waits");
  if (form) mark(form);
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (!marked || typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const button = [...marked.querySelectorAll("button[data-key]")].find((each) => each.dataset.key === event.key);
  if (button) button.click();
  else if (event.key === "s") waiting[(waiting.indexOf(marked) + 1) % waiting.length].focus();
  else if (event.key === "c" && marked.querySelector("textarea")) {
    event.preventDefault();
    marked.querySelector("details").open = true;
    marked.querySelector("textarea").focus();
  }
});

mark(marked);
