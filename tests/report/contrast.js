// Returns for each tab the texts whose contrast is below a limit, as WCAG 2 computes it.
(limit) => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map(); // reading pixels is slow
  const pixel = (color, under) => {
    const key = `${color} on ${under}`;
    if (!known.has(key)) known.set(key, drawn(color, under));
    return known.get(key);
  };
  const drawn = (color, under) => {
    context.clearRect(0, 0, 1, 1);
    for (const layer of [under, color]) {
      context.fillStyle = layer;
      context.fillRect(0, 0, 1, 1);
    }
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const css = (rgb) => `rgb(${rgb.join(" ")})`;
  const clear = (color) => /^(rgba\(0, 0, 0, 0\)|transparent)$/.test(color);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [dark, bright] = [light(one), light(other)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  };
  const background = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (!clear(color)) layers.unshift(color);
    }
    return layers.reduce((under, color) => css(pixel(color, under)), "white");
  };
  const behind = (element) => {
    const cell = element.closest(".heat") && element.previousElementSibling;
    return cell ? getComputedStyle(cell).fill : background(element);
  };
  const own = (element) => [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  const seen = (element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    !element.closest(".hidden, caption, .skip, desc, script, style, option");
  const told = (element) => `${element.textContent.trim().slice(0, 30)} (${element.getAttribute("class")})`;
  const contrast = (element) => {
    const style = getComputedStyle(element);
    const under = behind(element);
    return ratio(pixel(element.closest("svg") ? style.fill : style.color, under), pixel(under, "white"));
  };
  const texts = () => [...document.body.querySelectorAll("*")].filter((e) => own(e) && seen(e));
  return [...document.querySelectorAll("[role=tab]")].map((tab) => {
    tab.click();
    const found = texts().map((element) => [told(element), contrast(element)]);
    return { checked: found.length, low: found.filter(([, value]) => value < limit) };
  });
}
