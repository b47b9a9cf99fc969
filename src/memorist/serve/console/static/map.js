// Draws the map on a canvas that can be zoomed and moved. Without this script a still drawing of the server is shown.
"use strict";

const canvas = document.getElementById("map");
if (canvas) {
  const still = document.getElementById("still");
  const peek = document.getElementById("peek");
  const { x, y, style, styles, ids, user, users, texts, found } = JSON.parse(canvas.dataset.points);
  const groups = JSON.parse(canvas.dataset.groups);
  const pen = canvas.getContext("2d");
  const [WIDTH, HEIGHT] = [canvas.width, canvas.height];
  const ringed = new Set(found);
  let view = { scale: 1, left: 0, top: 0 };
  let near = -1;

  still.classList.add("replaced");
  canvas.hidden = false;
  document.querySelector(".zooming").hidden = false;

  const probe = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  still.append(probe);
  const looks = () => styles.map((name) => {
    probe.setAttribute("class", name);
    const { fill, fillOpacity } = getComputedStyle(probe);
    return { fill, opacity: Number(fillOpacity) };
  });
  const ink = () => getComputedStyle(canvas).color;

  const draw = () => {
    const dense = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    canvas.width = width * dense;
    canvas.height = (width * HEIGHT / WIDTH) * dense;
    const unit = canvas.width / WIDTH;
    const radius = Math.max(1.5, Math.min(5, 160 / Math.sqrt(x.length))) * Math.sqrt(view.scale) * unit;
    const seen = looks();
    const at = (i) => [(x[i] * view.scale + view.left) * unit, (y[i] * view.scale + view.top) * unit];
    for (let i = 0; i < x.length; i++) {
      const [left, top] = at(i);
      if (left < -9 || top < -9 || left > canvas.width + 9 || top > canvas.height + 9) continue;
      pen.fillStyle = seen[style[i]].fill;
      pen.globalAlpha = seen[style[i]].opacity;
      pen.beginPath();
      pen.arc(left, top, radius, 0, 7);
      pen.fill();
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = ink();
    pen.lineWidth = 2 * dense;
    for (const i of near >= 0 ? [...ringed, near] : ringed) {
      pen.beginPath();
      pen.arc(...at(i), radius + 4 * dense, 0, 7);
      pen.stroke();
    }
    pen.fillStyle = ink();
    pen.font = `600 ${12 * dense}px system-ui, sans-serif`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const card = getComputedStyle(canvas.parentElement).backgroundColor;
    const taken = [];
    for (const [left, top, name] of groups) {
      const half = pen.measureText(name).width / 2 + 4;
      const middle = Math.max(half, Math.min(canvas.width - half, (left * view.scale + view.left) * unit));
      let line = (top * view.scale + view.top) * unit;
      const covers = ([other, beside, wide]) => Math.abs(other - line) < 18 * dense && Math.abs(beside - middle) < half + wide;
      while (taken.some(covers)) line += 5 * dense;
      taken.push([line, middle, half]);
      [pen.fillStyle, pen.globalAlpha] = [card, 0.85];
      pen.fillRect(middle - half, line - 9 * dense, 2 * half, 18 * dense);
      [pen.fillStyle, pen.globalAlpha] = [ink(), 1];
      pen.fillText(name, middle, line);
    }
  };

  const zoom = (factor, left = WIDTH / 2, top = HEIGHT / 2) => {
    const scale = Math.max(1, Math.min(60, view.scale * factor));
    const grown = scale / view.scale;
    view = { scale, left: left - (left - view.left) * grown, top: top - (top - view.top) * grown };
    if (scale === 1) view = { scale: 1, left: 0, top: 0 };
    draw();
  };
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * WIDTH / box.width, (event.clientY - box.top) * WIDTH / box.width];
  };
  const nearest = (left, top) => {
    let [best, least] = [-1, 144];
    for (let i = 0; i < x.length; i++) {
      const far = (x[i] * view.scale + view.left - left) ** 2 + (y[i] * view.scale + view.top - top) ** 2;
      if (far < least) [best, least] = [i, far];
    }
    return best;
  };

  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => zoom(Number(button.dataset.zoom)));
  }
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && view.scale === 1 && event.deltaY > 0) return; // the page scrolls on
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, ...place(event));
  }, { passive: false });
  let held = null;
  let moved = false;
  canvas.addEventListener("pointerdown", (event) => {
    held = place(event);
    moved = false;
  });
  canvas.addEventListener("pointermove", (event) => {
    const [left, top] = place(event);
    if (held && event.buttons && view.scale > 1) {
      view.left += left - held[0];
      view.top += top - held[1];
      moved ||= Math.hypot(left - held[0], top - held[1]) > 2;
      held = [left, top];
      draw();
      return;
    }
    const over = nearest(left, top);
    if (over !== near) {
      near = over;
      peek.textContent = over < 0 ? "" : texts[over] ?? ids[over];
      canvas.classList.toggle("over", over >= 0);
      draw();
    }
  });
  canvas.addEventListener("click", (event) => {
    const over = nearest(...place(event));
    if (over < 0 || moved) return;
    const target = new URL(canvas.dataset.link, location.href);
    if (target.searchParams.has("user") || users.length > 1) target.searchParams.set("user", users[user[over]]);
    if (!target.searchParams.get("user")) target.searchParams.delete("user");
    target.searchParams.set("id", ids[over]);
    location.assign(target);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new ResizeObserver(draw).observe(canvas.parentElement);
  draw();
}
