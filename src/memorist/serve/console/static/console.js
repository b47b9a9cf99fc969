// On every page: "/" goes to the one box that asks, and the navigation shows where one is.
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

const current = document.querySelector(".side nav a[aria-current]");
if (current) current.parentElement.scrollLeft = current.offsetLeft - current.parentElement.clientWidth / 2;
