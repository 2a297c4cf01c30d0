/** Path of a file of the package that is embedded in the executable. */
declare module "@jitl/quickjs-wasmfile-release-sync/wasm" {
  const path: string;
  export default path;
}
