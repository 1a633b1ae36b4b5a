import type { z } from "@hono/zod-openapi";
import { familyModel, familyModels, modelPage } from "../../../contracts/calls/models.ts";
import { contracts } from "../../../contracts/mod.ts";
import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { JsonRecord } from "../../dialects/kernel/json.ts";
import type { Log } from "../../base/log.ts";
import { didYouMean } from "../../base/nearest_names.ts";
import type { ApiKey } from "../../keys/api_key.ts";
import type { VendorKeyCache } from "../../keys/vendor_key_cache.ts";
import { resolveVendorKey } from "../../relay/admit.ts";
import type { CallContext } from "../../relay/call_context.ts";
import { Fault, messageOf } from "../../shared/fault.ts";
import { resolveOnFamily, shorten } from "../../vendors/model_name.ts";
import type { Catalogue, ListedModel } from "../../vendors/catalogue.ts";
import { permitModel, permitRoute, permittedBy, routeFor } from "../../routing/permitted_route.ts";
import {
  type ListedVirtualModel,
  modelsOf as modelsOfRoute,
  type RouteTable,
} from "../../routing/route.ts";
import type { Registry, Vendor } from "../../vendors/registry.ts";
import type { Endpoints } from "../bind.ts";

interface ModelDeps {
  registry: Registry;
  routes: RouteTable;
  catalogue: Catalogue;
  storedKeys: Pick<VendorKeyCache, "find">;
  log: Log;
}

/** The caller, and the vendor key that came with the request. */
type ListCaller = Pick<CallContext, "principal" | "vendorKey">;

/**
 * Mounts the model lists: one per family, and the merged one of the unified family. They show only
 * the models that the caller's key may call.
 */
export function modelRoutes(
  app: Endpoints,
  deps: ModelDeps,
): void {
  app.bind(contracts.unifiedModels, async ({ caller, query, header }) => {
    return formFor(header).list(await listUnified(deps, caller), query);
  });
  app.bind(contracts.unifiedModel, async ({ caller, params, header }) => {
    return formFor(header).one(await findUnified(deps, caller, params.model));
  });
  app.bind(
    contracts.unifiedNativeModels,
    async ({ caller }) => nativeList(await listUnified(deps, caller)),
  );
  app.bind(
    contracts.unifiedNativeModel,
    async ({ caller, params }) => nativeOne(await findUnified(deps, caller, params.model)),
  );
  for (const vendor of deps.registry.all) familyRoutes(app, deps, vendor);
}

/** Clients of all dialects list models below `/v1`; two dialects are recognized by a header. */
function formFor(header: (name: string) => string | undefined) {
  if (header("x-goog-api-key") !== undefined) return { list: nativeList, one: nativeOne };
  if (header("anthropic-version") !== undefined) {
    return { list: messagesList, one: messagesOne };
  }
  return { list: plainList, one: ({ entry }: UnifiedModel) => entry };
}

/** A model that any path of the unified family can call. */
interface UnifiedModel {
  readonly entry: ReturnType<typeof plainEntry>;
  readonly displayName: string | undefined;
  /** The model's entry in the vendor's own list. */
  readonly raw: JsonRecord;
  readonly dialects: readonly DialectName[];
}

/** The models of `modelsOf` that the caller's key may call. */
async function permittedModelsOf(
  deps: Pick<ModelDeps, "routes" | "catalogue" | "storedKeys">,
  vendor: Vendor,
  caller: ListCaller,
): Promise<ListedModel[]> {
  const isPermitted = permittedBy(deps.routes, caller.principal.key);
  const models = await modelsOf(deps, vendor, caller);
  return models.filter(({ id }) => isPermitted({ id: `${vendor.label}/${id}` }));
}

/**
 * Returns the vendor's models: read with the service's key, and then the same for all accounts, or
 * if it has none with the key that a call would use. Throws `vendor_not_configured` without either.
 */
