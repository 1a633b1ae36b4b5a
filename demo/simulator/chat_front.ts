import { chatCompletions } from "./chat.ts";
import { type ChatVendor, findModel } from "./chat_vendor.ts";
import { bearerKey, refuseForeignCredentials } from "./credentials.ts";
import { embeddings } from "./embeddings.ts";
import { type Exchange } from "./exchange.ts";
import { Problem, usualRetryAfter } from "./problem.ts";
import { type Route, type VendorFront } from "./server.ts";

/** Creates the interface of a vendor of the chat family; `more` has its routes beside chat. */
export function chatFront(vendor: ChatVendor, more: readonly Route[]): VendorFront {
  return {
    basePath: vendor.basePath,
    routes: [
      {
        method: "POST",
        path: /^\/chat\/completions$/,
        handle: (exchange) => chatCompletions(exchange, vendor),
      },
      { method: "GET", path: /^\/models$/, handle: () => modelList(vendor) },
      {
        method: "GET",
        path: /^\/models\/(.+)$/,
        handle: (_exchange, match) => modelDetail(vendor, match[1] ?? ""),
      },
      ...(vendor.otherModels.length > 0
        ? [
          {
            method: "POST",
            path: /^\/embeddings$/,
            handle: (exchange: Exchange) => embeddings(exchange, vendor),
          } as const,
        ]
        : []),
      ...more,
    ],
    authorize,
    refuse: (problem) => refusal(vendor, problem),
  };
}

function modelList(vendor: ChatVendor): Response {
  return Response.json({
    object: "list",
    data: [...vendor.models, ...vendor.otherModels].map(vendor.modelRow),
  });
}

function modelDetail(vendor: ChatVendor, name: string): Response {
  return Response.json(vendor.modelRow(findModel(vendor, decodeURIComponent(name))));
}

function authorize(exchange: Exchange): void {
  refuseForeignCredentials(exchange, "authorization");
  if (bearerKey(exchange) === exchange.state.apiKey) return;
  throw new Problem(401, "Incorrect API key provided.", { code: "invalid_api_key" });
}

function refusal(vendor: ChatVendor, problem: Problem): Response {
  const seconds = problem.retryAfterSeconds ?? usualRetryAfter(problem.status);
  return Response.json(vendor.errorBody(problem), {
    status: problem.status,
    headers: {
      "x-request-id": "req_simulated",
      ...(seconds === null ? {} : { "retry-after": String(seconds) }),
    },
  });
}
