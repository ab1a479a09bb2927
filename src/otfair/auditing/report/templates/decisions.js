// A slider moves the threshold: tables and chart follow from counts, which hold no text.
for (const box of document.querySelectorAll("[data-counts]")) {
  const data = JSON.parse(box.dataset.counts);
  const [slider, choice, back] = ["input", "select", "button"].map((tag) => box.querySelector(`.control ${tag}`));
  const [output, note] = ["output", "[aria-live]"].map((one) => box.querySelector(one));
  const cells = [...box.querySelectorAll("table.rates")].flatMap((table) =>
    [...table.tBodies[0].rows].flatMap((row) =>
      [...row.cells].slice(2).map((cell, rate) => ({ cell, rate, group: +row.dataset.group, figure: table.dataset.figure, own: [...cell.childNodes] }))));
  const said = note.textContent;
  slider.max = data.thresholds.length - 1;
  slider.value = data.own;

  // Part and whole of each rate, in the order of the table.
  const parts = (g, k) => {
    const [all, yes, positive, right] = [g.weight, g.above[k], g.positive, g.right[k]];
    return [[yes, all], [right, positive], [yes - right, all - positive], [positive - right, positive], [right, yes],
      [yes - right, yes], [positive - right, all - yes], [all - yes - positive + 2 * right, all], [positive, all]];
  };
  // A rate with Wilson's interval, of as many people as weights are worth; undefined where nobody tells it.
  const measure = (g, k, rate) => {
    const [part, whole] = parts(g, k)[rate];
    if (whole <= 1e-9 * g.weight) return undefined;
    const [p, n, z] = [Math.max(part, 0) / whole, whole * g.worth / g.weight, 1.959964];
    const middle = (p + z * z / (2 * n)) / (1 + z * z / n);
    const half = z * Math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n);
    const [low, high] = [Math.max(middle - half, 0), Math.min(middle + half, 1)];
    return { p, low, high, enough: n >= data.least - 1e-9, few: n < data.least - 1e-9 || high - low > data.widest };
  };
  const signed = (x) => (x < 0 ? "" : "+") + x.toFixed(3);
  const texts = ({ group, rate, figure }, k) => {
    const [own, other] = [data.groups[group], data.groups[data.reference]].map((g) => measure(g, k, rate));
    if (!own || (figure !== "rate" && !other)) return ["–"];
    const mark = own.few ? "?" : "";
    if (figure === "difference") return [signed(own.p - other.p) + mark];
    if (figure === "ratio") return [other.p > 0 ? (own.p / other.p).toFixed(2) + mark : own.p > 0 ? "–" : "1.00" + mark];
    return [own.p.toFixed(3) + mark, `${own.low.toFixed(3)}–${own.high.toFixed(3)}`];
  };
  const show = () => {
    const k = +slider.value;
    const [at, own] = [k, data.own].map((one) => String(+data.thresholds[one].toPrecision(6)));
    output.textContent = at;
    slider.setAttribute("aria-valuetext", at);
    back.hidden = k === data.own;
    note.textContent = k === data.own ? said : `At the threshold ${at}, with Wilson's 95 % intervals; the audit's own threshold is ${own}.`;
    for (const one of cells) {
      if (k === data.own) { one.cell.replaceChildren(...one.own); continue; }
      const [value, ends] = texts(one, k);
      const span = document.createElement("span");
      span.className = "ci";
      span.textContent = ends ?? "";
      one.cell.replaceChildren(`${value} `, span);
    }
    const line = box.querySelector("svg .mark");
    const x = data.square[0] + data.square[1] * data.thresholds[k];
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
  };
  const draw = () => {
    const rate = +choice.value;
    box.querySelector("svg text[transform]").textContent = choice.selectedOptions[0].textContent;
    for (const path of box.querySelectorAll("path[data-group]")) {
      let [d, pen] = ["", "M"];
      data.thresholds.forEach((t, k) => {
        const found = measure(data.groups[path.dataset.group], k, rate);
        if (!found?.enough) { pen = "M"; return; }
        const [left, side, bottom] = data.square;
        d += `${pen}${(left + side * t).toFixed(1)} ${(bottom - side * found.p).toFixed(1)}`;
        pen = "L";
      });
      path.setAttribute("d", d);
    }
  };
  slider.addEventListener("input", show);
  choice.addEventListener("input", draw);
  back.addEventListener("click", () => { slider.value = data.own; show(); slider.focus(); });
  choice.value = 0; // browsers remember another one
  show();
}
