import type { z } from "zod";
import type { Contract } from "./kernel/contract.ts";
import type { ErrorCode } from "./kernel/errors.ts";

export interface ClientOptions {
  /** Base URL of the service. */
  baseUrl: string;
  /** Sent as bearer token; may be absent for endpoints that need no key. */
  apiKey?: string;
  /** How requests are sent. Default: the global `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/**
 * Builds a client that calls the endpoints of contracts, with path parameters, query, body and
 * answer typed by them. So a changed contract shows as compile errors of its callers, and an answer
 * that violates its contract throws a ZodError. `contracts` is an object of contracts by name, or
 * of groups of them, as in `contracts/mod.ts`.
 */
export function createClient<const Contracts extends object>(
  contracts: Contracts,
  options: ClientOptions,
): Client<Contracts> {
  const members = Object.entries(contracts).map(([name, member]) => [
    name,
    isContract(member)
      ? endpoint(member, options)
      : typeof member === "object" && member !== null
      ? createClient(member, options)
      : undefined,
  ]);
  return Object.fromEntries(members) as Client<Contracts>;
}

export type Client<Contracts> = {
  readonly [Name in keyof Contracts]: Member<Contracts[Name]>;
};

type Member<Value> = Value extends Contract<infer Params, infer Query, infer Body, infer Answer>
  ? Endpoint<Params, Query, Body, Answer>
  : Value extends object ? Client<Value>
  : undefined;

/** Calls one endpoint. Throws a `CallError` if the answer is an error. */
export interface Endpoint<Params, Query, Body, Answer> {
  (...input: InputOf<Params, Query, Body>): Promise<Called<Answer>>;
  /** Returns the answer unread, including errors and streams. */
  raw(...input: InputOf<Params, Query, Body>): Promise<Response>;
}

/** The argument is optional if the endpoint requires nothing. */
type InputOf<Params, Query, Body> = Partial<Asked<Params, Query, Body>> extends
  Asked<Params, Query, Body> ? [input?: Asked<Params, Query, Body>]
  : [input: Asked<Params, Query, Body>];

type Asked<Params, Query, Body> =
  & Part<"params", Params>
  & Part<"query", Query>
  & Part<"body", Body>
  & { readonly headers?: Readonly<Record<string, string>>; readonly signal?: AbortSignal };

/** A part of the input: absent if the contract has none, optional if all its fields are. */
type Part<Name extends string, Schema> = Schema extends z.ZodType
  ? Record<never, never> extends z.input<Schema> ? { readonly [name in Name]?: z.input<Schema> }
  : { readonly [name in Name]: z.input<Schema> }
  : { readonly [name in Name]?: never };

export interface Called<Answer> {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON answer; the text if the contract has no JSON answer. */
  readonly body: Answer extends z.ZodType ? z.output<Answer> : string;
}

export class CallError extends Error {
  override readonly name = "CallError";

  constructor(
    readonly status: number,
    readonly code: ErrorCode | undefined,
    message: string,
    readonly headers: Headers,
  ) {
    super(message);
  }
}

interface AnyInput {
  params?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

function endpoint(contract: Contract, options: ClientOptions) {
  const send = options.fetch ?? fetch;
  const raw = (input: AnyInput = {}) => send(...requestOf(contract, options, input));
  const call = async (input?: AnyInput) => {
    const response = await raw(input);
    const text = await response.text();
    if (!response.ok) throw callError(response, text);
    const { status, headers } = response;
    return { status, headers, body: contract.answer?.parse(JSON.parse(text)) ?? text };
  };
  return Object.assign(call, { raw });
}

function requestOf(
  contract: Contract,
  options: ClientOptions,
  { params = {}, query = {}, body, headers = {}, signal }: AnyInput,
): [url: string, init: RequestInit] {
  const path = contract.path.replace(
    /\{(\w+)\}/g,
    (_, name: string) => encodeURIComponent(String(params[name])),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value ?? []].flat()) search.append(name, String(one));
  }
  const url = `${options.baseUrl}${path}${search.size === 0 ? "" : `?${search}`}`;
  return [url, {
    method: contract.method.toUpperCase(),
    headers: {
      ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }];
}

function callError(response: Response, text: string): CallError {
  try {
    const { error } = JSON.parse(text) as { error: { code: ErrorCode; message: string } };
    return new CallError(response.status, error.code, error.message, response.headers);
  } catch {
    const message =
      `The response with status ${response.status} is not in the service's error format`;
    return new CallError(response.status, undefined, message, response.headers);
  }
}

function isContract(value: unknown): value is Contract {
  return typeof value === "object" && value !== null && "patterns" in value;
}
