/** Markdown is imported as text (`with { type: "text" }`) and embedded in the executable. */
declare module "*.md" {
  const text: string;
  export default text;
}
