import type { Secret } from "../base/secret.ts";
import type { ApiKey, Principal } from "../keys/api_key.ts";
import { mappedModel } from "../keys/key_defaults.ts";
import type { VendorKeyCache } from "../keys/vendor_key_cache.ts";
import { Fault, invalidValue } from "../shared/fault.ts";
import { type ResolvedModel, resolveOnFamily, shorten } from "../vendors/model_name.ts";
import type { Vendor } from "../vendors/registry.ts";
import { modelsOf, type Route, type RouteTable, type WeightedTarget } from "./route.ts";

export interface RouteDeps {
  routes: RouteTable;
  storedKeys: Pick<VendorKeyCache, "find">;
}

/** The caller, and the vendor key that came with the request. */
export interface RouteCaller {
  readonly principal: Principal;
  readonly vendorKey: Secret | undefined;
}

/**
 * Returns the route of a call: on a vendor's family its one model, on the unified family (`vendor`
 * undefined) that of `findPermittedRoute`.
 */
export async function findCallRoute(
  deps: RouteDeps,
  caller: RouteCaller,
  vendor: Vendor | undefined,
  name: string,
): Promise<Route> {
  if (!vendor) return await findPermittedRoute(deps, caller, name);
  const target = resolveOnFamily(vendor, name);
  permitModel(deps.routes, caller.principal.key, target);
  return { name, isVirtual: false, targets: [{ target, weight: 1 }], fallbacks: [] };
}

/**
 * Returns the route of a name on the unified family for calls with this key. The key's own names
 * take precedence, and its default model is used where a name leads nowhere. Throws as
 * `RouteTable.find`.
 */
export function routeFor(routes: RouteTable, key: ApiKey, name: string): Route {
  const { accountId, defaults } = key;
  const mapped = mappedModel(defaults, name);
  const { defaultModel } = defaults ?? {};
  return routes.lookUp(accountId, mapped) ?? routes.find(accountId, defaultModel ?? mapped);
}

/** Throws `permission_denied` where the caller's key may call none of the models behind a name. */
export function permitNamed(
  routes: RouteTable,
  { principal: { key } }: Pick<RouteCaller, "principal">,
  vendor: Vendor | undefined,
  name: string,
): void {
  if (key.models.length === 0) return;
  if (vendor) permitModel(routes, key, resolveOnFamily(vendor, name));
  else permitRoute(routes, key, routeFor(routes, key, name));
}

/**
 * Returns the route of a name as this caller may use it. A virtual model keeps only the targets and
 * fallbacks that the key may call and, where vendor keys are sent or stored, only those of these
 * keys' vendors. Throws as `RouteTable.find`, and `permission_denied` or `invalid_value` where none
 * is left.
 */
export async function findPermittedRoute(
  deps: RouteDeps,
  { principal: { key, account }, vendorKey }: RouteCaller,
  name: string,
): Promise<Route> {
  const route = permitRoute(deps.routes, key, routeFor(deps.routes, key, name));
  if (vendorKey) {
    const isVendorNamed = leadsThereAsWritten(deps.routes, key, name, route);
    return withOwnKey(route, vendorKey, isVendorNamed);
  }
  if (!route.isVirtual) return route;
  return await withStoredKeys(route, (label) => deps.storedKeys.find(account.id, label));
}

/**
 * Limits a route to the models that a key may call. Throws `permission_denied` where there is none.
 */
export function permitRoute(routes: RouteTable, key: ApiKey, route: Route): Route {
  if (key.models.length === 0) return route;
  const permitted = only(route, permittedBy(routes, key));
  if (permitted) return permitted;
  const shown = route.isVirtual ? route.name : route.targets[0].target.id;
  throw notPermitted(shown);
}

/** Throws `permission_denied` for a model outside of the key's list. */
export function permitModel(routes: RouteTable, key: ApiKey, target: ResolvedModel): void {
  if (!permittedBy(routes, key)(target)) throw notPermitted(target.id);
}

/** Whether a key may call a model. */
export function permittedBy(
  routes: RouteTable,
  key: ApiKey,
): (target: Pick<ResolvedModel, "id" | "through">) => boolean {
  if (key.models.length === 0) return () => true;
  const ids = listedIds(routes, key);
  // A virtual model on the list allows its targets to calls that name it, and to no others.
  return ({ id, through }) => ids.has(id) || through !== undefined && key.models.includes(through);
}

