/** Types for editors are embedded as text (`with { type: "text" }`). */
declare module "*.dts" {
  const text: string;
  export default text;
}