async function modelsOf(
  { catalogue, storedKeys }: Pick<ModelDeps, "catalogue" | "storedKeys">,
  vendor: Vendor,
  caller: ListCaller,
): Promise<readonly ListedModel[]> {
  if (vendor.apiKey) return await catalogue.models(vendor);
  const { key } = await resolveVendorKey(vendor, caller, storedKeys);
  return await catalogue.modelsWith(vendor, key);
}

async function listUnified(
  deps: ModelDeps,
  { principal }: ListCaller,
): Promise<UnifiedModel[]> {
  // A key that came with the request is one vendor's, and must not reach the others.
  const caller = { principal, vendorKey: undefined };
  const { key, account } = principal;
  const lists = await Promise.all(
    deps.registry.all.map((vendor) =>
      permittedModelsOf(deps, vendor, caller)
        .then((models) => models.map((model) => ofVendor(vendor, model)))
        .catch((thrown) => {
          if (thrown instanceof Fault && callerFaults.has(thrown.code)) return [];
          // One failing vendor doesn't fail the list.
          deps.log.warn("a vendor's model list is unavailable and left out", {
            vendor: vendor.label,
            reason: messageOf(thrown),
          });
          return [];
        })
    ),
  );
  const virtual = deps.routes.listVirtual(account.id)
    .filter(({ name }) => mayCallVirtual(deps.routes, key, name));
  return [...virtual.map(ofVirtual), ...lists.flat()];
}

/** Failures that concern this caller's vendor key alone, so the operator's log leaves them out. */
const callerFaults: ReadonlySet<Fault["code"]> = new Set<Fault["code"]>([
  "invalid_vendor_api_key",
  "vendor_not_configured",
]);

/** Whether the key may call at least one target of a virtual model. */
function mayCallVirtual(routes: RouteTable, key: ApiKey, name: string): boolean {
  if (key.models.length === 0) return true;
  const route = routes.lookUp(key.accountId, name);
  return route !== undefined && modelsOfRoute(route).some(permittedBy(routes, key));
}

/**
 * Returns the model that a call with this name would use. Throws `model_not_found`,
 * `permission_denied` and the errors of reading the vendor's list.
 */
async function findUnified(
  deps: ModelDeps,
  caller: ListCaller,
  name: string,
): Promise<UnifiedModel> {
  const { key } = caller.principal;
  const route = permitRoute(deps.routes, key, routeFor(deps.routes, key, name));
  const virtual = route.isVirtual
    ? deps.routes.listVirtual(key.accountId).find((one) => one.name === route.name)
    : undefined;
  if (virtual) return ofVirtual(virtual);
  const { vendor, model } = route.targets[0].target;
  const models = await modelsOf(deps, vendor, caller);
  return ofVendor(vendor, modelNamed(models, model, name));
}

function familyRoutes(
  app: Endpoints,
  deps: Pick<ModelDeps, "routes" | "catalogue" | "storedKeys">,
  vendor: Vendor,
): void {
  const dialect = vendor.family.dialects[0] ?? "chat";
  app.bind(familyModels(vendor.family), async ({ caller, query }) => {
    const models = await permittedModelsOf(deps, vendor, caller);
    return { object: "list" as const, ...shapes[dialect].list(vendor, models, query) };
  });
  app.bind(familyModel(vendor.family), async ({ caller, params }) => {
    const target = resolveOnFamily(vendor, params.model);
    permitModel(deps.routes, caller.principal.key, target);
    const models = await modelsOf(deps, vendor, caller);
    const found = modelNamed(models, target.model, params.model);
    const { list, withOwnFields } = shapes[dialect];
    return { ...(withOwnFields ? found.raw : {}), ...list(vendor, [found]).data[0]! };
  });
}

/** Returns the model with this name. Throws `model_not_found` with the nearest name. */
function modelNamed(models: readonly ListedModel[], name: string, asked: string): ListedModel {
  const found = models.find(({ id }) => id === name);
  if (found) return found;
  const hint = didYouMean(name, models.map(({ id }) => id));
  throw new Fault("model_not_found", {
    param: "model",
    message: `model: the vendor lists no model '${shorten(asked)}'.${hint}`,
  });
}

