// On the page of the inbox: one key approves, changes, rejects or skips the proposal that is marked.
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
  const buttons = { a: "approve", r: "reject" };
  if (event.key in buttons) marked.querySelector(`button[value=${buttons[event.key]}]`)?.click();
  else if (event.key === "s") waiting[(waiting.indexOf(marked) + 1) % waiting.length].focus();
  else if (event.key === "c" && marked.querySelector("textarea")) {
    event.preventDefault();
    marked.querySelector("details").open = true;
    marked.querySelector("textarea").focus();
  }
});

mark(marked);
