// Everything that moves on the page. Without it all sections are shown one below the other.
"use strict";

const page = document.documentElement;
const one = (selector, inside = document) => inside.querySelector(selector);
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
page.classList.add("js");

function element(name, text, className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

// ---------------------------------------------------------------- light and dark
function setUpTheme() {
  const button = one("#theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (page.dataset.theme ? page.dataset.theme === "dark" : system.matches);
  const name = () => (button.textContent = isDark() ? "Light" : "Dark");
  button.addEventListener("click", () => {
    page.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  system.addEventListener("change", name);
  button.hidden = false;
  name();
}

// ---------------------------------------------------------------- tabs
function setUpTabs() {
  const list = one("#tabs");
  if (!list) return;
  const tabs = all("a", list);
  const panelOf = (tab) => document.getElementById(tab.hash.slice(1));
  list.setAttribute("role", "tablist");
  tabs.forEach((tab) => {
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panelOf(tab).id);
    panelOf(tab).setAttribute("role", "tabpanel");
    panelOf(tab).setAttribute("aria-labelledby", tab.id);
    panelOf(tab).removeAttribute("aria-label");
  });

  function select(chosen) {
    tabs.forEach((tab) => {
      tab.setAttribute("aria-selected", tab === chosen);
      tab.tabIndex = tab === chosen ? 0 : -1;
      panelOf(tab).hidden = tab !== chosen;
    });
    hideTip();
  }

  function open(tab) {
    if (tab.hash !== location.hash) history.pushState(null, "", tab.hash);
    select(tab);
  }

  /* A hash may name a tab, or something inside a tab. */
  function follow() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const found = target && tabs.find((tab) => panelOf(tab).contains(target));
    if (found || !location.hash) select(found || tabs[0]);
    if (found && panelOf(found) !== target) target.scrollIntoView();
  }

  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("a");
    if (!tab || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(tab);
  });
  list.addEventListener("keydown", (event) => {
    const here = tabs.indexOf(document.activeElement);
    let next = null;
    if (event.key in steps) next = (here + steps[event.key] + tabs.length) % tabs.length;
    if (event.key === "Home") next = 0;
    if (event.key === "End") next = tabs.length - 1;
    if (event.key === " ") next = here;
    if (next === null || here < 0) return;
    event.preventDefault();
    tabs[next].focus();
    open(tabs[next]);
  });
  all('a[href^="#"]:not([role])').forEach((link) => {
    const tab = tabs.find((one) => one.hash === link.hash);
    if (!tab) return;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      open(tab);
      list.scrollIntoView({ block: "nearest" });
      tab.focus({ preventScroll: true });
    });
  });
  addEventListener("hashchange", follow);
  addEventListener("popstate", follow);
  select(tabs[0]);
  follow();
}

// ---------------------------------------------------------------- what is said at the pointer
const tip = one("#tip");

