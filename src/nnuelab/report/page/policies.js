const FRAME = 150; // ms

/** All positions of a game, each as 64 letters from a8 to h1; moves are text such as "e2e4 e7e8q". */
function played({ fen, moves }) {
  const found = [rowsOf(fen.split(" ")[0]).join("")];
  const place = (square) => (8 - Number(square[1])) * 8 + square.charCodeAt(0) - 97;
  for (const move of moves.split(" ").filter(Boolean)) {
    const squares = [...found.at(-1)];
    const [from, to] = [place(move.slice(0, 2)), place(move.slice(2, 4))];
    const piece = squares[from];
    const across = (to - from) % 8 !== 0;
    if (piece.toLowerCase() === "p" && across && squares[to] === " ") squares[from - (from % 8) + (to % 8)] = " "; // en passant
    if (piece.toLowerCase() === "k" && Math.abs(to - from) === 2) {
      const [corner, beside] = to > from ? [from + 3, from + 1] : [from - 4, from - 1];
      [squares[corner], squares[beside]] = [" ", squares[corner]];
    }
    const letter = move[4] ?? piece;
    squares[to] = piece === piece.toUpperCase() ? letter.toUpperCase() : letter.toLowerCase();
    squares[from] = " ";
    found.push(squares.join(""));
  }
  return found;
}

/** A small board that shows one position after another; only squares that change are drawn. */
function smallBoard(label) {
  const picture = draw("svg", { viewBox: `0 0 ${8 * SIZE} ${8 * SIZE}`, role: "img", "aria-label": label }, draw("title", {}, label));
  const x = (i) => SIZE * (i % 8), y = (i) => SIZE * Math.floor(i / 8);
  picture.append(draw("rect", { width: 8 * SIZE, height: 8 * SIZE, class: "white-square" }));
  const dark = Array.from({ length: 64 }, (_, i) => i).filter((i) => ((i >> 3) + i) % 2);
  picture.append(draw("path", { d: dark.map((i) => `M${x(i)} ${y(i)}h${SIZE}v${SIZE}h-${SIZE}z`).join(""), class: "black-square" }));
  const pieces = new Array(64).fill(null);
  let shown = " ".repeat(64);
  function show(position) {
    if (position === shown) return;
    for (let i = 0; i < 64; i++) {
      if (position[i] === shown[i]) continue;
      pieces[i]?.remove();
      pieces[i] = position[i] === " " ? null : drawPiece(position[i], { x: x(i), y: y(i) });
      if (pieces[i]) picture.append(pieces[i]);
    }
    shown = position;
  }
  return { picture, show };
}

/** Many games at once; a game that is over holds its last position. */
function panel(element, { games }) {
  const boards = games.map((game, i) => {
    const players = `${game.white} \u2013 ${game.black}`;
    const said = make("span", {});
    const caption = make("figcaption", { title: players }, players, make("br"), said);
    return { ...smallBoard(`Game ${i + 1}: ${players}`), caption, said, over: `${game.result} ${game.end}`, positions: played(game) };
  });
  const last = Math.max(...boards.map(({ positions }) => positions.length)) - 1;
  const button = element.querySelector("[data-go=play]");
  let frame = 0, timer = null;
  element.querySelector(".boards").replaceChildren(...boards.map(({ picture, caption }) => make("figure", {}, picture, caption)));

  function show(to) {
    frame = Math.max(0, Math.min(last, to));
    for (const { show, said, over, positions } of boards) {
      show(positions[Math.min(frame, positions.length - 1)]);
      said.textContent = frame < positions.length - 1 ? "" : over;
    }
    element.querySelector(".state").textContent = `half-move ${frame} of ${last}`;
    if (frame === last) pause();
  }
  function pause() {
    clearInterval(timer);
    timer = null;
    button.textContent = "play";
  }
  function play() {
    if (timer) return;
    if (frame === last) show(0);
    timer = setInterval(() => show(frame + 1), FRAME);
    button.textContent = "pause";
  }
  const steps = { restart: () => show(0), back: () => show(frame - 1), step: () => show(frame + 1), end: () => show(last) };
  element.addEventListener("click", (event) => {
    const step = event.target.closest("button[data-go]")?.dataset.go;
    if (!step) return;
    if (step === "play") return timer ? pause() : play();
    if (step !== "restart") pause();
    steps[step]();
  });
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    show(last);
    return;
  }
  show(0);
  // Plays where it is seen, until somebody stops it.
  let playing = true;
  element.addEventListener("click", () => { playing = timer !== null; });
  new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting) pause();
    else if (playing && frame < last) play();
  }).observe(element);
}
if (byId("policy-games")) whenSeen(byId("policy-games"), async () => panel(byId("policy-games"), await unpack("policies")));
