/** Texts of paths and quoted words, as tmux's C library formats them. Pure. */

export function basename(path: string): string {
  const trimmedPath = path.replace(/\/+$/, "");
  if (path === "") return ".";
  return trimmedPath === "" ? "/" : (trimmedPath.split("/").at(-1) ?? "");
}

export function dirname(path: string): string {
  const trimmedPath = path.replace(/\/+$/, "");
  if (trimmedPath === "") return path === "" ? "." : "/";
  const slash = trimmedPath.lastIndexOf("/");
  if (slash === -1) return ".";
  return trimmedPath.slice(0, slash).replace(/\/+$/, "") || "/";
}

export function quoteShell(text: string): string {
  return text.replace(/[|&;<>()$`\\"'*?[# =%]/g, "\\$&");
}

export function quoteStyle(text: string): string {
  return text.replaceAll("#", "##");
}
