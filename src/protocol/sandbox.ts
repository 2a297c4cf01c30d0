/** Messages between a server and the process of an agent's program: JSON, one message per line. */

export type ToSandbox =
  | { readonly kind: "begin"; readonly code: string; readonly session?: string }
  | {
      readonly kind: "answer";
      readonly id: number;
      readonly result?: unknown;
      readonly error?: Record<string, unknown>;
    };

export type FromSandbox =
  | {
      readonly kind: "call";
      readonly id: number;
      readonly operation: string;
      readonly input: object;
      readonly session?: string;
    }
  | { readonly kind: "print"; readonly text: string }
  /** Its current step. */
  | { readonly kind: "step"; readonly text: string; readonly line: number | null }
  | { readonly kind: "end"; readonly value?: unknown }
  | { readonly kind: "failed"; readonly message: string; readonly line: number | null };
