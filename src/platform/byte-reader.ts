/** What reading bytes needs of a stream's reader: Bun, Node and the web each have a type of their own for the rest. */
export interface ByteReader {
  read(): Promise<
    | { readonly done: false; readonly value: Uint8Array }
    | { readonly done: true; readonly value?: Uint8Array | undefined }
  >;
  cancel(): Promise<void>;
}
