/** `1 pane`, `2 panes`. @param many absent: `one` with an s */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
