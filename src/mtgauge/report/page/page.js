"use strict";
// The segment browser, the explanations and the scatter plot. Texts become text nodes, never markup.
(() => {
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const PAGE = 10;
  const [SOURCE_LANG, TARGET_LANG] = (facts.lang || "-").split("-");

  // elements

  function el(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.flat(9).filter((child) => child !== null));
    return made;
  }

  function svg(tag, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.flat(9));
    return made;
  }

  function choice(options, chosen, change) {
    const made = el("select", { onchange: () => change(Number(made.value)) });
    options.forEach((name, k) => made.append(el("option", { value: k, selected: k === chosen }, name)));
    return made;
  }

  const labelled = (name, control) => el("label", {}, name, control);
  const colour = (k) => "s" + (k % 8);
  const metricNames = facts.metrics.map((m) => m.spec);
  const plural = (n, word) => n.toLocaleString("en") + " " + word + (n === 1 ? "" : "s");

  // data, unpacked when it is first wanted

  async function unpack(id) {
    const packed = document.getElementById(id).textContent.trim();
    if (!packed) return null;
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  }

  const once = (make) => { let made; return () => (made ??= make()); };

  const loadSegments = once(async () => {
    const data = await unpack("packed-segments");
    data.flagged = facts.systems.map((_, s) => {
      const by = new Map();
      for (const [k, ...flag] of data.flags[s]) by.set(k, [...(by.get(k) || []), flag]);
      return by;
    });
    data.plain = data.texts.map(() => null);
    return data;
  });

  const loadExplanations = once(async () => {
    const found = new Map();
    for (const [k, s, m, explanation] of (await unpack("packed-explanations")) || []) {
      if (!found.has(k)) found.set(k, []);
      found.get(k).push({ s, m, explanation });
    }
    return found;
  });

  function score(data, m, s, k) {
    const value = data.scores[m][s][k];
    return value === null ? NaN : value / facts.metrics[m].scale;
  }

  const shown = (m, value) => (Number.isNaN(value) ? "–" : value.toFixed(facts.metrics[m].decimals));
  const goodness = (m, value) => (facts.metrics[m].higher ? value : -value);

  // searching: letters and digits, lower case

  const plain = (text) => " " + text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, " ").trim() + " ";
  const UNSPACED = /[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0eff]/;

  function searched(data, k) {
    const [source, references, systems] = data.texts[k];
    return (data.plain[k] ??= [source, ...references, ...systems].map(plain).join("|"));
  }

  function matcher(query) {
    const number = /^#(\d+)$/.exec(query.trim());
    if (number) return (data, k) => k + 1 === Number(number[1]);
    const wanted = plain(query).trim();
    if (!wanted) return query.trim() ? () => false : () => true;
    if (!UNSPACED.test(wanted)) return (data, k) => searched(data, k).includes(wanted);
    const close = wanted.replaceAll(" ", "");
    return (data, k) => searched(data, k).replaceAll(" ", "").includes(close);
  }

  // words, and how two lists of them differ

  function words(text) {
    const pieces = [];
    for (const found of text.matchAll(/[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0eff]|[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]/gu))
      pieces.push({ word: found[0], from: found.index, to: found.index + found[0].length });
    return pieces;
  }

  // Word edits from `left` to `right`: [kind, left word or null, right word or null].
  function edits(left, right) {
    const [n, m] = [left.length, right.length];
    const cost = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
    for (let i = 0; i <= n; i++) cost[i][0] = i;
    for (let j = 0; j <= m; j++) cost[0][j] = j;
    for (let i = 1; i <= n; i++)
      for (let j = 1; j <= m; j++)
        cost[i][j] = Math.min(cost[i - 1][j] + 1, cost[i][j - 1] + 1,
          cost[i - 1][j - 1] + (left[i - 1].word === right[j - 1].word ? 0 : 1));
    const found = [];
    for (let i = n, j = m; i || j;) {
      const same = i && j && left[i - 1].word === right[j - 1].word;
      if (i && j && cost[i][j] === cost[i - 1][j - 1] + (same ? 0 : 1))
        found.push([same ? "kept" : "replaced", left[--i], right[--j]]);
      else if (i && cost[i][j] === cost[i - 1][j] + 1) found.push(["missing", left[--i], null]);
      else found.push(["added", null, right[--j]]);
    }
    return found.reverse();
  }

  // A text with marks: [from, to, class, title]; the first mark of a character counts. `gaps` says
  // what is missing before a character.
  function marked(text, marks, gaps = new Map()) {
    const at = new Array(text.length).fill(null);
    for (const mark of marks) for (let i = mark[0]; i < Math.min(mark[1], at.length); i++) at[i] ??= mark;
    const parts = [];
    const gap = (place) => {
      if (gaps.has(place)) parts.push(el("mark", { class: "gap", title: "missing: " + gaps.get(place).join(" ") }, "‸"));
    };
    for (let from = 0; from < text.length;) {
      gap(from);
      let to = from + 1;
      while (to < text.length && at[to] === at[from] && !gaps.has(to)) to++;
      const piece = text.slice(from, to);
      parts.push(at[from] ? el("mark", { class: at[from][2] || null, title: at[from][3] || null }, piece) : piece);
      from = to;
    }
    gap(text.length);
    return parts;
  }

  // Places are counted in characters, strings in UTF-16 units.
  function units(text, place) {
    if (!/[\ud800-\udfff]/.test(text)) return place;
    const characters = Array.from(text);
    const before = (n) => characters.slice(0, n).join("").length;
    return [before(place[0]), before(place[1])];
  }

  // the browser

  const box = document.getElementById("browser");
  const KINDS = ["empty", "copy", "wrong-language", "lost-numbers", "invented-number", "lost-entity"];
  const several = facts.systems.length > 1;
  const state = {
    query: "", metric: facts.usual, system: facts.pair[0], other: facts.pair[1],
    sort: several ? 3 : 1, kinds: new Set(), person: false, explained: false,
    lowest: "", highest: "", shortest: "", longest: "", gap: "", columns: facts.columns.map(() => ""), page: 0,
  };
  const SORTS = ["order of the test set", "lowest score first", "highest score first",
    "largest difference first", "worse than the other first", "longest first", "shortest first", "most warnings first"];
  let list, status, pager, form, data = null;

  function gap(k) {
    return goodness(state.metric, score(data, state.metric, state.system, k) - score(data, state.metric, state.other, k));
  }

  const warnings = (k) => facts.systems.reduce((sum, _, s) => sum + (data.flagged[s].get(k) || []).length, 0);

  function order(found) {
    const worth = (k) => goodness(state.metric, score(data, state.metric, state.system, k));
    const keys = [null, worth, (k) => -worth(k), (k) => -Math.abs(gap(k)), gap,
      (k) => -data.words[k], (k) => data.words[k], (k) => -warnings(k)];
    const key = keys[state.sort];
    if (key === null) return found;
    const values = new Map(found.map((k) => [k, key(k)]));
    const last = (x) => (Number.isNaN(x) ? Infinity : x);
    return found.sort((a, b) => last(values.get(a)) - last(values.get(b)) || a - b);
  }

  function filtered() {
    const matches = matcher(state.query);
    const person = new Set(facts.person);
    const explained = new Set(facts.explained);
    const number = (text, otherwise) => (text === "" || Number.isNaN(Number(text)) ? otherwise : Number(text));
    const [low, high] = [number(state.lowest, -Infinity), number(state.highest, Infinity)];
    const [short, long] = [number(state.shortest, 0), number(state.longest, Infinity)];
    const least = number(state.gap, 0);
    const bounded = state.lowest !== "" || state.highest !== "";
    const found = [];
    for (let k = 0; k < facts.segments; k++) {
      const value = score(data, state.metric, state.system, k);
      if (bounded && !(value >= low && value <= high)) continue;
      if (data.words[k] < short || data.words[k] > long) continue;
      if (least && !(Math.abs(gap(k)) >= least)) continue;
      if (state.person && !person.has(k)) continue;
      if (state.explained && !explained.has(k)) continue;
      if (state.kinds.size && !facts.systems.some((_, s) =>
        (data.flagged[s].get(k) || []).some((flag) => state.kinds.has(flag[0])))) continue;
      if (state.columns.some((wanted, c) => wanted !== "" && data.columns[c][k] !== wanted)) continue;
      if (matches(data, k)) found.push(k);
    }
    return order(found);
  }

  function update(change = {}) {
    Object.assign(state, { page: 0 }, change);
    const found = filtered();
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    state.page = Math.min(state.page, pages - 1);
    const some = found.slice(state.page * PAGE, (state.page + 1) * PAGE);
    status.textContent = found.length === facts.segments
      ? plural(facts.segments, "segment")
      : `${found.length.toLocaleString("en")} of ${plural(facts.segments, "segment")}`;
    list.replaceChildren(...some.map(segment));
    const turn = (by) => () => {
      update({ page: state.page + by });
      form.scrollIntoView({ block: "start" });
    };
    pager.replaceChildren(
      el("button", { type: "button", disabled: state.page === 0, onclick: turn(-1) }, "Previous"),
      el("span", {}, `Page ${state.page + 1} of ${pages.toLocaleString("en")}`),
      el("button", { type: "button", disabled: state.page >= pages - 1, onclick: turn(1) }, "Next"));
  }

  function controls() {
    const typed = (key, attributes) => {
      const made = el("input", { ...attributes, value: state[key] });
      made.addEventListener("input", () => update({ [key]: made.value }));
      return made;
    };
    const tick = (name, is, change) => {
      const made = el("input", { type: "checkbox", checked: is });
      made.addEventListener("change", () => change(made.checked));
      return el("label", { class: "tick" }, made, name);
    };
    const there = KINDS.filter((kind) => data.flags.some((flags) => flags.some((flag) => flag[1] === kind)));
    const numbers = (key) => typed(key, { type: "number", step: "any" });
    const values = (c) => [...new Set(data.columns[c])].sort().slice(0, 200);
    const search = typed("query", { type: "search", placeholder: "words, or #12", id: "search" });
    return el("form", { class: "controls", role: "search", "aria-label": "Segments", onsubmit: (event) => event.preventDefault() },
      labelled("Text", search),
      labelled("Metric", choice(metricNames, state.metric, (metric) => update({ metric }))),
      labelled(several ? "System" : "Score of", choice(facts.systems, state.system, (system) => update({ system }))),
      several ? labelled("against", choice(facts.systems, state.other, (other) => update({ other }))) : null,
      labelled("Order", choice(SORTS, state.sort, (sort) => update({ sort }))),
      el("details", { open: state.person || state.kinds.size > 0 }, el("summary", {}, "Filters"),
        el("div", {},
          el("fieldset", {}, el("legend", {}, "Warnings"),
            tick("needs a person", state.person, (person) => update({ person })),
            there.map((kind) => tick(kind.replace("-", " "), state.kinds.has(kind), (on) => {
              state.kinds[on ? "add" : "delete"](kind);
              update();
            }))),
          facts.explained.length && facts.explained.length < facts.segments
            ? tick("explained by the metrics", state.explained, (explained) => update({ explained })) : null,
          labelled("Score from", numbers("lowest")), labelled("to", numbers("highest")),
          several ? labelled("Differs by", numbers("gap")) : null,
          labelled("Words from", numbers("shortest")), labelled("to", numbers("longest")),
          facts.columns.map((name, c) => labelled(name, choice(["any", ...values(c)], 0, (v) => {
            state.columns[c] = v ? values(c)[v - 1] : "";
            update();
          }))))));
  }

  function segment(k) {
    const [source, references, systems] = data.texts[k];
    const flags = facts.systems.map((_, s) => data.flagged[s].get(k) || []);
    const lines = [];
    const line = (label, parts, right, lang) => lines.push(
      el("div", { class: "label" }, label), el("div", { class: "score" }, right),
      el("div", { class: "text", dir: "auto", lang: lang || null }, parts));
    if (facts.sides.includes("source")) {
      const marks = flags.flatMap((mine, s) => mine.filter((flag) => flag[2] === "source").flatMap(
        ([, detail, , places]) => places.map((p) => [...units(source, p), "flag", `${facts.systems[s]}: ${detail}`])));
      line("source", marked(source, marks), "", SOURCE_LANG);
    }
    references.forEach((text, r) => line(references.length > 1 ? `reference ${r + 1}` : "reference", text, "", TARGET_LANG));
    const base = references.length ? references[0] : several ? systems[facts.baseline] : null;
    systems.forEach((text, s) => {
      const marks = flags[s].filter((flag) => flag[2] === "hypothesis").flatMap(
        ([, detail, , places]) => places.map((p) => [...units(text, p), "flag", detail]));
      const gaps = new Map();
      let end = 0;
      if (base !== null && base !== text)
        for (const [kind, theirs, mine] of edits(words(base), words(text))) {
          if (mine && kind !== "kept") marks.push([mine.from, mine.to, "", kind === "added" ? "added" : `for: ${theirs.word}`]);
          if (!mine) gaps.set(end, [...(gaps.get(end) || []), theirs.word]);
          end = mine ? mine.to : end;
        }
      const more = facts.metrics.map((m, i) => (m.served && i !== state.metric ? `${m.spec} ${shown(i, score(data, i, s, k))}` : null));
      const value = shown(state.metric, score(data, state.metric, s, k));
      line(el("span", { class: "who " + colour(s) }, facts.systems[s]),
        [text === "" ? el("em", { class: "quiet" }, "empty") : marked(text, marks, gaps),
          el("span", { class: "more" }, more.filter((x) => x).join(" · "))],
        [value, el("small", {}, metricNames[state.metric])], TARGET_LANG);
    });
    const panel = el("div", { class: "explain", hidden: true });
    const opener = el("button", {
      type: "button", "aria-expanded": "false",
      onclick: async () => {
        panel.hidden = !panel.hidden;
        opener.setAttribute("aria-expanded", String(!panel.hidden));
        if (!panel.hasChildNodes()) await explain(panel, k);
      },
    }, "Explain");
    const chips = flags.flatMap((mine, s) => mine.map(([kind, detail]) =>
      el("span", { class: "chip bad", title: detail }, `${several ? facts.systems[s] + ": " : ""}${kind.replace("-", " ")}: ${detail}`)));
    const columns = facts.columns.map((name, c) => el("span", { class: "chip" }, `${name}: ${data.columns[c][k]}`));
    return el("li", {}, el("article", { class: "segment", id: `segment-${k + 1}`, "aria-label": `Segment ${k + 1}` },
      el("header", {}, el("h3", {}, `Segment ${k + 1}`), el("span", {}, plural(data.words[k], "word")), columns, chips, opener),
      el("div", { class: "lines" }, lines), panel));
  }

  // explanations

  async function explain(panel, k) {
    const found = (await loadExplanations()).get(k);
    if (!found) {
      panel.append(...byEdits(k));
      return;
    }
    const systems = [...new Set(found.map((one) => one.s))];
    const metrics = [...new Set(found.map((one) => one.m))];
    const worth = (x) => goodness(state.metric, score(data, state.metric, x, k));
    let s = systems.reduce((worst, x) => (worth(x) < worth(worst) ? x : worst));
    const asked = (one) => one.s === s && one.m === state.metric && (one.explanation.matrix || state.metric !== facts.usual);
    const moved = (one) => one.s === s && one.explanation.matrix;
    const apart = (one) => moved(one) && String(one.explanation.left) !== String(one.explanation.right);
    const drawn = [asked, apart, moved, (one) => one.s === s].map((is) => found.find(is)).find((one) => one);
    let m = drawn.m;
    const body = el("div", {});
    const draw = () => {
      const one = found.find((each) => each.s === s && each.m === m);
      body.replaceChildren(...(one ? explanation(one.explanation) : [el("p", {}, "This metric has no explanation here.")]));
    };
    panel.append(el("div", { class: "choices" },
      several ? labelled("System", choice(systems.map((x) => facts.systems[x]), systems.indexOf(s), (x) => { s = systems[x]; draw(); })) : null,
      labelled("Metric", choice(metrics.map((x) => metricNames[x]), metrics.indexOf(m), (x) => { m = metrics[x]; draw(); }))), body);
    panel.querySelectorAll(".choices").forEach((each) => each.setAttribute("role", "group"));
    draw();
  }

  function byEdits(k) {
    const [, references, systems] = data.texts[k];
    const told = [];
    if (references.length)
      systems.forEach((text, s) => {
        const steps = edits(words(references[0]), words(text)).filter((step) => step[0] !== "kept");
        told.push(el("div", {}, el("h4", {}, el("span", { class: "who " + colour(s) }, facts.systems[s])),
          steps.length ? table(["", "translation", "reference"], steps.map(([kind, left, right]) =>
            [kind, right ? right.word : "", left ? left.word : ""])) : el("p", {}, "Equal to the reference.")));
      });
    return [el("p", { class: "quiet" },
      "Word edits against the reference. What the metrics saw here is shown by: mtgauge explain ... --segment " + (k + 1) +
      ", or by a report with --explain " + facts.segments + "."), el("div", { class: "parts" }, told)];
  }

  function table(heads, rows) {
    const kept = heads.map((_, c) => rows.some((row) => row[c] !== ""));
    const cells = (row, tag) => row.filter((_, c) => kept[c]).map((cell) => el(tag, tag === "th" ? { scope: "col" } : { dir: "auto" }, String(cell)));
    return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, cells(heads, "th"))),
      el("tbody", {}, rows.map((row) => el("tr", {}, cells(row, "td"))))));
  }

  const side = (name) => (name === "hypothesis" ? "translation" : name);

  function explanation(found) {
    const parts = [];
    const sides = found.sides || ["reference", "hypothesis"];
    if (found.links && found.left && found.right) {
      const picture = el("div", {});
      const showArcs = () => picture.replaceChildren(arcs(found, sides));
      const showHeat = () => picture.replaceChildren(heat(found, sides));
      showArcs();
      parts.push(el("div", {}, el("h4", {}, "Which word met which"),
        found.matrix ? el("p", {}, el("button", { type: "button", onclick: showArcs }, "Lines"), " ",
          el("button", { type: "button", onclick: showHeat }, "Heat map")) : null, picture));
    }
    if (found.findings) {
      const costs = found.findings.some((f) => f[3]);
      parts.push(el("div", {}, el("h4", {}, costs ? "What cost most" : "What was found"),
        table(["", side(sides[1]), side(sides[0]), costs ? found.unit || "cost" : ""],
          found.findings.slice(0, 15).map(([what, text, other, cost]) => [what, text, other, costs ? String(cost ?? "") : ""])),
        found.findings.length + (found.more || 0) > 15
          ? el("p", { class: "quiet" }, `and ${found.findings.length + (found.more || 0) - 15} more`) : null));
    }
    const remarks = (found.remarks || []).map((text) => el("p", {}, text));
    const inner = (found.parts || []).flatMap((part) => [el("h4", {}, part.metric), ...explanation(part)]);
    return [...remarks, el("div", { class: "parts" }, parts), ...inner];
  }

  function arcs(found, sides) {
    const step = 21, top = 26;
    const width = Math.max(260, Math.min(520, box.clientWidth - 60));
    const longest = (list) => Math.max(11, ...list.map((word) => word.length));
    const total = longest(found.left) + longest(found.right);
    const room = Math.min(width * 0.7, total * 8);
    const [x, y] = [room * longest(found.left) / total, width - room * longest(found.right) / total];
    const height = top + step * Math.max(found.left.length, found.right.length) + 6;
    const most = Math.max(...found.links.map((link) => link[2]));
    const costs = found.links.map((link) => link[3] ?? 0);
    const dearest = Math.max(...costs);
    const at = (list, k) => top + step * (k + 0.5) + (step * (Math.max(found.left.length, found.right.length) - list.length)) / 2;
    const cut = (word, space) => (word.length * 8 > space + 4 ? word.slice(0, Math.max(3, Math.floor(space / 8) - 1)) + "…" : word);
    const lines = found.links.map(([i, j, weight, cost]) => {
      const [a, b] = [at(found.left, i), at(found.right, j)];
      const level = dearest ? (cost ?? 0) / dearest : 0;
      return svg("path", {
        d: `M${x + 6},${a} C${(x + y) / 2},${a} ${(x + y) / 2},${b} ${y - 6},${b}`,
        class: level < 0.34 ? "near" : level < 0.67 ? "middle" : "far",
        "stroke-width": (1 + 4 * weight / most).toFixed(1), opacity: (0.25 + 0.65 * weight / most).toFixed(2),
      }, svg("title", {}, `${found.left[i]} – ${found.right[j]}: weight ${weight}, distance ${cost}`));
    });
    const word = (list, k, anchor, place, space) => svg("text", { x: place, y: at(list, k) + 4, "text-anchor": anchor },
      cut(list[k], space), svg("title", {}, list[k]));
    const label = `${found.links.length} links between ${found.left.length} words of the ${side(sides[0])} and ${found.right.length} of the ${side(sides[1])}; the costliest are listed beside.`;
    return el("div", { class: "scroll" },
      svg("svg", { class: "arcs", width, height, role: "img", "aria-label": label },
        svg("text", { class: "side", x, y: 14, "text-anchor": "end" }, side(sides[0])),
        svg("text", { class: "side", x: y, y: 14 }, side(sides[1])), lines,
        found.left.map((_, k) => word(found.left, k, "end", x, x)),
        found.right.map((_, k) => word(found.right, k, "start", y, width - y))),
      el("p", { class: "key quiet" }, el("i", { class: "near" }), "near", el("i", { class: "middle" }), "apart", el("i", { class: "far" }), "far"));
  }

  function heat(found, sides) {
    const cell = 20, lead = 8 + 7 * Math.max(...found.left.map((word) => word.length));
    const head = 8 + 6 * Math.max(...found.right.map((word) => word.length));
    const made = svg("svg", {
      class: "heat", width: lead + cell * found.right.length + 40, height: head + cell * found.left.length + 4, role: "img",
      "aria-label": `Distances of words of the ${side(sides[0])} and the ${side(sides[1])}; dark is near.`,
    });
    found.right.forEach((word, j) => made.append(svg("text",
      { transform: `translate(${lead + cell * j + 14},${head - 6}) rotate(-60)` }, word)));
    found.left.forEach((word, i) => {
      made.append(svg("text", { x: lead - 6, y: head + cell * i + 14, "text-anchor": "end" }, word));
      [...found.matrix[i]].forEach((digit, j) => made.append(svg("rect", {
        x: lead + cell * j + 1, y: head + cell * i + 1, width: cell - 2, height: cell - 2, rx: 3,
        opacity: (1 - parseInt(digit, 16) / 16.5).toFixed(2),
      }, svg("title", {}, `${word} – ${found.right[j]}`))));
    });
    return el("div", { class: "scroll" }, made,
      el("p", { class: "quiet" }, `Dark is near: from ${found.range[0]} to ${found.range[1]}.`));
  }

  // two metrics against each other

  function scatter() {
    const place = document.getElementById("scatter");
    const served = facts.metrics.map((m, i) => (m.served ? i : -1)).filter((i) => i >= 0);
    let [mx, my] = [served.find((i) => i !== facts.usual), facts.usual];
    const canvas = el("canvas", { width: 1400, height: 800, role: "img" });
    const told = el("p", { class: "quiet", "aria-live": "polite" });
    let points = [];
    const draw = () => {
      points = [];
      for (let s = 0; s < facts.systems.length; s++)
        for (let k = 0; k < facts.segments; k++) {
          const [x, y] = [score(data, mx, s, k), score(data, my, s, k)];
          if (!Number.isNaN(x) && !Number.isNaN(y)) points.push({ x, y, s, k });
        }
      const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
      const range = (key) => {
        const sorted = points.map((p) => p[key]).sort((a, b) => a - b);
        const [a, b] = [sorted[0], sorted[sorted.length - 1]];
        return a === b ? [a - 0.5, b + 0.5] : [a, b];
      };
      pen.clearRect(0, 0, canvas.width, canvas.height);
      if (!points.length) return;
      const [xs, ys] = [range("x"), range("y")];
      const px = (x) => 110 + (1240 * (x - xs[0])) / (xs[1] - xs[0]);
      const py = (y) => 720 - (670 * (y - ys[0])) / (ys[1] - ys[0]);
      pen.strokeStyle = style.getPropertyValue("--line");
      pen.fillStyle = style.getPropertyValue("--quiet");
      pen.font = "24px system-ui, sans-serif";
      pen.lineWidth = 2;
      pen.strokeRect(100, 40, 1260, 690);
      const [dx, dy] = [mx, my].map((i) => facts.metrics[i].decimals);
      pen.textAlign = "left"; pen.fillText(xs[0].toFixed(dx), 104, 762);
      pen.textAlign = "right"; pen.fillText(xs[1].toFixed(dx), 1358, 762);
      pen.fillText(ys[0].toFixed(dy), 92, 728); pen.fillText(ys[1].toFixed(dy), 92, 62);
      pen.textAlign = "center"; pen.fillText(metricNames[mx], 730, 786);
      pen.save(); pen.translate(40, 385); pen.rotate(-Math.PI / 2); pen.fillText(metricNames[my], 0, 0); pen.restore();
      pen.globalAlpha = Math.max(0.15, Math.min(0.8, 400 / points.length));
      for (const p of points) {
        [p.px, p.py] = [px(p.x), py(p.y)];
        pen.fillStyle = style.getPropertyValue("--" + colour(p.s));
        pen.beginPath(); pen.arc(p.px, p.py, points.length > 2000 ? 4 : 6, 0, 7); pen.fill();
      }
      pen.globalAlpha = 1;
      const r = pearson(points);
      told.textContent = `Correlation of ${metricNames[mx]} and ${metricNames[my]} over ${plural(points.length, "point")}: ${Number.isNaN(r) ? "none to speak of" : `r = ${r.toFixed(2)}`}. A click on a point shows its segment.`;
      canvas.setAttribute("aria-label", told.textContent);
    };
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      const x = ((event.clientX - box.left) * canvas.width) / box.width;
      const y = ((event.clientY - box.top) * canvas.height) / box.height;
      let best = null, least = 900;
      for (const p of points) {
        const far = (p.px - x) ** 2 + (p.py - y) ** 2;
        if (far < least) [best, least] = [p, far];
      }
      if (best) find("#" + (best.k + 1));
    });
    place.append(el("div", { class: "choices" },
      labelled("Across", choice(served.map((i) => metricNames[i]), served.indexOf(mx), (i) => { mx = served[i]; draw(); })),
      labelled("Up", choice(served.map((i) => metricNames[i]), served.indexOf(my), (i) => { my = served[i]; draw(); })),
      el("span", {}, facts.systems.map((name, s) => [el("span", { class: "who " + colour(s) }, name), "  "]))), canvas, told);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    draw();
  }

  function pearson(points) {
    const n = points.length;
    const mean = (key) => points.reduce((sum, p) => sum + p[key], 0) / n;
    const [ax, ay] = [mean("x"), mean("y")];
    let [xy, xx, yy] = [0, 0, 0];
    for (const p of points) {
      xy += (p.x - ax) * (p.y - ay); xx += (p.x - ax) ** 2; yy += (p.y - ay) ** 2;
    }
    return xy / Math.sqrt(xx * yy);
  }

  // starting

  const start = once(async () => {
    if (typeof DecompressionStream === "undefined") {
      box.append(el("p", { class: "warning" }, "This browser is too old to unpack the segments of this page."));
      return;
    }
    data = await loadSegments();
    const known = /^#segment-(\d+)$/.exec(location.hash);
    if (known) state.query = "#" + known[1];
    form = controls();
    status = el("p", { class: "status", role: "status" });
    list = el("ol", { class: "list" });
    pager = el("div", { class: "pager", role: "group", "aria-label": "Pages" });
    box.replaceChildren(form, status, list, pager);
    update();
    if (document.getElementById("scatter")) scatter();
    document.documentElement.dataset.ready = "yes";
  });

  async function find(query) {
    await start();
    form.querySelector("#search").value = query;
    update({ query });
    document.getElementById("segments").scrollIntoView({ block: "start" });
  }

  document.addEventListener("click", async (event) => {
    const phrase = event.target.closest("[data-find]");
    if (phrase) find(phrase.dataset.find);
    if (event.target.closest("[data-show=person]")) {
      await start();
      update({ person: true });
      const fresh = controls();
      form.replaceWith(fresh);
      form = fresh;
      document.getElementById("segments").scrollIntoView({ block: "start" });
    }
  });

  for (const select of document.querySelectorAll("select[data-group]"))
    select.addEventListener("change", () => {
      for (const table of document.querySelectorAll(`[data-of^="${select.dataset.group}."]`))
        table.hidden = table.dataset.of !== `${select.dataset.group}.${select.value}`;
    });

  if (box && document.getElementById("packed-segments").textContent.trim()) {
    const soon = new IntersectionObserver((seen) => {
      if (seen.some((one) => one.isIntersecting)) { soon.disconnect(); start(); }
    }, { rootMargin: "1500px" });
    soon.observe(box);
    window.addEventListener("beforeprint", () => start());
    if (location.hash.startsWith("#segment-")) find(location.hash.replace("segment-", ""));
  }
})();
