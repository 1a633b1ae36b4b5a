import { z } from "@hono/zod-openapi";
import type { DialectName } from "../calls/vendors.ts";
import type { ErrorCode } from "./errors.ts";

/**
 * The dialect whose error body an endpoint answers with; `service`: the gateway's own endpoints.
 */
export type ErrorDialect = DialectName | "service";

/** A permission scope of a key; the scope of a vendor family is its label. */
export type Scope = string;

/** The scope of administration. A key without scopes may do everything else, but not this. */
export const adminScope = "admin";

type ObjectSchema = z.ZodObject<z.ZodRawShape>;

type Method = "get" | "post" | "patch" | "delete";

/** The definition of an endpoint, written once for routing and the OpenAPI document. */
interface ContractSpec<
  Params extends ObjectSchema | undefined,
  Query extends ObjectSchema | undefined,
  Body extends z.ZodType | undefined,
  Answer extends z.ZodType | undefined,
> {
  method: Method;
  /** The main path, with `{name}` for parameters. */
  path: string;
  /** Further paths of the same endpoint, with the same parameters. */
  aliases?: readonly string[];
  /** The router's patterns, if `{name}` in the paths can't express which URLs match. */
  mounts?: readonly string[];
  /** Name of the method in generated clients, in camelCase, and of its examples in `examples/`. */
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  /**
   * The scope that a key needs; null: no key is needed; undefined: any valid key. For `adminScope`
   * the key must list it explicitly and belong to the first account.
   */
  scope: Scope | null | undefined;
  dialect: ErrorDialect;
  params?: Params;
  query?: Query;
  /** Headers that this endpoint reads in addition to the common ones; only for the document. */
  headers?: ObjectSchema;
  body?: Body;
  /** The body as `multipart/form-data`: an alternative to `body` if that is set, else required. */
  form?: ObjectSchema;
  /** Status of the success response; absent: 200. */
  status?: 200 | 202;
  /** The JSON response; absent for endpoints that respond only with `media`. */
  answer?: Answer;
  /** Further media types of the success response, such as `text/event-stream`. */
  media?: Readonly<Record<string, z.ZodType>>;
  /** Further success statuses, each with media type → schema. */
  otherStatuses?: Readonly<
    Partial<Record<202 | 206, Readonly<Record<string, z.ZodType>>>>
  >;
  /** Whether a call is recorded as an interaction, billed and tied to sessions and users. */
  interaction?: boolean;
  /** Error codes of this endpoint in addition to those of every endpoint. */
  errors?: readonly ErrorCode[];
}

/** A contract: the spec, its paths and its error codes. */
export interface Contract<
  Params extends ObjectSchema | undefined = ObjectSchema | undefined,
  Query extends ObjectSchema | undefined = ObjectSchema | undefined,
  Body extends z.ZodType | undefined = z.ZodType | undefined,
  Answer extends z.ZodType | undefined = z.ZodType | undefined,
> extends ContractSpec<Params, Query, Body, Answer> {
  /** Patterns of all its paths for the router. */
  readonly patterns: readonly string[];
  /** All its error codes. */
  readonly codes: readonly ErrorCode[];
}

/** Makes a contract from its spec. */
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

/** Adds the paths that most tools expect: `/v1/…` for `/chat/v1/…`, and likewise `/v1beta/…`. */
function withShortPaths(paths: readonly string[]): string[] {
  const short = paths.flatMap((path) => /^\/chat(\/v1(?:beta)?\/.*)$/s.exec(path)?.[1] ?? []);
  return [...paths, ...short];
}

/** Returns the full path for a short one, and other paths unchanged. */
export function fullPath(path: string): string {
  return /^\/v1(beta)?\//.test(path) ? `/chat${path}` : path;
}

/**
 * Parameters of an endpoint that has none. An unknown one is refused: ignored, a `dry_run=true` in
 * the URL of a deletion would delete.
 */
const noParameters = z.strictObject({});

/** Returns the common fields of contracts for recorded data; `path` is the complete path. */
export function ofRecords(
  scope: Scope | undefined,
  method: Method,
  path: string,
  operationId: string,
) {
  return {
    ...{ tag: "data-management", dialect: "service", query: noParameters } as const,
    ...{ scope, method, path, operationId },
  };
}

/** Returns the common fields of contracts for administration; `path` is the complete path. */
export function ofAdministration(method: Method, path: string, operationId: string) {
  return { ...ofRecords(adminScope, method, path, operationId), tag: "administration" } as const;
}

/** Error codes of every endpoint that needs a key. */
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
      ...(spec.params || spec.query ? ["invalid_value"] as const : []),
      ...(takesBody || hasFields(spec.query)
        ? ["invalid_value", "missing_required_field"] as const
        : []),
      ...(takesBody ? ["invalid_json", "request_too_large"] as const : []),
      ...(spec.errors ?? []),
    ]),
  ];
}

function hasFields(query: ObjectSchema | undefined): boolean {
  return query !== undefined && Object.keys(query.shape).length > 0;
}
