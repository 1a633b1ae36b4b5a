import { clientHeaders } from "../contracts/kernel/client_headers.ts";
import type { Contract } from "../contracts/kernel/contract.ts";
import { errors } from "../contracts/kernel/errors.ts";
import { type Reference, reference } from "./shapes.ts";

/** The ways to send a key. All three accept the dual-key form. */
export const securitySchemes = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description:
      "`Authorization: Bearer dmt_…`. In the dual-key form, `Authorization: Bearer dmt_…;VENDOR_KEY`, the call uses your own vendor key: it is recorded with its cost, and nothing is charged. The vendor key is never stored.",
  },
  apiKeyHeader: {
    type: "apiKey",
    in: "header",
    name: "X-API-Key",
    description:
      "The same key, as clients of the messages dialect send it; `dmt_…;VENDOR_KEY` works too.",
  },
  googApiKeyHeader: {
    type: "apiKey",
    in: "header",
    name: "x-goog-api-key",
    description:
      "The same key on generate paths and lists of models, as their clients send it; `dmt_…;VENDOR_KEY` works too.",
  },
} as const;

// Without examples: the reference page would send them, and a repeated id is a replay.
const text = (maxLength: number) => ({ type: "string", maxLength });

/** Request headers that many operations accept. */
export const commonParameters = {
  RequestId: {
    name: "X-Request-ID",
    in: "header",
    description:
      "Your id of this request, 1 to 200 ASCII characters without spaces; echoed, and recorded. A repeat with it within 24 hours gets the stored answer with `X-Idempotent-Replay: true` and is charged once; with another body it is a 409. Where it is absent, `Idempotency-Key` means the same. Default: a new one.",
    schema: { type: "string", pattern: "^[!-~]{1,200}$" },
  },
  UnrepeatableRequestId: {
    name: "X-Request-ID",
    in: "header",
    description:
      "Your id of this request; echoed, and logged. A repeat with it is carried out again. An id that is not 1 to 200 ASCII characters without spaces is replaced. Default: a new one.",
    schema: { type: "string" },
  },
  SessionId: {
    name: "X-Session-ID",
    in: "header",
    description: "Groups calls into a session. At most 256 characters; default none.",
    schema: text(256),
  },
  UserId: {
    name: "X-User-ID",
    in: "header",
    description:
      "The end user, where the body doesn't name one. At most 256 characters; default none.",
    schema: text(256),
  },
  TranslationMode: {
    name: "X-Translation-Mode",
    in: "header",
    description:
      "What to do with fields that the vendor doesn't support. `strict`: each is a 400. `lenient`: all are dropped and named in `X-Translation-Loss`. `default`: hints are dropped and named, fields that change the meaning are a 400. Without this header the key's own mode applies, which is `default` unless it was set. Where caller and vendor speak the same dialect, `strict` also keeps a field's name that the model refuses.",
    // `allOf` keeps the reference page from sending the first value of a plain enum by default.
    schema: {
      allOf: [
        { type: "string", enum: ["strict", "lenient", "default"] },
        {
          description:
            "What to do with fields the vendor can't take: refuse (`strict`) or drop and report (`lenient`).",
        },
      ],
    },
  },
  PromptCache: {
    name: "X-Prompt-Cache",
    in: "header",
    description:
      "Whether a translated call to vendor-c without cache marks gets some at the end of its tools, its system texts and its last turn, where the prompt is long enough. Default `on`; a key may set another default.",
    schema: {
      allOf: [
        { type: "string", enum: ["on", "off"] },
        { description: "Whether to mark." },
      ],
    },
  },
  CacheTtl: {
    name: "X-Cache-TTL",
    in: "header",
    description:
      "For how many seconds the answer is reused for identical calls of the account, and how old an answer for this call may be; 0: the response cache is not used. For the four text dialects. Default: the key's setting, else 0.",
    schema: { type: "integer", minimum: 0, maximum: 86_400 },
  },
  Record: {
    name: "X-Record",
    in: "header",
    description:
      "What is recorded of the call. `metadata`: usage and money, but no prompt and no answer, which then can't be replayed, cached or continued. `full` doesn't override a key that is set to `metadata`. Default: the key's setting.",
    schema: {
      allOf: [
        { type: "string", enum: ["full", "metadata"] },
        { description: "What to record." },
      ],
    },
  },
  FallbackModels: {
    name: "X-Fallback-Models",
    in: "header",
    description:
      "Models to try, in this order, if the requested one fails before the first byte of its answer; separated by commas, at most 10. Default none.",
    schema: text(4096),
  },
} as const;

