/** What a server and the process of a program that an agent has sent say to each other: JSON, a message a line. */

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
  /** What it does now. */
  | { readonly kind: "step"; readonly text: string; readonly line: number | null }
  | { readonly kind: "end"; readonly value?: unknown }
  | { readonly kind: "failed"; readonly message: string; readonly line: number | null };
