//! Replays test/games.txt and compares evaluations, accumulators and numbers of active features.
use nnue::{evaluate_fen, parse_fen, Color, Pieces, Stack, PLIES};
use std::fs;

struct Expected {
    line: String,
    pieces: Pieces,
    turn: Color,
    numbers: Vec<i64>, // centipawns, White's active features, Black's, hashes of accumulators
}

fn expected(line: &str) -> Expected {
    let mut fields = line.split(';');
    let (pieces, turn) = fields.next().and_then(parse_fen).expect(line);
    let numbers = fields.map(|field| field.parse().expect(line)).collect();
    Expected { line: line.into(), pieces, turn, numbers }
}

fn found(stack: &mut Stack, turn: Color) -> Vec<i64> {
    let mut numbers = vec![stack.evaluate(turn) as i64];
    let views = [Color::White, Color::Black];
    numbers.extend(views.map(|view| stack.rows(view).len() as i64));
    numbers.extend(views.map(|view| {
        let step = |h: u32, x: &i16| h.wrapping_mul(16777619).wrapping_add(*x as u16 as u32);
        stack.accumulator(view).iter().fold(0, step) as i64
    }));
    numbers
}

#[test]
fn games_agree_move_by_move_and_back() {
    let root = option_env!("CARGO_MANIFEST_DIR").unwrap_or(".");
    let text = fs::read_to_string(format!("{root}/test/games.txt")).unwrap();
    let (mut positions, mut games, mut wrong) = (0, 0, 0);
    for game in text.split("-\n").filter(|game| !game.is_empty()) {
        let game: Vec<Expected> = game.lines().map(expected).collect();
        let mut stack = Stack::new(&game[0].pieces);
        let mut compare = |stack: &mut Stack, at: &Expected, how: &str| {
            let numbers = found(stack, at.turn);
            if numbers != at.numbers {
                println!("{}, {how}: found {numbers:?}", at.line);
                wrong += 1;
            }
        };
        for (i, at) in game.iter().enumerate() {
            if i > 0 {
                stack.push(&at.pieces);
            }
            compare(&mut stack, at, "move by move");
        }
        for i in (1..game.len()).rev() {
            stack.pop();
            compare(&mut stack, &game[i - 1], "after taking a move back");
            if i % 3 == 0 {
                continue; // only some of them are evaluated
            }
            let line = &game[i..game.len().min(i + 1 + i % 4)];
            line.iter().for_each(|at| stack.push(&at.pieces));
            compare(&mut stack, &line[line.len() - 1], "some moves at once");
            line.iter().for_each(|_| stack.pop());
        }
        positions += game.len();
        games += 1;
    }
    println!("{positions} positions of {games} games: {wrong} wrong");
    assert!(positions > 0 && wrong == 0);
}

#[test]
fn a_fen_is_evaluated_or_refused() {
    assert!(evaluate_fen("4k3/8/8/8/8/8/PPPP4/4K3 w - - 0 1").is_some());
    for fen in ["", "4k3/8/8/8/8/8/8/4K3", "4k3/8/8/8/8/8/4K3 w", "5k3/8/8/8/8/8/8/4K3 w", "4x3/8/8/8/8/8/8/4K3 w"] {
        assert_eq!(evaluate_fen(fen), None, "{fen}");
    }
}

#[test]
#[should_panic(expected = "each side has one king")]
fn a_board_without_kings_never_reaches_the_library() {
    Stack::new(&[0; 12]);
}

#[test]
#[should_panic(expected = "a stack holds")]
fn a_full_stack_panics() {
    let (pieces, _) = parse_fen("4k3/8/8/8/8/8/8/4K3 w - - 0 1").unwrap();
    let mut stack = Stack::new(&pieces);
    (0..PLIES).for_each(|_| stack.push(&pieces));
}