/** Headers of answers. */
export const commonHeaders = {
  "X-Request-ID": {
    description: "Id of the request, yours or ours.",
    schema: { type: "string", example: "order-1042" },
  },
  "request-id": {
    description: "The value of `X-Request-ID`, where Anthropic's clients read it.",
    schema: { type: "string", example: "order-1042" },
  },
  "X-Vendor-Request-ID": {
    description:
      "The vendor's own id of its request, which its support asks for; absent if the vendor sent none.",
    schema: { type: "string", example: "req_011CSHoEeqs5C35K2UUqR7Fy" },
  },
  "X-Transaction-ID": {
    description:
      "Id of the recorded call, once a vendor was called: what exports show and deletions take.",
    schema: { type: "string", example: "0197e0c2-a3f0-7c41-9d2e-6b1f4c8a7d35" },
  },
  "X-RateLimit-Limit": {
    description: "Requests per minute that the account may make.",
    schema: { type: "integer", example: 60 },
  },
  "X-RateLimit-Remaining": {
    description: "Requests that it may make now, never more than the limit.",
    schema: { type: "integer", example: 59 },
  },
  "X-RateLimit-Reset": {
    description: "Unix time in seconds at which the limit is fully available again.",
    schema: { type: "integer", example: 1795251660 },
  },
  "Retry-After": {
    description: "Seconds to wait before the next try, at least 1.",
    schema: { type: "integer", minimum: 1, example: 2 },
  },
  "X-Should-Retry": {
    description:
      "`false` if a retry fails until somebody replaces a key or raises a quota; otherwise what the vendor says about a retry, and `true` after its 409, which is a 400 here. Absent if another model may answer it.",
    schema: { type: "string", enum: ["true", "false"] },
  },
  "X-Translation-Loss": {
    description:
      "Paths of fields that were dropped because the vendor doesn't support them, separated by commas; absent if there are none.",
    schema: { type: "string", example: "seed" },
  },
  "X-Renamed-Fields": {
    description:
      "A field that was passed on under the name that the model takes, as `yours=sent`; absent when there is none, and with `X-Translation-Mode: strict`.",
    schema: { type: "string", example: "older_name=newer_name" },
  },
  "X-Idempotent-Replay": {
    description: "`true` when the answer was stored by an earlier request with the same id.",
    schema: { type: "string", enum: ["true"] },
  },
  "X-Cache": {
    description:
      "Whether the response cache had the answer; absent if the call did not use it (`X-Cache-TTL`).",
    schema: { type: "string", enum: ["HIT", "MISS"] },
  },
  "Age": {
    description: "Seconds since the response cache stored the answer; only on a hit.",
    schema: { type: "integer", minimum: 0, example: 17 },
  },
  "X-Model": {
    description: "The model that answered, as `<vendor>/<model>`.",
    schema: { type: "string", example: "vendor-b/gpt-5-mini" },
  },
  "X-Attempts": {
    description: "How many vendor requests the call took; absent when it was one.",
    schema: { type: "integer", minimum: 2, example: 2 },
  },
  "X-Cost-USD": {
    description:
      "What the call costs, in US dollars, as its record says; absent on streams, whose cost `GET /api/v1/interactions/{transaction_id}` has at once after their end, and where no price is known.",
    schema: { type: "string", example: "0.000054399" },
  },
  "X-Charged-USD": {
    description:
      "What the balance lost for it, in US dollars: nothing with a vendor key of your own, or where the response cache had the answer. Absent on streams.",
    schema: { type: "string", example: "0.000054399" },
  },
  "Server-Timing": {
    description:
      "Milliseconds of the gateway's own work and of waiting for vendors. Absent on streams.",
    schema: { type: "string", example: "gateway;dur=1.8, vendor;dur=612.4" },
  },
  "X-Audio-Characters": {
    description: "Characters of text that were spoken, which some vendors are paid by.",
    schema: { type: "integer", minimum: 0, example: 27 },
  },
  "X-Token-Count": {
    description: "`estimated` if the vendor has no count of its own.",
    schema: { type: "string", enum: ["estimated"] },
  },
} as const;