function ofVirtual({ name, createdAt }: ListedVirtualModel): UnifiedModel {
  const created = createdAt ? Math.floor(createdAt.getTime() / 1000) : 0;
  const entry = { id: name, object: "model" as const, created, owned_by: "virtual" };
  return { entry, displayName: undefined, raw: {}, dialects: [] };
}

function ofVendor(vendor: Vendor, model: ListedModel): UnifiedModel {
  return {
    entry: { ...plainEntry(vendor, model), id: `${vendor.label}/${model.id}` },
    displayName: model.displayName,
    raw: model.raw,
    dialects: vendor.dialects,
  };
}

function plainList(listed: readonly UnifiedModel[]) {
  return { object: "list" as const, data: listed.map(({ entry }) => entry) };
}

function nativeList(listed: readonly UnifiedModel[]) {
  return { ...plainList(listed), models: listed.map(nativeFields) };
}

function nativeOne(found: UnifiedModel) {
  return { ...nativeFields(found), ...found.entry };
}

/** Fields that clients of the generate dialect read; the model's name is the one for calls here. */
function nativeFields({ entry, displayName, raw, dialects }: UnifiedModel) {
  const own = dialects.includes("generate") ? raw : {};
  return { ...own, name: `models/${entry.id}`, displayName: displayName ?? entry.id };
}

function messagesList(listed: readonly UnifiedModel[], query: ModelPage) {
  return { object: "list" as const, ...messagesPage(listed.map(messagesOne), query) };
}

/** The model, with the fields that clients of the messages dialect read beside our own. */
function messagesOne({ entry, displayName, raw, dialects }: UnifiedModel) {
  return {
    ...(dialects.includes("messages") ? raw : {}),
    ...entry,
    type: "model",
    display_name: displayName ?? entry.id,
    created_at: new Date(entry.created * 1000).toISOString(),
  };
}

type ModelPage = z.output<typeof modelPage>;

/** Returns one page; all models if the client sets no limit. Throws `invalid_value`. */
function messagesPage<Entry extends { id: string }>(all: readonly Entry[], query: ModelPage = {}) {
  const { limit = all.length, after_id, before_id } = query;
  const start = after_id === undefined ? 0 : indexOf(all, after_id, "after_id") + 1;
  const end = before_id === undefined ? all.length : indexOf(all, before_id, "before_id");
  const range = all.slice(start, end);
  // Backwards, the page is the last one before the model.
  const data = before_id === undefined ? range.slice(0, limit) : range.slice(-limit);
  return {
    data,
    has_more: data.length < range.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

function indexOf(all: readonly { id: string }[], id: string, param: keyof ModelPage): number {
  const index = all.findIndex((one) => one.id === id);
  if (index >= 0) return index;
  throw new Fault("invalid_value", {
    param,
    message: `${param}: the list has no model '${shorten(id)}'. Read it again from its first page.`,
  });
}

function plainEntry(vendor: Vendor, model: ListedModel) {
  return {
    id: model.id,
    object: "model" as const,
    created: model.created,
    owned_by: vendor.label,
  };
}

interface Shape {
  list(vendor: Vendor, models: readonly ListedModel[], page?: ModelPage): {
    data: ReturnType<typeof plainEntry>[];
  };
  /** Clients look for the vendor's own fields in a single model. */
  withOwnFields?: true;
}

const chatShape: Shape = {
  list: (vendor, models) => ({ data: models.map((model) => plainEntry(vendor, model)) }),
};

/** Fields that the clients of each dialect expect beside our own. */
const shapes: Readonly<Record<DialectName, Shape>> = {
  chat: chatShape,
  responses: chatShape,
  messages: {
    list: (vendor, models, page) =>
      messagesPage(
        models.map((model) =>
          messagesOne({ ...ofVendor(vendor, model), entry: plainEntry(vendor, model) })
        ),
        page,
      ),
  },
  generate: {
    list: (vendor, models) => ({
      data: models.map((model) => plainEntry(vendor, model)),
      models: models.map((model) => model.raw),
      nextPageToken: undefined,
    }),
    withOwnFields: true,
  },
};
