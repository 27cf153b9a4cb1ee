"use strict";
// What a report adds where scripts run: sort, filter, hide, choose the baseline, copy. It computes no figure and requests nothing.
(() => {
  const main = document.querySelector("main");
  const all = (selector, from = main) => [...from.querySelectorAll(selector)];
  const make = (tag, facts = {}, ...inside) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(facts)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value);
    }
    made.append(...inside);
    return made;
  };
  const firstText = (cell) => (cell && cell.firstChild ? cell.firstChild.textContent : "").trim();
  const words = (cell) => cell.textContent.replace(/\s+/g, " ").trim();
  const dataRows = (table) => all("tbody tr", table).filter((row) => !row.querySelector(".wb-group"));
  const tables = all(".wb-table");

  // Systems: whatever a chart names. A row of a table belongs to the system that its head names.
  const marks = all(".wb-chart [data-system]");
  const systems = [...new Set(marks.map((mark) => mark.dataset.system))];
  const known = new Set(systems);
  const rowsOf = new Map();
  for (const row of tables.flatMap(dataRows)) {
    const name = firstText(row.querySelector('th[scope="row"]'));
    if (known.has(name)) rowsOf.set(row, name);
  }
  const choosing = all("[data-choices]").map((cell) => {
    let choices = {};
    try { choices = JSON.parse(cell.dataset.choices); } catch { /* a cell without choices keeps its text */ }
    return { cell, choices, before: [...cell.childNodes] };
  });
  const baselines = [...new Set(choosing.flatMap(({ choices }) => Object.keys(choices)))];

  const state = { hide: new Set(), find: "", base: "", sort: new Map() };

  const sortTable = (table, column, down) => {
    const value = (row) => {
      const cell = row.cells[column];
      const number = cell && cell.dataset.v !== undefined ? Number(cell.dataset.v) : NaN;
      return [number, cell ? firstText(cell) : ""];
    };
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.querySelector(".wb-group"));
      const keyed = rows.map((row) => [value(row), row]);
      keyed.sort(([[a, s]], [[b, t]]) => {
        if (Number.isNaN(a) !== Number.isNaN(b)) return Number.isNaN(a) ? 1 : -1;
        const order = Number.isNaN(a) ? s.localeCompare(t) : a - b;
        return down ? -order : order;
      });
      body.append(...keyed.map(([, row]) => row));
    }
    all("thead th", table).forEach((head, place) => {
      if (place === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  };

  const said = make("p", { role: "status", class: "wb-said" });
  const buttons = new Map();
  const find = make("input", { type: "search", id: "wb-find", oninput: () => { state.find = find.value; show(); } });
  const base = make("select", { id: "wb-base", onchange: () => { state.base = base.value; show(); } });

  const show = () => {
    for (const mark of marks) mark.classList.toggle("wb-hidden", state.hide.has(mark.dataset.system));
    const wanted = state.find.trim().toLowerCase();
    let shown = 0;
    let count = 0;
    for (const table of tables) {
      for (const row of dataRows(table)) {
        const out = state.hide.has(rowsOf.get(row)) || !words(row).toLowerCase().includes(wanted);
        row.classList.toggle("wb-hidden", out);
        count += 1;
        shown += out ? 0 : 1;
      }
    }
    for (const { cell, choices, before } of choosing) {
      const chosen = Object.hasOwn(choices, state.base) ? choices[state.base] : null;
      if (!state.base) cell.replaceChildren(...before);
      else if (chosen) cell.replaceChildren(String(chosen[0]), " ", make("small", {}, String(chosen[1])));
      else cell.replaceChildren("–");
    }
    for (const [name, button] of buttons) button.setAttribute("aria-pressed", String(!state.hide.has(name)));
    said.textContent = shown < count ? `${shown} of ${count} rows are shown.` : "";
    remember();
  };

  // The address keeps what is chosen, so that it can be sent to others.
  const START = "#view?";
  const remember = () => {
    const kept = new URLSearchParams();
    if (state.hide.size) kept.set("hide", JSON.stringify([...state.hide]));
    if (state.find) kept.set("find", state.find);
    if (state.base) kept.set("base", state.base);
    for (const [place, [column, down]] of state.sort) kept.append("sort", `${place}.${column}.${down ? 1 : 0}`);
    const text = kept.toString();
    if (text || location.hash.startsWith(START)) {
      try { history.replaceState(null, "", text ? START + text : "#"); } catch { /* the page stays as it is */ }
    }
  };
  const recall = () => {
    if (!location.hash.startsWith(START)) return false;
    const kept = new URLSearchParams(location.hash.slice(START.length));
    try { state.hide = new Set(JSON.parse(kept.get("hide") || "[]").filter((name) => known.has(name))); } catch { state.hide = new Set(); }
    state.find = find.value = kept.get("find") || "";
    state.base = baselines.includes(kept.get("base")) ? kept.get("base") : "";
    base.value = state.base;
    state.sort = new Map();
    for (const each of kept.getAll("sort")) {
      const [place, column, down] = each.split(".").map(Number);
      if (tables[place] && tables[place].tHead.rows[0].cells[column]) {
        state.sort.set(place, [column, Boolean(down)]);
        sortTable(tables[place], column, Boolean(down));
      }
    }
    return true;
  };

  const copy = async (text, what) => {
    let done = false;
    try { await navigator.clipboard.writeText(text); done = true; } catch {
      const area = make("textarea", { "aria-hidden": "true", class: "wb-off" });
      area.value = text;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    said.textContent = done ? `${what} copied.` : "The browser does not let this page copy.";
  };
  const lines = (table) => {
    const shown = dataRows(table).filter((row) => !row.classList.contains("wb-hidden"));
    const heads = [...table.tHead.rows[0].cells].map(words);
    return [heads, ...shown.map((row) => [...row.cells].map(words))];
  };
  // A spreadsheet takes text that begins like this for a formula.
  const csvCell = (text) => `"${(/^[=+@\t\r-]/.test(text) && !/^-?[\d.]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  const asCsv = (table) => lines(table).map((line) => line.map(csvCell).join(",")).join("\r\n");
  const markdownCell = (text) => text.replace(/[\\|`*_[\]<>]/g, "\\$&");
  const asMarkdown = (table) => {
    const [heads, ...rows] = lines(table).map((line) => `| ${line.map(markdownCell).join(" | ")} |`);
    return [heads, `|${" --- |".repeat(table.tHead.rows[0].cells.length)}`, ...rows].join("\n");
  };

  tables.forEach((table, place) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!firstText(head)) return;
      const sort = () => {
        const [was, down] = state.sort.get(place) || [-1, false];
        state.sort.set(place, [column, was === column ? !down : false]);
        sortTable(table, ...state.sort.get(place));
        remember();
      };
      head.replaceChildren(make("button", { type: "button", class: "wb-sort", onclick: sort }, ...head.childNodes));
    });
    const kinds = [["CSV", asCsv], ["Markdown", asMarkdown]];
    const copies = kinds.map(([name, text]) => make("button", { type: "button", onclick: () => copy(text(table), name) }, `Copy as ${name}`));
    table.parentElement.before(make("p", { class: "wb-copy" }, ...copies));
  });

  if (tables.length || systems.length) {
    for (const name of systems) {
      const toggle = () => { if (!state.hide.delete(name)) state.hide.add(name); show(); };
      buttons.set(name, make("button", { type: "button", "aria-pressed": "true", onclick: toggle }, name));
    }
    const reset = () => { state.hide.clear(); state.find = find.value = state.base = base.value = ""; show(); };
    base.append(make("option", { value: "" }, "as the report says"), ...baselines.map((name) => make("option", { value: name }, name)));
    const tools = make("details", { class: "wb-tools" }, make("summary", {}, "Show, filter, compare"),
      make("div", { role: "group", "aria-label": "Systems that are shown" }, ...buttons.values()),
      make("p", {}, make("label", { for: "wb-find" }, "Rows with "), find));
    if (baselines.length) tools.append(make("p", {}, make("label", { for: "wb-base" }, "Ratios relative to "), base));
    tools.append(make("p", {}, make("button", { type: "button", onclick: reset }, "Show all")), said);
    // Before the first chart, so that the answer and its table stay at the top of the page.
    const chart = main.querySelector(":scope > :has(.wb-chart)");
    if (chart) chart.before(tools);
    else (main.querySelector("header") || main.firstElementChild).after(tools);
    const restore = () => { if (recall()) { tools.open = true; show(); } };
    window.addEventListener("hashchange", restore);
    restore();
  }
})();
