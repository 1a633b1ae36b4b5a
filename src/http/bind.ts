import type { Context, Hono, Next } from "hono";
import { type HttpRequest, requestOf } from "./http_request.ts";
import type { z } from "zod";
import { adminScope, type Contract, fullPath } from "../../contracts/kernel/contract.ts";
import { Fault, invalidValue } from "../shared/fault.ts";
import { type CallContext, heavyStepOf } from "../relay/call_context.ts";
import { callerLeftReply, type Reply } from "../relay/reply.ts";
import { isAbort } from "../vendors/upstream.ts";
import type { SentForm } from "../dialects/kernel/operation_request.ts";
import { headerText } from "../base/header_text.ts";
import { ownText } from "../base/own_text.ts";
import type { ByteGate } from "../base/byte_gate.ts";
import type { HeavyBodies } from "../base/heavy_json.ts";
import type { Step } from "../base/heavy_work.ts";
import { type BodyHold, readSent, type SentBody } from "./sent_body.ts";
import type { DirectEndpoints } from "./direct_endpoints.ts";
import type { ErrorDialectOf } from "./error_dialect.ts";
import { asFault, errorReply } from "./errors.ts";
import type { Env, OnFault, RequestContext } from "./request_context.ts";
import { jsonReply, toResponse } from "./respond.ts";
import { unstorableText } from "../shared/storable_text.ts";
import { previewIssues, validate, validateSteps } from "../shared/validate.ts";

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined;
type Accepted<S> = S extends z.ZodType ? z.input<S> : never;
type ObjectSchema = z.ZodObject<z.ZodRawShape>;

/** The parsed input of a handler, which never sees the web framework. */
export interface Input<Params, Query, Body> {
  params: Parsed<Params>;
  query: Parsed<Query>;
  body: Parsed<Body>;
  /** The body as it was sent; empty without a body, and for a form. */
  bodyText: string;
  /** The body if it was sent as `multipart/form-data` and the contract accepts that. */
  form: SentForm | undefined;
  /** Address of the peer itself, regardless of proxy headers. */
  peerHost: string;
  header(name: string): string | undefined;
}

/** A typed JSON value, or bytes with their own headers. */
export type Output<Answer> = Accepted<Answer> | ReplyOutput;

export interface ReplyOutput {
  reply: Reply;
}

/** A handler of an endpoint that needs a key. */
export type Handler<Params, Query, Body, Answer> = (
  input: Input<Params, Query, Body> & { caller: CallContext },
) => Promise<Output<Answer>> | Output<Answer>;

/** Dependencies of every route, besides its contract and handler. */
export interface BindDeps {
  maxBodyBytes: number;
  /** Bounds the memory of large bodies. */
  bodies: ByteGate;
  /** Processes bodies with many values in turns. */
  heavy: HeavyBodies;
  /** Logs faults; only our own failures are logged as errors. */
  onFault: OnFault;
  errorDialect: ErrorDialectOf;
  /** Whether the account is the first one, whose keys may administer the service. */
  isFirstAccount: (accountId: number) => Promise<boolean>;
  /**
   * Returns the time with which a request is recorded: after all deletions that its account made
   * before it, even if the clocks differ.
   */
  arrivalOf: (
    accountId: number,
    at: Pick<RequestContext, "arrivedAt" | "arrivedMs">,
  ) => Date;
  /** Collects the endpoints that need a key, so that the listener can call them directly. */
  direct?: DirectEndpoints;
}

/** Answers a request of one endpoint; it never rejects. */
export type Endpoint = (request: HttpRequest, requestContext: RequestContext) => Promise<Reply>;

/** Whether a route takes a request; otherwise the next matching route does. */
export type Applies = (request: {
  query(name: string): string | undefined;
  header(name: string): string | undefined;
}) => boolean;

/** Mounts contracts with their handlers. Every route goes through it. */
export class Endpoints {
  readonly #app: Hono<Env>;
  readonly #deps: BindDeps;

