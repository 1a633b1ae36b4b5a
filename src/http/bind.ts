import type { Context, Hono, Next } from "hono";
import type { z } from "zod";
import type { Contract } from "../../contracts/kernel/contract.ts";
import { Fault } from "../shared/fault.ts";
import type { CallContext } from "../relay/call_context.ts";
import type { Reply } from "../relay/reply.ts";
import { isAbort } from "../vendors/upstream.ts";
import type { SentForm } from "../dialects/kernel/operation_request.ts";
import type { ByteGate } from "../base/byte_gate.ts";
import { runInTurns, type Step } from "../base/heavy_work.ts";
import { type BodyMemory, readSent, type SentBody } from "./sent_body.ts";
import type { HeavyBodies } from "./read_json.ts";
import { asFault, errorReply } from "./errors.ts";
import type { Env } from "./request_context.ts";
import { jsonReply, toResponse } from "./respond.ts";
import { previewIssues, validate, validateSteps } from "../shared/validate.ts";

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined;
type Accepted<S> = S extends z.ZodType ? z.input<S> : never;
type ObjectSchema = z.ZodObject<z.ZodRawShape>;

/** What a handler gets: parsed input. It never sees the web framework. */
export interface Input<Params, Query, Body> {
  params: Parsed<Params>;
  query: Parsed<Query>;
  body: Parsed<Body>;
  /** The body as it was sent; empty where the contract has none, and for a form. */
  bodyText: string;
  /** A body that was sent as `multipart/form-data`, where the contract takes one. */
  form: SentForm | undefined;
  /** Address of the peer itself, whatever a proxy says. */
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
  /** Lets large bodies in a few at a time, so that memory stays flat. */
  bodies: ByteGate;
  /** Where bodies that hold much are worked on. */
  heavy: HeavyBodies;
  /** Logs a failure of our own; ordinary answers are not logged as errors. */
  onFault: (fault: Fault, requestId: string) => void;
}

/** The only writer of routes: mounts a contract's paths on a handler that needs a key. */
export function bind<
  Params extends ObjectSchema | undefined,
  Query extends ObjectSchema | undefined,
  Body extends z.ZodType | undefined,
  Answer extends z.ZodType | undefined,
>(
  app: Hono<Env>,
  contract: Contract<Params, Query, Body, Answer>,
  deps: BindDeps,
  handler: Handler<Params, Query, Body, Answer>,
): void {
  mount(app, contract, deps, async (context, room) => {
    const caller = callerOf(context, contract.path);
    // Permission comes before validation (interface.md §5).
    authorize(contract.scope, caller);
    const { step, ...input } = await readInput(context, contract, deps, room);
    const worker = { key: String(caller.principal.account.id), isPatient: true };
    // The call has begun: whoever leaves now must not keep it from being settled.
    const heavyStep = runInTurns(deps.heavy.work, worker);
    const onEncoded = () => room.leaveHeavy?.();
    return await handler({ ...input, caller: { ...caller, step, heavyStep, onEncoded } });
  });
}

/** What tells whether a route takes a request; otherwise the next one that matches does. */
export type Applies = (request: {
  query(name: string): string | undefined;
  header(name: string): string | undefined;
}) => boolean;

/** Mounts a contract that asks for no key, for the requests that `applies` is true for. */
export function bindPublic<
  Params extends ObjectSchema | undefined,
  Query extends ObjectSchema | undefined,
  Body extends z.ZodType | undefined,
  Answer extends z.ZodType | undefined,
>(
  app: Hono<Env>,
  contract: Contract<Params, Query, Body, Answer>,
  deps: BindDeps,
  handler: (input: Input<Params, Query, Body>) => Promise<Output<Answer>> | Output<Answer>,
  applies?: Applies,
): void {
  mount(app, contract, deps, async (context, room) => {
    const { step: _, ...input } = await readInput(context, contract, deps, room);
    return await handler(input);
  }, applies);
}

