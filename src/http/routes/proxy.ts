import type { Hono } from "hono";
import type { z } from "zod";
import type { Contract } from "../../../contracts/kernel/contract.ts";
import { contracts, familyContracts } from "../../../contracts/mod.ts";
import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { CountRequest } from "../../relay/count_tokens.ts";
import type { Idempotency } from "../../idempotency/idempotency.ts";
import type { Caller } from "../../relay/call_context.ts";
import { permitNamed, type Relay } from "../../relay/relay.ts";
import type { Reply } from "../../relay/reply.ts";
import type { FullDialect } from "../../dialects/kernel/translator.ts";
import type { Registry, Vendor } from "../../vendors/registry.ts";
import { bind, type BindDeps } from "../bind.ts";
import { idempotent } from "../repeats.ts";
import type { Env } from "../scene.ts";

/** What the endpoints that reach vendors are mounted with. */
export type ProxyDeps = BindDeps & {
  registry: Registry;
  relay: Relay;
  background: Relay;
  idempotency: Idempotency;
  /** Counts the tokens of a request; no call to a model. */
  countTokens: (request: CountRequest) => Promise<Reply>;
  dialects: Readonly<Record<DialectName, FullDialect>>;
};

/** Mounts the endpoints that reach vendors: the unified family and one family per vendor. */
export function proxyRoutes(app: Hono<Env>, parts: ProxyDeps): void {
  mountFamily(app, parts, undefined, {
    chat: contracts.unifiedChat,
    responses: contracts.unifiedResponses,
    messages: contracts.unifiedMessages,
    generate: contracts.unifiedGenerate,
  });
  for (const vendor of parts.registry.all) {
    mountFamily(app, parts, vendor, familyContracts(vendor.family));
  }
}

type FamilyContracts = Pick<
  ReturnType<typeof familyContracts>,
  "chat" | "responses" | "messages" | "generate"
>;

/** `vendor` is undefined on the unified family, where the model's name chooses it. */
function mountFamily(
  app: Hono<Env>,
  parts: ProxyDeps,
  vendor: Vendor | undefined,
  family: FamilyContracts,
): void {
  const { dialects } = parts;
  if (family.chat) relayed(app, parts, family.chat, dialects.chat, vendor);
  if (family.responses) {
    // Of this dialect a call may go on without its caller.
    const sent = { ...parts, relay: parts.background };
    relayed(app, sent, family.responses.create, dialects.responses, vendor);
  }
  if (family.messages) relayed(app, parts, family.messages.create, dialects.messages, vendor);
  if (family.generate) generated(app, parts, family.generate, dialects.generate, vendor);
  if (family.messages) {
    bind(app, family.messages.count, parts, async ({ caller, body }) => ({
      reply: await parts.countTokens({ caller, dialect: dialects.messages, vendor, body }),
    }));
  }
}

/** Every request of these endpoints names its model here; the contracts see to that. */
function permit(
  { registry }: ProxyDeps,
  caller: Caller,
  vendor: Vendor | undefined,
  body: unknown,
): void {
  permitNamed(registry, caller, vendor, (body as { model: string }).model);
}

type CreateContract = Contract<undefined, undefined, z.ZodType, z.ZodType>;

/** An endpoint whose body says all there is to say. */
function relayed(
  app: Hono<Env>,
  parts: ProxyDeps,
  contract: CreateContract,
  dialect: FullDialect,
  vendor: Vendor | undefined,
): void {
  bind(app, contract, parts, async ({ caller, body, bodyText }) => ({
    reply: await idempotent(
      parts.idempotency,
      { caller, bodyText, permit: () => permit(parts, caller, vendor, body) },
      () => parts.relay.send({ caller, dialect, vendor, body, bodyText }),
    ),
  }));
}

/** The native endpoints say model and streaming in the path; the dialect reads them in the body. */
function generated(
  app: Hono<Env>,
  parts: ProxyDeps,
  family: NonNullable<FamilyContracts["generate"]>,
  dialect: FullDialect,
  vendor: Vendor | undefined,
): void {
  bind(app, family.whole, parts, async ({ caller, params, body: sent, bodyText }) => {
    const body = { ...sent, model: params.model, stream: false };
    const send = () => parts.relay.send({ caller, dialect, vendor, body, bodyText });
    const may = () => permit(parts, caller, vendor, body);
    return { reply: await idempotent(parts.idempotency, { caller, bodyText, permit: may }, send) };
  });
  bind(app, family.stream, parts, async ({ caller, params, query, body: sent, bodyText }) => {
    const jsonArray = query.alt !== "sse" && query.$alt !== "sse";
    const body = { ...sent, model: params.model, stream: true };
    const send = () => parts.relay.send({ caller, dialect, vendor, body, bodyText, jsonArray });
    const form = {
      query: jsonArray ? "json" : "sse",
      permit: () => permit(parts, caller, vendor, body),
    };
    return { reply: await idempotent(parts.idempotency, { caller, bodyText, ...form }, send) };
  });
  bind(app, family.count, parts, async ({ caller, params, body }) => ({
    reply: await parts.countTokens({
      caller,
      dialect,
      vendor,
      body: { ...body, model: params.model },
    }),
  }));
}
