/** The facts about operations that routing needs. A macro: it runs when routing.ts is compiled. */
import { defined } from "../protocol/defined.ts";
import type { Operation } from "./define.ts";
import { operations } from "./table.ts";

export function routingTable(): Record<string, Pick<Operation, "scope" | "subject" | "ends">> {
  return Object.fromEntries(
    operations.map(({ name, scope, subject, ends }) => [name, { scope, ...defined({ subject, ends }) }]),
  );
}
