// Importing: files that are dropped or chosen are sent with a bar, and the page follows what becomes of them.
"use strict";

const form = document.getElementById("give");

function send() {
  const [bar, told] = [form.querySelector("progress"), form.querySelector("[role=alert]")];
  const fail = (text) => {
    [bar.hidden, told.hidden, told.textContent] = [true, false, text];
    form.reset();
  };
  const data = new FormData(form);
  const files = data.getAll("file").filter((file) => file.name);
  const bytes = files.reduce((sum, file) => sum + file.size, 0);
  if (bytes > Number(form.dataset.most)) return fail("This is more than the server takes; use memorist import in a shell.");
  data.delete("file");
  for (const file of files) data.append("file", file, file.webkitRelativePath || file.name); // a folder's files by their paths
  if ("zone" in form.dataset) data.append("zone", Intl.DateTimeFormat().resolvedOptions().timeZone);
  const request = new XMLHttpRequest();
  request.upload.addEventListener("progress", (event) => (bar.value = event.loaded / event.total));
  request.addEventListener("error", () => fail("The upload broke off; give the files again."));
  request.addEventListener("load", () => {
    if (request.status < 400) return location.assign(request.responseURL);
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    fail(page.querySelector("[role=alert]")?.textContent ?? `The server answered ${request.status}.`);
  });
  request.open("POST", form.action);
  request.setRequestHeader("Accept", "text/html");
  [bar.hidden, told.hidden] = [false, true];
  request.send(data);
}

if (form) {
  const inputs = form.querySelectorAll("input[type=file]");
  for (const each of inputs) each.addEventListener("change", () => each.files.length && send());
  form.addEventListener("submit", (event) => (event.preventDefault(), send()));
  document.addEventListener("dragover", (event) => (event.preventDefault(), form.classList.add("over")));
  document.addEventListener("dragleave", (event) => event.relatedTarget ?? form.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    inputs[0].files = event.dataTransfer.files;
    send();
  });
}

async function follow() {
  const shown = document.getElementById("import");
  if (!shown.dataset.busy) return;
  await new Promise((resolve) => setTimeout(resolve, 400));
  const fresh = await fetch(location.href)
    .then((answer) => answer.text())
    .then((text) => new DOMParser().parseFromString(text, "text/html").getElementById("import"))
    .catch(() => shown); // the server is away for a moment
  if (!fresh) return location.reload();
  if (fresh.dataset.busy === shown.dataset.busy) {
    for (const part of [".count", "progress"]) shown.querySelector(part).replaceWith(fresh.querySelector(part).cloneNode(true));
  } else shown.replaceWith(fresh);
  return follow();
}
follow();
