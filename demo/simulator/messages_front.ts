import { bearerKey, refuseForeignCredentials } from "./credentials.ts";
import { type Exchange } from "./exchange.ts";
import { countTokens, createMessage, findMessagesModel } from "./messages.ts";
import { MESSAGES_MODELS, modelInfo } from "./messages_models.ts";
import { invalid } from "./messages_problems.ts";
import { Problem, usualRetryAfter } from "./problem.ts";
import { type VendorFront } from "./server.ts";

/** The interface of the messages vendor. */
export const MESSAGES_FRONT: VendorFront = {
  basePath: "/v1",
  routes: [
    { method: "POST", path: /^\/messages$/, handle: createMessage },
    { method: "POST", path: /^\/messages\/count_tokens$/, handle: countTokens },
    { method: "GET", path: /^\/models$/, handle: modelPage },
    {
      method: "GET",
      path: /^\/models\/([^/]+)$/,
      handle: (_exchange, match) =>
        Response.json(modelInfo(findMessagesModel(decodeURIComponent(match[1] ?? "")))),
    },
  ],
  authorize,
  refuse,
};

function authorize(exchange: Exchange): void {
  const hasOwnHeader = exchange.headers.has("x-api-key");
  const carrier = hasOwnHeader ? "x-api-key" : "authorization";
  refuseForeignCredentials(exchange, carrier);
  const key = hasOwnHeader ? exchange.headers.get("x-api-key") : bearerKey(exchange);
  if (key !== exchange.state.apiKey) {
    throw new Problem(401, key === null ? "x-api-key header is required" : "invalid x-api-key");
  }
}

const MOST_PER_PAGE = 1000;
const PER_PAGE = 20;

function modelPage(exchange: Exchange): Response {
  const query = exchange.url.searchParams;
  const limit = Number(query.get("limit") ?? PER_PAGE);
  if (!(limit >= 1 && limit <= MOST_PER_PAGE)) {
    throw invalid("limit", "Input should be between 1 and 1000");
  }
  const after = query.get("after_id");
  const before = query.get("before_id");
  const all = MESSAGES_MODELS;
  const start = after === null ? 0 : all.findIndex((model) => model.id === after) + 1;
  const end = before === null ? all.length : all.findIndex((model) => model.id === before);
  const from = before === null ? start : Math.max(0, end - limit);
  const page = all.slice(from, Math.min(end, from + limit));
  return Response.json({
    data: page.map(modelInfo),
    has_more: before === null ? from + page.length < all.length : from > 0,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  });
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  409: "conflict_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

function refuse(problem: Problem, exchange: Exchange): Response {
  const seconds = problem.retryAfterSeconds ?? usualRetryAfter(problem.status);
  const type = ERROR_TYPES[problem.status] ??
    (problem.status >= 500 ? "api_error" : "invalid_request_error");
  const requestId = exchange.state.nextId("req_");
  return Response.json(
    { type: "error", error: { type, message: problem.message }, request_id: requestId },
    {
      status: problem.status,
      headers: {
        "request-id": requestId,
        ...(seconds === null ? {} : { "retry-after": String(seconds) }),
      },
    },
  );
}