/** Responses that every operation can return. */
export const commonResponses = {
  HeadersTooLarge: {
    description:
      `\`headers_too_large\`: ${errors.headers_too_large.message} Answered before the request is parsed: in the dialect's own format if its path was read, and the connection is then closed. A request that is not valid HTTP gets a 400 in the same way.`,
    headers: {
      "X-Request-ID": reference("headers", "X-Request-ID"),
      "request-id": reference("headers", "request-id"),
    },
    content: {
      "application/json": {
        schema: {
          anyOf: ["ServiceError", "ChatError", "MessagesError", "GenerateError"].map((name) =>
            reference("schemas", name)
          ),
        },
        examples: { headers_too_large: reference("examples", "service.headers_too_large") },
      },
    },
  },
} as const;

/** Returns references to the headers that a contract's requests may have. */
export function requestParameters(contract: Contract): Reference[] {
  if (contract.scope === null) return [];
  const names: (keyof typeof commonParameters)[] = [
    isRepeatable(contract) ? "RequestId" : "UnrepeatableRequestId",
  ];
  if (contract.interaction) {
    names.push("SessionId", "UserId", "TranslationMode", "PromptCache", "CacheTtl", "Record");
  }
  if (isUnified(contract)) names.push("FallbackModels");
  return names.map((name) => reference("parameters", name));
}

/** What a vendor's errors become. */
const vendorStatuses: ReadonlySet<string> = new Set(
  ["400", "401", "403", "404", "413", "429", "502", "503", "504"],
);

/** Returns references to the headers of a contract's answers with a status. */
export function answerHeaders(contract: Contract, status: string): Record<string, Reference> {
  const good = Number(status) < 400;
  const names: (keyof typeof commonHeaders)[] = ["X-Request-ID"];
  const { requestId } = clientHeaders[contract.dialect];
  if (requestId !== undefined) names.push(requestId);
  // Only a caller with a valid key takes a rate token, and may have its vendor key refused.
  const isCaller = status !== "401" || contract.codes.includes("invalid_vendor_api_key");
  if (contract.scope !== null && isCaller) {
    names.push("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset");
  }
  const isUnfinished = status === "409" && contract.codes.includes("export_not_ready");
  const asksVendor = contract.interaction || isCount(contract);
  const isVendors = asksVendor && vendorStatuses.has(status);
  if (status === "429" || status === "503" || isUnfinished || isVendors) names.push("Retry-After");
  if (status === "401" || isVendors) names.push("X-Should-Retry");
  if (contract.interaction) names.push("X-Transaction-ID");
  if (asksVendor) names.push("X-Vendor-Request-ID");
  if (good && contract.interaction) {
    names.push("X-Translation-Loss", "X-Model", "X-Attempts", "X-Cache", "Age");
    names.push("X-Cost-USD", "X-Charged-USD", "Server-Timing");
    if (contract.path.endsWith("/chat/completions")) names.push("X-Renamed-Fields");
    if (contract.operationId === "generateSpeech") names.push("X-Audio-Characters");
  }
  if (good && isRepeatable(contract)) names.push("X-Idempotent-Replay");
  if (good && isCount(contract)) {
    names.push("X-Token-Count", "X-Model", "X-Cost-USD", "X-Charged-USD", "Server-Timing");
  }
  return Object.fromEntries(names.map((name) => [name, reference("headers", name)]));
}

/** Whether a contract calls a model of any vendor. */
function isUnified(contract: Contract): boolean {
  const isCall = contract.interaction === true || isCount(contract);
  return isCall && contract.path.startsWith("/chat/v1/");
}

/** Whether a contract answers a repeat with the stored answer, and refuses another body. */
function isRepeatable(contract: Contract): boolean {
  return contract.codes.includes("idempotency_conflict");
}

/** Whether a contract counts tokens. */
function isCount(contract: Contract): boolean {
  return contract.operationId.startsWith("count");
}
