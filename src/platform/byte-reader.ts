/** The common part of stream readers, of which Bun, Node and the web each have their own type. */
export interface ByteReader {
  read(): Promise<
    | { readonly done: false; readonly value: Uint8Array }
    | { readonly done: true; readonly value?: Uint8Array | undefined }
  >;
  cancel(): Promise<void>;
}
