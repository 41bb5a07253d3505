// Where a key leads in a table.

const PAGE = 10;

/**
 * The cell that a key moves the focus to, `[row, column]`; undefined for a key that moves nothing.
 * @param place the cell that has the focus, `{ row, column }`.
 * @param last the last one of all.
 */
export function destination({ key, ctrlKey }, { row, column }, last, isRightToLeft) {
  const forward = isRightToLeft ? -1 : 1;
  const moves = {
    ArrowDown: [row + 1, column],
    ArrowUp: [row - 1, column],
    ArrowRight: [row, column + forward],
    ArrowLeft: [row, column - forward],
    Home: [ctrlKey ? 0 : row, 0],
    End: [ctrlKey ? last.row : row, last.column],
    PageDown: [Math.min(row + PAGE, last.row), column],
    PageUp: [Math.max(row - PAGE, 0), column],
  };
  return moves[key];
}
