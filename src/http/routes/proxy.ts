import type { z } from "zod";
import type { Contract } from "../../../contracts/kernel/contract.ts";
import { contracts, familyDialects } from "../../../contracts/mod.ts";
import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { CountRequest } from "../../relay/count_tokens.ts";
import type { Idempotency } from "../../idempotency/idempotency.ts";
import type { Relay, RelayRequest } from "../../relay/relay.ts";
import type { Reply } from "../../relay/reply.ts";
import type { Dialect } from "../../dialects/kernel/dialect.ts";
import { permitNamed } from "../../routing/permitted_route.ts";
import type { RouteTable } from "../../routing/route.ts";
import type { Registry, Vendor } from "../../vendors/registry.ts";
import type { Endpoints, ReplyOutput } from "../bind.ts";
import { idempotent } from "../idempotent.ts";

/** Dependencies of the endpoints that call vendors. */
export type ProxyDeps = {
  registry: Registry;
  routes: RouteTable;
  relay: Relay;
  background: Relay;
  idempotency: Idempotency;
  /** Counts the tokens of a request without calling a model. */
  countTokens: (request: CountRequest) => Promise<Reply>;
  dialects: Readonly<Record<DialectName, Dialect>>;
};

/** Mounts the endpoints that call vendors: the unified family and one family per vendor. */
export function proxyRoutes(app: Endpoints, deps: ProxyDeps): void {
  mountFamily(app, deps, undefined, {
    chat: contracts.unifiedChat,
    responses: contracts.unifiedResponses,
    messages: contracts.unifiedMessages,
    generate: contracts.unifiedGenerate,
  });
  for (const vendor of deps.registry.all) {
    mountFamily(app, deps, vendor, familyDialects(vendor.family));
  }
}

type FamilyContracts = ReturnType<typeof familyDialects>;

/** `vendor` is undefined in the unified family, where the model's name selects it. */
function mountFamily(
  app: Endpoints,
  deps: ProxyDeps,
  vendor: Vendor | undefined,
  family: FamilyContracts,
): void {
  const { dialects } = deps;
  const counted = async (request: CountRequest) => ({ reply: await deps.countTokens(request) });
  if (family.chat) relayed(app, deps, family.chat, dialects.chat, vendor);
  if (family.responses) {
    // Only the responses dialect has background calls.
    const sent = { ...deps, relay: deps.background };
    relayed(app, sent, family.responses.create, dialects.responses, vendor);
    relayed(app, deps, family.responses.compact, dialects.responses.compaction!, vendor);
    app.bind(family.responses.count, ({ caller, body, bodyText }) => {
      return counted({ caller, dialect: dialects.responses, vendor, body, bodyText });
    });
  }
  if (family.messages) relayed(app, deps, family.messages.create, dialects.messages, vendor);
  if (family.generate) generated(app, deps, family.generate, dialects.generate, vendor);
  if (family.messages) {
    app.bind(family.messages.count, ({ caller, body, bodyText }) => {
      return counted({ caller, dialect: dialects.messages, vendor, body, bodyText });
    });
  }
}

/** Makes a call. The contracts ensure that every request of these endpoints has a model. */
function send(
  { idempotency, relay, routes }: ProxyDeps,
  request: RelayRequest,
  query?: string,
): Promise<ReplyOutput> {
  const { caller, vendor, body, bodyText } = request;
  const permit = () => permitNamed(routes, caller, vendor, (body as { model: string }).model);
  return idempotent(idempotency, { caller, bodyText, query, permit }, () => relay.send(request));
}

type CreateContract = Contract<undefined, undefined, z.ZodType, z.ZodType>;

/** Mounts an endpoint whose requests have everything in the body. */
function relayed(
  app: Endpoints,
  deps: ProxyDeps,
  contract: CreateContract,
  dialect: Dialect,
  vendor: Vendor | undefined,
): void {
  app.bind(contract, ({ caller, body, bodyText }) => {
    return send(deps, { caller, dialect, vendor, body, bodyText });
  });
}

/** Mounts native endpoints: copies model and streaming from the path into the dialect's body. */
function generated(
  app: Endpoints,
  deps: ProxyDeps,
  family: NonNullable<FamilyContracts["generate"]>,
  dialect: Dialect,
  vendor: Vendor | undefined,
): void {
  app.bind(family.whole, ({ caller, params: { model }, body: sent, bodyText }) => {
    const body = { ...sent, model, stream: false };
    return send(deps, { caller, dialect, vendor, body, bodyText });
  });
  app.bind(family.stream, ({ caller, params: { model }, query, body: sent, bodyText }) => {
    const jsonArray = query.alt !== "sse" && query.$alt !== "sse";
    const body = { ...sent, model, stream: true };
    const request = { caller, dialect, vendor, body, bodyText, jsonArray };
    return send(deps, request, jsonArray ? "json" : "sse");
  });
  app.bind(family.count, async ({ caller, params: { model }, body }) => {
    const request = { caller, dialect, vendor, body: { ...body, model } };
    return { reply: await deps.countTokens(request) };
  });
}
