/** The tool that saves sessions and brings crashed ones back. */
import * as v from "valibot";
import { optional } from "../../protocol/fields.ts";
import { type Ask, done, requireField, TargetField, tool } from "./tool.ts";

const actions = ["restore", "save", "list", "show", "diff", "delete"] as const;
const text = (description: string) => optional(v.string(), description);

export const checkpoint = tool({
  name: "wsh_checkpoint",
  title: "Checkpoints",
  description:
    "save a session under label; restore a crashed one, or with label a saved one (as: a new name, " +
    "beside the running one); diff: changes since label.",
  core: false,
  access: "operate",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  parameters: v.object({
    action: v.picklist(actions),
    session: v.optional(TargetField),
    label: text("of a saved one"),
    to: text("diff: another label"),
    as: text("restore: new name"),
    replace: optional(v.boolean(), "save over it", false),
    note: text("save: about it"),
    search: text("list: text in them"),
  }),
  output: v.object({ status: v.optional(v.string()) }),
  unlisted: ["replace", "note", "search"],
  run: async ({ action, session, label, to, as, replace, note, search }, ask) => {
    if (action === "list") return ask("checkpoint.list", { session, search });
    const name = requireField(session, action, "session");
    switch (action) {
      case "restore":
        return restore(ask, { session: name, label, as });
      case "save":
        return { ...done, status: "saved", ...(await ask("checkpoint.save", { session: name, label, note, replace })) };
      case "show":
        return ask("checkpoint.show", { session: name, label });
      case "diff":
        return ask("checkpoint.diff", { session: name, label: requireField(label, action, "label"), to });
      case "delete": {
        const deleted = await ask("checkpoint.delete", { session: name, label: requireField(label, action, "label") });
        return { ...done, status: "deleted", ...deleted };
      }
    }
  },
});

async function restore(
  ask: Ask,
  input: { readonly session: string; readonly label: string | undefined; readonly as: string | undefined },
): Promise<object> {
  const { restored, left_out } = await ask("checkpoint.restore", input);
  const without = left_out.map(({ pane_id, message }) => ({ pane: pane_id, message }));
  const session = restored[0]?.name ?? input.session;
  return { ...done, status: "restored", session, ...(without.length === 0 ? {} : { left_out: without }) };
}