function showTip(parts, x, y) {
  tip.replaceChildren(...parts);
  tip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tip;
  const left = x + 16 + width > innerWidth - 8 ? x - 16 - width : x + 16;
  const top = y + 16 + height > innerHeight - 8 ? y - 16 - height : y + 16;
  tip.style.left = `${scrollX + Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  tip.style.top = `${scrollY + Math.max(8, top)}px`;
}

/* A screen reader hears what a key has brought up; it is not troubled by every move of a mouse. */
function sayTip() {
  one("#said").textContent = tip.hidden ? "" : tip.innerText;
}

function hideTip() {
  tip.hidden = true;
}

function setUpTips() {
  const lines = (text) => text.split("\n").map((line, i) => element(i ? "div" : "strong", line));
  const show = (event) => {
    const told = event.target.closest("[data-tip]");
    if (told) showTip(lines(told.dataset.tip), event.clientX, event.clientY);
    else if (!event.target.closest(".plane")) hideTip();
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  page.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hideTip());
  document.addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
}

// ---------------------------------------------------------------- the map of the rows
function setUpMap() {
  const map = one("#map");
  if (!map) return;
  const plane = one(".plane", map);
  const drawing = one("svg", plane);
  const here = one(".here", plane);
  const { width, height } = drawing.viewBox.baseVal;
  const told = JSON.parse(one("#map-rows").textContent);
  const points = all(".cloud path", plane).map((path, row) => {
    const [x, y] = path.getAttribute("d").match(/[-\d.]+/g).map(Number);
    return { path, row, x: x / width, y: y / height };
  });
  const shown = () => points.filter((point) => !point.path.classList.contains("off"));
  let current = null;

  function card(row) {
    const fields = element("dl", "");
    told.names.forEach((name, i) => {
      if (told.rows[row][i] !== "") fields.append(element("dt", name), element("dd", told.rows[row][i]));
    });
    const parts = told.titles.length ? [element("strong", `label ${told.titles[row]}`)] : [];
    const more = told.more ? [element("div", `and ${told.more} more columns`, "more")] : [];
    return [...parts, fields, ...more];
  }

  function choose(point) {
    current = point;
    here.setAttribute("d", point ? point.path.getAttribute("d") : "");
    if (!point || !told.rows.length) return hideTip();
    const box = drawing.getBoundingClientRect();
    showTip(card(point.row), box.left + point.x * box.width, box.top + point.y * box.height);
  }

  function walk(point) {
    choose(point);
    sayTip();
  }

  function nearest(event, reach) {
    const box = drawing.getBoundingClientRect();
    let best = null;
    let least = reach * reach;
    for (const point of shown()) {
      const across = box.left + point.x * box.width - event.clientX;
      const down = box.top + point.y * box.height - event.clientY;
      const distance = across * across + down * down;
      if (distance < least) [best, least] = [point, distance];
    }
    return best;
  }

  /* The neighbour in a direction: near, and not far off the way. */
  function neighbour(dx, dy) {
    const ahead = shown().filter((p) => p !== current && dx * (p.x - current.x) + dy * (p.y - current.y) > 1e-6);
    const cost = (p) => Math.abs(p.x - current.x) * (dx ? 1 : 3) + Math.abs(p.y - current.y) * (dy ? 1 : 3);
    return ahead.reduce((best, p) => (cost(p) < cost(best) ? p : best), ahead[0]) || current;
  }

  const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  plane.addEventListener("pointermove", (event) => choose(nearest(event, 22)));
  plane.addEventListener("pointerdown", (event) => choose(nearest(event, 36)));
  plane.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && choose(null));
  plane.addEventListener("focus", () => plane.matches(":focus-visible") && walk(current || shown()[0]));
  plane.addEventListener("blur", () => choose(null));
  plane.addEventListener("keydown", (event) => {
    if (!(event.key in ways)) return;
    event.preventDefault();
    walk(current ? neighbour(...ways[event.key]) : shown()[0]);
  });
  all("input[data-group]", map).forEach((box) => {
    const key = box.dataset.group;
    box.addEventListener("change", () => {
      const parts = [...all(`.cloud .l${key}`, plane), ...all(`.name[data-group="${key}"]`, plane)];
      parts.forEach((part) => part.classList.toggle("off", !box.checked));
      choose(null);
    });
  });
}

// ---------------------------------------------------------------- what was done
/* On a phone it would push everything else far down: there it is a line that can be opened. */
function setUpDone() {
  const done = one(".done");
  if (done && matchMedia("screen and (max-width: 560px)").matches) done.open = false;
}

// ---------------------------------------------------------------- one curve among many
function setUpPicker() {
  const picker = one("#roc-pick");
  if (!picker) return;
  const pick = () => {
    all("#roc .line.class").forEach((line) => line.classList.remove("pick"));
    const line = one(`#roc .line.k${picker.value}`);
    line.classList.add("pick");
    line.parentNode.append(line); // on top of the others
  };
  picker.addEventListener("change", pick);
  pick();
}

// ---------------------------------------------------------------- copy
function setUpCopy() {
  all("button[data-copy]").forEach((button) => {
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copy);
      const done = await copied(text);
      button.textContent = done ? "Copied" : "Press Ctrl+C";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  });
}

/* Pages from a disk may lack the clipboard: then the text is selected, ready for Ctrl+C. */
async function copied(source) {
  getSelection().selectAllChildren(source);
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    return false;
  }
}

setUpTheme();
setUpTips();
setUpDone();
setUpTabs();
setUpMap();
setUpPicker();
setUpCopy();