function mount<Answer>(
  app: Hono<Env>,
  contract: Pick<Contract, "patterns" | "path" | "method" | "dialect" | "status">,
  deps: BindDeps,
  run: (context: Context<Env>, room: BodyMemory) => Promise<Output<Answer>>,
  applies: Applies = () => true,
): void {
  const route = async (context: Context<Env>, next: Next): Promise<Response | void> => {
    const [query, header] = [context.req.query(), context.req.header()];
    if (!applies({ query: (name) => query[name], header: (name) => header[name] })) {
      return await next();
    }
    const requestContext = context.get("requestContext");
    requestContext.route = contract.path;
    const room: BodyMemory = {};
    try {
      const output = await run(context, room);
      return toResponse(
        isReply(output) ? output.reply : jsonReply(output, { status: contract.status ?? 200 }),
        requestContext,
      );
    } catch (thrown) {
      const { signal } = context.req.raw;
      const isLeft = room.isLeft || (signal.aborted && thrown === signal.reason);
      if (isAbort(thrown) || isLeft) return toResponse(leftReply, requestContext);
      const fault = asFault(thrown);
      deps.onFault(fault, requestContext.requestId);
      return toResponse(
        errorReply(fault, contract.dialect, requestContext.requestId),
        requestContext,
      );
    } finally {
      room.leaveHeavy?.();
      room.release?.();
    }
  };
  for (const pattern of contract.patterns) {
    app.on(contract.method.toUpperCase(), pattern, route);
  }
}

/** For a caller who left before an answer began: nobody receives it, but log and metrics say so. */
const leftReply = { status: 499, headers: {}, body: null };

async function readInput<
  Params extends ObjectSchema | undefined,
  Query extends ObjectSchema | undefined,
  Body extends z.ZodType | undefined,
>(
  context: Context<Env>,
  contract: Pick<Contract<Params, Query, Body>, "params" | "query" | "body" | "form">,
  deps: BindDeps,
  room: BodyMemory,
): Promise<Input<Params, Query, Body> & { step: Step }> {
  const { principal, remoteHost, peerHost } = context.get("requestContext");
  const who = principal ? String(principal.account.id) : remoteHost;
  const { trace } = context.get("requestContext");
  trace.waits?.(1);
  const sent = await readSent(context.req.raw, contract, deps, { room, who })
    .finally(() => trace.waits?.(-1));
  trace.working?.();
  const schema = sent.form ? contract.form : contract.body;
  return {
    params: check(contract.params, () => context.req.param()),
    query: check(contract.query, () => context.req.query()),
    body: await checkBody(schema, sent) as Parsed<Body>,
    step: sent.step,
    bodyText: sent.text,
    form: sent.form,
    peerHost,
    header: (name) => context.req.header(name),
  };
}

function check<S extends z.ZodType | undefined>(
  schema: S | undefined,
  value: () => unknown,
): Parsed<S> {
  return (schema === undefined ? undefined : validate(schema, value())) as Parsed<S>;
}

async function checkBody(schema: z.ZodType | undefined, sent: SentBody): Promise<unknown> {
  if (schema === undefined) return undefined;
  const value = await sent.value(previewIssues(schema));
  return sent.step.isHeavy
    ? await sent.step.inSteps(() => validateSteps(schema, value))
    : validate(schema, value);
}

function callerOf(context: Context<Env>, endpoint: string): CallContext {
  const requestContext = context.get("requestContext");
  if (!requestContext.principal) throw new Fault("missing_api_key");
  const header = (name: string) => context.req.header(name);
  return {
    principal: requestContext.principal,
    vendorKey: requestContext.vendorKey,
    requestId: requestContext.requestId,
    sessionId: labelHeader(header("x-session-id"), "X-Session-ID"),
    userId: labelHeader(header("x-user-id"), "X-User-ID"),
    endpoint,
    path: context.req.path,
    header,
    headerNames: () => [...context.req.raw.headers.keys()],
    signal: context.req.raw.signal,
    arrivedAt: requestContext.arrivedAt,
    arrivedMs: requestContext.arrivedMs,
    trace: requestContext.trace,
  };
}

/** Headers that become columns are kept to a sensible length, like the tags. */
function labelHeader(value: string | undefined, name: string): string | undefined {
  const trimmed = value?.trim();
  if (!trimmed) return undefined;
  if (trimmed.length <= 256) return trimmed;
  throw new Fault("invalid_value", { param: name, message: `${name}: at most 256 characters.` });
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

function isReply(output: unknown): output is ReplyOutput {
  return typeof output === "object" && output !== null && "reply" in output;
}
