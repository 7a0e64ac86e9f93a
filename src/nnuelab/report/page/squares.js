const DRAGS = 5; // pixels; less is a click

/**
 * A grid of buttons that lies over a board: one for each square, with a word and a number.
 *
 * Calls `press(square)`; `look(square or null)` when one is pointed at; and for one whose class is `own`
 * `lift(square)` and then `drop(from, to or undefined)`.
 */
function squareGrid(picture, { press, look, lift, drop }) {
  const buttons = Array.from({ length: 64 }, () =>
    make("button", { type: "button", role: "gridcell", tabindex: -1 }, make("span")));
  const rows = Array.from({ length: 8 }, (_, i) => make("div", { role: "row" }, ...buttons.slice(8 * i, 8 * i + 8)));
  const grid = make("div", { class: "squares", role: "grid", "aria-label": "Squares" }, ...rows);
  const squareOf = (target) => target?.closest?.(".squares button")?.dataset.square;
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  let held = null; // where a pointer went down on an own piece: square, x, y
  let dragged = false;

  grid.addEventListener("click", (event) => {
    const square = squareOf(event.target);
    if (square && !dragged) press(square);
    dragged = false;
  });
  grid.addEventListener("pointerover", (event) => { if (!held) look(squareOf(event.target) ?? null); });
  grid.addEventListener("pointerleave", () => { if (!held) look(null); });
  grid.addEventListener("focusin", (event) => {
    for (const button of buttons) button.tabIndex = button === event.target ? 0 : -1;
    if (event.target.matches(":focus-visible")) look(squareOf(event.target));
  });
  grid.addEventListener("focusout", () => look(null));
  grid.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    const i = buttons.indexOf(event.target);
    if (!step || i < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const [x, y] = [(i % 8) + step[0], Math.floor(i / 8) + step[1]];
    if (x >= 0 && x < 8 && y >= 0 && y < 8) buttons[8 * y + x].focus();
  });

  grid.addEventListener("pointerdown", (event) => {
    dragged = false;
    const button = event.target.closest("button.own");
    held = button && event.button === 0 ? { square: button.dataset.square, x: event.clientX, y: event.clientY } : null;
  });
  grid.addEventListener("pointermove", (event) => {
    if (!held) return;
    const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
    if (!dragged && Math.hypot(dx, dy) < DRAGS) return;
    if (!dragged) {
      dragged = true;
      grid.setPointerCapture(event.pointerId);
      lift(held.square);
    }
    const svg = picture.querySelector("svg");
    const piece = svg.querySelector(`use[data-square="${held.square}"]`);
    const unit = svg.viewBox.baseVal.width / svg.getBoundingClientRect().width;
    piece?.setAttribute("transform", `translate(${dx * unit} ${dy * unit})`);
    if (piece) svg.append(piece);
  });
  function release(to) {
    const from = held?.square;
    held = null;
    if (from && dragged) drop(from, to);
  }
  grid.addEventListener("pointerup", (event) => {
    release(squareOf(document.elementFromPoint(event.clientX, event.clientY)));
    setTimeout(() => { dragged = false; }); // a click may follow, or none
  });
  grid.addEventListener("pointercancel", () => release(undefined));

  /** `told(square)` is what a button says: label, number, classes, whether it is selected. */
  function update(flipped, told) {
    buttons.forEach((button, i) => {
      const [file, rank] = flipped ? [7 - (i % 8), Math.floor(i / 8)] : [i % 8, 7 - Math.floor(i / 8)];
      const square = "abcdefgh"[file] + (rank + 1);
      const { label, number, classes, selected } = told(square);
      button.dataset.square = square;
      button.className = classes;
      button.setAttribute("aria-label", [square, label, number].filter(Boolean).join(", "));
      button.setAttribute("aria-selected", String(selected));
      button.firstChild.textContent = number;
    });
  }
  buttons[56].tabIndex = 0;
  /** One of the moves (UCI) between two squares: where a pawn promotes, a person chooses; undefined where none is chosen. */
  async function pick(found, fen) {
    if (found.length < 2) return found[0];
    const to = found[0].slice(2, 4);
    const letter = await askPiece(buttons.find((button) => button.dataset.square === to), fen.split(" ")[1] === "w");
    return found.find((uci) => letter && uci.endsWith(letter));
  }
  return { grid, update, pick };
}

/** Asks beside a square what a pawn becomes there: its letter, or "" when that is left open. */
function askPiece(square, isWhite) {
  const choose = (letter) => make("button", { type: "button", "aria-label": ROLES[letter], title: ROLES[letter], click: () => dialog.close(letter) },
    draw("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, "aria-hidden": "true" }, drawPiece(isWhite ? letter.toUpperCase() : letter, {})));
  const dialog = make("dialog", { class: "promotion", "aria-label": "Promote to" }, ...[..."qrbn"].map(choose));
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: 3, ArrowUp: 3 }[event.key];
    const pieces = [...dialog.children];
    if (step) pieces[(pieces.indexOf(document.activeElement) + step) % 4].focus();
    event.stopPropagation(); // the board's own keys
  });
  document.body.append(dialog);
  dialog.showModal();
  const { left, top } = square.getBoundingClientRect();
  const inside = (at, size, whole) => `${Math.max(0, Math.min(at, whole - size))}px`;
  dialog.style.left = inside(left, dialog.offsetWidth, innerWidth);
  dialog.style.top = inside(top, dialog.offsetHeight, innerHeight);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      square.focus();
      resolve(dialog.returnValue);
    });
  });
}
