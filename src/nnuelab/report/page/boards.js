const ROLES = { p: "pawn", n: "knight", b: "bishop", r: "rook", q: "queen", k: "king" };
const SIZE = 45; // of a square; the pieces are drawn for it

/** A piece by its letter in a FEN. */
function drawPiece(letter, place) {
  const color = letter === letter.toUpperCase() ? "white" : "black";
  return draw("use", { href: `#${color}-${ROLES[letter.toLowerCase()]}`, ...place });
}
/** The first field of a FEN as rows of eight letters from rank 8 down; a blank is an empty square. */
function rowsOf(placement) {
  return placement.split("/").map((row) => row.replace(/\d/g, (n) => " ".repeat(Number(n))));
}

/** What stands on each square, in words. */
function pieces(fen) {
  const found = {};
  fen.split(" ")[0].split("/").forEach((row, i) => {
    let file = 0;
    for (const letter of row) {
      if (letter >= "1" && letter <= "8") file += Number(letter);
      else found["abcdefgh"[file++] + (8 - i)] = `${letter < "a" ? "white" : "black"} ${ROLES[letter.toLowerCase()]}`;
    }
  });
  return found;
}

/** A board of the first field of a FEN; `move` (e2e4) is marked. `under` draws below the piece of a square. */
function board(placement, { flipped = false, move = "", label = "", under = () => [] } = {}) {
  const picture = draw("svg", { viewBox: `-10 0 ${8 * SIZE + 10} ${8 * SIZE + 10}`, role: "img", "aria-label": label });
  const marked = [move.slice(0, 2), move.slice(2, 4)];
  const rows = rowsOf(placement);
  for (let rank = 0; rank < 8; rank++) {
    for (let file = 0; file < 8; file++) {
      const x = SIZE * (flipped ? 7 - file : file);
      const y = SIZE * (flipped ? 7 - rank : rank);
      const square = "abcdefgh"[file] + (8 - rank);
      const shade = (rank + file) % 2 ? "black-square" : "white-square";
      picture.append(draw("rect", { x, y, width: SIZE, height: SIZE, class: shade, "data-place": square }));
      if (marked.includes(square)) picture.append(draw("rect", { x, y, width: SIZE, height: SIZE, class: "last-move" }));
      picture.append(...under(square, x, y));
      const piece = rows[rank][file];
      if (piece !== " ") picture.append(drawPiece(piece, { x, y, "data-square": square }));
    }
  }
  for (let i = 0; i < 8; i++) {
    const file = "abcdefgh"[flipped ? 7 - i : i];
    const rank = flipped ? i + 1 : 8 - i;
    picture.append(draw("text", { x: SIZE * (i + 0.5), y: 8 * SIZE + 8, "text-anchor": "middle", style: "font-size: 9px" }, file));
    picture.append(draw("text", { x: -9, y: SIZE * (i + 0.5) + 3, style: "font-size: 9px" }, String(rank)));
  }
  return picture;
}
