/**
 * The files of the browser page, embedded in the executable. The build replaces this module (packaging/page.ts); run
 * from source there is no page, since a page must be bundled first.
 */
export interface PageFile {
  /** Path below the server's root, "" for the page itself. */
  readonly path: string;
  readonly type: string;
  /** The name contains a hash of the content: it may be cached forever. */
  readonly hashed: boolean;
  readonly etag: string;
  /** Paths of the compressed content, for Bun.file. */
  readonly brotli: string;
  readonly gzip: string;
}

export const pageFiles: readonly PageFile[] = [];
