import { Fault, invalidValue } from "../shared/fault.ts";
import { longestEndUser } from "../shared/interaction.ts";
import { type ChoiceDeps, type OrderedTargets, orderTargets } from "../routing/choice.ts";
import { findCallRoute, type RouteDeps } from "../routing/permitted_route.ts";
import type { RouteTable } from "../routing/route.ts";
import type { ApiKey } from "../keys/api_key.ts";
import { mappedModel } from "../keys/key_defaults.ts";
import { type ResolvedModel, shorten } from "../vendors/model_name.ts";
import type { Vendor } from "../vendors/registry.ts";
import type { CallContext } from "./call_context.ts";

export interface RoutingDeps extends ChoiceDeps, RouteDeps {}

/** The parts of a request that decide which models may answer it. */
export interface ModelRequest {
  /** The vendor whose family was called; undefined on the unified family. */
  vendor: Vendor | undefined;
  /** As the caller wrote it. */
  model: string;
  /** The end user that the body names. */
  endUser: string | undefined;
  /** The field that names the end user. */
  endUserField?: string | undefined;
  /** The session that the body names. */
  session?: string | undefined;
  /**
   * Further models that the body names, and the field that names them; undefined where there is
   * none.
   */
  fallbacks: { field: string; names: readonly string[] } | undefined;
}

const fallbackHeader = "X-Fallback-Models";
/** The most fallbacks that one call may name in its header; its body may name as many again. */
const maxFallbacks = 10;

/**
 * Returns the models that may answer a call, in the order in which they are tried; on a vendor's
 * own family only the named one. Throws `model_not_found`, `permission_denied`, and `invalid_value`
 * for names that lead nowhere, and for an end user that can't be recorded.
 */
export async function candidatesOf(
  deps: RoutingDeps,
  caller: CallContext,
  { vendor, model, endUser, endUserField, session, fallbacks }: ModelRequest,
): Promise<OrderedTargets> {
  const route = await findCallRoute(deps, caller, vendor, model);
  const userId = caller.userId ?? endUser;
  if (userId !== undefined && userId.length > longestEndUser) {
    throw longEndUser(userId, endUserField);
  }
  return orderTargets(deps, route, {
    sessionId: caller.sessionId ?? session,
    userId,
    fallbacks: vendor ? [] : [
      ...namedInHeader(deps, caller),
      ...(fallbacks?.names ?? []).map((name, index) =>
        fallbackNamed(deps, caller, `${fallbacks!.field}[${index}]`, name)
      ),
    ],
    isOneVendor: caller.vendorKey !== undefined,
  });
}

/**
 * Returns the fault of an end user that is too long. Cut short, it could be somebody else; left
 * out, the call would belong to nobody. Either way the end user's calls could not be erased.
 */
function longEndUser({ length }: string, field = "X-User-ID"): Fault {
  return invalidValue(
    field,
    `the end user has ${length} characters; at most ${longestEndUser} are allowed`,
  );
}

function namedInHeader(deps: RoutingDeps, caller: CallContext): ResolvedModel[] {
  const value = caller.header(fallbackHeader.toLowerCase());
  if (value === undefined) return [];
  const names = value.split(",").map((one) => one.trim()).filter((one) => one !== "");
  if (names.length > maxFallbacks) {
    throw invalidValue(fallbackHeader, `at most ${maxFallbacks} models`);
  }
  return names.map((name) => fallbackNamed(deps, caller, fallbackHeader, name));
}

function fallbackNamed(
  { routes }: RoutingDeps,
  { principal: { key } }: CallContext,
  param: string,
  name: string,
): ResolvedModel {
  const { isVirtual, targets: [{ target }] } = routeNamed(routes, key, param, name);
  if (!isVirtual) return target;
  throw invalidValue(
    param,
    `'${shorten(name)}' is a virtual model; a fallback must be a vendor's model`,
  );
}

/** Finds the route of a name. Faults name `param`, the header or field that contains the name. */
function routeNamed(routes: RouteTable, key: ApiKey, param: string, name: string) {
  try {
    return routes.find(key.accountId, mappedModel(key.defaults, name));
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    throw new Fault(thrown.code, {
      param,
      message: thrown.message.replace(/^model: /, `${param}: `),
      cause: thrown,
    });
  }
}