function listedIds(routes: RouteTable, { models, accountId }: ApiKey): ReadonlySet<string> {
  return new Set(models.flatMap((name) => {
    const route = routes.lookUp(accountId, name);
    return route?.isVirtual === false ? route.targets[0].target.id : [];
  }));
}

/** A model that a request names beside its own; without `id` the field may lead to any model. */
export interface ModelBeside {
  id: string | undefined;
  param: string;
}

/** Throws `permission_denied` for the first of these models that the key may not call. */
export function permitBeside(
  routes: RouteTable,
  key: ApiKey,
  named: readonly ModelBeside[],
): void {
  if (key.models.length === 0 || named.length === 0) return;
  const isPermitted = permittedBy(routes, key);
  for (const { id, param } of named) {
    if (id === undefined) {
      const message = `${param}: this may call models that are not on this API key's list.`;
      throw new Fault("permission_denied", { param, message });
    }
    if (!isPermitted({ id })) throw notPermitted(id, param);
  }
}

function notPermitted(name: string, param = "model"): Fault {
  return new Fault("permission_denied", {
    param,
    message: `${param}: this API key may not call '${shorten(name)}'.`,
  });
}

/**
 * Whether the name leads to the route's vendors even without the key's own names, default model and
 * list of models, which the caller may know nothing of.
 */
function leadsThereAsWritten(routes: RouteTable, key: ApiKey, name: string, route: Route): boolean {
  const written = routes.lookUp(key.accountId, name);
  if (!written) return false;
  return ownersOf(written).symmetricDifference(ownersOf(route)).size === 0;
}

/**
 * Limits a route to the vendor of the key that came with the call. The dual-key form doesn't say
 * whose key it is, and a key must never reach another vendor: where the targets have several
 * vendors, or one that the call doesn't name, the key's form has to tell. Throws `invalid_value`
 * where it can't.
 */
function withOwnKey(route: Route, vendorKey: Secret, isVendorNamed: boolean): Route {
  const owners = ownersOf(route);
  if (owners.size === 1 && isVendorNamed) return route;
  const value = vendorKey.reveal();
  const fitting = new Set(
    modelsOf(route).filter(({ vendor }) => vendor.keyForm?.test(value))
      .map(({ vendor }) => vendor.sharesWith),
  );
  const own = fitting.size === 1
    ? only(route, ({ vendor }) => fitting.has(vendor.sharesWith))
    : undefined;
  if (own) return own;
  throw invalidValue(
    "model",
    `the vendor key sent with the request can't be matched to a vendor of '${route.name}' (${
      [...owners].join(", ")
    }). Call a model of its vendor by '<provider>/<model_name>', or send the service key alone`,
  );
}

/**
 * Limits a route to vendors with a stored key, if there are any: such calls aren't charged to the
 * account's credit.
 */
async function withStoredKeys(
  route: Route,
  storedKey: (label: string) => Promise<Secret | undefined>,
): Promise<Route> {
  const stored = new Set<string>();
  for (const label of ownersOf(route)) if (await storedKey(label)) stored.add(label);
  return only(route, ({ vendor }) => stored.has(vendor.sharesWith)) ?? route;
}

/** Labels of the vendors whose keys the route's models are called with. */
function ownersOf(route: Route): Set<string> {
  return new Set(modelsOf(route).map(({ vendor }) => vendor.sharesWith));
}

/**
 * Returns the part of a route that `isLeft` holds for. Where no target is left, the first fallback
 * takes their place; undefined where there is none either.
 */
function only(route: Route, isLeft: (target: ResolvedModel) => boolean): Route | undefined {
  const targets = route.targets.filter(({ target }) => isLeft(target));
  const fallbacks = route.fallbacks.filter(isLeft);
  const first: WeightedTarget | undefined = targets[0] ??
    (fallbacks[0] && { target: fallbacks.shift()!, weight: 1 });
  return first && { ...route, targets: [first, ...targets.slice(1)], fallbacks };
}
