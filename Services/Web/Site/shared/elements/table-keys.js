// The targets of keys in a table.

const PAGE = 10;

/**
 * The cell to which a key moves the focus, `[row, column]`; undefined for other keys.
 * @param place the cell with the focus, `{ row, column }`.
 * @param last the last cell of the table.
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
