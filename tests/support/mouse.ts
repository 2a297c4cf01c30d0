/** Mouse reports as a terminal sends them in SGR, at cells counted from 0. */
const report = (button: number, row: number, col: number, final = "M"): string =>
  `\x1b[<${button};${col + 1};${row + 1}${final}`;

export const press = (row: number, col: number): string => report(0, row, col);
export const release = (row: number, col: number): string => report(0, row, col, "m");
export const click = (row: number, col: number): string => press(row, col) + release(row, col);
export const rightClick = (row: number, col: number): string => report(2, row, col) + report(2, row, col, "m");
export const drag = (row: number, col: number): string => report(32, row, col);
export const wheelUp = (row: number, col: number): string => report(64, row, col);
export const wheelDown = (row: number, col: number): string => report(65, row, col);