  constructor(app: Hono<Env>, deps: BindDeps) {
    this.#app = app;
    this.#deps = deps;
  }

  /** Mounts a contract that requires a key. */
  bind<
    Params extends ObjectSchema | undefined,
    Query extends ObjectSchema | undefined,
    Body extends z.ZodType | undefined,
    Answer extends z.ZodType | undefined,
  >(
    contract: Contract<Params, Query, Body, Answer>,
    handler: Handler<Params, Query, Body, Answer>,
  ): void {
    const deps = this.#deps;
    const answer = endpointOf(contract, deps, async (request, requestContext, room) => {
      const caller = callerOf(request, requestContext, contract.path, deps);
      // Permission is checked before the body is validated.
      authorize(contract.scope, caller);
      if (contract.scope === adminScope) await authorizeAdministrator(caller, deps);
      const { input, step } = await readInput(request, requestContext, contract, deps, room);
      if (contract.scope === adminScope) {
        const unstorable = unstorableText(input.params) ?? unstorableText(input.query) ??
          unstorableText(input.body);
        if (unstorable) throw unstorable;
      }
      const heavyStep = heavyStepOf(deps.heavy, caller.principal);
      const onEncoded = () => room.leaveHeavy?.();
      return await handler({ ...input, caller: { ...caller, step, heavyStep, onEncoded } });
    });
    mount(this.#app, contract, answer);
    const method = contract.method.toUpperCase();
    for (const pattern of contract.patterns) deps.direct?.add(method, pattern, answer);
  }

  /** Mounts a contract that requires no key, for requests that `applies` accepts. */
  bindPublic<
    Params extends ObjectSchema | undefined,
    Query extends ObjectSchema | undefined,
    Body extends z.ZodType | undefined,
    Answer extends z.ZodType | undefined,
  >(
    contract: Contract<Params, Query, Body, Answer>,
    handler: (input: Input<Params, Query, Body>) => Promise<Output<Answer>> | Output<Answer>,
    applies?: Applies,
  ): void {
    const deps = this.#deps;
    const answer = endpointOf(contract, deps, async (request, requestContext, room) => {
      const { input } = await readInput(request, requestContext, contract, deps, room);
      return await handler(input);
    });
    mount(this.#app, contract, answer, applies);
  }
}

function mount(
  app: Hono<Env>,
  contract: Pick<Contract, "patterns" | "method">,
  answer: Endpoint,
  applies: Applies = () => true,
): void {
  const route = async (context: Context<Env>, next: Next): Promise<Response | void> => {
    const [query, header] = [context.req.query(), context.req.header()];
    if (!applies({ query: (name) => query[name], header: (name) => header[name] })) {
      return await next();
    }
    const requestContext = context.get("requestContext");
    return toResponse(await answer(requestOf(context), requestContext), requestContext);
  };
  for (const pattern of contract.patterns) app.on(contract.method.toUpperCase(), pattern, route);
}

type Run<Answer> = (
  request: HttpRequest,
  requestContext: RequestContext,
  room: BodyHold,
) => Promise<Output<Answer>>;

function endpointOf<Answer>(
  contract: Pick<Contract, "path" | "dialect" | "status" | "interaction">,
  deps: BindDeps,
  run: Run<Answer>,
): Endpoint {
  return async (request, requestContext) => {
    requestContext.route = contract.path;
    requestContext.isCall = contract.interaction === true;
    const room: BodyHold = {};
    try {
      const output = await run(request, requestContext, room);
      return isReply(output) ? output.reply : jsonReply(output, { status: contract.status ?? 200 });
    } catch (thrown) {
      const { signal } = request;
      const isLeft = room.hasCallerLeft || (signal.aborted && thrown === signal.reason);
      if (isAbort(thrown) || isLeft) return callerLeftReply;
      const fault = asFault(thrown);
      deps.onFault(fault, requestContext);
      // All libraries list models on one path of the unified family, whose contract says chat.
      const dialect = contract.dialect === "chat"
        ? deps.errorDialect(request.path, request.header)
        : contract.dialect;
      return errorReply(fault, dialect, requestContext.requestId);
    } finally {
      room.leaveHeavy?.();
      room.permit?.release();
    }
  };
}

async function readInput<
  Params extends ObjectSchema | undefined,
  Query extends ObjectSchema | undefined,
  Body extends z.ZodType | undefined,
>(
  request: HttpRequest,
  requestContext: RequestContext,
  contract: Pick<Contract<Params, Query, Body>, "params" | "query" | "body" | "form">,
  deps: BindDeps,
  room: BodyHold,
): Promise<{ input: Input<Params, Query, Body>; step: Step }> {
  const { trace } = requestContext;
  trace.onWait?.(1);
  trace.times?.uploadBegins();
  const arrived = () => trace.times?.uploadEnds();
  room.arrived = arrived;
  let sent: SentBody;
  try {
    sent = await readSent(request, contract, deps, { room, who: whoOf(requestContext) });
  } finally {
    trace.onWait?.(-1);
  }
  trace.onWork?.();
  const schema = sent.form ? contract.form : contract.body;
  const params = check(contract.params, () => {
    const params = request.params();
    noteModel(requestContext, params);
    return params;
  });
  const query = check(contract.query, () => queryValues(contract.query!, request));
  const body = await checkBody(schema, sent, requestContext) as Parsed<Body>;
  const { text: bodyText, form, step } = sent;
  const { peerHost } = requestContext;
  return { input: { params, query, body, bodyText, form, peerHost, header: request.header }, step };
}

/** Returns whose share of the memory for bodies a request uses: its account's, or its address's. */
function whoOf({ principal, remoteHost }: RequestContext): string {
  return principal ? String(principal.account.id) : remoteHost;
}

function check<S extends z.ZodType | undefined>(
  schema: S | undefined,
  value: () => unknown,
): Parsed<S> {
  return (schema === undefined ? undefined : validate(schema, value())) as Parsed<S>;
}

/**
 * Returns the query parameters; list parameters of the contract become arrays. Throws
 * `Fault("invalid_value")` if another of its parameters has several values: all but one would be
 * ignored, such as the second `group_by` of a sum.
 */
function queryValues({ shape }: ObjectSchema, request: HttpRequest): Record<string, unknown> {
  const isListOfContract = (name: string) => Object.hasOwn(shape, name) && isList(shape[name]!);
  const all = new Map<string, string[]>();
  for (const [sent, values] of Object.entries(request.queries())) {
    // Vendors' client libraries write a list as `include[]=…`.
    const plain = sent.endsWith("[]") ? sent.slice(0, -2) : sent;
    const name = isListOfContract(plain) ? plain : sent;
    all.set(name, [...all.get(name) ?? [], ...values]);
  }
  return Object.fromEntries(
    [...all].map(([name, values]) => {
      if (isListOfContract(name)) return [name, values];
      // The same value twice, as where a base URL and a library both set `alt=sse`, does no harm.
      const { size } = new Set(values);
      if (size > 1 && Object.hasOwn(shape, name)) {
        throw invalidValue(name, `expected one value, not ${size}`);
      }
      return [name, values[0]];
    }),
  );
}

function isList(field: z.core.$ZodType): boolean {
  const { def } = field._zod as z.core.$ZodTypes["_zod"];
  return def.type === "array" || def.type === "optional" && isList(def.innerType);
}

async function checkBody(
  schema: z.ZodType | undefined,
  sent: SentBody,
  requestContext: RequestContext,
): Promise<unknown> {
  if (schema === undefined) return undefined;
  const value = await sent.value(sent.step.isHeavy ? previewIssues(schema) : undefined);
  noteModel(requestContext, value);
  return sent.step.isHeavy
    ? await sent.step.inSteps(() => validateSteps(schema, value))
    : validate(schema, value);
}

/** Longer than any model's name. Log lines and records of refusals outlive the request. */
const maxNotedModel = 300;

/** Notes the requested model, so that log and refusals show it even if the request is invalid. */
function noteModel(requestContext: RequestContext, sent: unknown): void {
  const { model } = (sent ?? {}) as { model?: unknown };
  if (typeof model !== "string" || model === "") return;
  const noted = ownText(model, maxNotedModel);
  // Some paths spell it `models/<model>:<method>`.
  requestContext.model = noted.replace(/^models\//, "").replace(/:[a-z]+[A-Z]\w*$/, "");
}

function callerOf(
  request: HttpRequest,
  requestContext: RequestContext,
  endpoint: string,
  { arrivalOf }: Pick<BindDeps, "arrivalOf">,
): CallContext {
  const { principal } = requestContext;
  if (!principal) throw new Fault("missing_api_key");
  const { header, headerNames } = request;
  return {
    principal,
    vendorKey: requestContext.vendorKey,
    requestId: requestContext.requestId,
    sessionId: labelHeader(header("x-session-id"), "X-Session-ID") ?? agentSession(header),
    userId: labelHeader(header("x-user-id"), "X-User-ID"),
    endpoint,
    path: fullPath(request.path),
    header,
    headerNames,
    signal: request.signal,
    arrivedAt: arrivalOf(principal.account.id, requestContext),
    arrivedMs: requestContext.arrivedMs,
    trace: requestContext.trace,
    ...(requestContext.sourceCallIds ? { sourceCallIds: requestContext.sourceCallIds } : {}),
    ...(requestContext.sentText ? { sentText: requestContext.sentText } : {}),
    ...(requestContext.tags ? { tags: requestContext.tags } : {}),
  };
}

/**
 * Headers in which coding agents name their session. We didn't ask for them, so a value that is too
 * long is ignored, not refused.
 */
const agentSessionHeaders = [
  "x-claude-code-session-id",
  "session_id",
  "session-id",
  "x-session-affinity",
];

function agentSession(header: (name: string) => string | undefined): string | undefined {
  for (const name of agentSessionHeaders) {
    const value = headerText(header(name) ?? "").trim();
    if (value && value.length <= longestLabel) return value;
  }
  return undefined;
}

const longestLabel = 256;

/** Headers that become columns have a maximum length, like tags. */
function labelHeader(value: string | undefined, name: string): string | undefined {
  const trimmed = headerText(value ?? "").trim();
  if (!trimmed) return undefined;
  if (trimmed.length <= longestLabel) return trimmed;
  throw invalidValue(name, "at most 256 characters");
}

function authorize(scope: Contract["scope"], caller: CallContext): void {
  const scopes = caller.principal.key.scopes;
  if (scope === undefined || scope === null || scopes.length === 0 || scopes.includes(scope)) {
    return;
  }
  throw new Fault("permission_denied", {
    message: `This API key does not have the scope '${scope}', which this endpoint needs.`,
  });
}

/**
 * Checks what `authorize` doesn't: the key must name the scope (no scopes otherwise means all) and
 * belong to the first account.
 */
async function authorizeAdministrator(
  { principal: { key, account } }: CallContext,
  { isFirstAccount }: BindDeps,
): Promise<void> {
  const isNamed = key.scopes.includes(adminScope);
  if (isNamed && await isFirstAccount(account.id)) return;
  throw new Fault("permission_denied", {
    message: isNamed
      ? "Only keys of the first account may administer the service; this API key is another account's."
      : `The scopes of this API key don't name '${adminScope}', which a key without scopes doesn't include. 'admin key create --scope ${adminScope}' makes one that does.`,
  });
}

function isReply(output: unknown): output is ReplyOutput {
  return typeof output === "object" && output !== null && "reply" in output;
}
