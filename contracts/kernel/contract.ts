import type { z } from "@hono/zod-openapi";
import type { DialectName } from "../calls/vendors.ts";
import type { ErrorCode } from "./errors.ts";

/** The dialect whose error body an endpoint answers with; `service`: the gateway's own endpoints. */
export type ErrorDialect = DialectName | "service";

/** Permission scopes of a key; vendor families are named by their label. */
export type Scope = string;

/** The scope of administration. A key without scopes, which may do everything else, lacks it. */
export const adminScope = "admin";

type ObjectSchema = z.ZodObject<z.ZodRawShape>;

type Method = "get" | "post" | "patch" | "delete";

/** What an endpoint is, before it becomes a route: written once, read by routing and document. */
interface ContractSpec<
  Params extends ObjectSchema | undefined,
  Query extends ObjectSchema | undefined,
  Body extends z.ZodType | undefined,
  Answer extends z.ZodType | undefined,
> {
  method: Method;
  /** Path under its label, `{name}` for parameters. */
  path: string;
  /** Further paths that answer the same, with the same parameters. */
  aliases?: readonly string[];
  /** Patterns of the router in place of the paths, where these can't say which addresses match. */
  mounts?: readonly string[];
  /** Name of the method in generated clients, camelCase; its examples are in `examples/`. */
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  /**
   * Scope that a key needs; null: no key is asked for; undefined: any valid key. `adminScope` has to
   * be named by the key's scopes, and the key has to be one of the first account.
   */
  scope: Scope | null | undefined;
  dialect: ErrorDialect;
  params?: Params;
  query?: Query;
  /** Headers that the endpoint looks at, beside those that all do; for the document alone. */
  headers?: ObjectSchema;
  body?: Body;
  /** The body as `multipart/form-data`: beside JSON where there is a `body`, else alone. */
  form?: ObjectSchema;
  /** Status of the good answer, 200 when absent. */
  status?: 200 | 202;
  /** JSON answer; absent for endpoints that answer with bytes of `media`. */
  answer?: Answer;
  /** Further media types of the good answer, such as `text/event-stream`. */
  media?: Readonly<Record<string, z.ZodType>>;
  /** Further good statuses: media type → schema. */
  otherStatuses?: Readonly<
    Partial<Record<202 | 206, Readonly<Record<string, z.ZodType>>>>
  >;
  /** Whether a call is recorded as an interaction, billed and tied to sessions and users. */
  interaction?: boolean;
  /** Codes that the endpoint can answer with beside those that every endpoint can. */
  errors?: readonly ErrorCode[];
}

/** A contract as a value: the spec, its paths and the codes of its errors. */
export interface Contract<
  Params extends ObjectSchema | undefined = ObjectSchema | undefined,
  Query extends ObjectSchema | undefined = ObjectSchema | undefined,
  Body extends z.ZodType | undefined = z.ZodType | undefined,
  Answer extends z.ZodType | undefined = z.ZodType | undefined,
> extends ContractSpec<Params, Query, Body, Answer> {
  /** Patterns of the router that answer. */
  readonly patterns: readonly string[];
  /** Every code that it can answer with. */
  readonly codes: readonly ErrorCode[];
}

/** Makes a contract of its spec. */
export function defineContract<
  Params extends ObjectSchema | undefined = undefined,
  Query extends ObjectSchema | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
  Answer extends z.ZodType | undefined = undefined,
>(spec: ContractSpec<Params, Query, Body, Answer>): Contract<Params, Query, Body, Answer> {
  const aliases = withShortPaths([spec.path, ...(spec.aliases ?? [])]).slice(1);
  return {
    ...spec,
    ...(aliases.length === 0 ? {} : { aliases }),
    patterns: spec.mounts
      ? withShortPaths(spec.mounts)
      : [spec.path, ...aliases].map((path) => path.replace(/\{(\w+)\}/g, ":$1")),
    codes: codesOf(spec as AnySpec),
  };
}

/** Where most tools look for an API of any vendor: `/v1/…` is `/chat/v1/…`, `/v1beta/…` likewise. */
function withShortPaths(paths: readonly string[]): string[] {
  const short = paths.flatMap((path) => /^\/chat(\/v1(?:beta)?\/.*)$/s.exec(path)?.[1] ?? []);
  return [...paths, ...short];
}

/** The full path for a short one; others as they are. */
export function fullPath(path: string): string {
  return /^\/v1(beta)?\//.test(path) ? `/chat${path}` : path;
}

/** An endpoint for recorded data; `path` is the whole of it. */
export function ofRecords(
  scope: Scope | undefined,
  method: Method,
  path: string,
  operationId: string,
) {
  return { tag: "data-management", scope, dialect: "service", method, path, operationId } as const;
}

/** An endpoint of administration; `path` is the whole of it. */
export function ofAdministration(method: Method, path: string, operationId: string) {
  return { ...ofRecords(adminScope, method, path, operationId), tag: "administration" } as const;
}

/** Codes that any authenticated endpoint can answer with. */
const everywhere: readonly ErrorCode[] = [
  "missing_api_key",
  "invalid_api_key",
  "permission_denied",
  "rate_limit_exceeded",
  "internal_error",
  "overloaded",
  "store_unavailable",
];

type AnySpec = ContractSpec<
  ObjectSchema | undefined,
  ObjectSchema | undefined,
  z.ZodType | undefined,
  z.ZodType | undefined
>;

function codesOf(spec: AnySpec): ErrorCode[] {
  const takesBody = spec.body !== undefined || spec.form !== undefined;
  return [
    ...new Set<ErrorCode>([
      ...(spec.scope === null ? [] : everywhere),
      ...(spec.params ? ["invalid_value"] as const : []),
      ...(takesBody || spec.query ? ["invalid_value", "missing_required_field"] as const : []),
      ...(takesBody ? ["invalid_json", "request_too_large"] as const : []),
      ...(spec.errors ?? []),
    ]),
  ];
}
