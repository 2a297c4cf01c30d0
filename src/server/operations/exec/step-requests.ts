/** Requests with an id that run several commands: each step is a separate request, carried out once. */
import type { Instance } from "../../../instance/paths.ts";
import { WshError } from "../../../protocol/errors.ts";
import { partOf, type RequestMeta } from "../../../protocol/requests.ts";
import { madeFor } from "../../../registry/made-requests.ts";

/** The metadata for one step. Steps after one that began in time have no deadline. */
export function stepRequest({ once, deadline }: RequestMeta, index: number): RequestMeta {
  return {
    ...(once === undefined ? {} : { once: partOf(once, `step ${index}`) }),
    ...(deadline === undefined ? {} : { deadline: index === 0 ? deadline : Number.MAX_SAFE_INTEGER }),
  };
}

/** The input of a pipeline's steps is lost with the server that ran it. @throws WshError outcome_unknown */
export async function requireNotBegun(instance: Instance, request: RequestMeta): Promise<void> {
  const { once } = stepRequest(request, 0);
  if (once === undefined || (await madeFor(instance, once, 0)) === null) return;
  throw new WshError("outcome_unknown", "the pipeline was started by a server that no longer runs");
}
