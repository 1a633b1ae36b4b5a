import type { Hono } from "hono";
import { contracts, familyContracts } from "../../../contracts/mod.ts";
import { Fault } from "../../domain/fault.ts";
import type { KeptMemory } from "../../gateway/kept_memory.ts";
import type { Recorder } from "../../gateway/recorder.ts";
import type { Registry } from "../../vendors/registry.ts";
import { bind, type BindParts } from "../bind.ts";
import type { Env } from "../scene.ts";

/** Mounts `GET` and `DELETE …/responses/{id}` wherever `POST …/responses` is. */
export function keptResponseRoutes(
  app: Hono<Env>,
  parts: BindParts & { registry: Registry; kept: KeptMemory; recorder: Recorder },
): void {
  const families = parts.registry.all.map((vendor) => familyContracts(vendor.family).responses);
  for (const family of [contracts.unifiedResponses, ...families]) {
    if (!family) continue;
    bind(app, family.get, parts, async ({ caller, params }) => {
      const kept = await parts.kept.findResponse(caller.principal.account.id, params.response_id);
      if (!kept) throw notFound(params.response_id);
      return {
        reply: {
          status: 200,
          headers: { "content-type": "application/json" },
          body: kept.answerText,
        },
      };
    });
    bind(app, family.remove, parts, async ({ caller, params }) => {
      const id = params.response_id;
      // What is not written yet could not be removed.
      await parts.recorder.drain();
      if (!await parts.kept.removeResponse(caller.principal.account.id, id)) throw notFound(id);
      return { id, object: "response" as const, deleted: true as const };
    });
  }
}

function notFound(id: string): Fault {
  return new Fault("response_not_found", {
    param: "response_id",
    message: `response_id: no stored response has the id '${id.slice(0, 100)}'.`,
  });
}
