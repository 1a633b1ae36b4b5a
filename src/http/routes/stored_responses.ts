import { responsesContracts } from "../../../contracts/calls/responses.ts";
import { contracts } from "../../../contracts/mod.ts";
import { Fault } from "../../shared/fault.ts";
import type { Background } from "../../background/background.ts";
import type { CallContext } from "../../relay/call_context.ts";
import type { Registry } from "../../vendors/registry.ts";
import { type Endpoints, type ReplyOutput } from "../bind.ts";
import { jsonTextReply } from "../respond.ts";

/** Mounts the other operations on responses: retrieve, list the input of, cancel and delete. */
export function storedResponseRoutes(
  app: Endpoints,
  deps: { registry: Registry; background: Background },
): void {
  const { background } = deps;
  const families = deps.registry.all.map(({ family }) => family)
    .filter(({ dialects }) => dialects.includes("responses"));
  for (const family of [contracts.unifiedResponses, ...families.map(responsesContracts)]) {
    app.bind(family.get, async ({ caller, params, query }) => {
      if (query.stream === "true") {
        throw new Fault("unsupported_parameter", {
          param: "stream",
          message: "stream: a stored response is given as a whole; leave 'stream' out.",
        });
      }
      const answer = await background.find(keyOf(caller, params), query.include ?? [], caller);
      return found(answer, params);
    });
    app.bind(family.inputItems, async ({ caller, params, query }) => {
      const { order = "desc", after, limit = 20, include = [] } = query;
      const asked = { order, after, limit, include };
      const page = await background.inputItems(keyOf(caller, params), asked, caller);
      if (page === undefined) throw notFound(params.response_id);
      return page;
    });
    app.bind(family.cancel, async ({ caller, params }) => {
      return found(await background.cancel(keyOf(caller, params), caller), params);
    });
    app.bind(family.remove, async ({ caller, params }) => {
      const id = params.response_id;
      if (!await background.remove(keyOf(caller, params), caller)) throw notFound(id);
      return { id, object: "response" as const, deleted: true as const };
    });
  }
}

type Params = { response_id: string };

function keyOf({ principal }: CallContext, { response_id: responseId }: Params) {
  return { accountId: principal.account.id, responseId };
}

function found(answerText: string | undefined, params: Params): ReplyOutput {
  if (answerText === undefined) throw notFound(params.response_id);
  return { reply: jsonTextReply(answerText) };
}

function notFound(id: string): Fault {
  return new Fault("response_not_found", {
    param: "response_id",
    message: `response_id: no stored response has the id '${id.slice(0, 100)}'.`,
  });
}
