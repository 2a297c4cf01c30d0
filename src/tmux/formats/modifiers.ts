/** The modifiers in front of a format's value: `=5;b:`, `s/a/b/:`, `==:`. Pure. */
import { skipTo } from "./syntax.ts";

export interface Modifier {
  readonly name: string;
  readonly arguments: readonly string[];
}

/** @returns no modifiers and the whole text if the prefix is not a valid list of modifiers */
export function readModifiers(
  text: string,
  expanded: (argument: string) => string,
): { readonly list: readonly Modifier[]; readonly rest: string } {
  const list: Modifier[] = [];
  let at = 0;
  const add = (name: string, given: readonly string[] = []): void => void list.push({ name, arguments: given });
  while (at < text.length && text[at] !== ":") {
    if (text[at] === ";") at++;
    const char = text[at] ?? "";
    const two = text.slice(at, at + 2);
    if ("labcdnwETSWP<>".includes(char) && char !== "" && isClosed(text[at + 1])) {
      add(char);
      at++;
      continue;
    }
    if (["||", "&&", "!=", "==", "<=", ">="].includes(two) && isClosed(text[at + 2])) {
      add(two);
      at += 2;
      continue;
    }
    if (char === "" || !"mCNst=peq".includes(char)) break;
    if (isClosed(text[at + 1])) {
      add(char);
      at++;
      continue;
    }
    const wrapper = text[at + 1] ?? "";
    if (!/[!-/:-@[-`{-~]/.test(wrapper) || wrapper === "-") {
      const end = skipTo(text, at + 1, ":;");
      if (end === -1) break;
      add(char, [expanded(text.slice(at + 1, end))]);
      at = end;
      continue;
    }
    const given: string[] = [];
    at++;
    do {
      if (text[at] === wrapper && isClosed(text[at + 1])) {
        at++;
        break;
      }
      const end = skipTo(text, at + 1, `${wrapper};:`);
      if (end === -1) break;
      given.push(expanded(text.slice(at + 1, end)));
      at = end;
    } while (!isClosed(text[at]));
    add(char, given);
  }
  return text[at] === ":" ? { list, rest: text.slice(at + 1) } : { list: [], rest: text };
}

/** A modifier's name ends only at `:` or `;`. */
function isClosed(char: string | undefined): boolean {
  return char === ":" || char === ";";
}
