import { Fault } from "../shared/fault.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { RealModels } from "./real_models.ts";

export interface Route {
  /** As the call names it. */
  readonly name: string;
  readonly isVirtual: boolean;
  /** At least one, in descending weight. A route of a plain model has just this model. */
  readonly targets: readonly [WeightedTarget, ...WeightedTarget[]];
  /** Asked in this order once all targets have failed. */
  readonly fallbacks: readonly ResolvedModel[];
  /** Calls of the same session, or of the same user, go to the same target. */
  readonly stickBy?: "session" | "user";
}

export interface WeightedTarget {
  readonly target: ResolvedModel;
  /**
   * A whole number from 1 to 1,000,000; the target's share of all weights is its share of the
   * calls.
   */
  readonly weight: number;
}

/** The models that calls of the unified family may name. */
export interface RouteTable {
  /**
   * Returns the route of a name: `<vendor>/<model>`, else the account's virtual model, else the
   * service's, else the model that just one vendor has of its own. Throws `model_not_found`, and
   * `invalid_value` for a name that several vendors have. Reads no database.
   */
  find(accountId: number, name: string): Route;
  /** The same; undefined for a name that leads nowhere or to several vendors. */
  lookUp(accountId: number, name: string): Route | undefined;
  /** The virtual models that the account may call, its own and the service's, by name. */
  listVirtual(accountId: number): ListedVirtualModel[];
}

export interface ListedVirtualModel {
  readonly name: string;
  /** Undefined for the service's own. */
  readonly createdAt: Date | undefined;
}

/** Virtual models in memory: of accounts, or of the service. */
export interface VirtualRoutes {
  /** `no-targets`: a virtual model has this name, but none of its targets exists any more. */
  find(accountId: number, name: string): Route | "no-targets" | undefined;
  list(accountId: number): readonly ListedVirtualModel[];
}

/** `virtual` is in the order of look-up. */
export function createRouteTable({ models, virtual }: {
  models: RealModels;
  virtual: readonly VirtualRoutes[];
}): RouteTable {
  function findVirtual(accountId: number, name: string): Route | "no-targets" | undefined {
    // Names of virtual models have no slash.
    if (name.includes("/")) return undefined;
    for (const each of virtual) {
      const found = each.find(accountId, name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  function listVirtual(accountId: number): ListedVirtualModel[] {
    const byName = new Map<string, ListedVirtualModel>();
    for (const one of virtual.flatMap((each) => each.list(accountId))) {
      if (!byName.has(one.name)) byName.set(one.name, one);
    }
    return [...byName.values()].sort((a, b) => a.name < b.name ? -1 : 1);
  }

  function lookUp(accountId: number, name: string): Route | undefined {
    const found = findVirtual(accountId, name);
    if (found === "no-targets") return undefined;
    if (found !== undefined) return found;
    const target = models.find(name);
    return target && { name, isVirtual: false, targets: [{ target, weight: 1 }], fallbacks: [] };
  }

  return {
    lookUp,
    find(accountId, name) {
      const route = lookUp(accountId, name);
      if (route) return route;
      if (findVirtual(accountId, name) === "no-targets") {
        throw new Fault("model_not_found", {
          param: "model",
          message: `model: none of the targets of the virtual model '${name}' exists any more.`,
        });
      }
      throw models.refusal(name, listVirtual(accountId).map(({ name }) => name));
    },
    listVirtual,
  };
}

export function modelsOf({ targets, fallbacks }: Route): [ResolvedModel, ...ResolvedModel[]] {
  const [first, ...others] = targets;
  return [first.target, ...others.map(({ target }) => target), ...fallbacks];
}
