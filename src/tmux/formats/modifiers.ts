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
  let index = 0;
  const add = (name: string, given: readonly string[] = []): void => void list.push({ name, arguments: given });
  while (index < text.length && text[index] !== ":") {
    if (text[index] === ";") index++;
    const char = text[index] ?? "";
    const two = text.slice(index, index + 2);
    if ("labcdnwETSWP<>".includes(char) && char !== "" && isClosed(text[index + 1])) {
      add(char);
      index++;
      continue;
    }
    if (["||", "&&", "!=", "==", "<=", ">="].includes(two) && isClosed(text[index + 2])) {
      add(two);
      index += 2;
      continue;
    }
    if (char === "" || !"mCNst=peq".includes(char)) break;
    if (isClosed(text[index + 1])) {
      add(char);
      index++;
      continue;
    }
    const wrapper = text[index + 1] ?? "";
    if (!/[!-/:-@[-`{-~]/.test(wrapper) || wrapper === "-") {
      const end = skipTo(text, index + 1, ":;");
      if (end === -1) break;
      add(char, [expanded(text.slice(index + 1, end))]);
      index = end;
      continue;
    }
    const parameters: string[] = [];
    index++;
    do {
      if (text[index] === wrapper && isClosed(text[index + 1])) {
        index++;
        break;
      }
      const end = skipTo(text, index + 1, `${wrapper};:`);
      if (end === -1) break;
      parameters.push(expanded(text.slice(index + 1, end)));
      index = end;
    } while (!isClosed(text[index]));
    add(char, parameters);
  }
  return text[index] === ":" ? { list, rest: text.slice(index + 1) } : { list: [], rest: text };
}

/** A modifier's name ends only at `:` or `;`. */
function isClosed(char: string | undefined): boolean {
  return char === ":" || char === ";";
}
