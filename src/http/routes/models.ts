import type { Hono } from "hono";
import { contracts, familyContracts } from "../../../contracts/mod.ts";
import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { Log } from "../../base/log.ts";
import { messageOf } from "../../shared/fault.ts";
import type { Catalogue, ListedModel } from "../../vendors/catalogue.ts";
import type { ListedVirtualModel, RouteTable } from "../../routing/route.ts";
import type { Registry, Vendor } from "../../vendors/registry.ts";
import { bind, type BindDeps } from "../bind.ts";
import type { Env } from "../request_context.ts";

/** Mounts the model lists: one per family, and the merged one of the unified family. */
export function modelRoutes(
  app: Hono<Env>,
  deps: BindDeps & { registry: Registry; routes: RouteTable; catalogue: Catalogue; log: Log },
): void {
  bind(app, contracts.unifiedModels, deps, async ({ caller }) => {
    const lists = await Promise.all(
      deps.registry.all.filter((vendor) => vendor.apiKey).map((vendor) =>
        deps.catalogue.models(vendor)
          .then((models) => models.map((model) => unifiedEntry(vendor, model)))
          .catch((thrown) => {
            // One failing vendor doesn't fail the list.
            deps.log.warn("a vendor's model list is left out", {
              vendor: vendor.label,
              reason: messageOf(thrown),
            });
            return [];
          })
      ),
    );
    const virtual = deps.routes.listVirtual(caller.principal.account.id).map(virtualEntry);
    return { object: "list" as const, data: [...virtual, ...lists.flat()] };
  });
  for (const vendor of deps.registry.all) {
    const contract = familyContracts(vendor.family).models;
    const shape = shapes[vendor.family.dialects[0] ?? "chat"];
    bind(app, contract, deps, async () => {
      const models = await deps.catalogue.models(vendor);
      return { object: "list" as const, ...shape(vendor, models) };
    });
  }
}

function virtualEntry({ name, createdAt }: ListedVirtualModel) {
  const created = createdAt ? Math.floor(createdAt.getTime() / 1000) : 0;
  return { id: name, object: "model" as const, created, owned_by: "virtual" };
}

function unifiedEntry(vendor: Vendor, model: ListedModel) {
  return { ...plainEntry(vendor, model), id: `${vendor.label}/${model.id}` };
}

function plainEntry(vendor: Vendor, model: ListedModel) {
  return {
    id: model.id,
    object: "model" as const,
    created: model.created,
    owned_by: vendor.label,
  };
}

type Shape = (vendor: Vendor, models: readonly ListedModel[]) => {
  data: ReturnType<typeof plainEntry>[];
};

const chatShape: Shape = (vendor, models) => ({
  data: models.map((model) => plainEntry(vendor, model)),
});

/** Fields that the clients of each dialect expect beside our own. */
const shapes: Readonly<Record<DialectName, Shape>> = {
  chat: chatShape,
  responses: chatShape,
  messages: (vendor, models) => ({
    data: models.map((model) => ({
      ...model.raw,
      ...plainEntry(vendor, model),
      type: "model",
      display_name: model.displayName ?? model.id,
      created_at: new Date(model.created * 1000).toISOString(),
    })),
    has_more: false,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  }),
  generate: (vendor, models) => ({
    data: models.map((model) => plainEntry(vendor, model)),
    models: models.map((model) => model.raw),
    nextPageToken: undefined,
  }),
};
