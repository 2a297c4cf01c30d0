/**
 * The assignments of variables that a shell reads at its prompt when another terminal is attached, and that `wsh env
 * --shell` prints. Values come from outside: they are quoted and never executed. Pure.
 */
interface Refreshed {
  readonly name: string;
  /** Null: the variable is removed. */
  readonly value: string | null;
}

type ShellSyntax = "sh" | "fish";

export function assignments(variables: readonly Refreshed[], syntax: ShellSyntax): string {
  return variables.map((each) => `${assignment(each, syntax)}\n`).join("");
}

/**
 * The same for a running shell, where only values that came from wsh are replaced. The first line identifies the file.
 */
export function refreshFile(
  variables: readonly (Refreshed & { readonly given: readonly string[] })[],
  syntax: ShellSyntax,
  stamp: string,
): string {
  const lines = variables.map((each) => {
    const act = assignment(each, syntax);
    const given = each.given.map((value) => quoted(value, syntax));
    return syntax === "sh"
      ? `case \${${each.name}-} in ${["''", ...given].join("|")}) ${act} ;; esac\n`
      : `contains -- "$${each.name}" ${["''", ...given].join(" ")}; and ${act}\n`;
  });
  return `# ${stamp}\n${lines.join("")}`;
}

function assignment({ name, value }: Refreshed, syntax: ShellSyntax): string {
  if (syntax === "sh") return value === null ? `unset ${name}` : `export ${name}=${quoted(value, syntax)}`;
  return value === null ? `set -e ${name}` : `set -gx ${name} ${quoted(value, syntax)}`;
}

function quoted(text: string, syntax: ShellSyntax): string {
  return syntax === "sh" ? `'${text.replaceAll("'", "'\\''")}'` : `'${text.replace(/[\\']/g, "\\$&")}'`;
}
